import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { type RankingsQuery, readRanking, type Stores } from '../engine/leaderboards.js';
import { redisFailure } from '../redis/failure.js';
import type { Listener } from '../redis/connection.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type EventEntry, type UserEntry, unpackFacts } from '../ledger/entry.js';
import { isBelow } from '../redis/partition.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userChangeJson } from '../responses/events.js';
import { readProfile } from '../engine/users.js';
import { type Announcement, interestMessage, noEntry, parseAnnouncement, type WatchedEntry } from './announcement.js';
import { stateOf } from './board-changes.js';
import { BoardView, type BoardViewOptions } from './board-view.js';
import { Turns } from './slices.js';
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
  /** Called when users were deleted. */
  readonly onDeleted: (tenant: number, users: ReadonlySet<string>) => void;
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
  /** The entry up to which all entries that followed an announcement were announced; undefined before the first announcement. */
  upTo: string | undefined;

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

  /** Notes up to where entries are announced. Returns whether entries before them may not have been. */
  hasMissed({ after, upTo }: Announcement): boolean {
    if (after === undefined) return false;
    const isMissing = this.upTo !== undefined && isBelow(this.upTo, after);
    // A batch that could not be committed is announced again.
    if (this.upTo === undefined || isBelow(this.upTo, upTo)) this.upTo = upTo;
    return isMissing;
  }

  /** Announcements may have been missed. The next renewal asks the workers to begin the streams of users anew. */
  interrupt(): void {
    for (const view of this.boards.values()) view.touch(undefined);
    for (const view of this.users.values()) view.interrupt();
    this.upTo = undefined;
    this.renewedAt = -Infinity;
  }
}

/** Drops those that have been idle for the longest, so that no more are left than may be. */
function dropIdle<T extends { readonly idleSince: number }>(idle: T[], max: number, drop: (one: T) => void): void {
  if (idle.length <= max) return;
  idle.sort((a, b) => a.idleSince - b.idleSince);
  for (const one of idle.slice(0, idle.length - max)) drop(one);
}

/** A view that no connection watches. */
interface IdleView<T> {
  readonly views: TenantViews;
  readonly id: string;
  readonly view: T;
  readonly idleSince: number;
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
      for (const views of this.tenants.values()) views.interrupt();
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
      // Others may watch it, and it is read again for them.
      if (view.watchers.size === 0) this.drop(views, id, view);
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
    const view = views.users.get(user) ?? new UserView(() => views.upTo ?? noEntry);
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
    const [idleBoards, idleUsers] = [[] as IdleView<BoardView>[], [] as IdleView<UserView>[]];
    for (const views of this.tenants.values()) {
      for (const [id, view] of views.boards) {
        const { idleSince } = view;
        if (view.watchers.size > 0) view.touchOld();
        else if (now - idleSince > limits.liveLingerMs) this.drop(views, id, view);
        else idleBoards.push({ views, id, view, idleSince });
      }
      for (const [id, view] of views.users) {
        const { idleSince } = view;
        view.dropBefore(now - limits.liveUserLingerMs);
        if (view.watchers.size > 0) continue;
        if (now - idleSince > limits.liveUserLingerMs) views.users.delete(id);
        else idleUsers.push({ views, id, view, idleSince });
      }
    }
    dropIdle(idleBoards, limits.maxIdleBoardViews, ({ views, id, view }) => {
      this.drop(views, id, view);
    });
    dropIdle(idleUsers, limits.maxIdleUserViews, ({ views, id }) => {
      views.users.delete(id);
    });
    for (const [tenant, views] of this.tenants) {
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
    const { upTo, changes, deleted, entries, joined, to } = announcement;
    for (const view of views.index.affected(announcement)) view.touch(upTo);
    if (views.hasMissed(announcement) || (upTo === noEntry && !changes)) views.interrupt();
    for (const user of deleted) {
      views.users.get(user)?.end();
      views.users.delete(user);
    }
    if (deleted.length > 0) this.options.onDeleted(tenant, new Set(deleted));
    if (entries.length + joined.length === 0 && to !== this.id) return;
    views.usersDone = views.usersDone
      .then(() => this.tellUsers(tenant, views, announcement))
      .catch((error: unknown) => {
        views.interrupt();
        this.isTemporary(error, tenant);
      });
  }

  private async tellUsers(tenant: number, views: TenantViews, { entries, joined, to }: Announcement): Promise<void> {
    const { users } = views;
    const turns = new Turns();
    for (const { id, facts } of entries) {
      await turns.next();
      await this.tellUser(tenant, users, { id, facts });
    }
    const pending = to === this.id ? [...users.values()].filter(({ isPending }) => isPending) : [];
    const begun = new Set([...pending, ...joined.flatMap((user) => users.get(user) ?? [])]);
    if (begun.size === 0) return;
    const begins = [...begun].map((view) => view.begin());
    const { ledgerId } = await this.options.stores.clock.ledgerId(tenant);
    // What is in the ledger later is announced.
    views.upTo ??= ledgerId;
    for (const begin of begins) {
      await turns.next();
      await begin(ledgerId);
    }
  }

  private async tellUser(tenant: number, users: ReadonlyMap<string, UserView>, { id, facts }: WatchedEntry): Promise<void> {
    const entry = unpackFacts(facts) as EventEntry | UserEntry;
    const view = users.get(entry.user);
    if (!view) return;
    const { engine } = this.options.stores;
    const config = await engine.config(tenant);
    const json = userChangeJson(isKnown(config, entry) ? config : await engine.refreshConfig(tenant), entry);
    if (json !== undefined) await view.add(id, json);
  }

  /** A leaderboard that has been deactivated is a 404, one with another breakdown a 422. */
  private isTemporary(error: unknown, tenant: number): boolean {
    if (error instanceof LaurelError) return error.code === 'not_ready';
    this.options.log.warn({ err: error, tenant }, 'update of live streams failed, will retry');
    return true;
  }
}
