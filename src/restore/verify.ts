import type { RecentAward } from '../ledger/entry.js';
import { limits } from '../limits.js';
import { boardKind } from '../plan/boards.js';
import { inSnapshot, overAll } from '../postgres/pool.js';
import { keyNames, userFields } from '../redis/contract.js';
import { unpackMessage } from '../redis/message.js';
import { partitionKeys } from '../redis/scan.js';
import { Ahead } from './ahead.js';
import { compareFacts, confirm, type Difference, type Facts, type VerifyOptions } from './facts.js';
import { boardDifferences } from './verify-boards.js';
import { AwardReader } from './stored-awards.js';
import { countStoredUsers, readStoredUsers, readUserIds, type StoredUser } from './stored-users.js';

export interface Verified {
  readonly users: number;
  readonly differences: readonly Difference[];
}

/** JSON in one spelling; Lua's empty table is both a list and a map. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1));
  return entries.length === 0 ? '[]' : `{${entries.map(([key, item]) => `${key}:${canonical(item)}`).join()}}`;
}

const packed: ReadonlySet<string> = new Set([userFields.streaks, userFields.pauses, userFields.achievements]);
/** When somebody is next looked at follows from the rest, and Postgres knows a revision only where it left a row. */
const untold: ReadonlySet<string> = new Set([userFields.due, userFields.rev, userFields.newestDay]);
const spelledFreely = [userFields.metricTotal, userFields.achievementSum, userFields.triggerProgress, userFields.triggerHighWater];

function factOf(field: string, value: string | Buffer): string {
  if (packed.has(field)) return value.length === 0 ? '' : canonical(unpackMessage(value));
  const text = value.toString();
  return spelledFreely.some((start) => field.startsWith(start)) ? String(Number(text)) : text;
}

/** A user of either side, with the texts of the newest awards by points system. */
type ComparedUser = Omit<StoredUser, 'awards'> & { readonly awards: ReadonlyMap<number, string> };

function textsOf(awards: StoredUser['awards']): Map<number, string> {
  return new Map([...awards].map(([system, list]) => [system, textOf(list)]));
}

function textOf(list: Buffer): string {
  const texts: string[] = [];
  for (const award = new AwardReader(list); award.next();) texts.push(award.text());
  return texts.join();
}

/** The facts of one user: the same names for what either side holds. Fields that are empty say nothing. */
function userFacts(user: ComparedUser, kinds: ReadonlyMap<string, string>): Facts {
  const facts: Facts = new Map();
  for (const [field, value] of user.fields) {
    // A place on a board that does not rank totals is told by the board (verify-boards.ts).
    const isElsewhere = field.startsWith(userFields.boardSeq) && kinds.get(field.slice(userFields.boardSeq.length)) !== 'total';
    // A high-water mark that is the progress itself need not be written down.
    const isProgress =
      field.startsWith(userFields.triggerHighWater) &&
      factOf(field, value) ===
        factOf(field, user.fields.get(userFields.triggerProgress + field.slice(userFields.triggerHighWater.length)) ?? '');
    const fact = factOf(field, value);
    const isNothing = fact === '' || fact === '[]' || (field.startsWith(userFields.countedLevel) && fact === '0');
    if (!untold.has(field) && !isElsewhere && !isProgress && !isNothing) facts.set(`${user.id}: ${field}`, fact);
  }
  for (const [metric, keys] of user.keys) for (const [key, event] of keys) facts.set(`${user.id}: key ${metric} ${key}`, event);
  for (const [system, list] of user.awards) facts.set(`${user.id}: awards ${system}`, list);
  return facts;
}

/** An award of Redis' list as AwardReader spells it. */
function awardText(blob: Buffer): string {
  const { id, award } = unpackMessage(blob) as RecentAward;
  return [id, award.trigger, award.ordinal, award.awarded, award.total, award.at, award.day, ...Object.values(award.boosts)].join(' ');
}

const numberAfter = (start: string, field: string): number => Number(field.slice(start.length));

/** What Redis holds of users, each in one step. */
async function readHeldUsers({ redis, partition }: VerifyOptions, users: readonly StoredUser[]): Promise<ComparedUser[]> {
  const hashes = await Promise.all(users.map(({ id }) => redis.hgetallBuffer(partition + keyNames.user + id)));
  return Promise.all(
    users.map(async ({ id, keys, awards }, i): Promise<ComparedUser> => {
      const fields = new Map<string, Buffer>(Object.entries(hashes[i] ?? {}));
      const nos = (start: string): number[] =>
        [...fields.keys()].filter((field) => field.startsWith(start)).map((field) => numberAfter(start, field));
      const metrics = [...new Set([...nos(userFields.metricTotal), ...keys.keys()])];
      const systems = [...new Set([...nos(userFields.pointsTotal), ...awards.keys()])];
      const used = await Promise.all(metrics.map((no) => redis.hgetall(`${partition}${keyNames.idempotency}${no}:${id}`)));
      const lists = await Promise.all(systems.map((no) => redis.lrangeBuffer(`${partition}${keyNames.awards}${no}:${id}`, 0, -1)));
      return {
        id,
        fields,
        keys: new Map(metrics.map((no, at) => [no, new Map(Object.entries(used[at] ?? {}))])),
        awards: new Map(
          systems
            .map((no, at) => [no, (lists[at] ?? []).slice(0, limits.maxAwardsRead).map(awardText).join()] as const)
            .filter(([, list]) => list !== ''),
        ),
        places: [],
      };
    }),
  );
}

/** The differences of the users with some ids as they are at one moment, by user. */
async function compareOnce(options: VerifyOptions, ids: readonly string[]): Promise<Map<string, Difference[]>> {
  const { tenant, pool, document, level } = options;
  const kinds = new Map(document.leaderboards.map((board) => [String(board.no), boardKind(board)]));
  await level();
  const users = await inSnapshot(pool, (client) => readStoredUsers(client, tenant, document, ids));
  const held = await readHeldUsers(options, users);
  const found = new Map<string, Difference[]>();
  for (const [i, user] of users.entries()) {
    const other = held[i];
    const differences = other ? compareFacts(userFacts(other, kinds), userFacts({ ...user, awards: textsOf(user.awards) }, kinds)) : [];
    if (differences.length > 0) found.set(user.id, differences);
  }
  return found;
}

/** Compares the users with some ids, and looks again at those who seem to differ. */
async function compareUsers(options: VerifyOptions, ids: readonly string[]): Promise<Difference[]> {
  const suspects = await compareOnce(options, ids);
  return confirm([...suspects.values()].flat(), async () => [...(await compareOnce(options, [...suspects.keys()])).values()].flat());
}

/** Users whom Redis knows and Postgres doesn't. */
async function strangers(options: VerifyOptions): Promise<Difference[]> {
  const { redis, partition, pool, tenant } = options;
  const start = partition + keyNames.user;
  const found: Difference[] = [];
  for await (const keys of partitionKeys(redis, partition, start)) {
    if (keys.length === 0) continue;
    await options.level();
    const { rows } = await pool.query<{ id: string }>(
      `select id from unnest($2::text[]) as held (id) where not exists (select 1 from users where tenant = $1 and users.id = held.id)`,
      [tenant, keys.map((key) => key.slice(start.length))],
    );
    for (const { id } of rows) {
      if ((await redis.exists(start + id)) === 1) found.push({ what: `${id}: the user`, redis: 'there', postgres: null });
    }
  }
  return found;
}

const counters = `
  select 'users' as what, count(*)::text as value from users where tenant = $1
  union all select 'completions of ' || achievement, count(*)::text from user_achievements where tenant = $1 group by achievement
  union all select 'users at level ' || level, count(*)::text from user_points where tenant = $1 and level is not null group by level`;

/** What is counted over all users. */
async function compareCounters({ redis, partition, pool, tenant, level }: VerifyOptions): Promise<Difference[]> {
  await level();
  const rows = await overAll<{ what: string; value: string }>(pool, counters, [tenant]);
  const [users, completions, levels] = await Promise.all([
    redis.hget(partition + keyNames.meta, 'users'),
    redis.hgetall(partition + keyNames.completions),
    redis.hgetall(partition + keyNames.levels),
  ]);
  const held: Facts = new Map([['users', users ?? '0']]);
  for (const [no, count] of Object.entries(completions)) if (count !== '0') held.set(`completions of ${no}`, count);
  for (const [no, count] of Object.entries(levels)) if (/^\d+$/.test(no) && count !== '0') held.set(`users at level ${no}`, count);
  return compareFacts(held, new Map(rows.map(({ what, value }) => [what, value])));
}

/**
 * Compares what Redis holds of a tenant with what Postgres has, field by field, also while events come in: each part is compared at a position of the
 * ledger that both have reached, and what seems to differ is looked at again (facts.ts, `confirm`). Returns what they do not agree about.
 */
export async function verifyTenant(options: VerifyOptions): Promise<Verified> {
  const { tenant, pool, onProgress } = options;
  const total = await countStoredUsers(pool, tenant);
  const differences: Difference[] = [];
  let compared = 0;
  const comparing = new Ahead(limits.verifyAhead);
  try {
    const idsAfter = (last: string): Promise<string[]> => readUserIds(pool, tenant, last, limits.verifyUsers);
    for (let ids = await idsAfter(''); ids.length > 0; ids = await idsAfter(ids.at(-1) ?? '')) {
      const { length } = ids;
      const comparison = compareUsers(options, ids).then((found) => {
        differences.push(...found);
        onProgress?.((compared += length), total);
      });
      await comparing.add(comparison);
    }
    await comparing.end();
  } finally {
    await comparing.settled();
  }
  differences.push(...(await strangers(options)), ...(await boardDifferences(options)));
  differences.push(...(await confirm(await compareCounters(options), () => compareCounters(options))));
  return { users: compared, differences };
}
