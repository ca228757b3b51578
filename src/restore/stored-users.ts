import pg from 'pg';
import { perpetualRun } from '../plan/boards.js';
import { textArray } from '../postgres/arrays.js';
import { inSnapshot, readAllUsers } from '../postgres/pool.js';
import { userRecords } from '../redis/contract.js';
import { at, listOf, storedKey, usedKey, usedKeyMs } from '../redis/encoding.js';
import { limits } from '../shared/limits.js';
import type { Place } from '../shared/ranking.js';
import { awardAsBytes } from './stored-awards.js';

export interface TenantUsers {
  readonly pool: pg.Pool;
  readonly tenant: number;
}

/**
 * Yields the users of a tenant whose ids follow `after` in byte order, in chunks of at most limits.restoreUsers, with all of their data in Redis. While
 * the caller processes a chunk, the next ones are read, each through its own connection: nothing may be written concurrently.
 */
export async function* prefetchUsers({ pool, tenant }: TenantUsers, after: string): AsyncGenerator<readonly StoredUser[], void> {
  const reading: Promise<StoredUser[]>[] = [];
  try {
    let ids = await readUserIds(pool, tenant, after, limits.restoreUsers);
    while (ids.length > 0) {
      const chunk = ids;
      const users = inSnapshot(pool, (client) => readStoredUsers(client, tenant, chunk));
      // The failure is thrown when the chunk is yielded.
      users.catch(() => undefined);
      reading.push(users);
      ids = await readUserIds(pool, tenant, chunk.at(-1) ?? '', limits.restoreUsers);
      if (reading.length > limits.restoreReadsAhead) yield (await reading.shift()) ?? [];
    }
    for (let users = reading.shift(); users; users = reading.shift()) yield await users;
  } finally {
    await Promise.allSettled(reading);
  }
}

/** A user's place in a run and group of a leaderboard. */
interface StoredPlace extends Place {
  readonly leaderboard: number;
  /** The first local day of the run, 0 for a leaderboard that does not repeat. */
  readonly run: number;
  /** Empty for a leaderboard without a breakdown. */
  readonly group: string;
}

/** A user's data in Redis when it is in sync with Postgres. */
export interface StoredUser {
  readonly id: string;
  /** The user's hash. */
  readonly fields: Map<string, Buffer>;
  /** Metric no → idempotency key → event id and the time of use (redis/encoding.ts). */
  readonly keys: Map<number, Map<string, Buffer>>;
  /** Points system no → the newest awards, newest first (stored-awards.ts). */
  readonly awards: Map<number, Buffer>;
  readonly places: StoredPlace[];
}

type Row = readonly unknown[];

/** Milliseconds since 1970. They are integers, which a double represents exactly; `extract` takes twice as long, since it returns a numeric. */
const epochMs = (column: string): string => `(date_part('epoch', ${column}) * 1000)::bigint`;
/** Integers are not parsed, since they are written as text again. */
const integerTypes: ReadonlySet<number> = new Set([pg.types.builtins.INT2, pg.types.builtins.INT4, pg.types.builtins.INT8]);
const identity = (value: string): string => value;
const parserOf = pg.types.getTypeParser as (oid: number, format?: string) => (value: string) => unknown;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: string) => (integerTypes.has(oid) ? identity : parserOf(oid, format)),
};

const hashes = 'select user_id, fields from user_hashes where tenant = $1 and user_id = any($2::text[])';

function putHash({ fields }: StoredUser, [, stored]: Row): void {
  for (const [field, value] of Object.entries(stored as Readonly<Record<string, string>>))
    fields.set(field, Buffer.from(value.slice(value.indexOf(' ') + 1), 'base64'));
}

/** A mark of the removal of expired keys (src/jobs/key-retention.ts). */
const removal = (column: string, none: string): string => `coalesce((select ${column} from key_retention where tenant = $1), '${none}')`;
/** The keys that Redis has, of events by metric, or of adjustments by points system. */
const usedKeys = (table: string, object: string): string => `
  select user_id, ${object} as object, idempotency_key, id, ${epochMs('at')} as ms from ${table}
   where tenant = $1 and idempotency_key is not null and at > ${removal('removed_up_to', '-infinity')}
     and (at > ${removal('removing_up_to', '-infinity')} or user_id > ${removal('last_user', '')})`;
const [eventKeys, adjustmentKeys] = [usedKeys('events', 'metric'), usedKeys('points_adjustments', 'system')];
const ofUsers = 'and user_id = any($2::text[])';
const keysOfUsers = `${eventKeys} ${ofUsers} union all ${adjustmentKeys} ${ofUsers} limit ${limits.restoreKeys + 1}`;
const pageOfUser = (
  keys: string,
  object: string,
): string => `${keys} and user_id = $2 and (${object}, at, id) > ($3, to_timestamp($4 / 1000.0), $5)
   order by ${object}, at, id limit ${limits.restoreKeys}`;
const keysOfUser = [pageOfUser(eventKeys, 'metric'), pageOfUser(adjustmentKeys, 'system')];

/** An expired key may have been used again: the newest use counts. */
function putKey(user: StoredUser, [, object, key, id, ms]: Row): void {
  const keys = user.keys.get(Number(object)) ?? new Map<string, Buffer>();
  const stored = storedKey(String(key));
  const other = keys.get(stored);
  if (other && (usedKeyMs(other) ?? 0) > Number(ms)) return;
  user.keys.set(Number(object), keys.set(stored, usedKey(String(id), Number(ms))));
}

// One row for each list: a row for each award takes twice as long.
const awardLists = (newest: string): string => `
  select points.user_id, points.system, newest.awards
    from user_points as points, lateral (
      select encode(string_agg(${awardAsBytes}, ''::bytea), 'hex') as awards
        from (${newest}) as award) as newest
   where points.tenant = $1 and points.user_id = any($2::text[]) and newest.awards is not null`;
const awardsOfList = 'select * from awards where tenant = $1 and user_id = points.user_id and system = points.system';
const maxAwards = limits.maxAwardsRead;

/** The newest awards of users, by time. */
const awardsByTime = awardLists(`${awardsOfList} order by at desc, rev desc, ordinal desc limit ${maxAwards}`);
/**
 * The newest awards of users who have received awards from time triggers, by `rev` and `ordinal`. This is the order of their times, except after a move
 * east: the user is then in a day that began in the past, by at most the distance between time zones, and time triggers award for that day at its
 * midnight. So the index, which is by time, is read two days further.
 */
const awardsByRevision = awardLists(`
  with newest as (${awardsOfList} order by at desc fetch first ${maxAwards} rows with ties),
       edge as (select min(at) as at from newest having count(*) >= ${maxAwards})
  select * from newest
  union all ${awardsOfList} and at < (select at from edge) and at >= (select at from edge) - interval '2 days'
  order by rev desc, ordinal desc limit ${maxAwards}`);

/** The places in the runs that are not over; a leaderboard that does not repeat has a single run. */
const openPlaces = `
  select user_id, leaderboard, run, "group", value, seq from leaderboard_entries as entry
   where tenant = $1 and user_id = any($2::text[]) and (run = ${perpetualRun} or not exists (
     select 1 from leaderboard_runs as over where over.tenant = $1 and over.leaderboard = entry.leaderboard and over.run = entry.run))`;

function putPlace(user: StoredUser, [, leaderboard, run, group, value, seq]: Row): void {
  user.places.push({ leaderboard: Number(leaderboard), run: Number(run), group: String(group), value: Number(value), seq: Number(seq) });
}

const nil = '00000000-0000-0000-0000-000000000000';

type Query = (text: string, values: readonly unknown[]) => Promise<Row[]>;

/** Reads the idempotency keys of users; page by page for users with very many, since keys never expire. */
async function fillKeys(query: Query, tenant: number, users: ReadonlyMap<string, StoredUser>): Promise<void> {
  const rows = await query(keysOfUsers, [tenant, textArray([...users.keys()])]);
  if (rows.length <= limits.restoreKeys) {
    for (const row of rows) {
      const user = users.get(String(row[0]));
      if (user) putKey(user, row);
    }
    return;
  }
  for (const [id, user] of users) {
    for (const pages of keysOfUser) {
      let last: Row | undefined = [id, 0, '', nil, 0];
      while (last) {
        const page: Row[] = await query(pages, [tenant, id, last[1], last[4], last[3]]);
        for (const row of page) putKey(user, row);
        last = page.length < limits.restoreKeys ? undefined : page.at(-1);
      }
    }
  }
}

async function fill(client: pg.ClientBase, tenant: number, users: ReadonlyMap<string, StoredUser>): Promise<void> {
  const ids = textArray([...users.keys()]);
  const query: Query = async (text, values) => (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array', types })).rows;
  const read = async (text: string, put: (user: StoredUser, row: Row) => void): Promise<void> => {
    for (const row of await query(text, [tenant, ids])) {
      const user = users.get(String(row[0]));
      if (user) put(user, row);
    }
  };
  await read(hashes, putHash);
  await fillKeys(query, tenant, users);
  // Reading by revision takes twice as long; it is only needed for users who have been settled by time.
  const isTimed = [...users.values()].some(({ fields }) => at(listOf(fields, userRecords.core), 'core', 'settledHour') !== undefined);
  await read(isTimed ? awardsByRevision : awardsByTime, ({ awards }, [, system, list]) => {
    awards.set(Number(system), Buffer.from(String(list), 'hex'));
  });
  await read(openPlaces, putPlace);
}

/** The number of a tenant's users in Postgres. */
export async function countStoredUsers(pool: pg.Pool, tenant: number): Promise<number> {
  const [row] = await readAllUsers<{ users: string }>(pool, 'select count(*) as users from users where tenant = $1', [tenant]);
  return Number(row?.users ?? 0);
}

/** At most `count` ids of a tenant's users that follow `after`, in byte order. */
export async function readUserIds(client: pg.ClientBase | pg.Pool, tenant: number, after: string, count: number): Promise<string[]> {
  const text = 'select id from users where tenant = $1 and id collate "C" > $2 order by id collate "C" limit $3';
  const { rows } = await client.query<{ id: string }>(text, [tenant, after, count]);
  return rows.map(({ id }) => id);
}

/** The users with `ids`, in this order, with all of their data in Redis (ARCHITECTURE.md, invariant 6). Run it in one snapshot of the database. */
export async function readStoredUsers(client: pg.ClientBase, tenant: number, ids: readonly string[]): Promise<StoredUser[]> {
  const users = new Map<string, StoredUser>();
  for (const id of ids) users.set(id, { id, fields: new Map(), keys: new Map(), awards: new Map(), places: [] });
  await fill(client, tenant, users);
  // A user may have been deleted since the ids were read.
  return [...users.values()].filter(({ fields }) => fields.size > 0);
}
