import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import type { Target } from '../../deliveries/delivery-queue.js';
import type { AttemptResult, ClaimedDelivery, DeliveryStatus, EndedDelivery, QueueKey } from '../../deliveries/queue.js';
import { limits } from '../../shared/limits.js';
import { channelOfQueue, typeOfKind } from '../rules/channels.js';
import type { Sender } from './sender.js';

/** Deliveries that this process has ended. */
export interface MessageCount {
  readonly type: NotificationType;
  readonly channel: Channel;
  readonly status: DeliveryStatus;
  readonly count: number;
}

/** Counts since the worker started. */
export class MessageCounts {
  /** Attempts by channel, retries included. */
  readonly attempts: Record<Channel, number> = { email: 0, push: 0 };
  private readonly ended = new Map<string, MessageCount>();

  /** Counts a delivery that a committed batch ended. */
  add(type: NotificationType, channel: Channel, status: DeliveryStatus): void {
    const key = `${type} ${channel} ${status}`;
    const count = (this.ended.get(key)?.count ?? 0) + 1;
    this.ended.set(key, { type, channel, status, count });
  }

  list(): readonly MessageCount[] {
    return [...this.ended.values()];
  }
}

/** A channel of a tenant, as the target of its queue. A provider that fails concerns all users: operators are alerted, and notifications wait. */
class ChannelTarget implements Target {
  readonly concurrency = limits.messageConcurrency;
  readonly collectMs = limits.messageCollectMs;
  private readonly tenant: number;
  private readonly channel: Channel;
  private readonly sender: Sender | undefined;
  private readonly counts: MessageCounts;

  constructor(tenant: number, channel: Channel, { sender, counts }: ChannelTargetsOptions) {
    this.tenant = tenant;
    this.channel = channel;
    this.sender = sender;
    this.counts = counts;
  }

  get state(): Target['state'] {
    return this.sender?.isOn(this.channel) === true ? 'active' : 'inactive';
  }

  async attempt(delivery: ClaimedDelivery): Promise<AttemptResult | undefined> {
    return this.sender?.attempt(this.tenant, delivery);
  }

  onAttempt(): void {
    this.counts.attempts[this.channel] += 1;
  }

  onEnded(ended: readonly EndedDelivery[]): void {
    for (const { kind, status } of ended) this.counts.add(typeOfKind(kind), this.channel, status);
  }
}

export interface ChannelTargetsOptions {
  /** Undefined with MESSAGES=off: deliveries wait. */
  readonly sender: Sender | undefined;
  readonly counts: MessageCounts;
}

/** The channels of all tenants, as targets. */
export class ChannelTargets {
  private readonly options: ChannelTargetsOptions;

  constructor(options: ChannelTargetsOptions) {
    this.options = options;
  }

  /** Undefined for the queue of a webhook endpoint. */
  targetOf({ tenant, no }: QueueKey): Target | undefined {
    const channel = channelOfQueue(no);
    return channel && new ChannelTarget(tenant, channel, this.options);
  }
}
