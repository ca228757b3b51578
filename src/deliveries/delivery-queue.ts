import type { Logger } from 'pino';
import type pg from 'pg';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { LimitFunction } from 'p-limit';
import {
  type Attempt,
  type AttemptResult,
  type Batch,
  type ClaimedDelivery,
  type EndedDelivery,
  type QueueKey,
  type QueueSecrets,
  processBatch,
  releaseClaims,
} from './queue.js';
import { deleteQueue } from './retention.js';

/** What a queue delivers to: a webhook endpoint, or a channel of notifications. */
export interface Target {
  /** An inactive one keeps its deliveries. Those of a deleted one are deleted. */
  readonly state: 'active' | 'inactive' | 'deleted';
  /** How many deliveries one worker attempts concurrently. */
  readonly concurrency: number;
  /** For how long finished attempts are collected before a batch saves them, while most slots are busy; 0 saves each at once. */
  readonly collectMs: number;
  /** After how long without a success the queue is switched off; null for never. */
  readonly switchOffMs: number | null;
  /** Creates the secret of a new queue; null for one without. */
  newSecret(): string | null;
  /** Attempts a delivery. Undefined if `stop` aborted it. */
  attempt(delivery: ClaimedDelivery, secrets: QueueSecrets): Promise<AttemptResult | undefined>;
  /** Called before each attempt, and with what a committed batch ended. */
  onAttempt(): void;
  onEnded(ended: readonly EndedDelivery[], abandoned: number): void;
  /** Called once when the queue was switched off, with the time since which it has failed. */
  onSwitchedOff(failingSince: Date): void;
}

/** Shared by the queues of a worker. */
export interface QueueContext {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly limit: LimitFunction;
  /** Undefined for the queue of an endpoint in a configuration that this process has not loaded yet. */
  readonly targetOf: (queue: QueueKey) => Promise<Target | undefined>;
  readonly aheadMs: () => number;
}

/**
 * The deliveries of one queue that this worker attempts, at most `concurrency` of its target at a time. Batches run one after another, and each saves
 * all attempts that finished since the last one; so a receiver that never responds occupies only its own slots.
 */
export class DeliveryQueue {
  private readonly key: QueueKey;
  private readonly context: QueueContext;
  private readonly inFlight = new Map<string, { readonly delivery: ClaimedDelivery; readonly done: Promise<void> }>();
  private finished: Attempt[] = [];
  private processing: Promise<void> | undefined;
  private collecting: NodeJS.Timeout | undefined;
  private wasWoken = false;
  private stopping = false;

  constructor(key: QueueKey, context: QueueContext) {
    this.key = key;
    this.context = context;
  }

  /** Whether no batch or attempt is running. */
  get isIdle(): boolean {
    return this.processing === undefined && this.inFlight.size === 0 && this.finished.length === 0;
  }

  /** Called when a delivery is, or may be, due. */
  wake(): void {
    this.wasWoken = true;
    this.processing ??= this.processUntilDone();
  }

  /** Claims no more deliveries, waits for running attempts until `giveUp`, and releases the claims of the rest. */
  async stop(giveUp: Promise<unknown>): Promise<void> {
    this.stopping = true;
    clearTimeout(this.collecting);
    if (this.finished.length > 0) this.wake();
    // A running batch may still claim deliveries.
    await this.processing;
    await Promise.race([Promise.all([...this.inFlight.values()].map(({ done }) => done)), giveUp]);
    while (this.processing !== undefined) await this.processing;
    await releaseClaims(
      this.context.pool,
      [...this.inFlight.values()].map(({ delivery }) => delivery),
    );
  }

  private async processUntilDone(): Promise<void> {
    // `processing` must be set before this can end.
    await Promise.resolve();
    try {
      while (this.wasWoken && (this.finished.length > 0 || !this.stopping)) {
        this.wasWoken = false;
        await this.context.limit(() => this.runBatch());
      }
    } catch (error) {
      // Finished attempts stay in memory for the next batch, which the worker's next poll starts.
      this.context.log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error, ...this.key }, 'delivery batch failed, will retry');
    } finally {
      this.processing = undefined;
    }
  }

  private async runBatch(): Promise<void> {
    const { pool, aheadMs } = this.context;
    const target = await this.context.targetOf(this.key);
    if (target?.state === 'deleted') {
      this.finished = [];
      await deleteQueue(pool, this.key);
      return;
    }
    const { finished } = this;
    const isActive = target?.state === 'active' && !this.stopping;
    const maxClaims = isActive ? Math.max(0, target.concurrency - this.inFlight.size) : 0;
    if (!target || (!isActive && finished.length === 0)) return;
    this.finished = [];
    let batch: Batch;
    try {
      const { switchOffMs } = target;
      const newSecret = (): string | null => target.newSecret();
      batch = await processBatch(pool, this.key, { attempts: finished, maxClaims, aheadMs: aheadMs(), newSecret, switchOffMs });
    } catch (error) {
      this.finished = [...finished, ...this.finished];
      throw error;
    }
    target.onEnded(batch.ended, batch.abandoned);
    if (batch.switchedOff !== null) target.onSwitchedOff(batch.switchedOff);
    if (batch.hasMore) this.wasWoken = true;
    for (const delivery of batch.claimed) this.start(delivery, target, batch.secrets);
  }

  private start(delivery: ClaimedDelivery, target: Target, secrets: QueueSecrets): void {
    target.onAttempt();
    const done = this.attempt(delivery, target, secrets).catch((error: unknown) => {
      this.inFlight.delete(delivery.id);
      // The claim expires, and the delivery is attempted again.
      this.context.log[isStoreTrouble(error) ? 'debug' : 'error']({ err: error, ...this.key }, 'delivery attempt failed, will retry');
    });
    this.inFlight.set(delivery.id, { delivery, done });
  }

  private async attempt(delivery: ClaimedDelivery, target: Target, secrets: QueueSecrets): Promise<void> {
    const result = await target.attempt(delivery, secrets);
    // Aborted by `stop`: the delivery stays claimed, and the claim is released.
    if (!result) return;
    this.inFlight.delete(delivery.id);
    this.finished.push({ delivery, at: new Date(Date.now() + this.context.aheadMs() - result.record.durationMs), result });
    this.collect(target);
  }

  /** Starts a batch now, or once half of the slots are free or the time to collect is over: a batch of many costs Postgres little more than of one. */
  private collect({ collectMs, concurrency }: Target): void {
    if (this.stopping || collectMs === 0 || this.inFlight.size <= concurrency / 2) {
      clearTimeout(this.collecting);
      this.collecting = undefined;
      this.wake();
      return;
    }
    this.collecting ??= setTimeout(() => {
      this.collecting = undefined;
      this.wake();
    }, collectMs);
  }
}
