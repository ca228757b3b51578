import { Counter, Gauge, type Registry } from 'prom-client';
import type { Refresh } from './observation.js';

type Channel = 'email' | 'push';

/** The deliveries of messages to users by this process. */
export interface WatchedMessages {
  readonly attempts: Readonly<Record<Channel, number>>;
  list(): readonly { readonly type: string; readonly channel: string; readonly status: string; readonly count: number }[];
}

/** Whether the provider of a channel takes messages. */
export interface WatchedProviders {
  /** The channels that the settings open, with a usable provider or not. The others have no sample, so that no alert is about them. */
  readonly open: ReadonlySet<Channel>;
  readonly isUp: (channel: Channel) => boolean;
}

const channels: readonly Channel[] = ['email', 'push'];

/** The attempts and ended deliveries of this process, and the state of its channels. */
export function messageMetrics(registry: Registry, providers: WatchedProviders, counts: WatchedMessages): Refresh {
  const registers = [registry];
  const attempts = new Counter({
    name: 'laurel_message_tries_total',
    help: 'Attempts of this process to send messages to users, retries included.',
    registers,
    labelNames: ['channel'] as const,
  });
  const ended = new Counter({
    name: 'laurel_message_deliveries_total',
    help: 'Messages to users that this process has completed, by result.',
    registers,
    labelNames: ['type', 'channel', 'status'] as const,
  });
  const up = new Gauge({
    name: 'laurel_message_channel_up',
    help: 'Whether a channel of messages to users that the settings open can send: 1, or 0.',
    registers,
    labelNames: ['channel'] as const,
  });
  return () => {
    attempts.reset();
    ended.reset();
    for (const channel of channels) {
      attempts.inc({ channel }, counts.attempts[channel]);
      if (providers.open.has(channel)) up.set({ channel }, providers.isUp(channel) ? 1 : 0);
    }
    for (const { count, ...labels } of counts.list()) ended.inc(labels, count);
    return Promise.resolve();
  };
}
