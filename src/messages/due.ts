import type pg from 'pg';
import type { Stores } from '../engine/leaderboards.js';
import { readStreak } from '../engine/streaks.js';
import { LaurelError } from '../shared/errors.js';
import { betweenBatches } from '../ledger/offsets.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { StreakResponse } from '../responses/streaks.js';
import {
  isSameOccurrence,
  localDayOf,
  newestOccurrence,
  recapPeriod,
  scheduleKinds,
  type Occurrence,
  type ScheduleKind,
} from './schedules.js';
import { readPage, notifiedElsewhere, zonesOf, type Recipient, type Bodies, type UserScheduleKind } from './recipients.js';
import { addToOutbox, subscribedKinds, type OutboxMessage } from '../deliveries/outbox.js';
import { deletePending, deleteAllPending, readPending } from './pending-achievements.js';
import { readUsers } from './profiles.js';

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
  readonly bodies: Bodies;
  /** The cursor after the page; undefined on the last page. */
  readonly last: string | undefined;
  /** The pending achievements of the page, with or without a message. */
  readonly pending: readonly string[];
}

/**
 * Publishes due emails by the local time of users (docs/rules/emails.md), zone by zone and page by page. Messages and the progress commit together. Safe
 * to run twice, in several processes at once, and late; an occurrence more than a day late is skipped.
 */
export class DueEmails {
  private readonly stores: Stores;
  private readonly pool: pg.Pool;
  private readonly onMessages: () => void;
  /** Tenant → the configuration version and the quarter of an hour for which everything has been published. */
  private readonly processed = new Map<number, string>();

  /** `onMessages` is called when there are messages to deliver. */
  constructor(stores: Stores, pool: pg.Pool, onMessages: () => void) {
    this.stores = stores;
    this.pool = pool;
    this.onMessages = onMessages;
  }

  /** Publishes the emails that are due at a time of the engine's clock, in at most `pages` pages; the rest is left to the next call. */
  async publish(config: ActiveConfig, now: number, pages: number): Promise<void> {
    const { tenant, version } = config;
    const subscribed = subscribedKinds(config);
    const kinds = scheduleKinds.filter((kind) => subscribed.has(kind));
    const key = `${version} ${Math.floor(now / quarterMs)}`;
    if (this.processed.get(tenant) === key) return;
    await this.pool.query('delete from notification_state where tenant = $1 and kind <> all($2::text[])', [tenant, kinds]);
    if (!kinds.includes('emails.achievement_due')) await deleteAllPending(this.pool, tenant);
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
    const { clock, history } = this.stores;
    await history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  }

  /** Returns the unfinished occurrences of a kind and saves new ones. A newly subscribed kind starts now. */
  private async startOccurrences(config: ActiveConfig, kind: ScheduleKind, now: number): Promise<(ScheduleState & Occurrence)[]> {
    const { tenant, document } = config;
    await this.pool.query(`insert into notification_state values ($1, $2, '${subscribedSince}', $3, '', true) on conflict do nothing`, [
      tenant,
      kind,
      now,
    ]);
    const { rows } = await this.pool.query<Omit<ScheduleState, 'at'> & { at: string }>(
      'select kind, zone, at, cursor, done from notification_state where tenant = $1 and kind = $2',
      [tenant, kind],
    );
    const states = new Map(rows.map((row): [string, ScheduleState] => [row.zone, { ...row, at: Number(row.at) }]));
    const subscribedAt = states.get(subscribedSince)?.at ?? now;
    const occurrences: (ScheduleState & Occurrence)[] = [];
    for (const zone of await zonesOf(this.pool, tenant)) {
      const before = states.get(zone);
      const name = zone || document.settings.defaultTimeZone;
      const newest = newestOccurrence(kind, document, name, now);
      if (!newest) continue;
      const started = before && { ...before, day: localDayOf(before.at, name) };
      const isStarted = started !== undefined && isSameOccurrence(kind, document, started, newest);
      if (isStarted && !started.done) occurrences.push(started);
      if (isStarted || newest.at <= (before?.at ?? subscribedAt)) continue;
      await this.pool.query(
        `insert into notification_state values ($1, $2, $3, $4, '', false)
         on conflict (tenant, kind, zone) do update set at = $4, cursor = '', done = false where notification_state.at < $4`,
        [tenant, kind, zone, newest.at],
      );
      occurrences.push({ kind, zone, cursor: '', done: false, ...newest });
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
    const { rows } = await this.pool.query<{ cursor: string }>(
      'select cursor from notification_state where tenant = $1 and kind = $2 and zone = $3 and at = $4 and not done',
      [tenant, kind, zone, at],
    );
    return rows[0]?.cursor;
  }

  private async messagesOf(config: ActiveConfig, { kind, zone, at, day, cursor }: ScheduleState & Occurrence): Promise<PageMessages> {
    if (kind === 'emails.achievement_due') {
      const { ids, bodies, isLast } = await readPending(this.pool, config.tenant, zone, at);
      return { bodies, last: isLast ? undefined : ids.at(-1), pending: ids };
    }
    const { recipients, last } = await readPage(this.pool, config, kind, { zone, day, after: cursor });
    return { bodies: await this.bodiesOf(config, kind, day, recipients), last, pending: [] };
  }

  private async bodiesOf(config: ActiveConfig, kind: UserScheduleKind, day: number, recipients: readonly Recipient[]): Promise<Bodies> {
    const { document, tenant } = config;
    switch (kind) {
      case 'emails.recap_due': {
        const { first, last } = recapPeriod(document, day);
        return new Map(recipients.map(({ id }) => [id, [{ recap: { periodStart: first, periodEnd: last } }]]));
      }
      case 'emails.reactivation_due':
        return new Map(
          recipients.map(({ id, idleDays }) => {
            const messageNumber = document.settings.reactivationDays.indexOf(idleDays) + 1;
            return [id, [{ reactivation: { messageNumber, daysSinceLastActive: idleDays } }]];
          }),
        );
      case 'emails.streak_reminder_due': {
        const streaks = await Promise.all(recipients.map(({ id }) => this.endingStreak(tenant, id)));
        return new Map(streaks.flat());
      }
    }
  }

  /** A user's streak that expires after the current period, as a read would return it; empty if it was extended or the user was deleted. */
  private async endingStreak(tenant: number, id: string): Promise<[id: string, bodies: [{ readonly streak: StreakResponse }]][]> {
    try {
      const streak = await readStreak(this.stores, tenant, id, 0);
      return streak.length > 0 && streak.expires === streak.periodEnd ? [[id, [{ streak }]]] : [];
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
    { bodies, last, pending }: PageMessages,
  ): Promise<boolean> {
    const { tenant } = config;
    // In the order of the ledger, which is also the order of the outbox (outbox.ts).
    const sent = await betweenBatches(this.pool, tenant, async (client) => {
      const { rowCount } = await client.query(
        `update notification_state set cursor = $6, done = $7
          where tenant = $1 and kind = $2 and zone = $3 and at = $4 and cursor = $5 and not done`,
        [tenant, kind, zone, at, cursor, last ?? '', last === undefined],
      );
      if (rowCount === 0) return undefined;
      const users = await readUsers(client, config, [...bodies.keys()]);
      // A pending achievement is published once, even if the user has moved since.
      if (kind === 'emails.achievement_due') await deletePending(client, pending);
      else for (const user of await notifiedElsewhere(client, config, { kind, day, now }, users.values())) users.delete(user);
      const timestamp = new Date(at).toISOString();
      const messages = [...users].flatMap(([user, profile]) =>
        (bodies.get(user) ?? []).map((body): OutboxMessage => {
          const payload = { type: kind, timestamp, user: profile, ...body };
          return { kind, subject: `user:${user}`, user, at: new Date(now), payload };
        }),
      );
      return addToOutbox(client, tenant, config, messages);
    });
    if (sent !== undefined && sent > 0) this.onMessages();
    return sent !== undefined;
  }
}
