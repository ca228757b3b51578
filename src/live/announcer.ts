import type { StreamEntry } from '../ledger/stream-entries.js';
import type { RedisConnection } from '../redis/connection.js';
import { channelNames } from '../redis/contract.js';
import { limits } from '../shared/limits.js';
import { everythingMessage, joinedMessage, messagesAbout, parseInterest } from './announcement.js';

/** Until when a tenant and its users are watched, by `performance.now()`. */
interface WatchedTenant {
  until: number;
  readonly users: Map<string, number>;
}

/**
 * Announces to the processes of the API what the entries of a tenant's ledger have changed: a message for each batch of the write-behind, on the
 * tenant's channel, and none about tenants that no process watches. Messages may be lost: each says behind which entry its entries are, so that
 * the processes notice (views.ts).
 */
export class Announcer {
  private readonly redis: RedisConnection;
  private readonly partition: (tenant: number) => string;
  private readonly tenants = new Map<number, WatchedTenant>();

  /** `partition` returns the key prefix of a tenant. */
  constructor(redis: RedisConnection, partition: (tenant: number) => string) {
    this.redis = redis;
    this.partition = partition;
  }

  /** A process of the API has said what it watches of a tenant, which holds for limits.liveWatchMs. */
  watched(tenant: number, message: string): void {
    const { from, users, isAsking } = parseInterest(message);
    const now = performance.now();
    const known = this.watchedTenant(tenant, now);
    const watched = known ?? { until: 0, users: new Map<string, number>() };
    for (const [user, until] of watched.users) if (until <= now) watched.users.delete(user);
    const joined = users.filter((user) => !watched.users.has(user));
    watched.until = now + limits.liveWatchMs;
    for (const user of users) watched.users.set(user, watched.until);
    this.tenants.set(tenant, watched);
    // The process may have read leaderboards before entries that were not announced.
    if (!known) this.announceAll(tenant);
    if (joined.length > 0 || isAsking) this.publish(tenant, joinedMessage(joined, from));
  }

  /** Announces what the entries after `after` have changed, the oldest first. */
  announce(tenant: number, after: string, entries: readonly StreamEntry[]): void {
    const now = performance.now();
    const watched = this.watchedTenant(tenant, now);
    if (!watched) return;
    for (const message of messagesAbout(after, entries, (user) => (watched.users.get(user) ?? 0) > now)) this.publish(tenant, message);
  }

  /** Announces that anything may have changed. */
  announceAll(tenant: number): void {
    this.publish(tenant, everythingMessage);
  }

  private watchedTenant(tenant: number, now: number): WatchedTenant | undefined {
    const watched = this.tenants.get(tenant);
    if (!watched || watched.until > now) return watched;
    this.tenants.delete(tenant);
    return undefined;
  }

  private publish(tenant: number, message: string): void {
    this.redis.publish(this.partition(tenant) + channelNames.live, message).catch(() => {
      // The next time that a process says that it watches the tenant, it learns that it may have missed something.
      this.tenants.delete(tenant);
    });
  }
}
