import type { RedisConnection } from '../redis/connection.js';
import { keyNames } from '../redis/contract.js';

/** What a worker has done for a tenant's ledger since its start. */
export interface LedgerProgress {
  readonly batches: number;
  readonly entries: number;
  readonly lastBatchEntries: number;
  readonly lastBatchMs: number;
  /** Milliseconds since 1970; undefined before the first batch. */
  readonly lastBatchAt: number | undefined;
  /** Batches that failed and are tried again. */
  readonly failures: number;
  /** Entries that Postgres refused (dead-letters.ts). */
  readonly deadLetters: number;
}

/** How far Postgres is behind a tenant's ledger. */
export interface LedgerLag {
  readonly tenant: number;
  /** Entries in the stream. They are trimmed as soon as they are committed, so all of them are still to come. */
  readonly lagEntries: number;
  /** How long the oldest of them has been there; 0 when there is none. */
  readonly lagSeconds: number;
}

const nothing: LedgerProgress = {
  ...{ batches: 0, entries: 0, lastBatchEntries: 0, lastBatchMs: 0, lastBatchAt: undefined },
  ...{ failures: 0, deadLetters: 0 },
};

/** Notes what the write-behind does, for whoever watches it: a few numbers for each tenant that it has worked for, and no history. */
export class WriteBehindProgress {
  /** Hears of each batch, for those who count them by size and time. */
  onBatch: ((tenant: number, entries: number, ms: number) => void) | undefined;
  private readonly tenants = new Map<number, LedgerProgress>();

  /** By tenant. */
  get all(): ReadonlyMap<number, LedgerProgress> {
    return this.tenants;
  }

  of(tenant: number): LedgerProgress {
    return this.tenants.get(tenant) ?? nothing;
  }

  /** A batch has been committed. */
  batch(tenant: number, entries: number, ms: number): void {
    const { batches, entries: before, failures, deadLetters } = this.of(tenant);
    this.tenants.set(tenant, {
      ...{ batches: batches + 1, entries: before + entries, lastBatchEntries: entries, lastBatchMs: ms, lastBatchAt: Date.now() },
      ...{ failures, deadLetters },
    });
    this.onBatch?.(tenant, entries, ms);
  }

  /** A batch has failed. */
  failure(tenant: number): void {
    const before = this.of(tenant);
    this.tenants.set(tenant, { ...before, failures: before.failures + 1 });
  }

  /** An entry has become a dead letter. */
  deadLetter(tenant: number): void {
    const before = this.of(tenant);
    this.tenants.set(tenant, { ...before, deadLetters: before.deadLetters + 1 });
  }
}

/** Asks Redis how much of a tenant's ledger is still to be committed: two commands that cost the same however much that is. */
export async function readLag(redis: RedisConnection, partition: string, tenant: number): Promise<LedgerLag> {
  const ledger = partition + keyNames.ledger;
  const [lagEntries, oldest] = await Promise.all([redis.xlen(ledger), redis.xrange(ledger, '-', '+', 'COUNT', 1)]);
  const [id] = oldest[0] ?? [];
  const lagMs = id === undefined ? 0 : Date.now() - Number.parseInt(id, 10);
  return { tenant, lagEntries, lagSeconds: Math.max(lagMs, 0) / 1_000 };
}
