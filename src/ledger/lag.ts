import type { RedisConnection } from '../redis/connection.js';
import { keyNames } from '../redis/contract.js';

/** What a worker has done for a tenant's ledger since its start. */
export interface LedgerProgress {
  readonly batches: number;
  readonly entries: number;
  /** Batches that failed and are retried. */
  readonly failures: number;
  /** Entries that Postgres refused (dead-letters.ts). */
  readonly deadLetters: number;
}

/** How far Postgres is behind a tenant's ledger. */
export interface LedgerLag {
  readonly tenant: number;
  /** Entries in the stream: entries are trimmed as soon as they are committed, so these are all uncommitted. */
  readonly lagEntries: number;
  /** The age of the oldest entry; 0 when there is none. */
  readonly lagSeconds: number;
}

const noProgress: LedgerProgress = { batches: 0, entries: 0, failures: 0, deadLetters: 0 };

/** Counts what the write-behind has done, for each tenant that it has worked for. */
export class WriteBehindProgress {
  /** Called after each batch. */
  onBatch: ((entries: number, ms: number) => void) | undefined;
  private readonly tenants = new Map<number, LedgerProgress>();

  /** By tenant. */
  get all(): ReadonlyMap<number, LedgerProgress> {
    return this.tenants;
  }

  of(tenant: number): LedgerProgress {
    return this.tenants.get(tenant) ?? noProgress;
  }

  batch(tenant: number, entries: number, ms: number): void {
    const before = this.of(tenant);
    this.tenants.set(tenant, { ...before, batches: before.batches + 1, entries: before.entries + entries });
    this.onBatch?.(entries, ms);
  }

  failure(tenant: number): void {
    const before = this.of(tenant);
    this.tenants.set(tenant, { ...before, failures: before.failures + 1 });
  }

  deadLetter(tenant: number): void {
    const before = this.of(tenant);
    this.tenants.set(tenant, { ...before, deadLetters: before.deadLetters + 1 });
  }
}

/** Reads the lag of a tenant's ledger with two Redis commands of constant cost. */
export async function readLag(redis: RedisConnection, partition: string, tenant: number): Promise<LedgerLag> {
  const ledger = partition + keyNames.ledger;
  const [lagEntries, oldest] = await Promise.all([redis.xlen(ledger), redis.xrange(ledger, '-', '+', 'COUNT', 1)]);
  const [id] = oldest[0] ?? [];
  const lagMs = id === undefined ? 0 : Date.now() - Number.parseInt(id, 10);
  return { tenant, lagEntries, lagSeconds: Math.max(lagMs, 0) / 1_000 };
}
