import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { ConfigDocument, Webhook } from '../config/model.js';
import { limits } from '../shared/limits.js';
import { FailureLog } from '../logging/failure-log.js';
import pLimit from 'p-limit';
import { type DeliveryCounts, EndpointQueue, type QueueContext } from './endpoint-queue.js';
import { countSwitchedOff, dueEndpoints, type EndpointKey } from './queue.js';
import { dropOfArchived, dropOld } from './retention.js';
import type { Transport } from './transport.js';

export interface DelivererOptions {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The newest configuration of a tenant that this process knows. */
  readonly configuration: (tenant: number) => Promise<ConfigDocument>;
  readonly transport: Transport;
  /** How far the clock of deliveries is ahead of Postgres': 0, except in tests, which move it. */
  readonly aheadMs?: () => number;
}

/** What waits, of all tenants together. */
export interface Backlog {
  /** Endpoints that are switched off. */
  readonly switchedOff: number;
  /** For how long the delivery that is due for the longest time has been waiting; 0 when nothing is due. */
  readonly overdueMs: number;
}

/**
 * Sends what is in the outbox to the endpoints, at least once each and in order for each subject and endpoint (docs/webhooks.md). Several
 * workers may do this side by side: what one of them tries it has claimed in Postgres.
 */
export class Deliverer {
  /** What it has done, for whoever watches it. */
  readonly counts: DeliveryCounts = { tried: 0, delivered: 0, failed: 0, switchedOff: 0 };
  private readonly options: DelivererOptions;
  private readonly context: QueueContext;
  private readonly looks: FailureLog;
  private readonly queues = new Map<string, EndpointQueue>();
  private readonly stopped = new AbortController();
  private polling: Promise<void> | undefined;
  private looking: Promise<void> | undefined;
  private sweeping: Promise<void> | undefined;
  private again = false;
  private nextSweep = 0;

  constructor(options: DelivererOptions) {
    this.options = options;
    const { pool, log, configuration, transport } = options;
    const words = {
      failed: 'webhook deliveries could not be looked for, and will be again',
      over: 'webhook deliveries are looked for again',
    };
    this.looks = new FailureLog(log, { ...words, level: 'warn' });
    const limit = pLimit(limits.webhookBatches);
    this.context = { ...{ pool, log, configuration, transport, limit }, aheadMs: options.aheadMs ?? (() => 0), counts: this.counts };
  }

  start(): void {
    this.polling ??= this.poll();
  }

  /** Messages have been added to the outbox, and committed. */
  wake(): void {
    this.again = true;
    this.looking ??= this.look();
  }

  /** What waits to be sent now. What an endpoint that is inactive keeps is not late, however old it is: nobody is to send it. */
  async backlog(): Promise<Backlog> {
    const { pool } = this.options;
    const [switchedOff, due] = await Promise.all([countSwitchedOff(pool), dueEndpoints(pool, this.context.aheadMs())]);
    for (const endpoint of due) if (await this.isSentTo(endpoint)) return { switchedOff, overdueMs: endpoint.overdueMs };
    return { switchedOff, overdueMs: 0 };
  }

  /** One that is unknown is in a configuration that this process has not heard of yet. */
  private async isSentTo(endpoint: EndpointKey): Promise<boolean> {
    const webhook = await this.webhookOf(endpoint);
    return webhook === undefined || (webhook.status === 'active' && !webhook.archived);
  }

  /** What is due to an endpoint is the business of its queue: to send it, or to drop it. One that is inactive keeps it, and is left alone. */
  private async wakeQueue(endpoint: EndpointKey): Promise<void> {
    // A configuration that can't be read is told of by the queue, and keeps nobody else waiting.
    const webhook = await this.webhookOf(endpoint).catch(() => undefined);
    if (this.isStopped || (webhook?.status === 'inactive' && !webhook.archived)) return;
    this.queue(endpoint).wake();
  }

  private async webhookOf({ tenant, no }: EndpointKey): Promise<Webhook | undefined> {
    const { webhooks } = await this.options.configuration(tenant);
    return webhooks.find((each) => each.no === no);
  }

  /** Takes nothing new, waits at most `waitMs` for what is under way, and gives the rest back. */
  async stop(waitMs: number): Promise<void> {
    this.stopped.abort();
    await this.polling;
    await this.looking;
    await this.sweeping;
    const cut = new AbortController();
    const giveUp = delay(waitMs, undefined, { signal: cut.signal }).then(
      () => this.options.transport.stop(),
      () => undefined,
    );
    await Promise.all([...this.queues.values()].map((queue) => queue.stop(giveUp))).catch((error: unknown) => {
      this.options.log.warn({ err: error }, 'webhook deliveries could not be given back, and will be tried again in a while');
    });
    cut.abort();
    await this.options.transport.stop();
  }

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private async poll(): Promise<void> {
    while (!this.isStopped) {
      this.wake();
      // Beside it: removing much takes long, and what is due does not wait for that.
      if (Date.now() >= this.nextSweep) this.sweeping ??= this.sweep();
      await delay(limits.webhookPollMs, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private async look(): Promise<void> {
    // So that it is known to be looking before it may end.
    await Promise.resolve();
    try {
      while (this.again && !this.isStopped) {
        this.again = false;
        for (const queue of this.queues.values()) if (!queue.isIdle) queue.wake();
        const due = await dueEndpoints(this.options.pool, this.context.aheadMs());
        await Promise.all(due.map((endpoint) => this.wakeQueue(endpoint)));
        this.looks.succeeded(0);
      }
    } catch (error) {
      this.looks.failed(0, error);
    } finally {
      this.looking = undefined;
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

  /** Removes what is too old, and what is left of endpoints that are no more. */
  private async sweep(): Promise<void> {
    this.nextSweep = Date.now() + limits.webhookSweepMs;
    try {
      await dropOld(this.options.pool, this.context.aheadMs(), () => this.isStopped);
      await dropOfArchived(this.options.pool, () => this.isStopped);
    } catch (error) {
      this.options.log.warn({ err: error }, 'old webhook deliveries could not be removed, and will be later');
    } finally {
      this.sweeping = undefined;
    }
  }
}
