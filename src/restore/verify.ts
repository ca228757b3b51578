import { unpackAward, type RecentAward } from '../history/recent-awards.js';
import { limits } from '../shared/limits.js';
import { textArray } from '../postgres/arrays.js';
import { inSnapshot, readAllUsers } from '../postgres/pool.js';
import { keyNames, metaFields, userRecords } from '../redis/contract.js';
import { type UserHash, keyOfStored, packMessage, totalsOf, unpackMessage, usedKeyMs, usedKeyText } from '../redis/encoding.js';
import { partitionKeys, readHash } from '../redis/partition.js';
import { Prefetch } from './prefetch.js';
import { differencesOf, confirm, type Difference, type Facts, type VerifyOptions } from './differences.js';
import { boardDifferences } from './verify-boards.js';
import { deviceDifferences } from './verify-devices.js';
import { AwardReader } from './stored-awards.js';
import { countStoredUsers, readStoredUsers, readUserIds, type StoredUser } from './stored-users.js';

export interface Verified {
  readonly users: number;
  readonly differences: readonly Difference[];
}

/** A readable value: a name as it is, a MessagePack value as JSON, anything else as hexadecimal digits. */
function formatValue(field: string, value: Buffer): string {
  if (field === userRecords.name) return value.toString();
  try {
    const message = unpackMessage(value);
    return packMessage(message).equals(value) ? JSON.stringify(message) : `${JSON.stringify(message)}, 0x${value.toString('hex')}`;
  } catch {
    return `0x${value.toString('hex')}`;
  }
}

/** A user of either side: the newest awards as text by points system, and totals by the field of the user's hash. */
type ComparedUser = Omit<StoredUser, 'awards' | 'places'> & {
  readonly awards: ReadonlyMap<number, string>;
  readonly totals: ReadonlyMap<string, number>;
};

/** The totals for summaries and analysts, which the users' state contains as well. */
const totals = `
  select user_id, '${userRecords.metric}' || metric as field, total from user_metrics where tenant = $1 and user_id = any($2::text[])
  union all select user_id, '${userRecords.points}' || system, total from user_points where tenant = $1 and user_id = any($2::text[])`;

/** The same totals from the user's hash; none when a record can't be unpacked, which is a difference by itself. */
function totalsOfHash(hash: UserHash): Map<string, number> {
  try {
    return new Map(
      (['metric', 'points'] as const).flatMap((layout) =>
        [...totalsOf(hash, layout)].map(([no, total]) => [`${userRecords[layout]}${no}`, total] as const),
      ),
    );
  } catch {
    return new Map();
  }
}

async function readComparedUsers({ pool, tenant }: VerifyOptions, ids: readonly string[]): Promise<ComparedUser[]> {
  const { users, rows } = await inSnapshot(pool, async (client) => ({
    users: await readStoredUsers(client, tenant, ids),
    rows: (await client.query<{ user_id: string; field: string; total: number }>(totals, [tenant, textArray(ids)])).rows,
  }));
  const ofUsers = new Map(users.map(({ id }) => [id, new Map<string, number>()]));
  for (const { user_id: id, field, total } of rows) ofUsers.get(id)?.set(field, total);
  return users.map((user) => ({ ...user, awards: textsOf(user.awards), totals: ofUsers.get(user.id) ?? new Map<string, number>() }));
}

function textsOf(awards: StoredUser['awards']): Map<number, string> {
  return new Map([...awards].map(([system, list]) => [system, textOf(list)]));
}

function textOf(list: Buffer): string {
  const texts: string[] = [];
  const award = new AwardReader(list);
  while (award.next()) texts.push(award.text());
  return texts.join();
}

/** The facts of one user, under the same names for both sides, without idempotency keys that have expired. */
function userFacts(user: ComparedUser, keysExpiredUpTo: number): Facts {
  const facts: Facts = new Map();
  for (const [field, value] of user.fields) if (field !== userRecords.due) facts.set(`${user.id}: ${field}`, formatValue(field, value));
  for (const [metric, keys] of user.keys)
    for (const [key, event] of keys) {
      if ((usedKeyMs(event) ?? Infinity) > keysExpiredUpTo) facts.set(`${user.id}: key ${metric} ${keyOfStored(key)}`, usedKeyText(event));
    }
  for (const [system, list] of user.awards) facts.set(`${user.id}: awards ${system}`, list);
  for (const [field, total] of user.totals) facts.set(`${user.id}: total ${field}`, String(total));
  return facts;
}

/** A user without the idempotency keys that the other side has alike: a user may have very many, and each fact takes two texts. */
function withoutEqualKeys(user: ComparedUser, other: ComparedUser): ComparedUser {
  const keys = [...user.keys].map(([no, used]): [number, Map<string, Buffer>] => {
    const others = other.keys.get(no);
    return [no, others ? new Map([...used].filter(([key, event]) => others.get(key)?.equals(event) !== true)) : used];
  });
  return { ...user, keys: new Map(keys) };
}

/** The awards of a Redis list in the format of `AwardReader.text`; hexadecimal digits for a damaged element. */
function textOfElements(elements: readonly Buffer[]): string {
  let previous: RecentAward | undefined;
  const texts = elements.map((element) => {
    try {
      previous = unpackAward(element, previous);
      const { id, award } = previous;
      return [id, award.trigger, award.ordinal, award.awarded, award.total, award.at, award.day, ...award.boosts].join(' ');
    } catch {
      previous = undefined;
      return `0x${element.toString('hex')}`;
    }
  });
  return texts.join();
}

const suffixNo = (start: string, field: string): number => Number(field.slice(start.length));

/** Reads users from Redis, each hash in one step. */
async function readRedisUsers({ redis, partition }: VerifyOptions, users: readonly ComparedUser[]): Promise<ComparedUser[]> {
  const hashes = await Promise.all(users.map(({ id }) => redis.hgetallBuffer(partition + keyNames.user + id)));
  return Promise.all(
    users.map(async ({ id, keys, awards }, i): Promise<ComparedUser> => {
      const fields = new Map<string, Buffer>(Object.entries(hashes[i] ?? {}));
      const nos = (start: string): number[] =>
        [...fields.keys()].filter((field) => field.startsWith(start)).map((field) => suffixNo(start, field));
      // Adjustments of a points system have keys as well.
      const keyed = [...new Set([...nos(userRecords.metric), ...nos(userRecords.points), ...keys.keys()])];
      const systems = [...new Set([...nos(userRecords.points), ...awards.keys()])];
      const used = await Promise.all(keyed.map((no) => readHash(redis, `${partition}${keyNames.idempotency}${no}:${id}`)));
      const lists = await Promise.all(systems.map((no) => redis.lrangeBuffer(`${partition}${keyNames.awards}${no}:${id}`, 0, -1)));
      return {
        id,
        fields,
        keys: new Map(keyed.map((no, at) => [no, used[at] ?? new Map<string, Buffer>()])),
        awards: new Map(
          systems
            .map((no, at) => [no, textOfElements((lists[at] ?? []).slice(0, limits.maxAwardsRead))] as const)
            .filter(([, list]) => list !== ''),
        ),
        totals: totalsOfHash(fields),
      };
    }),
  );
}

/** The moment up to which expired idempotency keys are being removed from Redis, in ms since 1970. */
async function keysRemovedUpTo({ pool, tenant }: VerifyOptions): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(
    'select (extract(epoch from removing_up_to) * 1000)::float8 as ms from key_retention where tenant = $1',
    [tenant],
  );
  return rows[0]?.ms ?? -Infinity;
}

/** Compares users once. Returns their differences by user. */
async function compareOnce(options: VerifyOptions, ids: readonly string[]): Promise<Map<string, Difference[]>> {
  await options.waitForLedger();
  const users = await readComparedUsers(options, ids);
  const held = await readRedisUsers(options, users);
  const keysExpiredUpTo = Math.max((await options.keysExpiredUpTo?.()) ?? -Infinity, await keysRemovedUpTo(options));
  const found = new Map<string, Difference[]>();
  for (const [i, user] of users.entries()) {
    const other = held[i];
    const factsOf = (one: ComparedUser, than: ComparedUser): Facts => userFacts(withoutEqualKeys(one, than), keysExpiredUpTo);
    const differences = other ? differencesOf(factsOf(other, user), factsOf(user, other)) : [];
    if (differences.length > 0) found.set(user.id, differences);
  }
  return found;
}

/** Compares users, and confirms the differences. */
async function compareUsers(options: VerifyOptions, ids: readonly string[]): Promise<Difference[]> {
  const suspects = await compareOnce(options, ids);
  return confirm([...suspects.values()].flat(), async () => [...(await compareOnce(options, [...suspects.keys()])).values()].flat());
}

/** Users that exist in Redis and not in Postgres. */
async function orphans(options: VerifyOptions): Promise<Difference[]> {
  const { redis, partition, pool, tenant } = options;
  const start = partition + keyNames.user;
  const found: Difference[] = [];
  for await (const keys of partitionKeys(redis, partition, start)) {
    if (keys.length === 0) continue;
    await options.waitForLedger();
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

/** Compares the counts over all users. */
async function compareCounters({ redis, partition, pool, tenant, waitForLedger }: VerifyOptions): Promise<Difference[]> {
  await waitForLedger();
  const rows = await readAllUsers<{ what: string; value: string }>(pool, counters, [tenant]);
  const [users, completions, levels] = await Promise.all([
    redis.hget(partition + keyNames.meta, metaFields.users),
    redis.hgetall(partition + keyNames.completions),
    redis.hgetall(partition + keyNames.levels),
  ]);
  const held: Facts = new Map([['users', users ?? '0']]);
  for (const [no, count] of Object.entries(completions)) if (count !== '0') held.set(`completions of ${no}`, count);
  for (const [no, count] of Object.entries(levels)) if (/^\d+$/.test(no) && count !== '0') held.set(`users at level ${no}`, count);
  return differencesOf(held, new Map(rows.map(({ what, value }) => [what, value])));
}

/**
 * Compares a tenant's Redis with Postgres, field by field, also while events are counted: each part is compared at a ledger position that both have
 * reached, and differences are confirmed (differences.ts).
 */
export async function verifyTenant(options: VerifyOptions): Promise<Verified> {
  const { tenant, pool, onProgress } = options;
  // Users that only the ledger has so far must be compared too.
  await options.waitForLedger();
  const total = await countStoredUsers(pool, tenant);
  const differences: Difference[] = [];
  let compared = 0;
  const comparing = new Prefetch(limits.verifyAhead);
  try {
    const idsAfter = (last: string): Promise<string[]> => readUserIds(pool, tenant, last, limits.verifyUsers);
    for (let ids = await idsAfter(''); ids.length > 0; ids = await idsAfter(ids.at(-1) ?? '')) {
      const { length } = ids;
      const comparison = compareUsers(options, ids).then((found) => {
        differences.push(...found);
        compared += length;
        onProgress?.(compared, total);
      });
      await comparing.add(comparison);
    }
    await comparing.drain();
  } finally {
    await comparing.settle();
  }
  differences.push(...(await orphans(options)), ...(await boardDifferences(options)), ...(await deviceDifferences(options)));
  differences.push(...(await confirm(await compareCounters(options), () => compareCounters(options))));
  return { users: compared, differences };
}
