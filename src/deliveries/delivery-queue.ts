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
  type EndpointRules,
  type QueueKey,
  type QueueSecrets,
  processBatch,
  releaseClaims,
} from './queue.js';
import { deleteQueue } from './retention.js';
import { type Moves, StateMachine } from '../shared/state-machine.js';

/** What a queue delivers to: a webhook endpoint, or a channel of notifications. */
export interface Target {
  /** An inactive one keeps its deliveries. Those of a deleted one are deleted. */
  readonly state: 'active' | 'inactive' | 'deleted';
  /** How many deliveries one worker attempts concurrently. */
  readonly concurrency: number;
  /** For how long finished attempts are collected before a batch saves them, while most slots are busy; 0 saves each at once. */
  readonly collectMs: number;
  /** Only of a webhook endpoint, which signs with a secret and is switched off when it fails. `onSwitchedOff` gets the time since which it has failed. */
  readonly endpoint?: EndpointRules & { onSwitchedOff(failingSince: Date): void };
  /** Attempts a delivery. Undefined if `stop` aborted it. */
  attempt(delivery: ClaimedDelivery, secrets: QueueSecrets): Promise<AttemptResult | undefined>;
  /** Called before each attempt, and with what a committed batch ended. */
  onAttempt(): void;
  onEnded(ended: readonly EndedDelivery[], abandoned: number): void;
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
 * The modes of a queue. Attempts run in all of them but the last.
 *
 * - waiting: no batch runs. `wake` starts one.
 * - processing: a batch saves attempts and claims deliveries.
 * - processingAgain: the same, and another batch follows, because more became due or finished in the meantime.
 * - draining: `stop` waits for the attempts. No batch runs; each attempt that finishes starts one.
 * - saving: `stop` waits for a batch that saves attempts and claims nothing.
 * - savingAgain: the same, and another batch follows.
 * - stopped: the claims of unfinished attempts are released, and what they come to is discarded.
 */
type Mode = 'waiting' | 'processing' | 'processingAgain' | 'draining' | 'saving' | 'savingAgain' | 'stopped';

const moves: Moves<Mode> = {
  waiting: ['processing', 'draining'],
  processing: ['processingAgain', 'waiting', 'saving'],
  processingAgain: ['processing', 'waiting', 'savingAgain'],
  draining: ['saving', 'stopped'],
  saving: ['savingAgain', 'draining'],
  savingAgain: ['saving', 'draining'],
  stopped: [],
};

const stoppingModes: ReadonlySet<Mode> = new Set(['draining', 'saving', 'savingAgain', 'stopped']);
const batchModes: ReadonlySet<Mode> = new Set(['processing', 'processingAgain', 'saving', 'savingAgain']);

/**
 * The deliveries of one queue that this worker attempts, at most `concurrency` of its target at a time. Batches run one after another, and each saves
 * all attempts that finished since the last one; so a receiver that never responds occupies only its own slots.
 */
export class DeliveryQueue {
  private readonly key: QueueKey;
  private readonly context: QueueContext;
  private readonly inFlight = new Map<string, { readonly delivery: ClaimedDelivery; readonly done: Promise<void> }>();
  private finished: Attempt[] = [];
  private readonly state = new StateMachine(moves, 'waiting');
  /** The batches that run in a row; settled in modes without a batch. */
  private batches = Promise.resolve();
  /** Starts a batch when the time to collect attempts is over. */
  private collecting: NodeJS.Timeout | undefined;

  constructor(key: QueueKey, context: QueueContext) {
    this.key = key;
    this.context = context;
  }

  /** Whether no batch or attempt is running. */
  get isIdle(): boolean {
    return !this.isIn(batchModes) && this.inFlight.size === 0 && this.finished.length === 0;
  }

  /** Called when a delivery is, or may be, due. */
  wake(): void {
    switch (this.state.mode) {
      case 'waiting':
        this.state.setMode('processing');
        this.batches = this.runBatches();
        return;
      case 'processing':
        this.state.setMode('processingAgain');
        return;
      case 'draining':
        if (this.finished.length === 0) return;
        this.state.setMode('saving');
        this.batches = this.runBatches();
        return;
      case 'saving':
        this.state.setMode('savingAgain');
        return;
      case 'processingAgain':
      case 'savingAgain':
      case 'stopped':
    }
  }

  /** Claims no more deliveries, waits for running attempts until `giveUp`, and releases the claims of the rest. */
  async stop(giveUp: Promise<unknown>): Promise<void> {
    this.state.require('waiting', 'processing', 'processingAgain');
    this.state.setMode(this.state.mode === 'waiting' ? 'draining' : this.state.mode === 'processing' ? 'saving' : 'savingAgain');
    clearTimeout(this.collecting);
    this.wake();
    // A running batch may still claim deliveries.
    await this.batches;
    await Promise.race([Promise.all([...this.inFlight.values()].map(({ done }) => done)), giveUp]);
    while (this.isIn(batchModes)) await this.batches;
    this.state.setMode('stopped');
    await releaseClaims(
      this.context.pool,
      [...this.inFlight.values()].map(({ delivery }) => delivery),
    );
  }

  private isIn(modes: ReadonlySet<Mode>): boolean {
    return modes.has(this.state.mode);
  }

  /** Runs a batch, and others while there is more to do. */
  private async runBatches(): Promise<void> {
    this.state.require('processing', 'saving');
    try {
      do await this.context.limit(() => this.runBatch());
      while (this.beginAgain());
    } catch (error) {
      // Finished attempts stay in memory for the next batch, which the worker's next poll starts.
      this.context.log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error, ...this.key }, 'delivery batch failed, will retry');
    } finally {
      this.state.setMode(this.isIn(stoppingModes) ? 'draining' : 'waiting');
    }
  }

  /** Whether another batch follows. */
  private beginAgain(): boolean {
    if (this.state.mode === 'processingAgain') this.state.setMode('processing');
    else if (this.state.mode === 'savingAgain' && this.finished.length > 0) this.state.setMode('saving');
    else return false;
    return true;
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
    const isActive = target?.state === 'active' && !this.isIn(stoppingModes);
    const maxClaims = isActive ? Math.max(0, target.concurrency - this.inFlight.size) : 0;
    if (!target || (!isActive && finished.length === 0)) return;
    this.finished = [];
    let batch: Batch;
    try {
      batch = await processBatch(pool, this.key, { attempts: finished, maxClaims, aheadMs: aheadMs(), endpoint: target.endpoint });
    } catch (error) {
      this.finished = [...finished, ...this.finished];
      throw error;
    }
    target.onEnded(batch.ended, batch.abandoned);
    if (batch.switchedOff !== null) target.endpoint?.onSwitchedOff(batch.switchedOff);
    if (batch.hasMore) this.wake();
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
    if (this.isIn(stoppingModes) || collectMs === 0 || this.inFlight.size <= concurrency / 2) {
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
