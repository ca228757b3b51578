import { randomUUID } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import type pg from 'pg';
import { loadConfig } from '../config/store.js';
import type { ConfigDocument } from '../config/model.js';
import { acquireRestoreLease, advanceOffset, releaseLeases, type Lease, type StreamId } from '../ledger/offsets.js';
import { limits } from '../limits.js';
import { levelsDefinition, levelsOf } from '../plan/levels.js';
import { inSnapshot, inTransaction } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { boardKey, boardMember, groupsKey, keyNames, levelsDefinitionField, userFields } from '../redis/contract.js';
import { packMessage } from '../redis/message.js';
import { partitionKeys } from '../redis/scan.js';
import { readStoredUsers, type StoredUser } from './stored-users.js';

export interface RestoreOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly testClock: boolean;
  /** Hears how many of the users are back. */
  readonly onProgress?: (restored: number, users: number) => void;
  /** Ends the restore between two steps; what is back by then stays. */
  readonly signal?: AbortSignal;
}

export interface Restored {
  readonly users: number;
  /** Whether a restore that had been cut off was gone on with. */
  readonly resumed: boolean;
}

/**
 * Fields of the partition's `meta` while it is being restored: the life of Redis that begins with it, what Postgres had when it began, and the
 * last user who is back.
 */
const restoringField = 'restoring';
const restoredFromField = 'restoredFrom';
const cursorField = 'restored';
const countField = 'restoredUsers';

interface Start {
  readonly epoch: string;
  cursor: string;
  users: number;
  readonly resumed: boolean;
}

/**
 * Fills a tenant's partition of Redis from Postgres (design.md, invariant 6). The partition takes no calls meanwhile: its `meta` has no
 * epoch, so `open` says that it is behind. The users come back in the order of their ids, in chunks, each in one transaction of Redis together with
 * how far the restore is, so that one that was cut off goes on where it was. At its end a new life of Redis (epoch) begins: a copy of the old one that
 * turns up later is known as such.
 */
export async function restoreTenant(options: RestoreOptions): Promise<Restored> {
  const { tenant, pool } = options;
  // From here on no worker commits anything that it still had in its hands: what is read below is all that there will be.
  const { lease, lastId } = await acquireRestoreLease(pool, tenant, `restore:${randomUUID()}`);
  try {
    return await restoreUnder(options, lease, lastId);
  } catch (error) {
    // The next one need not wait for the lease to run out.
    await releaseLeases(pool, [tenant], lease.holder).catch(() => undefined);
    throw error;
  }
}

async function restoreUnder(options: RestoreOptions, lease: Lease, lastId: StreamId): Promise<Restored> {
  const { tenant, pool } = options;
  const { document } = await loadConfig(pool, tenant);
  const start = await begin(options, lease.epoch, lastId);
  const total = await countStoredUsers(pool, tenant);
  await eachChunk(options, lease, lastId, document, start, total);
  await restoreCounters(options);
  await restoreLevelCounts(options, document);
  await finish(options, lease, lastId, start.epoch);
  return { users: start.users, resumed: start.resumed };
}

async function begin({ redis, partition }: RestoreOptions, committedEpoch: string, lastId: StreamId): Promise<Start> {
  const meta = partition + keyNames.meta;
  const [epoch, from, cursor, users, current] = await redis.hmget(
    meta,
    restoringField,
    restoredFromField,
    cursorField,
    countField,
    'epoch',
  );
  // One whose last step was cut off has the epoch of Postgres already, or none. One that Postgres has gone on from is a snapshot of its middle.
  const isOfNow = from === `${committedEpoch} ${lastId}` || (epoch === committedEpoch && from?.endsWith(` ${lastId}`) === true);
  if (epoch && isOfNow && !current) return { epoch, cursor: cursor ?? '', users: Number(users ?? 0), resumed: true };
  await wipe(redis, partition);
  const fresh = randomUUID();
  if (fresh === committedEpoch) throw new Error('a new epoch is the old one');
  await redis.hset(meta, restoringField, fresh, restoredFromField, `${committedEpoch} ${lastId}`);
  return { epoch: fresh, cursor: '', users: 0, resumed: false };
}

/** How many users of a tenant are back, while it is being restored; 0 when it is not. */
export async function readRestoredUsers(redis: RedisConnection, partition: string): Promise<number> {
  return Number((await redis.hget(partition + keyNames.meta, countField)) ?? 0);
}

/** Whether a restore of a tenant has begun and not come to its end: it goes on, or was cut off. */
export async function isHalfRestored(redis: RedisConnection, partition: string): Promise<boolean> {
  return (await redis.hexists(partition + keyNames.meta, restoringField)) === 1;
}

/** Removes every key of a partition: what an older Redis holds is not what Postgres knows. */
async function wipe(redis: RedisConnection, partition: string): Promise<void> {
  // The epoch goes first, so that nothing is served from what is left.
  await redis.unlink(partition + keyNames.meta);
  for await (const keys of partitionKeys(redis, partition)) if (keys.length > 0) await redis.unlink(...keys);
}

/** How many users Postgres has of a tenant. */
export async function countStoredUsers(pool: pg.Pool, tenant: number): Promise<number> {
  const { rows } = await pool.query<{ users: string }>('select count(*) as users from users where tenant = $1', [tenant]);
  return Number(rows[0]?.users ?? 0);
}

async function eachChunk(
  options: RestoreOptions,
  lease: Lease,
  lastId: StreamId,
  document: ConfigDocument,
  start: Start,
  total: number,
): Promise<void> {
  const { tenant, pool, signal } = options;
  const read = (after: string): Promise<StoredUser[]> =>
    inSnapshot(pool, (client) => readStoredUsers(client, tenant, document, after, limits.restoreUsers));
  // The next users are read while these are written.
  let next = read(start.cursor);
  for (;;) {
    const users = await next;
    const last = users.at(-1);
    if (!last) return;
    signal?.throwIfAborted();
    next = read(last.id);
    next.catch(() => undefined);
    start.users += users.length;
    await advanceOffset(pool, lease, lastId, lastId);
    await writeUsers(options, users, start.users);
    options.onProgress?.(start.users, total);
  }
}

/** Writes users, and how far the restore is, in one step of Redis. */
async function writeUsers({ redis, partition }: RestoreOptions, users: readonly StoredUser[], count: number): Promise<void> {
  const multi = redis.multi();
  for (const user of users) writeUser(multi, partition, user);
  multi.hset(partition + keyNames.meta, cursorField, users.at(-1)?.id ?? '', countField, count);
  await execute(multi);
}

function writeUser(multi: ChainableCommander, partition: string, { id, fields, keys, awards, places }: StoredUser): void {
  // When time will next do something is worked out by the sweep, for which everybody is due now.
  multi.hset(partition + keyNames.user + id, ...[...fields].flat(), userFields.due, '0');
  multi.zadd(partition + keyNames.due, 0, id);
  for (const [metric, used] of keys) multi.hset(`${partition}${keyNames.idempotency}${metric}:${id}`, used);
  for (const [system, list] of awards)
    multi.rpush(`${partition}${keyNames.awards}${system}:${id}`, ...list.map((award) => packMessage(award)));
  for (const { leaderboard, run, group, value, seq } of places) {
    multi.zadd(boardKey(partition, leaderboard, run, group), value, boardMember(seq, id));
    if (group !== '') multi.sadd(groupsKey(partition, leaderboard, run), group);
  }
}

/** Throws the first failure of a transaction. */
async function execute(multi: ChainableCommander): Promise<void> {
  const results = await multi.exec();
  if (!results) throw new Error('Redis gave up a transaction of the restore');
  for (const [error] of results) if (error) throw error;
}

/** What is counted over all users, and the sequence on which ties hang. */
async function restoreCounters({ redis, pool, tenant, partition }: RestoreOptions): Promise<void> {
  const { rows } = await pool.query<{ users: string; seq: string }>(
    `select (select count(*) from users where tenant = $1) as users,
            (select coalesce(max(seq), 0) from leaderboard_entries where tenant = $1) as seq`,
    [tenant],
  );
  const completions = await pool.query<{ achievement: number; users: string }>(
    'select achievement, count(*) as users from user_achievements where tenant = $1 group by achievement',
    [tenant],
  );
  const multi = redis.multi();
  multi.hset(partition + keyNames.meta, 'users', rows[0]?.users ?? '0', 'seq', rows[0]?.seq ?? '0');
  for (const { achievement, users } of completions.rows) multi.hset(partition + keyNames.completions, achievement, users);
  await execute(multi);
}

/**
 * How many users have each level. Where everybody's noted level is the one of the total, the counts are those of the levels in force; where the
 * worker was about to count users anew, it does so after the restore (src/jobs/levels.ts).
 */
async function restoreLevelCounts({ redis, pool, tenant, partition }: RestoreOptions, document: ConfigDocument): Promise<void> {
  const counts: (string | number)[] = [];
  for (const system of document.pointsSystems) {
    const levels = levelsOf(system);
    const { rows } = await pool.query<{ level: number | null; users: string; misplaced: string }>(
      `select row.level, count(*) as users, count(*) filter (where row.level is distinct from (
                select no from unnest($3::integer[], $4::bigint[]) as level (no, points)
                 where level.points <= row.total order by level.points desc limit 1)) as misplaced
         from user_points as row where tenant = $1 and system = $2 group by row.level`,
      [tenant, system.no, levels.map(({ no }) => no), levels.map(({ points }) => points)],
    );
    for (const { level, users } of rows) if (level !== null) counts.push(level, users);
    const isRight = rows.every(({ misplaced }) => misplaced === '0');
    if (isRight && !system.archived) counts.push(`${levelsDefinitionField}${system.no}`, levelsDefinition(system));
  }
  if (counts.length > 0) await redis.hset(partition + keyNames.levels, ...counts);
}

/** Begins the new life: Postgres first, so that a Redis without it is never taken for level. */
async function finish(
  { redis, pool, tenant, partition, testClock }: RestoreOptions,
  lease: Lease,
  lastId: StreamId,
  epoch: string,
): Promise<void> {
  const newestAt = await inTransaction(pool, async (client) => {
    await advanceOffset(client, lease, lastId, lastId);
    if (lease.epoch !== epoch) {
      await client.query('insert into past_epochs (tenant, epoch) values ($1, $2) on conflict do nothing', [tenant, lease.epoch]);
    }
    const { rows } = await client.query<{ newest_at: string }>(
      `update stream_offsets set epoch = $2, fence = fence + 1, lease_until = '-infinity' where tenant = $1 returning newest_at`,
      [tenant, epoch],
    );
    return rows[0]?.newest_at ?? '0';
  });
  const multi = redis.multi();
  const ledger = partition + keyNames.ledger;
  if (lastId !== '0-0') multi.xadd(ledger, lastId, 'e', '').xtrim(ledger, 'MAXLEN', 0);
  if (testClock && newestAt !== '0') multi.set(partition + keyNames.clock, newestAt);
  const meta = partition + keyNames.meta;
  multi.hset(meta, 'epoch', epoch).hdel(meta, restoringField, restoredFromField, cursorField, countField);
  await execute(multi);
}
