import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { limits } from '../shared/limits.js';
import { FailureLog } from '../logging/failure-log.js';
import pLimit from 'p-limit';
import { DeliveryQueue, type QueueContext } from './delivery-queue.js';
import { countSwitchedOff, dueQueues, type QueueKey } from './queue.js';
import { deleteArchivedEndpoints, deleteExpired } from './retention.js';

export interface DelivererOptions extends Pick<QueueContext, 'targetOf'> {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Aborts the attempts that are running; called when the time to stop is over. */
  readonly abort: () => Promise<void>;
  /** How far the clock of deliveries is ahead of Postgres' clock; only tests set it. */
  readonly aheadMs?: () => number;
}

/** The deliveries that wait, over all tenants. */
export interface Backlog {
  /** Endpoints that are switched off. */
  readonly switchedOff: number;
  /** How long the oldest due delivery has been due; 0 when none is due. */
  readonly overdueMs: { readonly webhooks: number; readonly messages: number };
}

/**
 * Delivers the outbox to the endpoints and by the channels, at least once and in order for each subject (docs/rules/webhooks.md). Several workers may
 * run concurrently: each attempts only the deliveries that it has claimed in Postgres.
 */
export class Deliverer {
  private readonly options: DelivererOptions;
  private readonly context: QueueContext;
  private readonly pollFailures: FailureLog;
  private readonly sweepFailures: FailureLog;
  private readonly queues = new Map<string, DeliveryQueue>();
  private readonly stopped = new AbortController();
  private loop: Promise<void> | undefined;
  private polling: Promise<void> | undefined;
  private sweeping: Promise<void> | undefined;
  private wasWoken = false;
  private nextSweep = 0;

  constructor(options: DelivererOptions) {
    this.options = options;
    const { pool, log, targetOf, aheadMs = () => 0 } = options;
    this.pollFailures = new FailureLog(log, {
      failed: 'delivery poll failed, will retry',
      recovered: 'delivery poll recovered',
      level: 'warn',
    });
    this.sweepFailures = new FailureLog(log, {
      failed: 'delivery retention failed, will retry',
      recovered: 'delivery retention recovered',
      level: 'warn',
    });
    this.context = { pool, log, targetOf, aheadMs, limit: pLimit(limits.deliveryBatches) };
  }

  start(): void {
    this.loop ??= this.pollUntilStopped();
  }

  /** Called after entries were committed to the outbox. */
  wake(): void {
    this.wasWoken = true;
    this.polling ??= this.pollDue();
  }

  /** Deliveries of inactive endpoints are not overdue: they wait until the endpoint is active. */
  async backlog(): Promise<Backlog> {
    const { pool } = this.options;
    const [switchedOff, due] = await Promise.all([countSwitchedOff(pool), dueQueues(pool, this.context.aheadMs())]);
    const overdueMs = { webhooks: 0, messages: 0 };
    for (const queue of due) {
      const of = queue.no < 0 ? 'messages' : 'webhooks';
      if (overdueMs[of] === 0 && (await this.isActive(queue))) overdueMs[of] = queue.overdueMs;
    }
    return { switchedOff, overdueMs };
  }

  /** True for an unknown endpoint, which is in a configuration that this process has not loaded yet. */
  private async isActive(queue: QueueKey): Promise<boolean> {
    const target = await this.context.targetOf(queue);
    return target === undefined || target.state === 'active';
  }

  /** Wakes a queue, which sends or deletes the deliveries. An inactive one keeps them. */
  private async wakeQueue(key: QueueKey): Promise<void> {
    // If the configuration can't be read, the queue logs it, and other queues are not delayed.
    const target = await this.context.targetOf(key).catch(() => undefined);
    if (this.isStopped || target?.state === 'inactive') return;
    this.queue(key).wake();
  }

  /** Claims no more deliveries, waits at most `waitMs` for running attempts, and releases the claims of the rest. */
  async stop(waitMs: number): Promise<void> {
    this.stopped.abort();
    await this.loop;
    await this.polling;
    await this.sweeping;
    const done = new AbortController();
    const giveUp = delay(waitMs, undefined, { signal: done.signal }).then(
      () => this.options.abort(),
      () => undefined,
    );
    await Promise.all([...this.queues.values()].map((queue) => queue.stop(giveUp))).catch((error: unknown) => {
      this.options.log.warn({ err: error }, 'delivery claims not released, will expire');
    });
    done.abort();
    await this.options.abort();
  }

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private async pollUntilStopped(): Promise<void> {
    while (!this.isStopped) {
      this.wake();
      // Concurrently: deleting many rows takes long, and must not delay deliveries.
      if (Date.now() >= this.nextSweep) this.sweeping ??= this.sweep();
      await delay(limits.deliveryPollMs, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private async pollDue(): Promise<void> {
    // `polling` must be set before this can end.
    await Promise.resolve();
    try {
      while (this.wasWoken && !this.isStopped) {
        this.wasWoken = false;
        for (const queue of this.queues.values()) if (!queue.isIdle) queue.wake();
        const due = await dueQueues(this.options.pool, this.context.aheadMs());
        await Promise.all(due.map((queue) => this.wakeQueue(queue)));
        this.pollFailures.succeeded(0);
      }
    } catch (error) {
      this.pollFailures.failed(0, error);
    } finally {
      this.polling = undefined;
      for (const [name, queue] of this.queues) if (queue.isIdle) this.queues.delete(name);
    }
  }

  private queue({ tenant, no }: QueueKey): DeliveryQueue {
    const name = `${tenant}:${no}`;
    let queue = this.queues.get(name);
    if (!queue) {
      queue = new DeliveryQueue({ tenant, no }, this.context);
      this.queues.set(name, queue);
    }
    return queue;
  }

  /** Deletes expired entries, and the deliveries of archived endpoints. */
  private async sweep(): Promise<void> {
    this.nextSweep = Date.now() + limits.deliverySweepMs;
    try {
      await deleteExpired(this.options.pool, this.context.aheadMs(), () => this.isStopped);
      await deleteArchivedEndpoints(this.options.pool, () => this.isStopped);
      this.sweepFailures.succeeded(0);
    } catch (error) {
      // A deadlock with a batch, for instance: repeated at the next poll.
      this.nextSweep = 0;
      this.sweepFailures.failed(0, error);
    } finally {
      this.sweeping = undefined;
    }
  }
}
