import type { LedgerEntry } from '../ledger/entry.js';
import type { RedisConnection } from '../redis/connection.js';
import { channelNames } from '../redis/contract.js';
import { limits } from '../shared/limits.js';
import { everythingMessage, messageAbout } from './announcement.js';

/**
 * Announces to the processes of the API what the entries of a tenant's ledger have changed: one message for each batch of the write-behind, on the
 * tenant's channel, and none about tenants that no process watches. Messages may be lost: streams are also read again at intervals (views.ts).
 */
export class Announcer {
  private readonly redis: RedisConnection;
  private readonly partition: (tenant: number) => string;
  /** Until when tenants are watched, by `performance.now()`. */
  private readonly watchedUntil = new Map<number, number>();

  /** `partition` returns the key prefix of a tenant. */
  constructor(redis: RedisConnection, partition: (tenant: number) => string) {
    this.redis = redis;
    this.partition = partition;
  }

  /** A process of the API has said that it watches a tenant, which holds for limits.liveWatchMs. */
  watched(tenant: number): void {
    const wasWatched = this.isWatched(tenant);
    this.watchedUntil.set(tenant, performance.now() + limits.liveWatchMs);
    // The process may have read leaderboards before entries that were not announced.
    if (!wasWatched) this.announceAll(tenant);
  }

  /** Announces what entries have changed, the oldest first. */
  announce(tenant: number, entries: readonly { readonly id: string; readonly entry: LedgerEntry | undefined }[]): void {
    if (this.isWatched(tenant)) this.publish(tenant, messageAbout(entries));
  }

  /** Announces that anything may have changed. */
  announceAll(tenant: number): void {
    this.publish(tenant, everythingMessage('0-0'));
  }

  private isWatched(tenant: number): boolean {
    const until = this.watchedUntil.get(tenant);
    if (until === undefined || until > performance.now()) return until !== undefined;
    this.watchedUntil.delete(tenant);
    return false;
  }

  private publish(tenant: number, message: string): void {
    this.redis.publish(this.partition(tenant) + channelNames.live, message).catch(() => undefined);
  }
}
