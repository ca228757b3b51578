import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { limits } from '../shared/limits.js';
import pLimit from 'p-limit';
import type { RedisConnection } from '../redis/connection.js';
import { readLag, WriteBehindProgress, type LedgerLag } from './lag.js';
import { LeaseLost, loadOffsets, releaseLeases, type StreamId } from './offsets.js';
import { Partitions } from './partitions.js';
import { FailureLog } from '../logging/failure-log.js';
import { isBelow, newestId } from '../redis/partition.js';
import { RedisReplaced, TenantWriter, type Publisher } from './tenant-writer.js';

/** What is known of a ledger: whether it has entries that are not committed, or Redis lacks what Postgres has or is of another life. */
export type LedgerState = 'written' | 'awaited' | 'replaced';

/** Does a batch, or finds that there is none, and something before and after it: traces it. */
export type AroundBatch = (tenant: number, write: () => Promise<number | 'held'>) => Promise<number | 'held'>;

export interface WriteBehindOptions {
  /** The tenants that there are now. */
  readonly tenants: () => readonly number[];
  /** The start of a tenant's keys. */
  readonly partition: (tenant: number) => string;
  /**
   * Looks whether a ledger has entries, of which Postgres has committed up to an id. When it has none, `wake` is to be called as soon as there is one (contract.ts,
   * `awaitEntries`).
   */
  readonly awaitEntries: (tenant: number, epoch: string, lastId: StreamId) => Promise<LedgerState>;
  /** A connection of its own: large replies must not hold up events. */
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Who tells receivers of what the ledgers say; nobody without one. */
  readonly publisher?: Publisher;
  /** Called when Redis turns out not to be what Postgres goes with; when it returns, the ledger is looked at again. */
  readonly onReplaced: (tenant: number) => Promise<void>;
  /** Undefined: batches are not traced. */
  readonly aroundBatch?: AroundBatch | undefined;
}

/** A tenant that is being worked on. */
interface Work {
  /** It has been heard of again meanwhile. */
  again: boolean;
  /** In a row, without a batch in between. */
  failures: number;
  /** Up to where a stop still commits: what was added after it began is the next worker's. */
  upTo?: StreamId;
  done: Promise<void>;
}

/**
 * Takes the ledgers of all tenants into Postgres: a batch of entries, the state that they lead to and the offset commit in one transaction,
 * and only then is the stream trimmed. Killed anywhere, it goes on from the last committed offset: nothing is skipped and nothing is done
 * twice. One worker is active for each stream; the others wait for its lease to run out.
 *
 * Tenants that have entries take turns, batch by batch. A ledger that has come to its end costs nothing until Redis tells of the next entry;
 * in case that it could not, all are looked at from time to time, some each second.
 */
export class WriteBehind {
  /** What it has done, for whoever watches it. */
  readonly progress = new WriteBehindProgress();
  private readonly options: WriteBehindOptions;
  private readonly holder = randomUUID();
  private readonly months: Partitions;
  private readonly scans: FailureLog;
  private readonly batches: FailureLog;
  private readonly limit = pLimit(limits.writeBehindTenants);
  private readonly writers = new Map<number, TenantWriter>();
  private readonly working = new Map<number, Work>();
  private readonly wakeUp = new AbortController();
  private stopBy = Infinity;
  /** What it is told of is no longer begun with. */
  private isClosed = false;
  private scanning: Promise<void> | undefined;
  private nextScan = 0;

  constructor(options: WriteBehindOptions) {
    this.options = options;
    const { log } = options;
    this.scans = new FailureLog(log, {
      failed: 'the write-behind could not look at all ledgers and will try again',
      over: 'the write-behind looks at all ledgers again',
      level: 'warn',
    });
    this.batches = new FailureLog(log, {
      failed: 'the write-behind failed and will try again',
      over: 'the write-behind goes on',
      level: 'error',
    });
    this.months = new Partitions(options.pool);
  }

  start(): void {
    this.scanning ??= this.scanAlways();
  }

  /** A tenant's ledger has, or may have, new entries. */
  wake(tenant: number): void {
    const work = this.working.get(tenant);
    if (work) work.again = true;
    if (work || this.isClosed) return;
    const started: Work = { again: false, failures: 0, done: Promise.resolve() };
    this.working.set(tenant, started);
    started.done = this.work(tenant, started);
  }

  /**
   * How far Postgres is behind those ledgers that this worker is at work on, or waits for another worker to write down; the others have been
   * read to their end. At most limits.maxLagTenants of them.
   */
  lag(): Promise<LedgerLag[]> {
    const { redis, partition } = this.options;
    const tenants = [...this.working.keys()].slice(0, limits.maxLagTenants);
    return Promise.all(tenants.map((tenant) => readLag(redis, partition(tenant), tenant)));
  }

  /** The tenants whose ledgers have, or may have, entries that are not committed. */
  get busy(): readonly number[] {
    return [...this.working.keys()];
  }

  /** Looks at the ledgers of all tenants, because messages may have been lost. */
  async scanAll(): Promise<void> {
    await this.scan(this.options.tenants());
  }

  /** Commits what is in the streams now, for at most `drainMs`, and hands the leases over. What others add is left to the next worker. */
  async stop(drainMs: number): Promise<void> {
    this.stopBy = Date.now() + drainMs;
    this.wakeUp.abort();
    await this.scanning;
    await this.scanAll().catch(() => undefined);
    this.isClosed = true;
    while (this.working.size > 0) await Promise.all([...this.working.values()].map(({ done }) => done));
    const held = [...this.writers].filter(([, { position }]) => position).map(([tenant]) => tenant);
    await releaseLeases(this.options.pool, held, this.holder).catch(() => undefined);
    this.writers.clear();
  }

  private get stopping(): boolean {
    return this.stopBy < Infinity;
  }

  private async scanAlways(): Promise<void> {
    let everybody = true;
    while (!this.stopping) {
      const tenants = this.options.tenants();
      try {
        // At the start all of them, so that what an earlier worker has left is begun with at once.
        await this.scan(everybody ? tenants : this.some(tenants));
        everybody = false;
        this.scans.succeeded(0);
      } catch (error) {
        this.scans.failed(0, error);
      }
      await this.pause(limits.writeBehindScanMs);
    }
  }

  /** The next tenants in turn. */
  private some(tenants: readonly number[]): readonly number[] {
    const first = this.nextScan < tenants.length ? this.nextScan : 0;
    this.nextScan = first + limits.writeBehindScanTenants;
    return tenants.slice(first, this.nextScan);
  }

  /** Throws, when it has looked at all of them, if one could not be looked at: a master of a cluster that is away has some tenants, and not the others. */
  private async scan(tenants: readonly number[]): Promise<void> {
    const problems: unknown[] = [];
    for (let first = 0; first < tenants.length; first += limits.writeBehindScanTenants) {
      const idle = tenants.slice(first, first + limits.writeBehindScanTenants).filter((tenant) => !this.working.has(tenant));
      const offsets = await loadOffsets(this.options.pool, idle);
      const looks = offsets.map(async ({ tenant, epoch, lastId }) => {
        if ((await this.options.awaitEntries(tenant, epoch, lastId)) !== 'awaited') this.wake(tenant);
      });
      for (const look of await Promise.allSettled(looks)) if (look.status === 'rejected') problems.push(look.reason);
    }
    if (problems.length > 0) throw problems[0];
  }

  private writer(tenant: number): TenantWriter {
    let writer = this.writers.get(tenant);
    if (!writer) {
      const { redis, pool, partition, publisher } = this.options;
      writer = new TenantWriter({
        ...{ tenant, partition: partition(tenant), holder: this.holder, redis, pool, months: this.months, publisher },
        onDeadLetter: (refusal) => {
          this.progress.deadLetter(tenant);
          this.options.log.error(
            refusal,
            'Postgres refused an entry of the ledger, which is kept as a dead letter: see docs/operations/dead-letters.md',
          );
        },
      });
      this.writers.set(tenant, writer);
    }
    return writer;
  }

  /** Works on a tenant's ledger until it has come to its end. */
  private async work(tenant: number, work: Work): Promise<void> {
    const writer = this.writer(tenant);
    for (let isOver = false; !isOver;) {
      work.again = false;
      try {
        const isAtEnd = await this.drain(tenant, writer, work);
        isOver = (isAtEnd && (this.stopping || !work.again)) || Date.now() > this.stopBy;
      } catch (error) {
        work.failures += 1;
        await this.handle(tenant, writer, error, work.failures);
        // A Redis that was replaced holds nothing that could be drained.
        isOver = this.stopping && (error instanceof RedisReplaced || Date.now() > this.stopBy);
      }
    }
    this.working.delete(tenant);
  }

  /** Writes batches until there are no entries left. Returns whether the next one will be told of; false to look again. */
  private async drain(tenant: number, writer: TenantWriter, work: Work): Promise<boolean> {
    for (let empty = 0; empty < 2;) {
      const committed = await this.limit(() => this.step(tenant, writer));
      work.failures = 0;
      this.batches.succeeded(tenant, { tenant });
      if (Date.now() > this.stopBy) return false;
      if (this.stopping && (committed === 'held' || committed === 0 || (await this.isCommittedToStop(tenant, writer, work)))) return true;
      if (committed === 'held') {
        await this.pause(limits.leaseMs / 3);
        return this.isCommitted(tenant);
      }
      empty = committed === 0 ? empty + 1 : 0;
      if (empty === 1) await this.pause(limits.writeBehindIdleMs);
    }
    const { position } = writer;
    if (!position) return false;
    const isAtEnd = await this.awaits(tenant, position.lease.epoch, position.lastId);
    if (!isAtEnd) writer.trimAgain();
    return isAtEnd;
  }

  private async step(tenant: number, writer: TenantWriter): Promise<number | 'held'> {
    const { aroundBatch } = this.options;
    const startedAt = performance.now();
    const committed = await (aroundBatch ? aroundBatch(tenant, () => writer.step()) : writer.step());
    if (committed !== 'held' && committed > 0) this.progress.batch(tenant, committed, performance.now() - startedAt);
    return committed;
  }

  /** Whether everything has been committed that was there when the stop began. */
  private async isCommittedToStop(tenant: number, { position }: TenantWriter, work: Work): Promise<boolean> {
    work.upTo ??= await newestId(this.options.redis, this.options.partition(tenant));
    return position !== undefined && !isBelow(position.lastId, work.upTo);
  }

  /** Whether the worker that holds the lease has committed everything. */
  private async isCommitted(tenant: number): Promise<boolean> {
    const [offset] = await loadOffsets(this.options.pool, [tenant]);
    return offset === undefined || this.awaits(tenant, offset.epoch, offset.lastId);
  }

  private async awaits(tenant: number, epoch: string, lastId: StreamId): Promise<boolean> {
    const state = await this.options.awaitEntries(tenant, epoch, lastId);
    if (state === 'replaced') throw new RedisReplaced();
    return state === 'awaited';
  }

  private async handle(tenant: number, writer: TenantWriter, error: unknown, failures: number): Promise<void> {
    writer.forget();
    if (error instanceof LeaseLost) {
      this.options.log.warn({ tenant }, error.message);
      return;
    }
    if (error instanceof RedisReplaced) {
      this.options.log.warn({ tenant, failures }, error.message);
      await this.options.onReplaced(tenant);
    } else {
      this.progress.failure(tenant);
      this.batches.failed(tenant, error, { tenant });
    }
    await this.pause(Math.min(limits.writeBehindRetryMs * 2 ** (failures - 1), limits.writeBehindRetryMaxMs));
  }

  /** Waits; not at all for a stop that begins meanwhile, and for a short time while stopping. */
  private async pause(ms: number): Promise<void> {
    if (this.stopping) await delay(Math.min(ms, limits.writeBehindRetryMs));
    else await delay(ms, undefined, { signal: this.wakeUp.signal }).catch(() => undefined);
  }
}
