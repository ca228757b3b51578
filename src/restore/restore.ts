import { randomUUID } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import type pg from 'pg';
import { loadConfig } from '../config/store.js';
import type { ConfigDocument } from '../config/model.js';
import { acquireRestoreLease, advanceOffset, releaseLeases, type Lease, type StreamId } from '../ledger/offsets.js';
import { limits } from '../limits.js';
import { levelsDefinition, levelsOf } from '../plan/levels.js';
import { inTransaction } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, levelsDefinitionField, metaFields, restoringFields } from '../redis/contract.js';
import { partitionKeys } from '../redis/scan.js';
import { Ahead } from './ahead.js';
import { readUsersAhead } from './users-ahead.js';
import { writeUsers } from './write-users.js';

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

interface Start {
  readonly epoch: string;
  /** The last user who has been sent to Redis. */
  cursor: string;
  users: number;
  readonly resumed: boolean;
}

/**
 * Fills a tenant's partition of Redis from Postgres (design.md, invariant 6). The partition takes no calls meanwhile: its `meta` has no
 * epoch, so `open` says that it is behind. The users come back in the order of their ids, in chunks, each in one step of Redis together with
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
  await restoreUsers(options, lease, lastId, document, start);
  await restoreCounters(options);
  await restoreLevelCounts(options, document);
  await finish(options, lease, lastId, start.epoch);
  return { users: start.users, resumed: start.resumed };
}

async function begin({ redis, partition, pool, tenant }: RestoreOptions, committedEpoch: string, lastId: StreamId): Promise<Start> {
  const meta = partition + keyNames.meta;
  const [epoch, from, cursor, users, current] = await redis.hmget(
    meta,
    restoringFields.restore,
    restoringFields.from,
    restoringFields.cursor,
    restoringFields.count,
    'epoch',
  );
  // One whose last step was cut off has the epoch of Postgres already, or none. One that Postgres has gone on from is a snapshot of its middle.
  const isOfNow = from === `${committedEpoch} ${lastId}` || (epoch === committedEpoch && from?.endsWith(` ${lastId}`) === true);
  if (epoch && isOfNow && !current) return { epoch, cursor: cursor ?? '', users: Number(users ?? 0), resumed: true };
  if (current && current !== committedEpoch) {
    // Of a Postgres that was put back to an older state: a copy of what is given up here may turn up later.
    await pool.query('insert into past_epochs (tenant, epoch) values ($1, $2) on conflict do nothing', [tenant, current]);
  }
  await wipe(redis, partition);
  const fresh = randomUUID();
  if (fresh === committedEpoch) throw new Error('a new epoch is the old one');
  await redis.hset(meta, restoringFields.restore, fresh, restoringFields.from, `${committedEpoch} ${lastId}`);
  return { epoch: fresh, cursor: '', users: 0, resumed: false };
}

/** How many users of a tenant are back, while it is being restored; 0 when it is not. */
export async function readRestoredUsers(redis: RedisConnection, partition: string): Promise<number> {
  return Number((await redis.hget(partition + keyNames.meta, restoringFields.count)) ?? 0);
}

/** Whether a restore of a tenant has begun and not come to its end: it goes on, or was cut off. */
export async function isHalfRestored(redis: RedisConnection, partition: string): Promise<boolean> {
  return (await redis.hexists(partition + keyNames.meta, restoringFields.restore)) === 1;
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

/**
 * Brings the users back, chunk by chunk: while some are written, those after them are read. What is written need not have been answered before the
 * next are sent, since none are written where those before them are missing (write-users.ts).
 */
async function restoreUsers(
  options: RestoreOptions,
  lease: Lease,
  lastId: StreamId,
  document: ConfigDocument,
  start: Start,
): Promise<void> {
  const { tenant, pool, redis, partition, signal, onProgress } = options;
  const total = await countStoredUsers(pool, tenant);
  const writing = new Ahead(limits.restoreWritesAhead);
  let renewedMs = -Infinity;
  try {
    for await (const users of readUsersAhead({ pool, tenant, document }, start.cursor)) {
      signal?.throwIfAborted();
      if (performance.now() - renewedMs > limits.restoreRenewMs) {
        await advanceOffset(pool, lease, lastId, lastId);
        renewedMs = performance.now();
      }
      const before = { restore: start.epoch, cursor: start.cursor };
      start.cursor = users.at(-1)?.id ?? start.cursor;
      const count = (start.users += users.length);
      await writing.add(writeUsers(redis, partition, users, before, count).then(() => onProgress?.(count, total)));
    }
    await writing.end();
  } finally {
    await writing.settled();
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
  const { newestAt, past } = await inTransaction(pool, async (client) => {
    await advanceOffset(client, lease, lastId, lastId);
    if (lease.epoch !== epoch) {
      await client.query('insert into past_epochs (tenant, epoch) values ($1, $2) on conflict do nothing', [tenant, lease.epoch]);
    }
    const { rows } = await client.query<{ newest_at: string }>(
      `update stream_offsets set epoch = $2, fence = fence + 1, lease_until = '-infinity' where tenant = $1 returning newest_at`,
      [tenant, epoch],
    );
    const ended = await client.query<{ epoch: string }>('select epoch from past_epochs where tenant = $1 order by ended desc limit $2', [
      tenant,
      limits.maxPastEpochs,
    ]);
    return { newestAt: rows[0]?.newest_at ?? '0', past: ended.rows.map((row) => row.epoch).join(' ') };
  });
  const multi = redis.multi();
  const ledger = partition + keyNames.ledger;
  if (lastId !== '0-0') multi.xadd(ledger, lastId, 'e', '').xtrim(ledger, 'MAXLEN', 0);
  if (testClock && newestAt !== '0') multi.set(partition + keyNames.clock, newestAt);
  const meta = partition + keyNames.meta;
  multi.hset(meta, 'epoch', epoch, metaFields.past, past).hdel(meta, ...Object.values(restoringFields));
  await execute(multi);
}
