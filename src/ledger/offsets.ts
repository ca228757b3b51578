import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { numberArray } from '../postgres/arrays.js';
import { inTransaction } from '../postgres/pool.js';

/** The id of a stream entry, `milliseconds-number`. */
export type StreamId = string;

export interface Lease {
  readonly tenant: number;
  readonly holder: string;
  /** Grows with every holder; a commit that names an older one is refused. */
  readonly fence: string;
  readonly epoch: string;
  /** How long it lasts without being renewed. */
  readonly lastsMs: number;
}

/** Somebody else commits this stream now; whoever gets this stops and asks for the lease again. */
export class LeaseLost extends Error {
  constructor() {
    super('another worker has taken over the ledger stream');
    this.name = 'LeaseLost';
  }
}

export function splitId(id: StreamId): [ms: string, seq: string] {
  const [ms = '0', seq = '0'] = id.split('-');
  return [ms, seq];
}

/** What Postgres has committed of a tenant's ledger, and the epoch of the Redis that it came from. */
export interface CommittedOffset {
  readonly epoch: string;
  readonly lastId: StreamId;
  /** Whether a restore of Redis is at work. */
  readonly isRestoring: boolean;
}

const isRestoring = `(coalesce(holder, '') like 'restore:%' and lease_until >= clock_timestamp())`;
const committed = `epoch, last_ms || '-' || last_seq as "lastId", ${isRestoring} as "isRestoring"`;

/**
 * What has been committed of a tenant's ledger; a row is made when there is none. With `isFinal`, what a worker has read of Redis by now and not
 * committed yet is not committed any more (it reads it again): a server that has taken the place of another may then be compared with what is
 * returned. A restore that is at work is left alone: then nothing is final, and `isRestoring` says so.
 */
export async function loadOffset(pool: pg.Pool, tenant: number, isFinal = false): Promise<CommittedOffset> {
  await pool.query('insert into stream_offsets (tenant, epoch) values ($1, $2) on conflict (tenant) do nothing', [tenant, randomUUID()]);
  if (isFinal) {
    // Waits for a commit that is under way, which holds the row.
    const { rows } = await pool.query<CommittedOffset>(
      `update stream_offsets set fence = fence + 1 where tenant = $1 and not ${isRestoring} returning ${committed}`,
      [tenant],
    );
    if (rows[0]) return rows[0];
  }
  const { rows } = await pool.query<CommittedOffset>(`select ${committed} from stream_offsets where tenant = $1`, [tenant]);
  const [row] = rows;
  if (!row) throw new Error(`no offset for tenant ${tenant}`);
  return row;
}

/** Whether an epoch is of a life of Redis that a restore of the tenant has ended. */
export async function isPastEpoch(pool: pg.Pool, tenant: number, epoch: string): Promise<boolean> {
  const { rowCount } = await pool.query('select 1 from past_epochs where tenant = $1 and epoch::text = $2', [tenant, epoch]);
  return rowCount === 1;
}

/** Takes the lease of a tenant's stream if it is free or has run out; undefined while another worker holds it. */
export async function acquireLease(pool: pg.Pool, tenant: number, holder: string): Promise<{ lease: Lease; lastId: StreamId } | undefined> {
  const { rows } = await pool.query<{ fence: string; epoch: string; last_id: StreamId }>(
    `update stream_offsets
        set fence = fence + 1, holder = $2, lease_until = clock_timestamp() + $3 * interval '1 millisecond'
      where tenant = $1 and (holder = $2 or lease_until < clock_timestamp())
      returning fence, epoch, last_ms || '-' || last_seq as last_id`,
    [tenant, holder, limits.leaseMs],
  );
  const row = rows[0];
  return row && { lease: { tenant, holder, fence: row.fence, epoch: row.epoch, lastsMs: limits.leaseMs }, lastId: row.last_id };
}

/**
 * Takes the lease of a tenant's stream for a restore, also from a worker that holds it: what it had in its hands is not committed any more.
 * Throws LeaseLost while another restore is at work.
 */
export async function acquireRestoreLease(pool: pg.Pool, tenant: number, holder: string): Promise<{ lease: Lease; lastId: StreamId }> {
  const { rows } = await pool.query<{ fence: string; epoch: string; last_id: StreamId }>(
    `update stream_offsets
        set fence = fence + 1, holder = $2, lease_until = clock_timestamp() + $3 * interval '1 millisecond'
      where tenant = $1 and (holder is null or holder not like 'restore:%' or lease_until < clock_timestamp())
      returning fence, epoch, last_ms || '-' || last_seq as last_id`,
    [tenant, holder, limits.restoreLeaseMs],
  );
  const row = rows[0];
  if (!row) throw new LeaseLost();
  return { lease: { tenant, holder, fence: row.fence, epoch: row.epoch, lastsMs: limits.restoreLeaseMs }, lastId: row.last_id };
}

/**
 * Moves the offset from one id to the next within the transaction of `client` (the same id only renews the lease). Throws LeaseLost when
 * the lease, the epoch or the offset is no longer what the worker thinks: the transaction then commits nothing. `newestAt` is the newest moment that
 * the entries in between tell of, in milliseconds since 1970.
 */
export async function advanceOffset(
  client: pg.ClientBase | pg.Pool,
  lease: Lease,
  from: StreamId,
  to: StreamId,
  newestAt = 0,
): Promise<void> {
  const { rowCount } = await client.query({
    name: 'advance-offset',
    text: `update stream_offsets
              set last_ms = $6, last_seq = $7, lease_until = clock_timestamp() + $8 * interval '1 millisecond',
                  newest_at = greatest(newest_at, $9)
            where tenant = $1 and fence = $2 and epoch = $3 and last_ms = $4 and last_seq = $5`,
    values: [lease.tenant, lease.fence, lease.epoch, ...splitId(from), ...splitId(to), lease.lastsMs, newestAt],
  });
  if (rowCount !== 1) throw new LeaseLost();
}

/** Gives a worker's leases back, so that the next worker need not wait for them to run out. */
export async function releaseLeases(pool: pg.Pool, tenants: readonly number[], holder: string): Promise<void> {
  if (tenants.length === 0) return;
  await pool.query(`update stream_offsets set lease_until = '-infinity' where tenant = any($1::integer[]) and holder = $2`, [
    numberArray(tenants),
    holder,
  ]);
}

/** What has been committed of the ledgers of those tenants that have one. */
export async function loadOffsets(
  pool: pg.Pool,
  tenants: readonly number[],
): Promise<{ tenant: number; epoch: string; lastId: StreamId }[]> {
  if (tenants.length === 0) return [];
  const { rows } = await pool.query<{ tenant: number; epoch: string; lastId: StreamId }>(
    `select tenant, epoch, last_ms || '-' || last_seq as "lastId" from stream_offsets where tenant = any($1::integer[])`,
    [numberArray(tenants)],
  );
  return rows;
}

/** Whether the write-behind has committed the ledger up to `id`. */
export async function hasCommitted(pool: pg.Pool, tenant: number, id: StreamId): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select 1 from stream_offsets where tenant = $1 and (last_ms, last_seq) >= ($2::bigint, $3::bigint)',
    [tenant, ...splitId(id)],
  );
  return rowCount === 1;
}

/**
 * Runs `work` in one transaction that has its place in the order of a tenant's ledger: it holds the offset's row, which each batch of the
 * write-behind commits, so it comes before or after a batch and before or after others like it.
 */
export function betweenBatches<T>(pool: pg.Pool, tenant: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query('select 1 from stream_offsets where tenant = $1 for update', [tenant]);
    return work(client);
  });
}

/** Notes where the test clock is, in milliseconds since 1970: a restore of Redis goes on from there. */
export async function noteMoment(pool: pg.Pool, tenant: number, atMs: number): Promise<void> {
  await pool.query('update stream_offsets set newest_at = greatest(newest_at, $2) where tenant = $1', [tenant, atMs]);
}

/** The tenants that are being restored: a restore holds the lease of the stream meanwhile. */
export async function runningRestores(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ tenant: number }>(
    `select tenant from stream_offsets where lease_until > clock_timestamp() and holder like 'restore:%' order by tenant`,
  );
  return rows.map(({ tenant }) => tenant);
}
