import type { Logger } from 'pino';
import type { ConfigDocument, Webhook } from '../config/schema/model.js';
import type { Target } from '../deliveries/delivery-queue.js';
import type { AttemptResult, ClaimedDelivery, EndedDelivery, QueueKey, QueueSecrets } from '../deliveries/queue.js';
import { limits } from '../shared/limits.js';
import { newSecret, signatureHeaders, type Transport } from './transport.js';

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

/** The delay after a failed attempt, by the number of attempts before it; undefined after the last. */
const retryAfterMs = (attempts: number): number | undefined =>
  attempts < limits.webhookRetries ? limits.webhookFirstRetryMs * 2 ** attempts : undefined;

interface WebhookTargetOptions {
  readonly tenant: number;
  readonly transport: Transport;
  readonly counts: DeliveryCounts;
  readonly log: Logger;
}

/** A webhook endpoint as the target of its queue. */
class WebhookTarget implements Target {
  readonly concurrency = limits.webhookConcurrency;
  readonly collectMs = 0;
  readonly endpoint: NonNullable<Target['endpoint']> = {
    switchOffMs: limits.webhookSwitchOffMs,
    newSecret,
    onSwitchedOff: (failingSince) => {
      this.onSwitchedOff(failingSince);
    },
  };
  private readonly webhook: Webhook;
  private readonly options: WebhookTargetOptions;

  constructor(webhook: Webhook, options: WebhookTargetOptions) {
    this.webhook = webhook;
    this.options = options;
  }

  get state(): Target['state'] {
    return this.webhook.archived ? 'deleted' : this.webhook.status;
  }

  async attempt({ id, body, attempts }: ClaimedDelivery, { secret, previous }: QueueSecrets): Promise<AttemptResult | undefined> {
    const { transport } = this.options;
    if (secret === null) throw new Error(`the queue of webhook ${this.webhook.id} has no secret`);
    const { isAccepted, ...record } = await transport.post(
      this.webhook.url,
      signatureHeaders(id, new Date(), body, { secret, previous }),
      body,
    );
    if (transport.isStopped && !isAccepted) return undefined;
    if (isAccepted) return { status: 'delivered', record };
    const retryMs = retryAfterMs(attempts);
    return retryMs === undefined ? { status: 'failed', record } : { status: 'pending', retryMs, record };
  }

  onAttempt(): void {
    this.options.counts.attempts += 1;
  }

  onEnded(ended: readonly EndedDelivery[], abandoned: number): void {
    const { counts } = this.options;
    const delivered = ended.filter(({ status }) => status === 'delivered').length;
    counts.delivered += delivered;
    counts.failed += ended.length - delivered + abandoned;
  }

  private onSwitchedOff(failingSince: Date): void {
    const { counts, log, tenant } = this.options;
    counts.switchedOff += 1;
    log.error(
      { tenant, webhook: this.webhook.id, failingSince },
      'webhook endpoint switched off after failing for days: fix it, then set its status to active',
    );
  }
}

export interface WebhookTargetsOptions extends Pick<WebhookTargetOptions, 'transport' | 'log'> {
  /** The newest configuration of a tenant that this process has loaded. */
  readonly configuration: (tenant: number) => Promise<ConfigDocument>;
}

/** The webhook endpoints of all tenants, as targets. */
export class WebhookTargets {
  readonly counts: DeliveryCounts = { attempts: 0, delivered: 0, failed: 0, switchedOff: 0 };
  private readonly options: WebhookTargetsOptions;

  constructor(options: WebhookTargetsOptions) {
    this.options = options;
  }

  /** Undefined for an endpoint in a configuration that this process has not loaded yet. */
  async targetOf({ tenant, no }: QueueKey): Promise<Target | undefined> {
    const { configuration, transport, log } = this.options;
    const webhook = (await configuration(tenant)).webhooks.find((each) => each.no === no);
    return webhook && new WebhookTarget(webhook, { tenant, transport, counts: this.counts, log });
  }
}
