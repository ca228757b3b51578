import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { ConfigDocument, Webhook } from '../config/model.js';
import { limits } from '../shared/limits.js';
import { FailureLog } from '../logging/failure-log.js';
import pLimit from 'p-limit';
import { type DeliveryCounts, EndpointQueue, type QueueContext } from './endpoint-queue.js';
import { countSwitchedOff, dueEndpoints, type EndpointKey } from './queue.js';
import { deleteArchivedEndpoints, deleteExpired } from './retention.js';
import type { Transport } from './transport.js';

export interface DelivererOptions {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The newest configuration of a tenant that this process has loaded. */
  readonly configuration: (tenant: number) => Promise<ConfigDocument>;
  readonly transport: Transport;
  /** How far the clock of deliveries is ahead of Postgres' clock; only tests set it. */
  readonly aheadMs?: () => number;
}

/** The deliveries that wait, over all tenants. */
export interface Backlog {
  /** Endpoints that are switched off. */
  readonly switchedOff: number;
  /** How long the oldest due delivery has been due; 0 when none is due. */
  readonly overdueMs: number;
}

/**
 * Delivers the outbox to the endpoints, at least once and in order for each subject and endpoint (docs/rules/webhooks.md). Several workers may run
 * concurrently: each attempts only the deliveries that it has claimed in Postgres.
 */
export class Deliverer {
  readonly counts: DeliveryCounts = { attempts: 0, delivered: 0, failed: 0, switchedOff: 0 };
  private readonly options: DelivererOptions;
  private readonly context: QueueContext;
  private readonly pollFailures: FailureLog;
  private readonly queues = new Map<string, EndpointQueue>();
  private readonly stopped = new AbortController();
  private loop: Promise<void> | undefined;
  private polling: Promise<void> | undefined;
  private sweeping: Promise<void> | undefined;
  private wasWoken = false;
  private nextSweep = 0;

  constructor(options: DelivererOptions) {
    this.options = options;
    const { pool, log, configuration, transport } = options;
    this.pollFailures = new FailureLog(log, {
      failed: 'webhook delivery poll failed, will retry',
      recovered: 'webhook delivery poll recovered',
      level: 'warn',
    });
    const limit = pLimit(limits.webhookBatches);
    this.context = { ...{ pool, log, configuration, transport, limit }, aheadMs: options.aheadMs ?? (() => 0), counts: this.counts };
  }

  start(): void {
    this.loop ??= this.pollUntilStopped();
  }

  /** Called after messages were committed to the outbox. */
  wake(): void {
    this.wasWoken = true;
    this.polling ??= this.pollDue();
  }

  /** Deliveries of inactive endpoints are not overdue: they wait until the endpoint is active. */
  async backlog(): Promise<Backlog> {
    const { pool } = this.options;
    const [switchedOff, due] = await Promise.all([countSwitchedOff(pool), dueEndpoints(pool, this.context.aheadMs())]);
    for (const endpoint of due) if (await this.isActive(endpoint)) return { switchedOff, overdueMs: endpoint.overdueMs };
    return { switchedOff, overdueMs: 0 };
  }

  /** True for an unknown endpoint, which is in a configuration that this process has not loaded yet. */
  private async isActive(endpoint: EndpointKey): Promise<boolean> {
    const webhook = await this.webhookOf(endpoint);
    return webhook === undefined || (webhook.status === 'active' && !webhook.archived);
  }

  /** Wakes an endpoint's queue, which sends or deletes the deliveries. An inactive endpoint keeps them. */
  private async wakeQueue(endpoint: EndpointKey): Promise<void> {
    // If the configuration can't be read, the queue logs it, and other endpoints are not delayed.
    const webhook = await this.webhookOf(endpoint).catch(() => undefined);
    if (this.isStopped || (webhook?.status === 'inactive' && !webhook.archived)) return;
    this.queue(endpoint).wake();
  }

  private async webhookOf({ tenant, no }: EndpointKey): Promise<Webhook | undefined> {
    const { webhooks } = await this.options.configuration(tenant);
    return webhooks.find((each) => each.no === no);
  }

  /** Claims no more deliveries, waits at most `waitMs` for running attempts, and releases the claims of the rest. */
  async stop(waitMs: number): Promise<void> {
    this.stopped.abort();
    await this.loop;
    await this.polling;
    await this.sweeping;
    const done = new AbortController();
    const giveUp = delay(waitMs, undefined, { signal: done.signal }).then(
      () => this.options.transport.stop(),
      () => undefined,
    );
    await Promise.all([...this.queues.values()].map((queue) => queue.stop(giveUp))).catch((error: unknown) => {
      this.options.log.warn({ err: error }, 'claims of webhook deliveries not released, will expire');
    });
    done.abort();
    await this.options.transport.stop();
  }

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private async pollUntilStopped(): Promise<void> {
    while (!this.isStopped) {
      this.wake();
      // Concurrently: deleting many rows takes long, and must not delay deliveries.
      if (Date.now() >= this.nextSweep) this.sweeping ??= this.sweep();
      await delay(limits.webhookPollMs, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private async pollDue(): Promise<void> {
    // `polling` must be set before this can end.
    await Promise.resolve();
    try {
      while (this.wasWoken && !this.isStopped) {
        this.wasWoken = false;
        for (const queue of this.queues.values()) if (!queue.isIdle) queue.wake();
        const due = await dueEndpoints(this.options.pool, this.context.aheadMs());
        await Promise.all(due.map((endpoint) => this.wakeQueue(endpoint)));
        this.pollFailures.succeeded(0);
      }
    } catch (error) {
      this.pollFailures.failed(0, error);
    } finally {
      this.polling = undefined;
      for (const [name, queue] of this.queues) if (queue.isIdle) this.queues.delete(name);
    }
  }

  private queue({ tenant, no }: EndpointKey): EndpointQueue {
    const name = `${tenant}:${no}`;
    let queue = this.queues.get(name);
    if (!queue) {
      queue = new EndpointQueue({ tenant, no }, this.context);
      this.queues.set(name, queue);
    }
    return queue;
  }

  /** Deletes expired messages, and the deliveries of archived endpoints. */
  private async sweep(): Promise<void> {
    this.nextSweep = Date.now() + limits.webhookSweepMs;
    try {
      await deleteExpired(this.options.pool, this.context.aheadMs(), () => this.isStopped);
      await deleteArchivedEndpoints(this.options.pool, () => this.isStopped);
    } catch (error) {
      this.options.log.warn({ err: error }, 'webhook retention failed, will retry');
    } finally {
      this.sweeping = undefined;
    }
  }
}
