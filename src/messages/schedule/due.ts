import type pg from 'pg';
import { type Channel, type NotificationType, notificationTypes } from '../../config/schema/message-types.js';
import { subscribedKinds } from '../../deliveries/outbox.js';
import type { Stores } from '../../engine/leaderboards.js';
import { readStreakAndFact } from '../../engine/streaks.js';
import type { ProfileFact } from '../../ledger/entry.js';
import { betweenBatches } from '../../ledger/offsets.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { LaurelError } from '../../shared/errors.js';
import { localDayOf } from '../../shared/zones.js';
import { channelsFor } from '../rules/channels.js';
import { type Audience, audiences, type Notification, typeOf, webhookOf } from '../rules/notification.js';
import { reachOf, readProfiles, receivesEmail } from '../rules/profiles.js';
import { periodToRemindOf } from '../rules/streak-reminder.js';
import {
  isSameOccurrence,
  newestOccurrence,
  type Occurrence,
  recapPeriod,
  type Rules,
  rulesIn,
  scheduleKinds,
  type UserScheduleKind,
} from '../rules/times.js';
import { DueMoments } from './due-moments.js';
import { isSent, queueNotifications } from './queue.js';
import { hasChangedDefaultZone, notifiedBefore, readPage, readWeekChanges, type Recipient, zonesOf } from './recipients.js';
import { computeTimesAgain, isAnyDue, queueWaiting, unscheduleOthers } from './waiting.js';

/** In every time zone, local hours begin at a quarter of a UTC hour. */
const quarterMs = 900_000;
/** The pseudo-zone whose row has the time since which a kind is subscribed to. */
const subscribedSince = '*';

/** How far a kind has been published in a zone. */
interface ScheduleState {
  readonly kind: UserScheduleKind;
  readonly zone: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly cursor: string;
  readonly done: boolean;
}

interface DueOccurrence extends ScheduleState, Occurrence {
  /** Those of the zone. */
  readonly rules: Rules;
}

/** A page of the users of an occurrence. */
interface Page {
  readonly notifications: readonly Notification[];
  /** The cursor after the page; undefined on the last page. */
  readonly last: string | undefined;
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
  /** Tenant → the configuration version that what waits has been timed by. */
  private readonly timed = new Map<number, number>();

  constructor(options: DueOptions) {
    this.options = options;
  }

  /** Whether a tenant has nothing that is due by local time, and no state of former subscriptions. */
  isIdle(config: ActiveConfig): boolean {
    if (this.options.open.size === 0 && config.document.webhooks.length === 0) return true;
    return this.sentBy(config).length === 0 && this.processed.get(config.tenant) === `${config.version} idle`;
  }

  /** What is published at all: webhooks with subscribers, and notifications that are sent to users. */
  private sentBy(config: ActiveConfig): { readonly audience: Audience; readonly type: NotificationType }[] {
    const subscribed = subscribedKinds(config);
    return notificationTypes.flatMap((type) => [
      ...(isSent(config, type, this.options.open) ? [{ audience: 'user', type } as const] : []),
      ...(subscribed.has(webhookOf[type]) ? [{ audience: 'webhook', type } as const] : []),
    ]);
  }

  /** The kinds that are published by reading all users of a zone. Achievements are scheduled when they are completed (waiting.ts). */
  private kindsOf(config: ActiveConfig): UserScheduleKind[] {
    const types = new Set(this.sentBy(config).map(({ type }) => type));
    return scheduleKinds.filter((kind) => kind !== 'emails.achievement_due').filter((kind) => types.has(typeOf[kind]));
  }

  /** The moments at which something may become due from now on, unless users do something. */
  momentsOf(config: ActiveConfig): Promise<DueMoments> {
    return DueMoments.read(this.options.pool, config, this.kindsOf(config));
  }

  /**
   * Publishes what is due at a time of the engine's clock, in at most `pages` pages for what waits and as many for what becomes due; the rest is left to
   * the next call.
   */
  async publish(config: ActiveConfig, now: number, pages: number): Promise<void> {
    const { tenant, version } = config;
    const sent = this.sentBy(config);
    const key = `${version} ${sent.length === 0 ? 'idle' : Math.floor(now / quarterMs)}`;
    const isProcessed = this.processed.get(tenant) === key;
    if (!isProcessed) await this.prepare(config);
    for (const audience of audiences.filter((one) => sent.some(({ audience }) => audience === one))) {
      await this.publishWaiting(config, audience, now, pages);
    }
    if (isProcessed) return;
    let left = pages;
    for (const kind of this.kindsOf(config)) {
      const occurrences = await this.startOccurrences(config, kind, now);
      if (occurrences.length > 0) await this.waitForWrites(tenant);
      for (const occurrence of occurrences) left = await this.publishOccurrence(config, occurrence, now, left);
    }
    if (left > 0) this.processed.set(tenant, key);
  }

  /** Deletes the state of what is no longer published, and applies a new configuration to what waits. */
  private async prepare(config: ActiveConfig): Promise<void> {
    const { tenant, version } = config;
    const { pool } = this.options;
    await pool.query('delete from notification_state where tenant = $1 and kind <> all($2::text[])', [tenant, this.kindsOf(config)]);
    await unscheduleOthers(pool, tenant, this.sentBy(config));
    if (this.timed.get(tenant) === version) return;
    await computeTimesAgain(pool, tenant);
    this.timed.set(tenant, version);
  }

  /** Queues what waits for an audience and whose time has come, in at most `pages` transactions. */
  private async publishWaiting(config: ActiveConfig, audience: Audience, now: number, pages: number): Promise<void> {
    const { pool, open, onQueued } = this.options;
    const { tenant } = config;
    for (let page = 0; page < pages; page += 1) {
      if (!(await isAnyDue(pool, tenant, audience, now))) return;
      // Who receives a webhook is decided now; a notification is checked once more before it is sent.
      if (audience === 'webhook' && page === 0) await this.waitForWrites(tenant);
      const sent = await betweenBatches(pool, tenant, (client) => queueWaiting(client, config, audience, { now, open }));
      if (sent > 0) onQueued();
    }
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
  private async startOccurrences(config: ActiveConfig, kind: UserScheduleKind, now: number): Promise<DueOccurrence[]> {
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
    const occurrences: DueOccurrence[] = [];
    const weekChanges = await readWeekChanges(pool, config);
    for (const zone of await zonesOf(pool, tenant)) {
      const before = states.get(zone);
      const name = zone || document.settings.defaultTimeZone;
      const rules = rulesIn(name, document, weekChanges);
      const newest = newestOccurrence(kind, rules, name, now);
      if (!newest) continue;
      const started = before && { ...before, day: localDayOf(before.at, name), rules };
      const isStarted = started !== undefined && isSameOccurrence(kind, rules, started, newest);
      if (isStarted && !started.done) occurrences.push(started);
      if (isStarted || newest.at <= (before?.at ?? subscribedAt)) continue;
      // Users without a zone have moved since: the hour had passed where they live now.
      const done = zone === '' && (await hasChangedDefaultZone(pool, config, newest.at));
      await pool.query(
        `insert into notification_state values ($1, $2, $3, $4, '', $5)
         on conflict (tenant, kind, zone) do update set at = $4, cursor = '', done = $5 where notification_state.at < $4`,
        [tenant, kind, zone, newest.at, done],
      );
      if (!done) occurrences.push({ kind, zone, cursor: '', done, rules, ...newest });
    }
    return occurrences;
  }

  /** Publishes at most `left` pages of an occurrence. Returns how many are left. */
  private async publishOccurrence(config: ActiveConfig, occurrence: DueOccurrence, now: number, left: number): Promise<number> {
    let { cursor } = occurrence;
    for (let pages = left; pages > 0; pages -= 1) {
      const page = await this.readPage(config, { ...occurrence, cursor });
      const isCommitted = await this.commit(config, { ...occurrence, cursor }, now, page);
      const reached = isCommitted ? page.last : await this.cursorOf(config.tenant, occurrence);
      if (reached === undefined) return pages - 1;
      cursor = reached;
    }
    return 0;
  }

  /** How far another process or a concurrent sweep has published an occurrence; undefined when it is done, or a newer one has begun. */
  private async cursorOf(tenant: number, { kind, zone, at }: DueOccurrence): Promise<string | undefined> {
    const { rows } = await this.options.pool.query<{ cursor: string }>(
      'select cursor from notification_state where tenant = $1 and kind = $2 and zone = $3 and at = $4 and not done',
      [tenant, kind, zone, at],
    );
    return rows[0]?.cursor;
  }

  private async readPage(config: ActiveConfig, { kind, zone, at, day, rules, cursor }: DueOccurrence): Promise<Page> {
    const isReachable = this.reachableBy(config, kind);
    const { recipients, last } = await readPage(this.options.pool, config, { kind, isReachable, zone, day, rules, at, after: cursor });
    return { notifications: await this.notificationsOf(config, { kind, at, day, rules }, recipients), last };
  }

  /** Whether a webhook is published about a user with a profile, or a message sent to the user. */
  private reachableBy(config: ActiveConfig, kind: UserScheduleKind): (profile: ProfileFact) => boolean {
    const type = typeOf[kind];
    const isSubscribed = subscribedKinds(config).has(kind);
    const channels = channelsFor(config.document, type, this.options.open);
    return (profile) => (isSubscribed && receivesEmail(profile, type)) || reachOf(profile, type, channels).length > 0;
  }

  private async notificationsOf(
    { document, tenant }: ActiveConfig,
    { kind, at, day, rules }: Pick<DueOccurrence, 'kind' | 'at' | 'day' | 'rules'>,
    recipients: readonly Recipient[],
  ): Promise<Notification[]> {
    switch (kind) {
      case 'emails.recap_due': {
        const { first: periodStart, last: periodEnd } = recapPeriod(rules, day);
        return recipients.map(({ id: user }) => ({ user, at, about: { type: 'recap', periodStart, periodEnd } }));
      }
      case 'emails.reactivation_due':
        return recipients.map(({ id: user, idleDays: daysSinceLastActive }) => {
          const messageNumber = document.settings.reactivationDays.indexOf(daysSinceLastActive) + 1;
          return { user, at, about: { type: 'reactivation', messageNumber, daysSinceLastActive } };
        });
      case 'emails.streak_reminder_due': {
        const reminders = await Promise.all(recipients.map(({ id }) => this.reminderOf(tenant, id, { at, day })));
        return reminders.filter((reminder) => reminder !== undefined);
      }
    }
  }

  /** The reminder of a user's streak, as a read would return it; undefined if there is nothing to remind of, or the user was deleted. */
  private async reminderOf(tenant: number, user: string, { at, day }: Occurrence): Promise<Notification | undefined> {
    try {
      const { config, fact, response: streak } = await readStreakAndFact(this.options.stores, tenant, user, 0);
      const periodEnd = periodToRemindOf(config, fact, day);
      return periodEnd === undefined ? undefined : { user, at, about: { type: 'streak_reminder', periodEnd }, streak };
    } catch (error) {
      if (error instanceof LaurelError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  /** Queues a page and saves the progress; false when another process has published the page. */
  private async commit(
    config: ActiveConfig,
    { kind, zone, at, day, cursor }: DueOccurrence,
    now: number,
    { notifications, last }: Page,
  ): Promise<boolean> {
    const { tenant } = config;
    const { pool, open, onQueued } = this.options;
    // In the order of the ledger, which is also the order of the outbox (outbox.ts).
    const sent = await betweenBatches(pool, tenant, async (client) => {
      const { rowCount } = await client.query(
        `update notification_state set cursor = $6, done = $7
          where tenant = $1 and kind = $2 and zone = $3 and at = $4 and cursor = $5 and not done`,
        [tenant, kind, zone, at, cursor, last ?? '', last === undefined],
      );
      if (rowCount === 0) return undefined;
      const users = notifications.map(({ user }) => user);
      const profiles = await readProfiles(client, tenant, users);
      for (const user of await notifiedBefore(client, config, { kind, day }, notifications)) profiles.delete(user);
      const due = notifications.flatMap((notification) => {
        const profile = profiles.get(notification.user);
        return profile ? [{ ...notification, profile }] : [];
      });
      return queueNotifications(client, config, due, { now, open, audiences });
    });
    if (sent !== undefined && sent > 0) onQueued();
    return sent !== undefined;
  }
}
