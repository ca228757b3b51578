import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { loadConfig } from '../config/store.js';
import type { Comparison } from '../engine/failures.js';
import type { ConfigDocument } from '../config/model.js';
import type { ActiveRedis } from '../ledger/active-redis.js';
import { objectionMessage, type ClaimPurpose, type Objection } from '../ledger/active-redis-rules.js';
import { acquireRestoreLease, advanceOffset, releaseLeases, splitId, type Lease, type StreamId } from '../ledger/offsets.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { levelsDefinition, levelsOf } from '../plan/levels.js';
import { inTransaction, readAllUsers } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, levelsDefinitionField, metaFields, restoringFields } from '../redis/contract.js';
import { partitionKeys } from '../redis/scan.js';
import { isBelow, lastLedgerId, trimmedUpTo } from '../redis/stream.js';
import { Prefetch } from './prefetch.js';
import { commandsOf, RestoreLock, type Command } from './lock.js';
import { leftBehind, saveLeftBehind } from './left-behind.js';
import { countStoredUsers } from './stored-users.js';
import { prefetchUsers } from './stored-users.js';
import { haveManyKeys, writeKeys, writeUsers } from './write-users.js';

export interface RestoreOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly testClock: boolean;
  /** What allows the restore, and what it is wanted for. */
  readonly active: ActiveRedis;
  readonly need: ClaimPurpose;
  /** Hears how many of the users are back. */
  readonly onProgress?: (restored: number, users: number) => void;
  /** Ends the restore between two steps; what is back by then stays. */
  readonly signal?: AbortSignal;
}

export interface Restored {
  readonly users: number;
  /** Whether a restore that had been cut off was gone on with. */
  readonly resumed: boolean;
  /** Entries of an ended epoch's ledger that Postgres did not have: they are dead letters now. */
  readonly saved: number;
}

/** What a restore is wanted for, where Redis and Postgres compare so. */
export const needOf = (found: Comparison['found']): ClaimPurpose => ({ epoch: found === 'past' || found === 'ahead' ? 'past' : 'none' });

/** Another Redis is active, or was until now. */
export class RestoreFenced extends OperatorError {
  constructor(objection: Objection) {
    super(objectionMessage(objection));
    this.name = 'RestoreFenced';
  }
}

interface Start {
  readonly epoch: string;
  /** The last user who has been sent to Redis. */
  cursor: string;
  users: number;
  readonly resumed: boolean;
  readonly saved: number;
}

/**
 * Fills a tenant's partition of Redis from Postgres (ARCHITECTURE.md, invariant 6). The partition takes no calls meanwhile: its `meta` has no
 * epoch, so `open` says that it is behind. The users come back in the order of their ids, in chunks, each in one step of Redis together with
 * how far the restore is, so that one that was cut off goes on where it was. At its end a new life of Redis (epoch) begins: a copy of the old one that
 * turns up later is known as such.
 *
 * Returns undefined, and changes nothing, when another restore has ended since the caller compared the two: Redis has everything again, and its ledger
 * may have events that Postgres lacks.
 */
export async function restoreTenant(options: RestoreOptions): Promise<Restored | undefined> {
  const { active, need } = options;
  const objection = await active.claim(need);
  if (objection) throw new RestoreFenced(objection);
  return active.whileRestoring(() => restoreActive(options));
}

async function restoreActive(options: RestoreOptions): Promise<Restored | undefined> {
  const { tenant, pool } = options;
  // From here on no worker commits anything that it still had in its hands: what is read below is all that there will be.
  const { lease, lastId } = await acquireRestoreLease(pool, tenant, `restore:${randomUUID()}`);
  let restored: Restored | undefined;
  try {
    restored = await restoreUnder(options, lease, lastId);
    return restored;
  } finally {
    // The next one need not wait for the lease to run out. (The end of a restore has released it.)
    if (!restored) await releaseLeases(pool, [tenant], lease.holder).catch(() => undefined);
  }
}

async function restoreUnder(options: RestoreOptions, lease: Lease, lastId: StreamId): Promise<Restored | undefined> {
  const { tenant, pool, redis, partition } = options;
  const { document } = await loadConfig(pool, tenant);
  const hold = new RestoreLock({ redis, pool, partition, lease, lastId, signal: options.signal });
  const start = await begin(options, hold, lease.epoch, lastId);
  if (!start) return undefined;
  await restoreUsers(options, hold, start);
  await restoreCounters(options, hold);
  await restoreLevelCounts(options, hold, document);
  await finish(options, hold, lease, lastId, start.epoch);
  return { users: start.users, resumed: start.resumed, saved: start.saved };
}

async function begin(options: RestoreOptions, hold: RestoreLock, committedEpoch: string, lastId: StreamId): Promise<Start | undefined> {
  const { redis, partition, pool, tenant } = options;
  const meta = partition + keyNames.meta;
  const { restore, from, cursor, count } = restoringFields;
  const [epoch, begunAt, last, users, current, before, trimmed] = await redis.hmget(
    meta,
    ...[restore, from, cursor, count],
    ...['epoch', metaFields.restorer, metaFields.trimmed],
  );
  if (current === committedEpoch && (await hasAllOf({ redis, partition, trimmed }, committedEpoch, lastId))) {
    await hold.renew();
    return undefined;
  }
  const left = await leftBehind(options, committedEpoch, lastId);
  // One whose last step was cut off has the epoch of Postgres already, or none. One that Postgres has gone on from is a snapshot of its middle.
  const isOfNow = begunAt === `${committedEpoch} ${lastId}` || (epoch === committedEpoch && begunAt?.endsWith(` ${lastId}`) === true);
  if (epoch && isOfNow && !current) {
    await hold.take(before ?? '');
    return { epoch, cursor: last ?? '', users: Number(users ?? 0), resumed: true, saved: 0 };
  }
  if (current && current !== committedEpoch) {
    // Of a Postgres that was put back to an older state: a copy of what is given up here may turn up later. Not so where another restore was faster.
    await hold.renew();
    await pool.query('insert into past_epochs (tenant, epoch) values ($1, $2) on conflict do nothing', [tenant, current]);
  }
  const fresh = randomUUID();
  if (fresh === committedEpoch) throw new Error('a new epoch is the old one');
  // The epoch goes first, so that nothing is served from what is left.
  await hold.take(before ?? '', left);
  const saved = left === '' ? 0 : await saveLeftBehind(options, hold, left);
  await wipe(redis, partition, hold);
  await hold.write([['HSET', meta, restore, fresh, from, `${committedEpoch} ${lastId}`]]);
  return { epoch: fresh, cursor: '', users: 0, resumed: false, saved };
}

interface Ledger {
  readonly redis: RedisConnection;
  readonly partition: string;
  /** What `meta` says of the last trim. */
  readonly trimmed: string | null | undefined;
}

/** Whether the ledger of a partition with the epoch of Postgres goes on from where Postgres is, as `open` (lua/modules/partition.lua) tells it. */
async function hasAllOf({ redis, partition, trimmed }: Ledger, epoch: string, lastId: StreamId): Promise<boolean> {
  const isPostgresOlder = isBelow(lastId, trimmedUpTo(trimmed, epoch));
  return !isPostgresOlder && !isBelow(await lastLedgerId(redis, partition), lastId);
}

/** How many users of a tenant are back, while it is being restored; 0 when it is not. */
export async function readRestoredUsers(redis: RedisConnection, partition: string): Promise<number> {
  return Number((await redis.hget(partition + keyNames.meta, restoringFields.count)) ?? 0);
}

/** Whether a restore of a tenant has begun and not come to its end: it goes on, or was cut off. */
export async function isHalfRestored(redis: RedisConnection, partition: string): Promise<boolean> {
  return (await redis.hexists(partition + keyNames.meta, restoringFields.restore)) === 1;
}

/** Removes every key of a partition but its `meta`: what an older Redis holds is not what Postgres knows. */
async function wipe(redis: RedisConnection, partition: string, hold: RestoreLock): Promise<void> {
  for await (const keys of partitionKeys(redis, partition)) {
    await hold.renew();
    const [first, ...others] = keys.filter((key) => key !== partition + keyNames.meta);
    if (first !== undefined) await hold.write([['UNLINK', first, ...others]]);
  }
}

/**
 * Brings the users back, chunk by chunk: while some are written, those after them are read. What is written need not have been answered before the
 * next are sent, since none are written where those before them are missing (write-users.ts).
 */
async function restoreUsers(options: RestoreOptions, hold: RestoreLock, start: Start): Promise<void> {
  const { tenant, pool, partition, onProgress } = options;
  const total = await hold.during(countStoredUsers(pool, tenant));
  const writing = new Prefetch(limits.restoreWritesAhead);
  try {
    for await (const users of prefetchUsers({ pool, tenant }, start.cursor)) {
      await hold.renew();
      const before = start.cursor;
      if (haveManyKeys(users)) {
        await writing.end();
        await writeKeys(hold, partition, users, before);
      }
      start.cursor = users.at(-1)?.id ?? start.cursor;
      const count = (start.users += users.length);
      await writing.add(writeUsers(hold, partition, users, before, count).then(() => onProgress?.(count, total)));
    }
    await writing.end();
  } finally {
    await writing.settled();
  }
}

/** What is counted over all users, and the sequence on which ties hang. */
async function restoreCounters({ pool, tenant, partition }: RestoreOptions, hold: RestoreLock): Promise<void> {
  const [all] = await hold.during(
    readAllUsers<{ users: string; seq: string }>(
      pool,
      `select (select count(*) from users where tenant = $1) as users,
              (select coalesce(max(seq), 0) from leaderboard_entries where tenant = $1) as seq`,
      [tenant],
    ),
  );
  const completions = await hold.during(
    readAllUsers<{ achievement: number; users: string }>(
      pool,
      'select achievement, count(*) as users from user_achievements where tenant = $1 group by achievement',
      [tenant],
    ),
  );
  const counts = completions.flatMap(({ achievement, users }) => [String(achievement), users]);
  await hold.write([
    ['HSET', partition + keyNames.meta, 'users', all?.users ?? '0', 'seq', all?.seq ?? '0'],
    ...commandsOf('HSET', partition + keyNames.completions, counts),
  ]);
}

/**
 * How many users have each level. Where everybody's noted level is the one of the total, the counts are those of the levels in force; where the
 * worker was about to count users anew, it does so after the restore (src/jobs/levels.ts).
 */
async function restoreLevelCounts({ pool, tenant, partition }: RestoreOptions, hold: RestoreLock, document: ConfigDocument): Promise<void> {
  const counts: string[] = [];
  for (const system of document.pointsSystems) {
    const levels = levelsOf(system);
    const rows = await hold.during(
      readAllUsers<{ level: number | null; users: string; misplaced: string }>(
        pool,
        `select row.level, count(*) as users, count(*) filter (where row.level is distinct from (
                  select no from unnest($3::integer[], $4::bigint[]) as level (no, points)
                   where level.points <= row.total order by level.points desc limit 1)) as misplaced
           from user_points as row where tenant = $1 and system = $2 group by row.level`,
        [tenant, system.no, levels.map(({ no }) => no), levels.map(({ points }) => points)],
      ),
    );
    for (const { level, users } of rows) if (level !== null) counts.push(String(level), users);
    const isRight = rows.every(({ misplaced }) => misplaced === '0');
    if (isRight && !system.archived) counts.push(`${levelsDefinitionField}${system.no}`, levelsDefinition(system));
  }
  await hold.write(commandsOf('HSET', partition + keyNames.levels, counts));
}

/** Begins the new epoch, in Postgres first: a Redis without it is never considered in sync. */
async function finish(
  { pool, tenant, partition, testClock, active }: RestoreOptions,
  hold: RestoreLock,
  lease: Lease,
  lastId: StreamId,
  epoch: string,
): Promise<void> {
  const { newestAt, past } = await inTransaction(pool, async (client) => {
    await active.lockActive(client);
    await advanceOffset(client, lease, { from: lastId, to: lastId });
    if (lease.epoch !== epoch) {
      await client.query('insert into past_epochs (tenant, epoch, last_ms, last_seq) values ($1, $2, $3, $4) on conflict do nothing', [
        tenant,
        lease.epoch,
        ...splitId(lastId),
      ]);
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
  const [meta, ledger] = [partition + keyNames.meta, partition + keyNames.ledger];
  const commands: Command[] = [];
  if (lastId !== '0-0') commands.push(['XADD', ledger, lastId, 'e', ''], ['XTRIM', ledger, 'MAXLEN', '0']);
  if (testClock && newestAt !== '0') commands.push(['SET', partition + keyNames.clock, newestAt]);
  // Another restore may have the lease by now, and go on here.
  await hold.write([...commands, ['HSET', meta, 'epoch', epoch, metaFields.past, past], ['HDEL', meta, ...Object.values(restoringFields)]]);
}
