import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { type RankingsQuery, readRanking, type Stores } from '../engine/leaderboards.js';
import { redisFailure } from '../redis/failure.js';
import type { Listener } from '../redis/connection.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type Announcement, parseAnnouncement } from './announcement.js';
import { stateOf } from './board-changes.js';
import { BoardView } from './board-view.js';

export interface ViewsOptions {
  readonly stores: Stores;
  readonly listener: Listener;
  readonly log: Logger;
  /** Tells the workers that this process watches a tenant. */
  readonly watch: (tenant: number) => void;
  /** Called when a change is sent, with when it was made, in milliseconds since 1970. */
  readonly onChange: (changedMs: number) => void;
}

/** The views of a tenant. */
class TenantViews {
  /** Until the announcements of the tenant arrive. */
  readonly following: Promise<void>;
  /** When the workers were last told that this process watches the tenant, by `performance.now()`. */
  renewedAt = performance.now();
  /** By what they show. */
  readonly all = new Map<string, BoardView>();
  /** Views of lists of users, by each of these users. */
  private readonly ofUser = new Map<string, Set<BoardView>>();

  constructor(following: Promise<void>) {
    this.following = following;
  }

  add(key: string, view: BoardView): void {
    this.all.set(key, view);
    for (const user of view.options.query.userIds ?? []) {
      const views = this.ofUser.get(user);
      if (views) views.add(view);
      else this.ofUser.set(user, new Set([view]));
    }
  }

  delete(key: string, view: BoardView): void {
    this.all.delete(key);
    for (const user of view.options.query.userIds ?? []) {
      const views = this.ofUser.get(user);
      views?.delete(view);
      if (views?.size === 0) this.ofUser.delete(user);
    }
  }

  /** The views that may show what is announced. A list of users is affected only by these users: its ranks on the leaderboard may be older. */
  affected({ changes }: Announcement): Iterable<BoardView> {
    if (!changes) return this.all.values();
    const found = new Set<BoardView>();
    for (const { no, run, group, users } of changes.boards) {
      for (const view of this.all.values()) {
        if ((users === null || view.options.query.userIds === undefined) && view.isOf(no, run, group)) found.add(view);
      }
      for (const user of users ?? []) for (const view of this.ofUser.get(user) ?? []) if (view.isOf(no, run, group)) found.add(view);
    }
    const profiles = new Set(changes.profiles);
    if (profiles.size > 0) for (const view of this.all.values()) if (view.showsAny(profiles)) found.add(view);
    return found;
  }
}

/** What a view shows, as text: equal for equal views. */
function keyOf(key: string, { offset, limit, run = null, userAttributes, userIds = null }: RankingsQuery): string {
  return JSON.stringify([key, offset, limit, run, [...userAttributes].sort(), userIds && [...new Set(userIds)].sort()]);
}

/**
 * The views of leaderboards that connections of this process watch. It listens to the announcements of a tenant only while somebody watches one of the
 * tenant's leaderboards. Announcements may be lost, so every view is also read again after limits.liveRefreshMs.
 */
export class Views {
  private readonly options: ViewsOptions;
  private readonly tenants = new Map<number, TenantViews>();
  private readonly reads = pLimit(limits.liveReads);

  constructor(options: ViewsOptions) {
    this.options = options;
    options.listener.onTenants('live', (tenant, message) => {
      this.announced(tenant, parseAnnouncement(message));
    });
    options.listener.onReconnect(() => {
      this.touchAll();
    });
  }

  get count(): number {
    let count = 0;
    for (const { all } of this.tenants.values()) count += all.size;
    return count;
  }

  /** The view of a page of a leaderboard, read. Throws as readRanking does. */
  async open(tenant: number, key: string, query: RankingsQuery): Promise<BoardView> {
    const id = keyOf(key, query);
    const views = this.tenants.get(tenant) ?? this.follow(tenant);
    const known = views.all.get(id);
    const view = known ?? this.viewOf(tenant, key, query);
    if (!known) views.add(id, view);
    view.idleSince = performance.now();
    try {
      // Before the first read, so that no change is missed in between.
      await views.following;
      await view.open();
    } catch (error) {
      this.drop(views, id, view);
      throw error;
    }
    // It took so long that the view was dropped.
    return this.tenants.get(tenant)?.all.get(id) === view ? view : this.open(tenant, key, query);
  }

  /** Something of a tenant may have changed that its ledger does not have. */
  touchTenant(tenant: number): void {
    for (const view of this.tenants.get(tenant)?.all.values() ?? []) view.touch(undefined);
  }

  /** The same for all tenants. */
  touchAll(): void {
    for (const tenant of this.tenants.keys()) this.touchTenant(tenant);
  }

  /** To be called each second: reads again what has not been read for long, and drops what nobody has watched for a while. */
  tick(): void {
    const now = performance.now();
    for (const [tenant, views] of this.tenants) {
      for (const [id, view] of views.all) {
        if (view.watchers.size > 0) view.touchAfter(limits.liveRefreshMs);
        else if (now - view.idleSince > limits.liveLingerMs) this.drop(views, id, view);
      }
      if (views.all.size === 0) this.unfollow(tenant);
      else if (now - views.renewedAt >= limits.liveRenewMs) {
        views.renewedAt = now;
        this.options.watch(tenant);
      }
    }
  }

  stop(): void {
    for (const { all } of this.tenants.values()) for (const view of all.values()) view.stop();
    this.tenants.clear();
  }

  private follow(tenant: number): TenantViews {
    const { listener, watch } = this.options;
    const following = listener.follow('live', tenant).then(
      () => {
        watch(tenant);
      },
      (error: unknown) => {
        if (this.tenants.get(tenant) === views) this.tenants.delete(tenant);
        throw redisFailure(error);
      },
    );
    const views = new TenantViews(following);
    this.tenants.set(tenant, views);
    return views;
  }

  private drop(views: TenantViews, id: string, view: BoardView): void {
    view.stop();
    if (views.all.get(id) === view) views.delete(id, view);
  }

  private unfollow(tenant: number): void {
    this.tenants.delete(tenant);
    this.options.listener.unfollow('live', tenant);
  }

  private viewOf(tenant: number, key: string, query: RankingsQuery): BoardView {
    const { stores, onChange } = this.options;
    return new BoardView({
      ...{ tenant, key, query, onChange },
      read: () => this.reads(async () => stateOf(await readRanking(stores, tenant, key, query))),
      onFailure: (error) => this.isTemporary(error, tenant),
    });
  }

  private announced(tenant: number, announcement: Announcement): void {
    for (const view of this.tenants.get(tenant)?.affected(announcement) ?? []) view.touch(announcement.upTo);
  }

  /** A leaderboard that has been deactivated is a 404, one with another breakdown a 422. */
  private isTemporary(error: unknown, tenant: number): boolean {
    if (error instanceof LaurelError) return error.code === 'not_ready';
    this.options.log.warn({ err: error, tenant }, 'reading a leaderboard for live streams failed, will retry');
    return true;
  }
}
