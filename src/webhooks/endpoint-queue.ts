import type { Logger } from 'pino';
import type pg from 'pg';
import type { ConfigDocument, Webhook } from '../config/model.js';
import { limits } from '../shared/limits.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { LimitFunction } from 'p-limit';
import { type Claimed, type EndpointKey, releaseClaims, processBatch, type Tried, type Batch } from './queue.js';
import { dropEndpoint } from './retention.js';
import { type Secrets, signatureHeaders } from './transport.js';
import type { Transport } from './transport.js';

/** What the queues of a worker share. */
export interface QueueContext {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly transport: Transport;
  readonly limit: LimitFunction;
  /** The newest configuration of a tenant that this process knows. */
  readonly configuration: (tenant: number) => Promise<ConfigDocument>;
  readonly aheadMs: () => number;
  readonly counts: DeliveryCounts;
}

/** What a worker has done since it started. */
export interface DeliveryCounts {
  /** Requests that were made, retries included. */
  tried: number;
  delivered: number;
  /** Given up after the last retry, or because the endpoint was switched off. */
  failed: number;
  /** Endpoints that were switched off. */
  switchedOff: number;
}

/**
 * The deliveries of one endpoint that this worker tries: at most limits.webhookConcurrency at a time. Turns of the queue in Postgres follow one
 * another, and each writes down all that has ended since the one before; so a receiver that never answers takes up its own places and
 * nothing else.
 */
export class EndpointQueue {
  private readonly key: EndpointKey;
  private readonly context: QueueContext;
  private readonly trying = new Map<string, { readonly delivery: Claimed; readonly done: Promise<void> }>();
  private tried: Tried[] = [];
  private turning: Promise<void> | undefined;
  private again = false;
  private stopping = false;

  constructor(key: EndpointKey, context: QueueContext) {
    this.key = key;
    this.context = context;
  }

  /** Whether nothing is under way here. */
  get isIdle(): boolean {
    return this.turning === undefined && this.trying.size === 0 && this.tried.length === 0;
  }

  /** Something is due, or may be. */
  wake(): void {
    this.again = true;
    this.turning ??= this.processUntilDone();
  }

  /** Takes nothing new, waits for what is under way until `giveUp`, and gives back what has not ended by then. */
  async stop(giveUp: Promise<unknown>): Promise<void> {
    this.stopping = true;
    // A turn that is under way may still claim something.
    await this.turning;
    await Promise.race([Promise.all([...this.trying.values()].map(({ done }) => done)), giveUp]);
    while (this.turning !== undefined) await this.turning;
    await releaseClaims(
      this.context.pool,
      [...this.trying.values()].map(({ delivery }) => delivery),
    );
  }

  private async processUntilDone(): Promise<void> {
    // So that it is known to be turning before it may end.
    await Promise.resolve();
    try {
      while (this.tried.length > 0 || (this.again && !this.stopping)) {
        this.again = false;
        await this.context.limit(() => this.turn());
      }
    } catch (error) {
      // What has been tried stays in memory for the next turn, which the worker's next look brings about.
      this.context.log[isStoreTrouble(error) ? 'debug' : 'warn'](
        { err: error, ...this.key },
        'webhook deliveries could not be looked up or written down, and will be again',
      );
    } finally {
      this.turning = undefined;
    }
  }

  private async turn(): Promise<void> {
    const { tenant, no } = this.key;
    const { webhooks } = await this.context.configuration(tenant);
    const webhook = webhooks.find((each) => each.no === no);
    if (webhook?.archived === true) {
      this.tried = [];
      await dropEndpoint(this.context.pool, tenant, no);
      return;
    }
    // One that is inactive keeps what waits. One that is unknown is in a configuration that this process has not heard of yet.
    const { tried } = this;
    const isOpen = webhook?.status === 'active' && !this.stopping;
    const claims = isOpen ? Math.max(0, limits.webhookConcurrency - this.trying.size) : 0;
    if (!isOpen && tried.length === 0) return;
    this.tried = [];
    let turn: Batch;
    try {
      turn = await processBatch(this.context.pool, this.key, { tried, claims, aheadMs: this.context.aheadMs() });
    } catch (error) {
      this.tried = [...tried, ...this.tried];
      throw error;
    }
    this.report(turn, webhook);
    if (turn.isMore) this.again = true;
    if (webhook) for (const delivery of turn.claimed) this.start(delivery, webhook, turn.secrets);
  }

  private report({ delivered, failed, switchedOff }: Batch, webhook: Webhook | undefined): void {
    const { counts, log } = this.context;
    counts.delivered += delivered;
    counts.failed += failed;
    if (switchedOff === null) return;
    counts.switchedOff += 1;
    log.error(
      { tenant: this.key.tenant, webhook: webhook?.id, failingSince: switchedOff },
      'a webhook endpoint has failed for days and is switched off: mend it, then set its status to active',
    );
  }

  private start(delivery: Claimed, { url }: Webhook, secrets: Secrets): void {
    this.context.counts.tried += 1;
    const done = this.attempt(delivery, url, secrets).catch((error: unknown) => {
      this.trying.delete(delivery.id);
      this.context.log.error({ err: error, ...this.key }, 'a webhook could not be tried');
    });
    this.trying.set(delivery.id, { delivery, done });
  }

  private async attempt(delivery: Claimed, url: string, secrets: Secrets): Promise<void> {
    const { transport, aheadMs } = this.context;
    const headers = signatureHeaders(delivery.id, new Date(), delivery.body, secrets);
    const outcome = await transport.post(url, headers, delivery.body);
    // Broken off by us: it stays claimed, and is given back.
    if (transport.isStopped && !outcome.isTaken) return;
    this.trying.delete(delivery.id);
    this.tried.push({ delivery, at: new Date(Date.now() + aheadMs() - outcome.durationMs), outcome });
    this.wake();
  }
}
