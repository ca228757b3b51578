import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { limits } from '../shared/limits.js';
import { type Moves, StateMachine } from '../shared/state-machine.js';
import pLimit from 'p-limit';
import type { RedisConnection } from '../redis/connection.js';
import { WriteBehindProgress } from './lag.js';
import { LeaseLost, leaseHolder, loadOffsets, releaseLeases, type StreamId } from './offsets.js';
import { MonthlyPartitions } from './partitions.js';
import { FailureLog } from '../logging/failure-log.js';
import { isBelow, newestId } from '../redis/partition.js';
import { RedisReplaced, TenantWriter, type Announce, type Publisher } from './tenant-writer.js';

/** `written`: the ledger has uncommitted entries; `awaited`: it has none; `replaced`: Redis lacks data that Postgres has, or has another epoch. */
export type LedgerState = 'written' | 'awaited' | 'replaced';

/** Wraps the write of a batch, to trace it. */
export type TraceBatch = (tenant: number, write: () => Promise<number | 'held'>) => Promise<number | 'held'>;

export interface WriteBehindOptions {
  /** The current tenants. */
  readonly tenants: () => readonly number[];
  /** The key prefix of a tenant. */
  readonly partition: (tenant: number) => string;
  /**
   * Checks whether a ledger has entries after the committed id. When it has none, `wake` must be called as soon as there is one (contract.ts,
   * `awaitEntries`).
   */
  readonly awaitEntries: (tenant: number, epoch: string, lastId: StreamId) => Promise<LedgerState>;
  /** A dedicated connection: large replies must not delay events. */
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Without one, entries are not published. */
  readonly publisher?: Publisher;
  /** Without it, nothing is announced to live streams. */
  readonly announce?: Announce;
  /** Called when Redis and Postgres are out of sync; afterwards the ledger is checked again. */
  readonly onReplaced: (tenant: number) => Promise<void>;
  /** Without it, batches are not traced. */
  readonly traceBatch?: TraceBatch | undefined;
  /** How long entries are collected after a batch, in milliseconds; absent: limits.writeBehindCollectMs. */
  readonly collectMs?: number;
}

/**
 * The modes of a WriteBehind:
 *
 * - `idle`: it drains the ledgers that it is woken for, and looks for no others.
 * - `scanning`: it also polls all ledgers.
 * - `stopping`: it commits the entries that there are, until its deadline.
 * - `closed`: it ends what it is draining, and is not woken any more.
 */
type WriteBehindMode = 'idle' | 'scanning' | 'stopping' | 'closed';

const writeBehindMoves: Moves<WriteBehindMode> = {
  idle: ['scanning', 'stopping'],
  scanning: ['stopping'],
  stopping: ['closed'],
  closed: [],
};

/** A tenant whose ledger is being drained. */
interface Work {
  /** Whether `wake` was called since the last check. */
  wasWoken: boolean;
  /** Whether `wake` was called since the ledger was last read: its entries are committed without collecting more. */
  isAwaited: boolean;
  /** Ends the wait for more entries. */
  hurry: AbortController;
  /** Consecutive failures. */
  failures: number;
  /** The id up to which a stopping worker commits; later entries are left to the next worker. */
  stopAt?: StreamId;
  done: Promise<void>;
}

/**
 * Writes the ledgers of all tenants to Postgres: one transaction commits a batch of entries, the resulting state and the offset, and only then is the
 * stream trimmed. A killed worker resumes from the last committed offset: no entry is skipped or written twice. One worker is active for each stream;
 * the others wait for its lease to expire.
 *
 * Tenants with entries share the workers batch by batch. A drained ledger costs nothing until Redis announces the next entry; since announcements can
 * be lost, all ledgers are also polled, some each second.
 */
export class WriteBehind {
  readonly progress = new WriteBehindProgress();
  private readonly state = new StateMachine(writeBehindMoves, 'idle');
  private readonly options: WriteBehindOptions;
  private readonly holder = randomUUID();
  private readonly partitions: MonthlyPartitions;
  private readonly scans: FailureLog;
  private readonly batches: FailureLog;
  private readonly limit = pLimit(limits.writeBehindTenants);
  private readonly writers = new Map<number, TenantWriter>();
  private readonly working = new Map<number, Work>();
  private readonly wakeUp = new AbortController();
  /** Infinity until it stops. */
  private stopDeadline = Infinity;
  private scanning: Promise<void> | undefined;
  private stopped: Promise<void> | undefined;
  private nextScan = 0;

  constructor(options: WriteBehindOptions) {
    this.options = options;
    const { log } = options;
    this.scans = new FailureLog(log, {
      failed: 'ledger scan failed, will retry',
      recovered: 'ledger scan recovered',
      level: 'warn',
    });
    this.batches = new FailureLog(log, {
      failed: 'write-behind failed, will retry',
      recovered: 'write-behind recovered',
      level: 'error',
    });
    this.partitions = new MonthlyPartitions(options.pool);
  }

  start(): void {
    this.state.require('idle');
    this.state.setMode('scanning');
    this.scanning = this.scanUntilStopped();
  }

  /** A tenant's ledger has, or may have, entries that are to be committed at once: the first ones after a while, or ones that a reader waits for. */
  wake(tenant: number): void {
    const work = this.working.get(tenant);
    if (work) {
      work.wasWoken = true;
      work.isAwaited = true;
      work.hurry.abort();
    }
    if (work || this.state.mode === 'closed') return;
    const started: Work = {
      wasWoken: false,
      isAwaited: false,
      hurry: new AbortController(),
      failures: 0,
      done: Promise.resolve(),
    };
    this.working.set(tenant, started);
    started.done = this.work(tenant, started);
  }

  /** The tenants whose ledgers have, or may have, uncommitted entries. */
  get busy(): readonly number[] {
    return [...this.working.keys()];
  }

  /** Checks the ledgers of all tenants, because announcements may have been lost. */
  async scanAll(): Promise<void> {
    await this.scan(this.options.tenants());
  }

  /** Commits the current entries for at most `drainMs` and releases the leases. Entries added from now on are left to the next worker. */
  stop(drainMs: number): Promise<void> {
    this.stopped ??= this.drainAndClose(drainMs);
    return this.stopped;
  }

  private async drainAndClose(drainMs: number): Promise<void> {
    this.state.require('idle', 'scanning');
    this.state.setMode('stopping');
    this.stopDeadline = Date.now() + drainMs;
    this.wakeUp.abort();
    for (const { hurry } of this.working.values()) hurry.abort();
    await this.scanning;
    await this.scanAll().catch(() => undefined);
    this.state.setMode('closed');
    while (this.working.size > 0) await Promise.all([...this.working.values()].map(({ done }) => done));
    const held = [...this.writers].filter(([, { position }]) => position).map(([tenant]) => tenant);
    await releaseLeases(this.options.pool, held, this.holder).catch(() => undefined);
    this.writers.clear();
  }

  private get stopping(): boolean {
    return this.state.mode === 'stopping' || this.state.mode === 'closed';
  }

  private async scanUntilStopped(): Promise<void> {
    let isFirst = true;
    while (!this.stopping) {
      const tenants = this.options.tenants();
      try {
        // The first scan covers all tenants, so that entries left by an earlier worker are committed at once.
        await this.scan(isFirst ? tenants : this.nextToScan(tenants));
        isFirst = false;
        this.scans.succeeded(0);
      } catch (error) {
        this.scans.failed(0, error);
      }
      await this.pause(limits.writeBehindScanMs);
    }
  }

  /** The next tenants, round-robin. */
  private nextToScan(tenants: readonly number[]): readonly number[] {
    const first = this.nextScan < tenants.length ? this.nextScan : 0;
    this.nextScan = first + limits.writeBehindScanTenants;
    return tenants.slice(first, this.nextScan);
  }

  /** Checks all of `tenants`, then throws the first error, if any: an unavailable master of a cluster affects only some tenants. */
  private async scan(tenants: readonly number[]): Promise<void> {
    const problems: unknown[] = [];
    for (let first = 0; first < tenants.length; first += limits.writeBehindScanTenants) {
      const idle = tenants.slice(first, first + limits.writeBehindScanTenants).filter((tenant) => !this.working.has(tenant));
      const offsets = await loadOffsets(this.options.pool, idle);
      const checks = offsets.map(async ({ tenant, epoch, lastId }) => {
        if ((await this.options.awaitEntries(tenant, epoch, lastId)) !== 'awaited') this.wake(tenant);
      });
      for (const check of await Promise.allSettled(checks)) if (check.status === 'rejected') problems.push(check.reason);
    }
    if (problems.length > 0) throw problems[0];
  }

  private writer(tenant: number): TenantWriter {
    let writer = this.writers.get(tenant);
    if (!writer) {
      const { redis, pool, partition, publisher, announce } = this.options;
      writer = new TenantWriter({
        tenant,
        partition: partition(tenant),
        holder: this.holder,
        redis,
        pool,
        partitions: this.partitions,
        publisher,
        announce,
        onDeadLetter: (refusal) => {
          this.progress.deadLetter(tenant);
          this.options.log.error(refusal, 'Postgres refused a ledger entry, saved as a dead letter: see docs/operations/dead-letters.md');
        },
      });
      this.writers.set(tenant, writer);
    }
    return writer;
  }

  /** Drains a tenant's ledger, with retries. */
  private async work(tenant: number, work: Work): Promise<void> {
    const writer = this.writer(tenant);
    let isOver = false;
    while (!isOver) {
      work.wasWoken = false;
      try {
        const isAtEnd = await this.drain(tenant, writer, work);
        isOver = (isAtEnd && (this.stopping || !work.wasWoken)) || Date.now() > this.stopDeadline;
      } catch (error) {
        work.failures += 1;
        await this.handle(tenant, writer, error, work.failures);
        // A replaced Redis has nothing to drain.
        isOver = this.stopping && (error instanceof RedisReplaced || Date.now() > this.stopDeadline);
      }
    }
    this.working.delete(tenant);
  }

  /** Writes batches until the ledger has no entries. Returns whether Redis will announce the next one; false to check again. */
  private async drain(tenant: number, writer: TenantWriter, work: Work): Promise<boolean> {
    let isEmpty = false;
    while (!isEmpty) {
      const startedAt = performance.now();
      if (!writer.hasMore) work.isAwaited = false;
      const committed = await this.limit(() => this.step(tenant, writer));
      work.failures = 0;
      this.batches.succeeded(tenant, { tenant });
      if (Date.now() > this.stopDeadline) return false;
      if (this.stopping && (committed === 'held' || committed === 0 || (await this.isCommittedToStop(tenant, writer, work)))) return true;
      if (committed === 'held') {
        await this.pause(limits.leaseMs / 3);
        return this.isCommitted(tenant);
      }
      isEmpty = committed === 0;
      if (!isEmpty && !writer.hasMore) await this.collect(work, startedAt);
    }
    const { position } = writer;
    if (!position) return false;
    const isAtEnd = await this.isDrained(tenant, position.lease.epoch, position.lastId);
    if (!isAtEnd) writer.trimAgain();
    return isAtEnd;
  }

  /**
   * Waits until limits.writeBehindCollectMs after a batch began: under load, a commit then writes the entries of a quarter of a second and not those
   * of a few milliseconds, and each user's state once. Ends early when a reader waits, and when this worker stops.
   */
  private async collect(work: Work, batchStartedAt: number): Promise<void> {
    const ms = batchStartedAt + (this.options.collectMs ?? limits.writeBehindCollectMs) - performance.now();
    if (ms <= 0 || work.isAwaited || this.stopping) return;
    work.hurry = new AbortController();
    await delay(ms, undefined, { signal: work.hurry.signal }).catch(() => undefined);
  }

  private async step(tenant: number, writer: TenantWriter): Promise<number | 'held'> {
    const { traceBatch } = this.options;
    const startedAt = performance.now();
    const committed = await (traceBatch ? traceBatch(tenant, () => writer.step()) : writer.step());
    if (committed !== 'held' && committed > 0) this.progress.batch(tenant, committed, performance.now() - startedAt);
    return committed;
  }

  /** Whether all entries are committed that the ledger had when the stop began. */
  private async isCommittedToStop(tenant: number, { position }: TenantWriter, work: Work): Promise<boolean> {
    work.stopAt ??= await newestId(this.options.redis, this.options.partition(tenant));
    return position !== undefined && !isBelow(position.lastId, work.stopAt);
  }

  /** Whether the worker that holds the lease has committed everything. */
  private async isCommitted(tenant: number): Promise<boolean> {
    const [offset] = await loadOffsets(this.options.pool, [tenant]);
    return offset === undefined || this.isDrained(tenant, offset.epoch, offset.lastId);
  }

  private async isDrained(tenant: number, epoch: string, lastId: StreamId): Promise<boolean> {
    const state = await this.options.awaitEntries(tenant, epoch, lastId);
    if (state === 'replaced') throw new RedisReplaced();
    return state === 'awaited';
  }

  private async handle(tenant: number, writer: TenantWriter, error: unknown, failures: number): Promise<void> {
    writer.reset();
    if (error instanceof LeaseLost) {
      await this.logFence(tenant);
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

  /** Logs why a batch was not committed: the worker that has the lease reads it again. */
  private async logFence(tenant: number): Promise<void> {
    const { log, pool } = this.options;
    // Postgres may be away again, which StoreWatch logs.
    const holder = await leaseHolder(pool, tenant).catch(() => null);
    if (holder === null || holder === this.holder) log.debug({ tenant }, 'ledger stream fenced by a comparison, acquiring the lease again');
    else if (holder.startsWith('restore:')) log.info({ tenant }, 'ledger stream held by a restore');
    else log.warn({ tenant }, 'another worker has taken over the ledger stream');
  }

  /** Waits `ms`: less while stopping, and a stop that begins ends the wait. */
  private async pause(ms: number): Promise<void> {
    if (this.stopping) await delay(Math.min(ms, limits.writeBehindRetryMs));
    else await delay(ms, undefined, { signal: this.wakeUp.signal }).catch(() => undefined);
  }
}
