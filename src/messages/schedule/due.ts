import type pg from 'pg';
import type { Stores } from '../../engine/leaderboards.js';
import { readStreak } from '../../engine/streaks.js';
import { LaurelError } from '../../shared/errors.js';
import { betweenBatches } from '../../ledger/offsets.js';
import { type Channel, notificationTypes } from '../../config/schema/message-types.js';
import type { ProfileFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { userResponse } from '../../responses/users.js';
import { channelsFor } from '../rules/channels.js';
import {
  isSameOccurrence,
  localDayOf,
  newestOccurrence,
  recapPeriod,
  scheduleKinds,
  type Occurrence,
  type ScheduleKind,
} from '../rules/times.js';
import {
  type DueContent,
  type DueContents,
  notifiedElsewhere,
  readPage,
  type Recipient,
  typeOf,
  hasChangedDefaultZone,
  type UserScheduleKind,
  zonesOf,
} from './recipients.js';
import { DueMoments } from './due-moments.js';
import { publishEvents, subscribedKinds, type WebhookEvent } from '../../deliveries/outbox.js';
import { deletePending, deleteAllPending, readPending } from './pending-achievements.js';
import { isSent, type Notification, queueNotifications } from './notifications.js';
import { reachOf, readProfiles, receivesEmail } from '../rules/profiles.js';
import { isEnding } from '../rules/streak-reminder.js';
import { publishScheduled, unscheduleOthers } from './scheduled.js';

/** In every time zone, local hours begin at a quarter of a UTC hour. */
const quarterMs = 900_000;
/** The pseudo-zone whose row has the time since which a kind is subscribed to. */
const subscribedSince = '*';

/** How far a kind has been published in a zone. */
interface ScheduleState {
  readonly kind: ScheduleKind;
  readonly zone: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly cursor: string;
  readonly done: boolean;
}

/** A page of the messages of an occurrence. */
interface PageMessages {
  readonly contents: DueContents;
  /** The cursor after the page; undefined on the last page. */
  readonly last: string | undefined;
  /** The pending achievements of the page, with or without a message. */
  readonly pending: readonly string[];
}

export interface DueOptions {
  readonly stores: Stores;
  readonly pool: pg.Pool;
  /** The channels that this installation has; none with MESSAGES=off. */
  readonly open: ReadonlySet<Channel>;
  /** Called when there is something to deliver. */
  readonly onQueued: () => void;
}

/**
 * Queues the messages that are due by the local time of users (docs/messages.md), and the webhooks of the same kinds (docs/rules/emails.md), zone by
 * zone and page by page. Messages and the progress commit together. Safe to run twice, in several processes at once, and late; an occurrence more
 * than a day late is skipped.
 */
export class DueNotifications {
  private readonly options: DueOptions;
  /** Tenant → the configuration version and the quarter of an hour for which everything has been published. */
  private readonly processed = new Map<number, string>();

  constructor(options: DueOptions) {
    this.options = options;
  }

  /** Whether a tenant has nothing that is due by local time, and no state of former subscriptions. */
  isIdle(config: ActiveConfig): boolean {
    const { open } = this.options;
    if (open.size === 0 && config.document.webhooks.length === 0) return true;
    const isAnySent = notificationTypes.some((type) => isSent(config, type, open));
    return !isAnySent && this.kindsOf(config).length === 0 && this.processed.get(config.tenant) === `${config.version} idle`;
  }

  /** The kinds that are published: those with subscribers, and those whose messages are sent. */
  private kindsOf(config: ActiveConfig): ScheduleKind[] {
    const subscribed = subscribedKinds(config);
    // Messages about achievements are scheduled by themselves (scheduled.ts).
    return scheduleKinds.filter(
      (kind) => subscribed.has(kind) || (kind !== 'emails.achievement_due' && isSent(config, typeOf[kind], this.options.open)),
    );
  }

  /** The moments at which something may become due from now on, unless users do something. */
  momentsOf(config: ActiveConfig): Promise<DueMoments> {
    return DueMoments.read(this.options.pool, config, this.kindsOf(config));
  }

  /** Publishes what is due at a time of the engine's clock, in at most `pages` pages; the rest is left to the next call. */
  async publish(config: ActiveConfig, now: number, pages: number): Promise<void> {
    const { tenant, version } = config;
    const { pool, open, onQueued } = this.options;
    if (open.size > 0 && (await publishScheduled(pool, config, { now, open, pages })) > 0) onQueued();
    const kinds = this.kindsOf(config);
    const key = `${version} ${kinds.length === 0 ? 'idle' : Math.floor(now / quarterMs)}`;
    if (this.processed.get(tenant) === key) return;
    await pool.query('delete from notification_state where tenant = $1 and kind <> all($2::text[])', [tenant, kinds]);
    if (!kinds.includes('emails.achievement_due')) await deleteAllPending(pool, tenant);
    const sentTypes = notificationTypes.filter((type) => isSent(config, type, open));
    await unscheduleOthers(pool, tenant, sentTypes);
    let left = pages;
    for (const kind of kinds) {
      const occurrences = await this.startOccurrences(config, kind, now);
      if (occurrences.length > 0) await this.waitForWrites(tenant);
      for (const occurrence of occurrences) left = await this.publishOccurrence(config, occurrence, now, left);
    }
    if (left > 0) this.processed.set(tenant, key);
  }

  /**
   * Waits until Postgres, which selects the recipients, has everything that happened so far: users who have just become active or unsubscribed must not
   * receive an email. Throws a 503 when it takes too long; the occurrence is then published later.
   */
  private async waitForWrites(tenant: number): Promise<void> {
    const { clock, history } = this.options.stores;
    await history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  }

  /** Returns the unfinished occurrences of a kind and saves new ones. A newly subscribed kind starts now. */
  private async startOccurrences(config: ActiveConfig, kind: ScheduleKind, now: number): Promise<(ScheduleState & Occurrence)[]> {
    const { tenant, document } = config;
    const { pool } = this.options;
    await pool.query(`insert into notification_state values ($1, $2, '${subscribedSince}', $3, '', true) on conflict do nothing`, [
      tenant,
      kind,
      now,
    ]);
    const { rows } = await pool.query<Omit<ScheduleState, 'at'> & { at: string }>(
      'select kind, zone, at, cursor, done from notification_state where tenant = $1 and kind = $2',
      [tenant, kind],
    );
    const states = new Map(rows.map((row): [string, ScheduleState] => [row.zone, { ...row, at: Number(row.at) }]));
    const subscribedAt = states.get(subscribedSince)?.at ?? now;
    const occurrences: (ScheduleState & Occurrence)[] = [];
    for (const zone of await zonesOf(pool, tenant)) {
      const before = states.get(zone);
      const name = zone || document.settings.defaultTimeZone;
      const newest = newestOccurrence(kind, document, name, now);
      if (!newest) continue;
      const started = before && { ...before, day: localDayOf(before.at, name) };
      const isStarted = started !== undefined && isSameOccurrence(kind, document, started, newest);
      if (isStarted && !started.done) occurrences.push(started);
      if (isStarted || newest.at <= (before?.at ?? subscribedAt)) continue;
      // Users without a zone have moved since: the hour had passed where they live now.
      const done = zone === '' && (await hasChangedDefaultZone(pool, config, newest.at));
      await pool.query(
        `insert into notification_state values ($1, $2, $3, $4, '', $5)
         on conflict (tenant, kind, zone) do update set at = $4, cursor = '', done = $5 where notification_state.at < $4`,
        [tenant, kind, zone, newest.at, done],
      );
      if (!done) occurrences.push({ kind, zone, cursor: '', done, ...newest });
    }
    return occurrences;
  }

  /** Publishes at most `left` pages of an occurrence. Returns how many are left. */
  private async publishOccurrence(
    config: ActiveConfig,
    occurrence: ScheduleState & Occurrence,
    now: number,
    left: number,
  ): Promise<number> {
    let { cursor } = occurrence;
    for (let pages = left; pages > 0; pages -= 1) {
      const messages = await this.messagesOf(config, { ...occurrence, cursor });
      const isCommitted = await this.commit(config, { ...occurrence, cursor }, now, messages);
      const reached = isCommitted ? messages.last : await this.cursorOf(config.tenant, occurrence);
      if (reached === undefined) return pages - 1;
      cursor = reached;
    }
    return 0;
  }

  /** How far another process or a concurrent sweep has published an occurrence; undefined when it is done, or a newer one has begun. */
  private async cursorOf(tenant: number, { kind, zone, at }: ScheduleState & Occurrence): Promise<string | undefined> {
    const { rows } = await this.options.pool.query<{ cursor: string }>(
      'select cursor from notification_state where tenant = $1 and kind = $2 and zone = $3 and at = $4 and not done',
      [tenant, kind, zone, at],
    );
    return rows[0]?.cursor;
  }

  private async messagesOf(config: ActiveConfig, { kind, zone, at, day, cursor }: ScheduleState & Occurrence): Promise<PageMessages> {
    const { pool } = this.options;
    if (kind === 'emails.achievement_due') {
      const { ids, contents, isLast } = await readPending(pool, config.tenant, zone, at);
      return { contents, last: isLast ? undefined : ids.at(-1), pending: ids };
    }
    const isReachable = this.reachableBy(config, kind);
    const { recipients, last } = await readPage(pool, config, { kind, isReachable, zone, day, at, after: cursor });
    return { contents: await this.contentsOf(config, kind, day, recipients), last, pending: [] };
  }

  /** Whether a webhook is published about a user with a profile, or a message sent to the user. */
  private reachableBy(config: ActiveConfig, kind: ScheduleKind): (profile: ProfileFact) => boolean {
    const type = typeOf[kind];
    const isSubscribed = subscribedKinds(config).has(kind);
    const channels = channelsFor(config.document, type, this.options.open);
    return (profile) => (isSubscribed && receivesEmail(profile, type)) || reachOf(profile, type, channels).length > 0;
  }

  private async contentsOf(
    config: ActiveConfig,
    kind: UserScheduleKind,
    day: number,
    recipients: readonly Recipient[],
  ): Promise<DueContents> {
    const { document, tenant } = config;
    switch (kind) {
      case 'emails.recap_due': {
        const { first: periodStart, last: periodEnd } = recapPeriod(document, day);
        const content = { body: { recap: { periodStart, periodEnd } }, about: { type: 'recap', periodStart, periodEnd } } as const;
        return new Map(recipients.map(({ id }) => [id, [content]]));
      }
      case 'emails.reactivation_due':
        return new Map(
          recipients.map(({ id, idleDays }) => {
            const messageNumber = document.settings.reactivationDays.indexOf(idleDays) + 1;
            const reactivation = { messageNumber, daysSinceLastActive: idleDays };
            return [id, [{ body: { reactivation }, about: { type: 'reactivation', ...reactivation } }]];
          }),
        );
      case 'emails.streak_reminder_due': {
        const streaks = await Promise.all(recipients.map(({ id }) => this.endingStreak(tenant, id)));
        return new Map(streaks.flat());
      }
    }
  }

  /** A user's streak that expires after the current period, as a read would return it; empty if it was extended or the user was deleted. */
  private async endingStreak(tenant: number, id: string): Promise<[id: string, contents: DueContent[]][]> {
    try {
      const streak = await readStreak(this.options.stores, tenant, id, 0);
      return isEnding(streak) ? [[id, [{ body: { streak }, about: { type: 'streak_reminder' } }]]] : [];
    } catch (error) {
      if (error instanceof LaurelError && error.code === 'not_found') return [];
      throw error;
    }
  }

  /** Adds the messages of a page and saves the progress; false when another process has published the page. */
  private async commit(
    config: ActiveConfig,
    { kind, zone, at, day, cursor }: ScheduleState & Occurrence,
    now: number,
    { contents, last, pending }: PageMessages,
  ): Promise<boolean> {
    const { tenant } = config;
    // In the order of the ledger, which is also the order of the outbox (outbox.ts).
    const sent = await betweenBatches(this.options.pool, tenant, async (client) => {
      const { rowCount } = await client.query(
        `update notification_state set cursor = $6, done = $7
          where tenant = $1 and kind = $2 and zone = $3 and at = $4 and cursor = $5 and not done`,
        [tenant, kind, zone, at, cursor, last ?? '', last === undefined],
      );
      if (rowCount === 0) return undefined;
      const users = await readProfiles(client, tenant, [...contents.keys()]);
      // A pending achievement is published once, even if the user has moved since.
      if (kind === 'emails.achievement_due') await deletePending(client, pending);
      else for (const user of await notifiedElsewhere(client, config, { kind, day, now }, users)) users.delete(user);
      return this.queue(client, config, { kind, at, now }, { users, contents });
    });
    if (sent !== undefined && sent > 0) this.options.onQueued();
    return sent !== undefined;
  }

  /** Adds the webhooks and the messages about users to the outbox. Returns the number of deliveries. */
  private async queue(
    client: pg.ClientBase,
    config: ActiveConfig,
    { kind, at, now }: { readonly kind: ScheduleKind; readonly at: number; readonly now: number },
    { users, contents }: { readonly users: ReadonlyMap<string, ProfileFact>; readonly contents: DueContents },
  ): Promise<number> {
    const timestamp = new Date(at).toISOString();
    const due = [...users].flatMap(([user, profile]) => (contents.get(user) ?? []).map((content) => ({ user, profile, ...content })));
    const webhooks = due
      .filter(({ profile }) => receivesEmail(profile, typeOf[kind]))
      .map(({ user, profile, body }): WebhookEvent => {
        const payload = { type: kind, timestamp, user: userResponse(config, user, profile), ...body };
        return { kind, subject: `user:${user}`, user, at: new Date(now), payload };
      });
    const notifications = due.flatMap(({ user, about }): Notification[] => (about === null ? [] : [{ user, at, about }]));
    const sent = await publishEvents(client, config.tenant, config, webhooks);
    return sent + (await queueNotifications(client, config, notifications, { now, open: this.options.open }));
  }
}
