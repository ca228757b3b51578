import pg from 'pg';
import type { ConfigDocument } from '../config/model.js';
import { limits } from '../limits.js';
import { boardKind, perpetualRun, type BoardKind } from '../plan/boards.js';
import { textArray } from '../postgres/arrays.js';
import { overAll } from '../postgres/pool.js';
import { userFields } from '../redis/contract.js';
import { packMessage } from '../redis/message.js';
import { awardAsBytes } from './stored-awards.js';

/** A place on a leaderboard, as the sorted set of its run and group holds it. */
export interface StoredPlace {
  readonly leaderboard: number;
  /** The first local day of the run, 0 for a leaderboard that does not repeat. */
  readonly run: number;
  /** Empty for a board that is not broken down. */
  readonly group: string;
  readonly value: number;
  readonly seq: number;
}

/** What Redis holds of a user when it is level with Postgres. */
export interface StoredUser {
  readonly id: string;
  /** Field of the user's hash (redis/contract.ts, userFields) → value. */
  readonly fields: Map<string, string | Buffer>;
  /** Metric no → idempotency key → event id and the moment from which on the key ages (lua/event.lua). */
  readonly keys: Map<number, Map<string, string>>;
  /** Points system no → the newest awards, the newest first (stored-awards.ts). */
  readonly awards: Map<number, Buffer>;
  readonly places: StoredPlace[];
}

/** Runs of a board that the user's hash notes (lua/modules/leaderboards.lua, RUNS). */
const notedRuns = 3;

type Row = readonly unknown[];
type Put = (user: StoredUser, row: Row) => void;

/** Numbers as the function library writes them: without an exponent. */
const digits = (value: unknown): string => String(value);
/** Milliseconds since 1970. Moments are whole ones, which a double holds exactly; `extract` takes twice as long, since it makes a numeric. */
const moment = (column: string): string => `(date_part('epoch', ${column}) * 1000)::bigint`;
/** Whole numbers stay the texts that they come as, since they go on as texts. */
const whole: ReadonlySet<number> = new Set([pg.types.builtins.INT2, pg.types.builtins.INT4, pg.types.builtins.INT8]);
const asItIs = (value: string): string => value;
const parserOf = pg.types.getTypeParser as (oid: number, format?: string) => (value: string) => unknown;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: string) => (whole.has(oid) ? asItIs : parserOf(oid, format)),
};

function optional(user: StoredUser, field: string, value: unknown): void {
  if (typeof value === 'string') user.fields.set(field, value);
}

function putProfile(user: StoredUser, row: Row): void {
  const [, rev, name, email, tz, subscribed, tokens, attributes, preferences, control, created, createdDay, updated] = row;
  const { fields } = user;
  fields.set(userFields.rev, digits(rev));
  optional(user, userFields.name, name);
  optional(user, userFields.email, email);
  optional(user, userFields.tz, tz);
  fields.set(userFields.subscribeToEmails, subscribed === true ? '1' : '0');
  if (tokens !== null) fields.set(userFields.deviceTokens, JSON.stringify(tokens));
  for (const [no, value] of Object.entries(attributes as Record<string, string>)) fields.set(userFields.attribute + no, value);
  for (const [field, value] of Object.entries(preferences as Record<string, string>)) fields.set(field, value);
  fields.set(userFields.control, control === true ? '1' : '0');
  fields.set(userFields.created, digits(created));
  fields.set(userFields.createdDay, digits(createdDay));
  fields.set(userFields.updated, digits(updated));
}

/** The user's revision is the highest that any of the user's rows carries. */
function raiseRevision({ fields }: StoredUser, rev: unknown): void {
  if (Number(rev) > Number(fields.get(userFields.rev) ?? 0)) fields.set(userFields.rev, digits(rev));
}

const one = (map: StoredUser, field: string, value: unknown, rev: unknown): void => {
  map.fields.set(field, digits(value));
  raiseRevision(map, rev);
};

/** Where what has been fetched for some users goes. Each query takes the tenant and a list of users; its first column is the user. */
const sources: readonly (readonly [text: string, put: Put])[] = [
  [
    `select user_id, metric, total, rev from user_metrics where tenant = $1 and user_id = any($2::text[])`,
    (user, [, metric, total, rev]) => {
      one(user, `${userFields.metricTotal}${String(metric)}`, total, rev);
    },
  ],
  [
    `select user_id, system, total, rev, level from user_points where tenant = $1 and user_id = any($2::text[])`,
    (user, [, system, total, rev, level]) => {
      one(user, `${userFields.pointsTotal}${String(system)}`, total, rev);
      if (level !== null) user.fields.set(`${userFields.countedLevel}${String(system)}`, digits(level));
    },
  ],
  [
    `select user_id, trigger, progress, high_water, rev from user_triggers where tenant = $1 and user_id = any($2::text[])`,
    (user, [, trigger, progress, high, rev]) => {
      one(user, `${userFields.triggerProgress}${String(trigger)}`, progress, rev);
      if (high !== progress) user.fields.set(`${userFields.triggerHighWater}${String(trigger)}`, digits(high));
    },
  ],
  [
    `select user_id, achievement, total, rev from user_achievement_sums where tenant = $1 and user_id = any($2::text[])`,
    (user, [, achievement, total, rev]) => {
      one(user, `${userFields.achievementSum}${String(achievement)}`, total, rev);
    },
  ],
  [
    `select user_id, jsonb_object_agg(achievement, ${moment('at')}::text) from user_achievements
      where tenant = $1 and user_id = any($2::text[]) group by user_id`,
    (user, [, achieved]) => {
      const moments = Object.entries(achieved as Record<string, string>).map(([no, at]) => [no, Number(at)] as const);
      user.fields.set(userFields.achievements, packMessage(Object.fromEntries(moments)));
    },
  ],
  [
    `select user_id, state, pauses, rev from user_streaks where tenant = $1 and user_id = any($2::text[])`,
    (user, [, state, pauses, rev]) => {
      if (state !== null) user.fields.set(userFields.streaks, packMessage(state));
      if ((pauses as unknown[]).length > 0) user.fields.set(userFields.pauses, packMessage(pauses));
      raiseRevision(user, rev);
    },
  ],
  [
    `select user_id, hour, day, rev from user_times where tenant = $1 and user_id = any($2::text[])`,
    (user, [, hour, day, rev]) => {
      one(user, userFields.settledHour, hour, rev);
      user.fields.set(userFields.settledDay, digits(day));
    },
  ],
];

const usedKeys = `select user_id, metric, key, event_id || ' ' || ${moment('at')} from idempotency_keys where tenant = $1`;
const keysOfUsers = `${usedKeys} and user_id = any($2::text[]) limit ${limits.restoreKeys + 1}`;
const keysOfUser = `${usedKeys} and user_id = $2 and (metric, key) > ($3, $4) order by metric, key limit ${limits.restoreKeys}`;

const putKey: Put = (user, [, metric, key, used]) => {
  const keys = user.keys.get(Number(metric)) ?? new Map<string, string>();
  user.keys.set(Number(metric), keys.set(String(key), String(used)));
};

// One row for each list: a row for each award takes Postgres and us twice as long.
const awardLists = (newest: string): string => `
  select points.user_id, points.system, newest.awards
    from user_points as points, lateral (
      select encode(string_agg(${awardAsBytes}, ''::bytea), 'hex') as awards
        from (${newest}) as award) as newest
   where points.tenant = $1 and points.user_id = any($2::text[]) and newest.awards is not null`;
const awardsOfList = 'select * from awards where tenant = $1 and user_id = points.user_id and system = points.system';
const most = limits.maxAwardsRead;

/** The newest awards of users, by their moments. */
const awardsByMoment = awardLists(`${awardsOfList} order by at desc, rev desc, ordinal desc limit ${most}`);
/**
 * The newest awards of users who have been given some for time that has passed: those given last, by `rev` and `ordinal`. This is the order of their
 * moments but for a move east, which brings a user to a day that has begun in the past, by as much as zones are apart; what time triggers owe for that
 * day has the moment of its midnight. So the index, which is by moments, is read two days further.
 */
const awardsByTurn = awardLists(`
  with newest as (${awardsOfList} order by at desc fetch first ${most} rows with ties),
       edge as (select min(at) as at from newest having count(*) >= ${most})
  select * from newest
  union all ${awardsOfList} and at < (select at from edge) and at >= (select at from edge) - interval '2 days'
  order by rev desc, ordinal desc limit ${most}`);

const profiles = `
  select id, rev, name, email, tz, subscribe_to_emails, device_tokens, attributes, preferences, control, ${moment('created')}, created_day,
         ${moment('updated')}
    from users where tenant = $1 and id = any($2::text[]) order by id collate "C"`;

const entries = `
  select user_id, leaderboard, run, "group", value, seq, exists (
           select 1 from leaderboard_runs as over where over.tenant = $1 and over.leaderboard = entry.leaderboard and over.run = entry.run)
    from leaderboard_entries as entry where tenant = $1 and user_id = any($2::text[]) order by user_id, leaderboard, run desc`;

/** Reads the boards' part of users: their places, and what the users' hashes note of them. */
function putPlaces(users: ReadonlyMap<string, StoredUser>, rows: readonly Row[], kinds: ReadonlyMap<number, BoardKind>): void {
  const slots = new Map<StoredUser, Map<number, (readonly [run: number, value: number, seq: number, group: string | false])[]>>();
  for (const [id, no, run, group, value, seq, isOver] of rows) {
    const user = users.get(String(id));
    if (!user) continue;
    const place = { leaderboard: Number(no), run: Number(run), group: String(group), value: Number(value), seq: Number(seq) };
    if (isOver !== true || place.run === perpetualRun) user.places.push(place);
    if (kinds.get(place.leaderboard) === 'total') {
      user.fields.set(`${userFields.boardSeq}${place.leaderboard}`, digits(place.seq));
      continue;
    }
    const ofUser = slots.get(user) ?? new Map<number, (readonly [number, number, number, string | false])[]>();
    const ofBoard = ofUser.get(place.leaderboard) ?? [];
    if (ofBoard.length < notedRuns) ofBoard.unshift([place.run, place.value, place.seq, place.group === '' ? false : place.group]);
    slots.set(user, ofUser.set(place.leaderboard, ofBoard));
  }
  for (const [user, boards] of slots) for (const [no, list] of boards) user.fields.set(`${userFields.boardSeq}${no}`, packMessage(list));
}

type Ask = (text: string, values: readonly unknown[]) => Promise<Row[]>;

/** Reads the idempotency keys of users: of those who have used very many, page by page, since they are kept for ever. */
async function fillKeys(ask: Ask, tenant: number, users: ReadonlyMap<string, StoredUser>): Promise<void> {
  const rows = await ask(keysOfUsers, [tenant, textArray([...users.keys()])]);
  if (rows.length <= limits.restoreKeys) {
    for (const row of rows) {
      const user = users.get(String(row[0]));
      if (user) putKey(user, row);
    }
    return;
  }
  for (const [id, user] of users) {
    for (let last: Row | undefined = [id, 0, '']; last;) {
      const page: Row[] = await ask(keysOfUser, [tenant, id, last[1], last[2]]);
      for (const row of page) putKey(user, row);
      last = page.length < limits.restoreKeys ? undefined : page.at(-1);
    }
  }
}

async function fill(
  client: pg.ClientBase,
  tenant: number,
  document: ConfigDocument,
  users: ReadonlyMap<string, StoredUser>,
): Promise<void> {
  const ids = textArray([...users.keys()]);
  const ask: Ask = async (text, values) => (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array', types })).rows;
  const read = (text: string): Promise<Row[]> => ask(text, [tenant, ids]);
  for (const [text, put] of sources) {
    for (const row of await read(text)) {
      const user = users.get(String(row[0]));
      if (user) put(user, row);
    }
  }
  await fillKeys(ask, tenant, users);
  // Reading them by turn takes twice as long, and what time has given leaves its mark.
  const isTimed = [...users.values()].some(({ fields }) => fields.has(userFields.settledDay));
  for (const [id, system, awards] of await read(isTimed ? awardsByTurn : awardsByMoment)) {
    users.get(String(id))?.awards.set(Number(system), Buffer.from(String(awards), 'hex'));
  }
  putPlaces(users, await read(entries), new Map(document.leaderboards.map((board) => [board.no, boardKind(board)])));
}

/** How many users Postgres has of a tenant. */
export async function countStoredUsers(pool: pg.Pool, tenant: number): Promise<number> {
  const [row] = await overAll<{ users: string }>(pool, 'select count(*) as users from users where tenant = $1', [tenant]);
  return Number(row?.users ?? 0);
}

/** The ids of the users of a tenant that follow `after`, byte by byte, at most `count`, in this order. */
export async function readUserIds(client: pg.ClientBase | pg.Pool, tenant: number, after: string, count: number): Promise<string[]> {
  const text = 'select id from users where tenant = $1 and id collate "C" > $2 order by id collate "C" limit $3';
  const { rows } = await client.query<{ id: string }>(text, [tenant, after, count]);
  return rows.map(({ id }) => id);
}

/**
 * The users of a tenant with some ids, in the order of `readUserIds`, with everything that Redis holds of them (ARCHITECTURE.md, invariant 6). Run it in one
 * snapshot of the database.
 */
export async function readStoredUsers(
  client: pg.ClientBase,
  tenant: number,
  document: ConfigDocument,
  ids: readonly string[],
): Promise<StoredUser[]> {
  const { rows } = await client.query<unknown[]>({ text: profiles, values: [tenant, textArray(ids)], rowMode: 'array', types });
  const users = new Map<string, StoredUser>();
  for (const row of rows) {
    const user: StoredUser = { id: String(row[0]), fields: new Map(), keys: new Map(), awards: new Map(), places: [] };
    putProfile(user, row);
    users.set(user.id, user);
  }
  if (users.size > 0) await fill(client, tenant, document, users);
  return [...users.values()];
}
