import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { type RankingsQuery, readRanking, type Stores } from '../engine/leaderboards.js';
import { redisFailure } from '../redis/failure.js';
import type { Listener } from '../redis/connection.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type EventEntry, type UserEntry, unpackFacts } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userChangeJson } from '../responses/events.js';
import { readProfile } from '../engine/users.js';
import { type Announcement, interestMessage, noEntry, parseAnnouncement, type WatchedEntry } from './announcement.js';
import { stateOf } from './board-changes.js';
import { BoardView } from './board-view.js';
import { UserView } from './user-view.js';

export interface ViewsOptions {
  readonly stores: Stores;
  readonly listener: Listener;
  readonly log: Logger;
  /** Tells the workers what this process watches of a tenant (announcement.ts, interestMessage). */
  readonly watch: (tenant: number, interest: string) => void;
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
  readonly users = new Map<string, UserView>();
  /** What happens to the streams of users, in order. */
  usersDone = Promise.resolve();
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
function keyOf(key: string, { offset, limit, run, userAttributes, userIds }: RankingsQuery): string {
  return JSON.stringify([key, offset, limit, run ?? null, [...userAttributes].sort(), userIds ? [...new Set(userIds)].sort() : null]);
}

/** Whether a configuration has all objects of an entry: another process may have made it under a newer one. */
function isKnown({ document }: ActiveConfig, entry: EventEntry | UserEntry): boolean {
  const { achieved = [], points, boards } = entry;
  const ofPoints = points.flatMap(({ no, awards }) => [no, ...awards.flatMap(({ trigger, boosts }) => [trigger, ...boosts])]);
  const all = [...achieved, ...ofPoints, ...boards.map(({ no }) => no), ...(entry.kind === 'event' ? [entry.metric] : [])];
  return all.every((no) => no < document.nextNo);
}

/**
 * The views of leaderboards and users that connections of this process watch. It listens to the announcements of a tenant only while a connection
 * watches something of the tenant. Announcements may be lost, so leaderboards are also read again after limits.liveRefreshMs.
 */
export class Views {
  private readonly options: ViewsOptions;
  private readonly tenants = new Map<number, TenantViews>();
  /** Identifies this process to the workers. */
  private readonly id = randomUUID();
  private readonly reads = pLimit(limits.liveReads);

  constructor(options: ViewsOptions) {
    this.options = options;
    options.listener.onTenants('live', (tenant, message) => {
      this.announced(tenant, parseAnnouncement(message));
    });
    options.listener.onReconnect(() => {
      this.touchAll();
      for (const [tenant, views] of this.tenants) this.interrupt(tenant, views);
    });
  }

  get count(): number {
    let count = 0;
    for (const { all, users } of this.tenants.values()) count += all.size + users.size;
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

  /** The stream of a user. Throws a 404 for an unknown user. */
  async openUser(tenant: number, user: string): Promise<UserView> {
    await readProfile(this.options.stores.engine, tenant, user);
    const views = this.tenants.get(tenant) ?? this.follow(tenant);
    const view = views.users.get(user) ?? new UserView();
    views.users.set(user, view);
    view.idleSince = performance.now();
    await views.following;
    if (view.isPending) this.renew(tenant, views);
    return view;
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
      for (const [user, view] of views.users) {
        if (view.watchers.size === 0 && now - view.idleSince > limits.liveUserLingerMs) views.users.delete(user);
      }
      if (views.all.size + views.users.size === 0) this.unfollow(tenant);
      else if (now - views.renewedAt >= limits.liveRenewMs) this.renew(tenant, views);
    }
  }

  stop(): void {
    for (const { all } of this.tenants.values()) for (const view of all.values()) view.stop();
    this.tenants.clear();
  }

  private follow(tenant: number): TenantViews {
    const following = this.options.listener.follow('live', tenant).then(
      () => {
        this.renew(tenant, views);
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

  /** Entries of users may have been missed: the workers are asked to begin anew. */
  private interrupt(tenant: number, views: TenantViews): void {
    if (views.users.size === 0) return;
    for (const view of views.users.values()) view.interrupt();
    this.renew(tenant, views);
  }

  /** Tells the workers what this process watches of a tenant. */
  private renew(tenant: number, views: TenantViews): void {
    views.renewedAt = performance.now();
    const isAsking = [...views.users.values()].some(({ isPending }) => isPending);
    this.options.watch(tenant, interestMessage({ from: this.id, users: [...views.users.keys()], isAsking }));
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
    const views = this.tenants.get(tenant);
    if (!views) return;
    for (const view of views.affected(announcement)) view.touch(announcement.upTo);
    if (announcement.upTo === noEntry && !announcement.changes) this.interrupt(tenant, views);
    views.usersDone = views.usersDone
      .then(() => this.tellUsers(tenant, views, announcement))
      .catch((error: unknown) => {
        // Whatever was missed: the workers are asked again.
        for (const view of views.users.values()) view.interrupt();
        this.isTemporary(error, tenant);
      });
  }

  private async tellUsers(tenant: number, { users }: TenantViews, { entries, joined, to }: Announcement): Promise<void> {
    for (const { id, facts } of entries) await this.tellUser(tenant, users, { id, facts });
    const begun = [...users].filter(([user, { isPending }]) => joined.includes(user) || (to === this.id && isPending)).map(([, view]) => view);
    if (begun.length === 0) return;
    for (const view of begun) view.interrupt();
    const { ledgerId } = await this.options.stores.clock.ledgerId(tenant);
    for (const view of begun) view.reset(ledgerId);
  }

  private async tellUser(tenant: number, users: ReadonlyMap<string, UserView>, { id, facts }: WatchedEntry): Promise<void> {
    const entry = unpackFacts(facts) as EventEntry | UserEntry;
    const view = users.get(entry.user);
    if (!view) return;
    const { engine } = this.options.stores;
    const config = await engine.config(tenant);
    const json = userChangeJson(isKnown(config, entry) ? config : await engine.refreshConfig(tenant), entry);
    if (json !== undefined) view.add(id, json);
  }

  /** A leaderboard that has been deactivated is a 404, one with another breakdown a 422. */
  private isTemporary(error: unknown, tenant: number): boolean {
    if (error instanceof LaurelError) return error.code === 'not_ready';
    this.options.log.warn({ err: error, tenant }, 'update of live streams failed, will retry');
    return true;
  }
}
