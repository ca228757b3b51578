import type pg from 'pg';
import type { Stores } from '../engine/leaderboards.js';
import { readStreak } from '../engine/streaks.js';
import { LaurelError } from '../shared/errors.js';
import { betweenBatches } from '../ledger/offsets.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { StreakResponse } from '../responses/streaks.js';
import { isSameRound, localDayOf, newestRound, recapPeriod, roundKinds, type Round, type RoundKind } from './email-schedules.js';
import { readPage, notifiedElsewhere, zonesOf, type Addressee, type Bodies, type UserRoundKind } from './email-users.js';
import { addToOutbox, subscribedKinds, type OutboxMessage } from './outbox.js';
import { dropPending, forgetPending, readPending } from './pending-achievements.js';
import { readUsers } from './profiles.js';

/** Local hours begin at quarters of an hour of UTC, in every zone that there is. */
const quarterMs = 900_000;
/** Stands for the moment from which on a kind is told at all. */
const since = '*';

/** How far a kind has been told in a zone. */
interface ScheduledUser {
  readonly kind: RoundKind;
  readonly zone: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly cursor: string;
  readonly done: boolean;
}

/** Some of the messages of a round. */
interface Messages {
  readonly bodies: Bodies;
  /** The cursor after them; undefined when they are the last. */
  readonly last: string | undefined;
  /** The pending achievements that they, or nothing, are told of. */
  readonly pending: readonly string[];
}

/**
 * Tells when e-mails are due by the local time of users (docs/webhooks.md, "E-mails"), zone by zone and page by page. Messages and the note how far
 * that is commit together. Safe to run twice, in several processes at once, and late; what is late by more than a day is left out.
 */
export class DueEmails {
  private readonly stores: Stores;
  private readonly pool: pg.Pool;
  private readonly onMessages: () => void;
  /** Tenant → the configuration version and the quarter of an hour for which everything has been told. */
  private readonly looked = new Map<number, string>();

  /** `onMessages` hears that there are deliveries to make. */
  constructor(stores: Stores, pool: pg.Pool, onMessages: () => void) {
    this.stores = stores;
    this.pool = pool;
    this.onMessages = onMessages;
  }

  /** Tells what is due at a moment of the engine's clock, in at most `pages` pages; the rest is for the next call. */
  async tell(config: ActiveConfig, now: number, pages: number): Promise<void> {
    const { tenant, version } = config;
    const subscribed = subscribedKinds(config);
    const kinds = roundKinds.filter((kind) => subscribed.has(kind));
    const look = `${version} ${Math.floor(now / quarterMs)}`;
    if (this.looked.get(tenant) === look) return;
    await this.pool.query('delete from webhook_email_state where tenant = $1 and kind <> all($2::text[])', [tenant, kinds]);
    if (!kinds.includes('emails.achievement_due')) await forgetPending(this.pool, tenant);
    let left = pages;
    for (const kind of kinds) {
      const rounds = await this.begin(config, kind, now);
      if (rounds.length > 0) await this.catchUp(tenant);
      for (const told of rounds) left = await this.publishScheduled(config, told, now, left);
    }
    if (left > 0) this.looked.set(tenant, look);
  }

  /**
   * Waits until Postgres, which knows who is to be told, has what has happened: whoever has just come back, or wants no e-mails any more, has been
   * promised that. Throws a 503 when it takes too long; the round is then told later.
   */
  private async catchUp(tenant: number): Promise<void> {
    const { clock, history } = this.stores;
    await history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  }

  /** The rounds of a kind that are not over: new ones are noted. A kind that is subscribed to anew is told of from now on. */
  private async begin(config: ActiveConfig, kind: RoundKind, now: number): Promise<(ScheduledUser & Round)[]> {
    const { tenant, document } = config;
    await this.pool.query(`insert into webhook_email_state values ($1, $2, '${since}', $3, '', true) on conflict do nothing`, [
      tenant,
      kind,
      now,
    ]);
    const { rows } = await this.pool.query<Omit<ScheduledUser, 'at'> & { at: string }>(
      'select kind, zone, at, cursor, done from webhook_email_state where tenant = $1 and kind = $2',
      [tenant, kind],
    );
    const noted = new Map(rows.map((row): [string, ScheduledUser] => [row.zone, { ...row, at: Number(row.at) }]));
    const started = noted.get(since)?.at ?? now;
    const rounds: (ScheduledUser & Round)[] = [];
    for (const zone of await zonesOf(this.pool, tenant)) {
      const before = noted.get(zone);
      const name = zone || document.settings.defaultTimeZone;
      const round = newestRound(kind, document, name, now);
      if (!round) continue;
      const begun = before && { ...before, day: localDayOf(before.at, name) };
      const isBegun = begun !== undefined && isSameRound(kind, document, begun, round);
      if (isBegun && !begun.done) rounds.push(begun);
      if (isBegun || round.at <= (before?.at ?? started)) continue;
      await this.pool.query(
        `insert into webhook_email_state values ($1, $2, $3, $4, '', false)
         on conflict (tenant, kind, zone) do update set at = $4, cursor = '', done = false where webhook_email_state.at < $4`,
        [tenant, kind, zone, round.at],
      );
      rounds.push({ kind, zone, cursor: '', done: false, ...round });
    }
    return rounds;
  }

  /** Tells the pages of a round, at most `left`. Returns how many may still be told. */
  private async publishScheduled(config: ActiveConfig, told: ScheduledUser & Round, now: number, left: number): Promise<number> {
    let { cursor } = told;
    for (let pages = left; pages > 0; pages -= 1) {
      const messages = await this.messagesOf(config, { ...told, cursor });
      const isMine = await this.commit(config, { ...told, cursor }, now, messages);
      // Another process may be telling it.
      if (!isMine || messages.last === undefined) return pages - 1;
      cursor = messages.last;
    }
    return 0;
  }

  private async messagesOf(config: ActiveConfig, { kind, zone, at, day, cursor }: ScheduledUser & Round): Promise<Messages> {
    if (kind === 'emails.achievement_due') {
      const { ids, bodies, isLast } = await readPending(this.pool, config.tenant, zone, at);
      return { bodies, last: isLast ? undefined : ids.at(-1), pending: ids };
    }
    const { addressees, last } = await readPage(this.pool, config, kind, { zone, day, after: cursor });
    return { bodies: await this.bodiesOf(config, kind, day, addressees), last, pending: [] };
  }

  private async bodiesOf(config: ActiveConfig, kind: UserRoundKind, day: number, addressees: readonly Addressee[]): Promise<Bodies> {
    const { document, tenant } = config;
    switch (kind) {
      case 'emails.recap_due': {
        const { first, last } = recapPeriod(document, day);
        return new Map(addressees.map(({ id }) => [id, [{ recap: { periodStart: first, periodEnd: last } }]]));
      }
      case 'emails.reactivation_due':
        return new Map(
          addressees.map(({ id, idleDays }) => {
            const messageNumber = document.settings.reactivationDays.indexOf(idleDays) + 1;
            return [id, [{ reactivation: { messageNumber, daysSinceLastActive: idleDays } }]];
          }),
        );
      case 'emails.streak_reminder_due': {
        const streaks = await Promise.all(addressees.map(({ id }) => this.endingStreak(tenant, id)));
        return new Map(streaks.flat());
      }
    }
  }

  /** The streak of a user that ends with the period, as a read would show it; nothing of one that has been extended, or of a user who has gone. */
  private async endingStreak(tenant: number, id: string): Promise<[id: string, bodies: [{ readonly streak: StreakResponse }]][]> {
    try {
      const streak = await readStreak(this.stores, tenant, id, 0);
      return streak.length > 0 && streak.expires === streak.periodEnd ? [[id, [{ streak }]]] : [];
    } catch (error) {
      if (error instanceof LaurelError && error.code === 'not_found') return [];
      throw error;
    }
  }

  /** Adds the messages of a page, and notes that it is told; false when another process has done that. */
  private async commit(
    config: ActiveConfig,
    told: ScheduledUser & Round,
    now: number,
    { bodies, last, pending }: Messages,
  ): Promise<boolean> {
    const { tenant } = config;
    const { kind, zone, at, day, cursor } = told;
    // So that messages are added in one order (webhooks/outbox.ts).
    const sent = await betweenBatches(this.pool, tenant, async (client) => {
      const { rowCount } = await client.query(
        `update webhook_email_state set cursor = $6, done = $7
          where tenant = $1 and kind = $2 and zone = $3 and at = $4 and cursor = $5 and not done`,
        [tenant, kind, zone, at, cursor, last ?? '', last === undefined],
      );
      if (rowCount === 0) return undefined;
      const users = await readUsers(client, config, [...bodies.keys()]);
      // A pending achievement is told once, wherever the user is by then.
      if (kind === 'emails.achievement_due') await dropPending(client, pending);
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
