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
  /** Increases with every holder; a commit under an older fence is rejected. */
  readonly fence: string;
  readonly epoch: string;
  /** How long it lasts without renewal. */
  readonly lastsMs: number;
}

/** The fence of the stream has moved: another worker or a restore has the lease, or a comparison has fenced it (`loadOffset`). */
export class LeaseLost extends Error {
  constructor() {
    super('the ledger stream was fenced');
    this.name = 'LeaseLost';
  }
}

export function splitId(id: StreamId): [ms: string, seq: string] {
  const [ms = '0', seq = '0'] = id.split('-');
  return [ms, seq];
}

/** The offset up to which Postgres has committed a tenant's ledger, and its epoch. */
export interface CommittedOffset {
  readonly epoch: string;
  readonly lastId: StreamId;
  /** Whether a restore of Redis is running. */
  readonly isRestoring: boolean;
  /** From where the tenant's test clock continues, in milliseconds since 1970; null while it has never been set. */
  readonly testClockMs: string | null;
}

const isRestoring = `(coalesce(holder, '') like 'restore:%' and lease_until >= clock_timestamp())`;
const testClockMs = '(select greatest(test_clock_ms, newest_at) from account where test_clock_ms is not null)';
const committed = `epoch, last_ms || '-' || last_seq as "lastId", ${isRestoring} as "isRestoring", ${testClockMs} as "testClockMs"`;

/**
 * The committed offset of a tenant's ledger; inserts a row when there is none. `isFinal` fences the worker: entries that it has read and not
 * committed will be read again, so a promoted server can be compared with the returned offset. A running restore is not fenced: then the offset is
 * not final, and `isRestoring` is true.
 */
export async function loadOffset(pool: pg.Pool, tenant: number, isFinal = false): Promise<CommittedOffset> {
  await pool.query('insert into stream_offsets (tenant, epoch) values ($1, $2) on conflict (tenant) do nothing', [tenant, randomUUID()]);
  if (isFinal) {
    // Waits for a running commit, which locks the row.
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

/** Whether a restore of the tenant has ended an epoch. */
export async function isPastEpoch(pool: pg.Pool, tenant: number, epoch: string): Promise<boolean> {
  const { rowCount } = await pool.query('select 1 from past_epochs where tenant = $1 and epoch::text = $2', [tenant, epoch]);
  return rowCount === 1;
}

/** Acquires the lease of a tenant's stream if it is free or expired; undefined while another worker holds it. */
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
 * Acquires the lease of a tenant's stream for a restore, even from a worker that holds it: the batch of that worker is then not committed.
 * Throws LeaseLost while another restore is running.
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
 * Moves the offset within the transaction of `client`; with equal ids it only renews the lease. Throws LeaseLost when the lease, the epoch or the
 * offset has changed: the transaction then commits nothing. `newestAt` is the newest time of the entries in between, in milliseconds since 1970.
 */
export async function advanceOffset(
  client: pg.ClientBase | pg.Pool,
  lease: Lease,
  { from, to, newestAt = 0 }: { readonly from: StreamId; readonly to: StreamId; readonly newestAt?: number },
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

/** Who acquired the lease of a tenant's stream last: a worker, or a restore (`restore:…`); null when none has. */
export async function leaseHolder(pool: pg.Pool, tenant: number): Promise<string | null> {
  const { rows } = await pool.query<{ holder: string | null }>('select holder from stream_offsets where tenant = $1', [tenant]);
  return rows[0]?.holder ?? null;
}

/** Releases a worker's leases, so that the next worker need not wait for them to expire. */
export async function releaseLeases(pool: pg.Pool, tenants: readonly number[], holder: string): Promise<void> {
  if (tenants.length === 0) return;
  await pool.query(`update stream_offsets set lease_until = '-infinity' where tenant = any($1::integer[]) and holder = $2`, [
    numberArray(tenants),
    holder,
  ]);
}

/** The committed offsets of those tenants that have a ledger. */
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
 * Runs `work` in a transaction that is ordered with the commits of a tenant's ledger: it locks the offset's row, which each batch of the
 * write-behind updates.
 */
export function betweenBatches<T>(pool: pg.Pool, tenant: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query('select 1 from stream_offsets where tenant = $1 for update', [tenant]);
    return work(client);
  });
}

/** Saves the time that a tenant's test clock has reached, in milliseconds since 1970. */
export async function saveClock(pool: pg.Pool, tenant: number, atMs: number): Promise<void> {
  await pool.query('update stream_offsets set newest_at = greatest(newest_at, $2) where tenant = $1', [tenant, atMs]);
}

/** The tenants that are being restored: a running restore holds the lease of the stream. */
export async function restoringTenants(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ tenant: number }>(
    `select tenant from stream_offsets where lease_until > clock_timestamp() and holder like 'restore:%' order by tenant`,
  );
  return rows.map(({ tenant }) => tenant);
}
