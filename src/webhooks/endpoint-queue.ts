import type { Logger } from 'pino';
import type pg from 'pg';
import type { ConfigDocument, Webhook } from '../config/model.js';
import { limits } from '../shared/limits.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { LimitFunction } from 'p-limit';
import { type ClaimedDelivery, type EndpointKey, releaseClaims, processBatch, type Attempt, type Batch } from './queue.js';
import { deleteEndpoint } from './retention.js';
import { type Secrets, signatureHeaders } from './transport.js';
import type { Transport } from './transport.js';

/** Shared by the queues of a worker. */
export interface QueueContext {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly transport: Transport;
  readonly limit: LimitFunction;
  /** The newest configuration of a tenant that this process has loaded. */
  readonly configuration: (tenant: number) => Promise<ConfigDocument>;
  readonly aheadMs: () => number;
  readonly counts: DeliveryCounts;
}

/** Counts since the worker started. */
export interface DeliveryCounts {
  /** Requests, retries included. */
  attempts: number;
  delivered: number;
  /** Given up after the last retry, or because the endpoint was switched off. */
  failed: number;
  /** Endpoints switched off. */
  switchedOff: number;
}

/**
 * The deliveries of one endpoint that this worker attempts, at most limits.webhookConcurrency at a time. Batches run one after another, and each
 * saves all attempts that finished since the last one; so a receiver that never responds occupies only its own slots.
 */
export class EndpointQueue {
  private readonly key: EndpointKey;
  private readonly context: QueueContext;
  private readonly inFlight = new Map<string, { readonly delivery: ClaimedDelivery; readonly done: Promise<void> }>();
  private finished: Attempt[] = [];
  private processing: Promise<void> | undefined;
  private wasWoken = false;
  private stopping = false;

  constructor(key: EndpointKey, context: QueueContext) {
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
      while (this.finished.length > 0 || (this.wasWoken && !this.stopping)) {
        this.wasWoken = false;
        await this.context.limit(() => this.runBatch());
      }
    } catch (error) {
      // Finished attempts stay in memory for the next batch, which the worker's next poll starts.
      this.context.log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error, ...this.key }, 'webhook delivery batch failed, will retry');
    } finally {
      this.processing = undefined;
    }
  }

  private async runBatch(): Promise<void> {
    const { tenant, no } = this.key;
    const { webhooks } = await this.context.configuration(tenant);
    const webhook = webhooks.find((each) => each.no === no);
    if (webhook?.archived === true) {
      this.finished = [];
      await deleteEndpoint(this.context.pool, tenant, no);
      return;
    }
    // An inactive endpoint keeps its deliveries. An unknown one is in a configuration that this process has not loaded yet.
    const { finished } = this;
    const isActive = webhook?.status === 'active' && !this.stopping;
    const maxClaims = isActive ? Math.max(0, limits.webhookConcurrency - this.inFlight.size) : 0;
    if (!isActive && finished.length === 0) return;
    this.finished = [];
    let batch: Batch;
    try {
      batch = await processBatch(this.context.pool, this.key, { attempts: finished, maxClaims, aheadMs: this.context.aheadMs() });
    } catch (error) {
      this.finished = [...finished, ...this.finished];
      throw error;
    }
    this.report(batch, webhook);
    if (batch.hasMore) this.wasWoken = true;
    if (webhook) for (const delivery of batch.claimed) this.start(delivery, webhook, batch.secrets);
  }

  private report({ delivered, failed, switchedOff }: Batch, webhook: Webhook | undefined): void {
    const { counts, log } = this.context;
    counts.delivered += delivered;
    counts.failed += failed;
    if (switchedOff === null) return;
    counts.switchedOff += 1;
    log.error(
      { tenant: this.key.tenant, webhook: webhook?.id, failingSince: switchedOff },
      'webhook endpoint switched off after failing for days: fix it, then set its status to active',
    );
  }

  private start(delivery: ClaimedDelivery, { url }: Webhook, secrets: Secrets): void {
    this.context.counts.attempts += 1;
    const done = this.attempt(delivery, url, secrets).catch((error: unknown) => {
      this.inFlight.delete(delivery.id);
      this.context.log.error({ err: error, ...this.key }, 'webhook delivery attempt failed');
    });
    this.inFlight.set(delivery.id, { delivery, done });
  }

  private async attempt(delivery: ClaimedDelivery, url: string, secrets: Secrets): Promise<void> {
    const { transport, aheadMs } = this.context;
    const headers = signatureHeaders(delivery.id, new Date(), delivery.body, secrets);
    const outcome = await transport.post(url, headers, delivery.body);
    // Aborted by `stop`: the delivery stays claimed, and the claim is released.
    if (transport.isStopped && !outcome.isAccepted) return;
    this.inFlight.delete(delivery.id);
    this.finished.push({ delivery, at: new Date(Date.now() + aheadMs() - outcome.durationMs), outcome });
    this.wake();
  }
}
