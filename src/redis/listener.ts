import type { Redis } from 'ioredis';
import { channelNames } from './contract.js';

export type ChannelName = keyof typeof channelNames;

/**
 * Hears what is said on the channels of an installation, of all its tenants and of the account, on one connection of its own. Messages of
 * the time without a connection are lost: `missed` is called after it, and whoever listens looks for itself.
 */
export class Listener {
  private readonly subscriber: Redis;
  private readonly prefix: string;
  private readonly hearers = new Map<ChannelName, (of: string) => void>();

  constructor(subscriber: Redis, prefix: string) {
    this.subscriber = subscriber;
    this.prefix = prefix;
    subscriber.on('pmessage', (pattern: string, channel: string) => {
      this.tell(pattern, channel);
    });
  }

  /** Calls `heard` with a tenant's no, or `account`. One for each channel. */
  async on(name: ChannelName, heard: (of: string) => void, missed: () => void): Promise<void> {
    this.hearers.set(name, heard);
    this.subscriber.on('ready', missed);
    await this.subscriber.psubscribe(this.pattern(name));
  }

  /** The prefix has no character that means something in a pattern (settings.ts). */
  private pattern(name: ChannelName): string {
    return `{${this.prefix}:*}:${channelNames[name]}`;
  }

  private tell(pattern: string, channel: string): void {
    for (const [name, heard] of this.hearers) {
      if (pattern === this.pattern(name)) heard(channel.slice(this.prefix.length + 2, channel.indexOf('}')));
    }
  }
}
