import { Cluster } from 'ioredis';
import type { LedgerEntry } from '../ledger/entry.js';
import type { RedisConnection } from '../redis/connection.js';
import { channelNames } from '../redis/contract.js';
import { everythingMessage, messageAbout } from './announcement.js';

/**
 * Announces to the processes of the API what the entries of a tenant's ledger have changed: one message for each batch of the write-behind, on the
 * tenant's channel. Messages may be lost: streams are also read again at intervals (stream-views.ts).
 */
export class Announcer {
  private readonly redis: RedisConnection;
  private readonly partition: (tenant: number) => string;
  /** Tenants whose last message a process received. Messages about the others have no details, which would cost more than they do. */
  private readonly watched = new Set<number>();

  /** `partition` returns the key prefix of a tenant. */
  constructor(redis: RedisConnection, partition: (tenant: number) => string) {
    this.redis = redis;
    this.partition = partition;
  }

  /** Announces what entries have changed, the oldest first. */
  announce(tenant: number, entries: readonly { readonly id: string; readonly entry: LedgerEntry | undefined }[]): void {
    // A node of a cluster counts only its own subscribers.
    const isWatched = this.redis instanceof Cluster || this.watched.has(tenant);
    this.publish(tenant, isWatched ? messageAbout(entries) : everythingMessage(entries.at(-1)?.id ?? '0-0'));
  }

  /** Announces that anything may have changed. */
  announceAll(tenant: number): void {
    this.publish(tenant, everythingMessage('0-0'));
  }

  private publish(tenant: number, message: string): void {
    this.redis.publish(this.partition(tenant) + channelNames.live, message).then(
      (receivers) => {
        if (receivers > 0) this.watched.add(tenant);
        else this.watched.delete(tenant);
      },
      () => undefined,
    );
  }
}
