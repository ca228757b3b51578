import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { loadConfig, mustLoadVersion } from '../config/store/store.js';
import type { Comparison } from '../engine/sync.js';
import type { ConfigDocument } from '../config/schema/model.js';
import type { ActiveRedis } from '../ledger/active-redis.js';
import { objectionMessage, type ClaimPurpose, type Objection } from '../ledger/active-redis-rules.js';
import { acquireRestoreLease, advanceOffset, releaseLeases, splitId, type Lease, type StreamId } from '../ledger/offsets.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { readSegments, storedSegments } from '../ledger/segments.js';
import { compilePlan } from '../plan/compile.js';
import { levelsDefinition, levelsOf } from '../plan/points.js';
import { inTransaction, readAllUsers } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, levelsDefinitionField, metaFields, restoringFields } from '../redis/contract.js';
import { isBelow, lastLedgerId, partitionKeys, trimmedUpTo } from '../redis/partition.js';
import { Prefetch } from './prefetch.js';
import { commandsOf, RestoreLock, type Command } from './lock.js';
import { findUncommitted, saveUncommitted } from './uncommitted.js';
import { type OwnedDevice, readDevices, readSharedDevices } from './stored-devices.js';
import { countStoredUsers } from './stored-users.js';
import { prefetchUsers } from './stored-users.js';
import { haveManyKeys, writeKeys, writeUsers } from './write-users.js';

export interface RestoreOptions {
  readonly tenant: number;
  /** The key prefix of the tenant. */
  readonly partition: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** Permits the restore, for a purpose. */
  readonly active: ActiveRedis;
  readonly purpose: ClaimPurpose;
  /** Whether an operator gives up what Postgres lacks (`laurel restore --discard`). */
  readonly isGivenUp?: boolean;
  /** Called with the number of restored users and of all users. */
  readonly onProgress?: (restored: number, users: number) => void;
  /** Aborts the restore between two steps; the restored part remains. */
  readonly signal?: AbortSignal;
}

export interface Restored {
  readonly users: number;
  /** Whether an interrupted restore was resumed. */
  readonly resumed: boolean;
  /** Uncommitted ledger entries of an ended epoch that were saved as dead letters. */
  readonly saved: number;
}

/** The purpose of a restore after a comparison of Redis with Postgres. */
export const claimPurposeOf = (found: Comparison['found']): ClaimPurpose => ({
  epoch: found === 'past' || found === 'ahead' ? 'past' : 'none',
});

/** Another Redis is active, or was until a moment ago. */
export class RestoreFenced extends OperatorError {
  constructor(objection: Objection) {
    super(objectionMessage(objection));
    this.name = 'RestoreFenced';
  }
}

interface Start {
  readonly epoch: string;
  /** The last user that has been sent to Redis. */
  cursor: string;
  users: number;
  readonly resumed: boolean;
  readonly saved: number;
}

/**
 * Fills a tenant's partition of Redis from Postgres (ARCHITECTURE.md, invariant 6). Until the restore ends, `meta` has no epoch, so `open` reports that
 * the partition is behind and it serves no calls. The users are written in the order of their ids, in chunks, each in one Redis step together with
 * the progress, so that an interrupted restore resumes. At its end a new epoch begins: a copy of the old one that turns up later is recognized.
 *
 * Returns undefined, and changes nothing, when another restore has ended since the caller's comparison: Redis lacks nothing again, and its ledger may
 * have events that Postgres lacks.
 */
export async function restoreTenant(options: RestoreOptions): Promise<Restored | undefined> {
  const { active, purpose } = options;
  const objection = await active.claim(purpose);
  if (objection) throw new RestoreFenced(objection);
  return active.whileRestoring(() => restoreActive(options));
}

async function restoreActive(options: RestoreOptions): Promise<Restored | undefined> {
  const { tenant, pool } = options;
  // From here on no worker commits a batch that it has read: what is read below is final.
  const { lease, lastId } = await acquireRestoreLease(pool, tenant, `restore:${randomUUID()}`);
  let restored: Restored | undefined;
  try {
    restored = await restoreUnder(options, lease, lastId);
    return restored;
  } finally {
    // The next restore need not wait for the lease to expire. (A completed restore has released it.)
    if (!restored) await releaseLeases(pool, [tenant], lease.holder).catch(() => undefined);
  }
}

async function restoreUnder(options: RestoreOptions, lease: Lease, lastId: StreamId): Promise<Restored | undefined> {
  const { tenant, pool, redis, partition } = options;
  const { document } = await loadConfig(pool, tenant);
  const lock = new RestoreLock({ redis, pool, partition, lease, lastId, signal: options.signal });
  const start = await begin(options, lock);
  if (!start) return undefined;
  await restoreUsers(options, lock, start);
  await restoreDevices(options, lock);
  await restoreCounters(options, lock);
  await restoreLevelCounts(options, lock, document);
  await restoreSegments(options, lock);
  await finish(options, lock, start.epoch);
  return { users: start.users, resumed: start.resumed, saved: start.saved };
}

async function begin(options: RestoreOptions, lock: RestoreLock): Promise<Start | undefined> {
  const { redis, partition, pool, tenant } = options;
  const { lastId } = lock;
  const committedEpoch = lock.lease.epoch;
  const meta = partition + keyNames.meta;
  const { restore, from, cursor, count } = restoringFields;
  const [epoch, startedFrom, last, users, current, previousRestorer, trimmed] = await redis.hmget(
    meta,
    ...[restore, from, cursor, count],
    ...[metaFields.epoch, metaFields.restorer, metaFields.trimmed],
  );
  if (current === committedEpoch && (await hasCommittedLedger(options, lock, trimmed))) {
    await lock.renew();
    return undefined;
  }
  const uncommitted = await findUncommitted(options, lock);
  // A restore interrupted in its last step may have written its epoch to Postgres already. If Postgres has moved on, this is a snapshot of an unfinished restore.
  const isResumable =
    startedFrom === `${committedEpoch} ${lastId}` || (epoch === committedEpoch && startedFrom?.endsWith(` ${lastId}`) === true);
  if (epoch && isResumable && !current) {
    await lock.acquire(previousRestorer ?? '');
    return { epoch, cursor: last ?? '', users: Number(users ?? 0), resumed: true, saved: 0 };
  }
  if (current && current !== committedEpoch) {
    // Postgres was reset to an older state: a copy of the discarded epoch may turn up later. The renewal throws if another restore was faster.
    await lock.renew();
    await pool.query('insert into past_epochs (tenant, epoch) values ($1, $2) on conflict do nothing', [tenant, current]);
  }
  const newEpoch = randomUUID();
  // The epoch is deleted first, so that nothing is served from the remaining keys.
  await lock.acquire(previousRestorer ?? '', uncommitted);
  const saved = uncommitted === '' ? 0 : await saveUncommitted(options, lock, uncommitted);
  await deleteKeys(redis, partition, lock);
  await lock.write([['HSET', meta, restore, newEpoch, from, `${committedEpoch} ${lastId}`]]);
  return { epoch: newEpoch, cursor: '', users: 0, resumed: false, saved };
}

/**
 * Whether the ledger of a partition with the committed epoch continues from the committed offset, by the same rule as `open`
 * (lua/modules/partition.lua). `trimmed` is the field of `meta`.
 */
async function hasCommittedLedger(
  { redis, partition }: RestoreOptions,
  { lease, lastId }: RestoreLock,
  trimmed: string | null | undefined,
): Promise<boolean> {
  const isPostgresOlder = isBelow(lastId, trimmedUpTo(trimmed, lease.epoch));
  return !isPostgresOlder && !isBelow(await lastLedgerId(redis, partition), lastId);
}

/** The number of restored users of a tenant; 0 when no restore is running. */
export async function readRestoredUsers(redis: RedisConnection, partition: string): Promise<number> {
  return Number((await redis.hget(partition + keyNames.meta, restoringFields.count)) ?? 0);
}

/** Whether a restore of a tenant is running or was interrupted. */
export async function hasUnfinishedRestore(redis: RedisConnection, partition: string): Promise<boolean> {
  return (await redis.hexists(partition + keyNames.meta, restoringFields.restore)) === 1;
}

/** Deletes every key of a partition except `meta`. */
async function deleteKeys(redis: RedisConnection, partition: string, lock: RestoreLock): Promise<void> {
  for await (const keys of partitionKeys(redis, partition)) {
    await lock.renew();
    const [first, ...others] = keys.filter((key) => key !== partition + keyNames.meta);
    if (first !== undefined) await lock.write([['UNLINK', first, ...others]]);
  }
}

/**
 * Restores the users, chunk by chunk, and prefetches the next chunks from Postgres. A chunk is sent before the previous one is acknowledged: Redis writes
 * a chunk only behind the user before it (write-users.ts).
 */
async function restoreUsers(options: RestoreOptions, lock: RestoreLock, start: Start): Promise<void> {
  const { tenant, pool, partition, onProgress } = options;
  const total = await lock.renewWhile(countStoredUsers(pool, tenant));
  const writing = new Prefetch(limits.restoreWritesAhead);
  try {
    for await (const users of prefetchUsers({ pool, tenant }, start.cursor)) {
      await lock.renew();
      const before = start.cursor;
      if (haveManyKeys(users)) {
        await writing.drain();
        await writeKeys(lock, partition, users, before);
      }
      start.cursor = users.at(-1)?.id ?? start.cursor;
      start.users += users.length;
      const count = start.users;
      await writing.add(writeUsers(lock, partition, users, { before, count }).then(() => onProgress?.(count, total)));
    }
    await writing.drain();
  } finally {
    await writing.settle();
  }
}

/** Restores the owners of devices, page by page; an interrupted restore writes them again. */
async function restoreDevices(options: RestoreOptions, lock: RestoreLock): Promise<void> {
  const write = (devices: readonly OwnedDevice[]): Promise<void> => {
    const values = devices.flatMap(({ device, user }) => [device, user]);
    return lock.write(commandsOf('HSET', options.partition + keyNames.devices, values));
  };
  const devicesAfter = (user: string): Promise<OwnedDevice[]> => lock.renewWhile(readDevices(options, user));
  for (let page = await devicesAfter(''); page.length > 0; page = await devicesAfter(page.at(-1)?.user ?? '')) await write(page);
  await write(await lock.renewWhile(readSharedDevices(options)));
}

/** Restores the counts over all users, and the sequence that orders ties. */
async function restoreCounters({ pool, tenant, partition }: RestoreOptions, lock: RestoreLock): Promise<void> {
  const [all] = await lock.renewWhile(
    readAllUsers<{ users: string; seq: string }>(
      pool,
      `select (select count(*) from users where tenant = $1) as users,
              (select coalesce(max(seq), 0) from leaderboard_entries where tenant = $1) as seq`,
      [tenant],
    ),
  );
  const completions = await lock.renewWhile(
    readAllUsers<{ achievement: number; users: string }>(
      pool,
      'select achievement, count(*) as users from user_achievements where tenant = $1 group by achievement',
      [tenant],
    ),
  );
  const counts = completions.flatMap(({ achievement, users }) => [String(achievement), users]);
  await lock.write([
    ['HSET', partition + keyNames.meta, metaFields.users, all?.users ?? '0', metaFields.seq, all?.seq ?? '0'],
    ...commandsOf('HSET', partition + keyNames.completions, counts),
  ]);
}

/**
 * Restores the number of users by level. If every user's stored level matches the total, the counts are those of the active levels; if the worker was
 * about to recount users, it does so after the restore (src/jobs/levels.ts).
 */
async function restoreLevelCounts({ pool, tenant, partition }: RestoreOptions, lock: RestoreLock, document: ConfigDocument): Promise<void> {
  const counts: string[] = [];
  for (const system of document.pointsSystems) {
    const levels = levelsOf(system);
    const rows = await lock.renewWhile(
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
  await lock.write(commandsOf('HSET', partition + keyNames.levels, counts));
}

/**
 * Restores the segments of time that users may still live in (lua/modules/segments.lua). Where the end of the newest one is lost, or a configuration was
 * saved while Redis was away, the configuration of that segment is put back as the active one: the activation that follows ends it.
 */
async function restoreSegments({ pool, tenant, partition }: RestoreOptions, lock: RestoreLock): Promise<void> {
  const segments = await lock.renewWhile(readSegments(pool, tenant));
  const stored = storedSegments(segments);
  const newest = segments.at(-1);
  if (!stored || !newest) return;
  const meta = partition + keyNames.meta;
  await lock.write([['HSET', meta, metaFields.segments, stored]]);
  const was = compilePlan(await mustLoadVersion(pool, tenant, newest.next));
  if (was.time === compilePlan(await loadConfig(pool, tenant)).time) return;
  await lock.write([
    ['SET', partition + keyNames.plan + was.hash, was.blob],
    ['HSET', meta, metaFields.version, String(was.version), metaFields.plan, was.hash],
  ]);
}

/** Begins the new epoch: in Postgres first, so that a Redis without it is never considered in sync. */
async function finish({ pool, tenant, partition, active }: RestoreOptions, lock: RestoreLock, epoch: string): Promise<void> {
  const { lease, lastId } = lock;
  const past = await inTransaction(pool, async (client) => {
    await active.lockActive(client);
    await advanceOffset(client, lease, { from: lastId, to: lastId });
    if (lease.epoch !== epoch) {
      await client.query('insert into past_epochs (tenant, epoch, last_ms, last_seq) values ($1, $2, $3, $4) on conflict do nothing', [
        tenant,
        lease.epoch,
        ...splitId(lastId),
      ]);
    }
    await client.query(`update stream_offsets set epoch = $2, fence = fence + 1, lease_until = '-infinity' where tenant = $1`, [
      tenant,
      epoch,
    ]);
    const ended = await client.query<{ epoch: string }>('select epoch from past_epochs where tenant = $1 order by ended desc limit $2', [
      tenant,
      limits.maxPastEpochs,
    ]);
    return ended.rows.map((row) => row.epoch).join(' ');
  });
  const [meta, ledger] = [partition + keyNames.meta, partition + keyNames.ledger];
  const commands: Command[] = [];
  if (lastId !== '0-0') commands.push(['XADD', ledger, lastId, 'e', ''], ['XTRIM', ledger, 'MAXLEN', '0']);
  // Another restore may have acquired the lease by now, and resume here.
  await lock.write([
    ...commands,
    ['HSET', meta, metaFields.epoch, epoch, metaFields.past, past],
    ['HDEL', meta, ...Object.values(restoringFields)],
  ]);
}
