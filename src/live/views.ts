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
import { BoardView, type BoardViewOptions } from './board-view.js';
import { UserView } from './user-view.js';
import { ViewIndex } from './view-index.js';

export interface ViewsOptions {
  readonly stores: Stores;
  readonly listener: Listener;
  readonly log: Logger;
  /** Tells the workers what this process watches of a tenant (announcement.ts, interestMessage). */
  readonly watch: (tenant: number, interest: string) => void;
  /** Called when a change is sent, with when it was made, in milliseconds since 1970. */
  readonly onChange: (changedMs: number) => void;
  /** Called when a user was deleted. */
  readonly onDeleted: (tenant: number, user: string) => void;
}

/** The views of a tenant. */
class TenantViews {
  /** Until the announcements of the tenant arrive. */
  readonly following: Promise<void>;
  /** When the workers were last told that this process watches the tenant, by `performance.now()`. */
  renewedAt = performance.now();
  /** By what they show. */
  readonly boards = new Map<string, BoardView>();
  readonly index = new ViewIndex();
  readonly users = new Map<string, UserView>();
  /** The users whose streams have begun, and of whom the workers have not been told yet. */
  readonly beginning = new Set<string>();
  /** What happens to the streams of users, in order. */
  usersDone = Promise.resolve();

  constructor(following: Promise<void>) {
    this.following = following;
  }

  add(key: string, view: BoardView): void {
    this.boards.set(key, view);
    this.index.add(view);
  }

  delete(key: string, view: BoardView): void {
    if (this.boards.get(key) === view) this.boards.delete(key);
    this.index.delete(view);
  }

  /** Entries of users may have been missed: the next renewal asks the workers to begin anew. */
  interruptUsers(): void {
    for (const view of this.users.values()) view.interrupt();
    this.renewedAt = -Infinity;
  }
}

/** What a view shows, as text: equal for equal views. */
function keyOf(key: string, { offset, limit, run, userAttributes, userIds }: RankingsQuery): string {
  return JSON.stringify([key, offset, limit, run ?? null, [...userAttributes].sort(), userIds ? [...new Set(userIds)].sort() : null]);
}

/** Whether a configuration has all objects of an entry: another process may have made it under a newer one. */
function isKnown({ document }: ActiveConfig, entry: EventEntry | UserEntry): boolean {
  const { achieved = [], points, boards } = entry;
  const ofPoints = points.flatMap(({ no, level, awards }) => [no, level, ...awards.flatMap(({ trigger, boosts }) => [trigger, ...boosts])]);
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
  private isStopped = false;

  constructor(options: ViewsOptions) {
    this.options = options;
    options.listener.onTenants('live', (tenant, message) => {
      this.announced(tenant, parseAnnouncement(message));
    });
    options.listener.onReconnect(() => {
      this.touchAll();
      for (const views of this.tenants.values()) views.interruptUsers();
    });
  }

  get count(): number {
    let count = 0;
    for (const { boards, users } of this.tenants.values()) count += boards.size + users.size;
    return count;
  }

  /** The view of a page of a leaderboard, read. Throws as readRanking does. */
  async open(tenant: number, key: string, query: RankingsQuery): Promise<BoardView> {
    const id = keyOf(key, query);
    const views = this.tenants.get(tenant) ?? this.follow(tenant);
    const known = views.boards.get(id);
    const view = known ?? this.viewOf(tenant, views, { key, query });
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
    return this.tenants.get(tenant)?.boards.get(id) === view ? view : this.open(tenant, key, query);
  }

  /** The stream of a user. Throws a 404 for an unknown user. */
  async openUser(tenant: number, user: string): Promise<UserView> {
    const views = this.tenants.get(tenant) ?? this.follow(tenant);
    // Before the read, so that a deletion is not missed in between.
    await views.following;
    await readProfile(this.options.stores.engine, tenant, user);
    // It took so long that nothing else of the tenant is watched any more.
    if (this.tenants.get(tenant) !== views) return this.openUser(tenant, user);
    const view = views.users.get(user) ?? new UserView();
    views.users.set(user, view);
    view.idleSince = performance.now();
    if (view.isPending) this.begin(tenant, views, user);
    return view;
  }

  /** Something of a tenant may have changed that its ledger does not have. */
  touchTenant(tenant: number): void {
    for (const view of this.tenants.get(tenant)?.boards.values() ?? []) view.touch(undefined);
  }

  /** The same for all tenants. */
  touchAll(): void {
    for (const tenant of this.tenants.keys()) this.touchTenant(tenant);
  }

  /** To be called each second: reads again what has not been read for long, and drops what nobody has watched for a while. */
  tick(): void {
    const now = performance.now();
    for (const [tenant, views] of this.tenants) {
      for (const [id, view] of views.boards) {
        if (view.watchers.size > 0) view.touchOld();
        else if (now - view.idleSince > limits.liveLingerMs) this.drop(views, id, view);
      }
      for (const [user, view] of views.users) {
        if (view.watchers.size === 0 && now - view.idleSince > limits.liveUserLingerMs) views.users.delete(user);
        else view.dropBefore(now - limits.liveUserLingerMs);
      }
      if (views.boards.size + views.users.size === 0) this.unfollow(tenant);
      else if (now - views.renewedAt >= limits.liveRenewMs) this.renew(tenant, views);
    }
  }

  /** Reads nothing again from now on. */
  stop(): void {
    this.isStopped = true;
    for (const { boards } of this.tenants.values()) for (const view of boards.values()) view.stop();
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

  /** Tells the workers of the stream of a user, with others that begin at the same time. */
  private begin(tenant: number, { users, beginning }: TenantViews, user: string): void {
    beginning.add(user);
    if (beginning.size > 1) return;
    setTimeout(() => {
      const begun = [...beginning].filter((name) => users.has(name));
      beginning.clear();
      if (!this.isStopped) this.options.watch(tenant, interestMessage({ from: this.id, users: begun, isAsking: true }));
    }, limits.liveJoinMs);
  }

  /** Tells the workers what this process watches of a tenant. */
  private renew(tenant: number, views: TenantViews): void {
    views.renewedAt = performance.now();
    const isAsking = [...views.users.values()].some(({ isPending }) => isPending);
    this.options.watch(tenant, interestMessage({ from: this.id, users: [...views.users.keys()], isAsking }));
  }

  private drop(views: TenantViews, id: string, view: BoardView): void {
    view.stop();
    views.delete(id, view);
  }

  private unfollow(tenant: number): void {
    this.tenants.delete(tenant);
    this.options.listener.unfollow('live', tenant);
  }

  private viewOf(tenant: number, { index }: TenantViews, { key, query }: Pick<BoardViewOptions, 'key' | 'query'>): BoardView {
    const { stores, onChange } = this.options;
    const view: BoardView = new BoardView({
      ...{ tenant, key, query, onChange },
      read: () => this.reads(async () => stateOf(await readRanking(stores, tenant, key, query))),
      onFailure: (error) => this.isTemporary(error, tenant),
      onPlace: () => {
        index.update(view);
      },
    });
    if (this.isStopped) view.stop();
    return view;
  }

  private announced(tenant: number, announcement: Announcement): void {
    const views = this.tenants.get(tenant);
    if (!views) return;
    for (const view of views.index.affected(announcement)) view.touch(announcement.upTo);
    if (announcement.upTo === noEntry && !announcement.changes) views.interruptUsers();
    for (const user of announcement.deleted) {
      views.users.get(user)?.end();
      views.users.delete(user);
      this.options.onDeleted(tenant, user);
    }
    const { entries, joined, to } = announcement;
    if (entries.length + joined.length === 0 && to !== this.id) return;
    views.usersDone = views.usersDone
      .then(() => this.tellUsers(tenant, views, announcement))
      .catch((error: unknown) => {
        views.interruptUsers();
        this.isTemporary(error, tenant);
      });
  }

  private async tellUsers(tenant: number, { users }: TenantViews, { entries, joined, to }: Announcement): Promise<void> {
    for (const { id, facts } of entries) await this.tellUser(tenant, users, { id, facts });
    const pending = to === this.id ? [...users.values()].filter(({ isPending }) => isPending) : [];
    const begun = new Set([...pending, ...joined.flatMap((user) => users.get(user) ?? [])]);
    if (begun.size === 0) return;
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
