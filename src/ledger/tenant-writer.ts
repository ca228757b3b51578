import type { Redis } from 'ioredis';
import type pg from 'pg';
import { limits } from '../limits.js';
import { inTransaction } from '../postgres/pool.js';
import { keyNames } from '../redis/contract.js';
import { collectBatch } from './batch.js';
import { unpackEntry, type LedgerEntry } from './entry.js';
import { acquireLease, advanceOffset, LeaseLost, type Lease, type StreamId } from './offsets.js';
import type { Partitions } from './partitions.js';
import { writeBatch } from './write-batch.js';

export interface TenantWriterOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  /** Who holds the leases: the same for all tenants of a worker. */
  readonly holder: string;
  readonly redis: Redis;
  readonly pool: pg.Pool;
  readonly months: Partitions;
}

/** How far a worker is: its lease and the last id that it has committed under it. */
export interface Position {
  readonly lease: Lease;
  readonly lastId: StreamId;
  readonly renewedAt: number;
}

/** Redis no longer is the one whose ledger was being committed. */
export class RedisReplaced extends Error {
  constructor() {
    super('Redis has lost its data or is another one: its epoch is not the one that Postgres knows');
    this.name = 'RedisReplaced';
  }
}

/** Takes the ledger of one tenant into Postgres, a batch at a time. */
export class TenantWriter {
  private readonly options: TenantWriterOptions;
  private readonly ledgerKey: string;
  private readonly metaKey: string;
  private held: Position | undefined;

  constructor(options: TenantWriterOptions) {
    this.options = options;
    this.ledgerKey = options.partition + keyNames.ledger;
    this.metaKey = options.partition + keyNames.meta;
  }

  /** The lease, if this worker had it last; undefined when it has to be asked for. */
  get position(): Position | undefined {
    return this.held;
  }

  /** After a failure nothing is sure any more. */
  forget(): void {
    this.held = undefined;
  }

  /**
   * One batch. Returns how many entries it committed, `held` while another worker holds the lease. Throws LeaseLost and RedisReplaced, after
   * which the caller forgets the position.
   */
  async step(): Promise<number | 'held'> {
    const position = await this.acquire();
    if (!position) return 'held';
    const entries = await this.read(position);
    if (entries.length === 0) return 0;
    const lastId = await this.commit(position, entries);
    await this.options.redis.xtrim(this.ledgerKey, 'MINID', lastId);
    return entries.length;
  }

  private async acquire(): Promise<Position | undefined> {
    if (this.held && Date.now() - this.held.renewedAt < limits.leaseMs / 3) return this.held;
    const { pool, tenant, holder } = this.options;
    const now = Date.now();
    if (this.held && (await this.renew(this.held))) {
      this.held = { ...this.held, renewedAt: now };
      return this.held;
    }
    const acquired = await acquireLease(pool, tenant, holder);
    this.held = acquired && { ...acquired, renewedAt: now };
    return this.held;
  }

  /** A lease that has not been used for a while may have gone to another worker meanwhile. */
  private async renew({ lease, lastId }: Position): Promise<boolean> {
    try {
      await advanceOffset(this.options.pool, lease, lastId, lastId);
      return true;
    } catch (error) {
      if (error instanceof LeaseLost) return false;
      throw error;
    }
  }

  private async read(position: Position): Promise<{ id: StreamId; entry: LedgerEntry }[]> {
    const { redis } = this.options;
    const [epoch, entries] = await Promise.all([
      redis.hget(this.metaKey, 'epoch'),
      redis.xrangeBuffer(this.ledgerKey, `(${position.lastId}`, '+', 'COUNT', limits.writeBehindBatchEntries),
    ]);
    if (epoch !== position.lease.epoch) throw new RedisReplaced();
    return entries.map(([id, fields]) => ({ id: id.toString(), entry: unpackEntry(fields) }));
  }

  private async commit({ lease, lastId }: Position, read: readonly { id: StreamId; entry: LedgerEntry }[]): Promise<StreamId> {
    const { pool, tenant, months } = this.options;
    const newest = read.at(-1)?.id ?? lastId;
    const batch = collectBatch(read);
    await months.ensure([...batch.events.map(({ at }) => at), ...batch.awards.map(({ award }) => award.at)]);
    const now = Date.now();
    await inTransaction(pool, async (client) => {
      await advanceOffset(client, lease, lastId, newest);
      await writeBatch(client, tenant, batch);
    });
    this.held = { lease, lastId: newest, renewedAt: now };
    return newest;
  }
}
