import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Webhook } from '../config/model.js';
import { numberArray } from '../postgres/arrays.js';
import { postgresFailure } from '../postgres/pool.js';
import { limits } from '../shared/limits.js';
import type { WebhookKind } from '../config/webhook-kinds.js';
import { ensureSecrets } from './queue.js';
import { type Outcome, type Secrets, type Transport, newSecret, signatureHeaders } from './transport.js';

/** How an endpoint fares. */
export interface EndpointState {
  /** Since when no try has succeeded. */
  readonly failingSince: Date | null;
  readonly switchedOff: Date | null;
}

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** A message on its way to an endpoint, or there. */
export interface Delivery {
  readonly id: string;
  readonly kind: WebhookKind;
  readonly status: DeliveryStatus;
  readonly user_id: string | null;
  /** When it happened, by the engine's clock. */
  readonly at: Date;
  readonly created: Date;
  readonly attempts: number;
  readonly next_attempt_at: Date;
  readonly finished: Date | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly tries: readonly (Omit<Outcome, 'isTaken'> & { readonly at: string })[];
}

export interface DeliveryQuery {
  readonly status?: DeliveryStatus | undefined;
  readonly kind?: WebhookKind | undefined;
  readonly limit: number;
  readonly skip: number;
}

const deliveries = `
  select d.id, d.kind, d.status, d.user_id, outbox.at, d.created, d.attempts, d.next_attempt_at, d.finished, outbox.payload, d.tries
    from webhook_deliveries as d join outbox on outbox.id = d.outbox`;

/** What operators see of webhooks and do about them, besides their configuration. A Postgres that is away is a LaurelError `not_ready`. */
export class WebhookAdmin {
  private readonly pool: pg.Pool;
  private readonly transport: Transport;

  constructor(pool: pg.Pool, transport: Transport) {
    this.pool = pool;
    this.transport = transport;
  }

  /** How endpoints of a tenant fare, by their numbers; nothing is known of those to which nothing has been sent. */
  async states(tenant: number, nos: readonly number[]): Promise<ReadonlyMap<number, EndpointState>> {
    const { rows } = await this.ask<{ no: number; failing_since: Date | null; switched_off: Date | null }>(
      'select no, failing_since, switched_off from webhook_endpoints where tenant = $1 and no = any($2::integer[])',
      [tenant, numberArray(nos)],
    );
    return new Map(rows.map(({ no, failing_since: failingSince, switched_off: switchedOff }) => [no, { failingSince, switchedOff }]));
  }

  /** The secrets of endpoints, made where there are none, by their numbers. */
  async secrets(tenant: number, nos: readonly number[]): Promise<ReadonlyMap<number, string>> {
    await ensureSecrets(this.pool, tenant, nos).catch(fail);
    const { rows } = await this.ask<{ no: number; secret: string }>(
      'select no, secret from webhook_endpoints where tenant = $1 and no = any($2::integer[])',
      [tenant, numberArray(nos)],
    );
    return new Map(rows.map(({ no, secret }) => [no, secret]));
  }

  /** Gives an endpoint a new secret. The old one stays valid for some hours; an older one ends now. */
  async rotate(tenant: number, no: number, overlapHours: number): Promise<{ secret: string; previousUntil: Date | null }> {
    await ensureSecrets(this.pool, tenant, [no]).catch(fail);
    const { rows } = await this.ask<{ secret: string; previous_until: Date | null }>(
      `update webhook_endpoints set secret = $3, previous_secret = case when $4 > 0 then secret end,
              previous_until = case when $4 > 0 then now() + $4 * interval '1 hour' end
        where tenant = $1 and no = $2 returning secret, previous_until`,
      [tenant, no, newSecret(), overlapHours],
    );
    const [row] = rows;
    if (!row) throw new Error(`webhook endpoint ${no} of tenant ${tenant} has no row`);
    return { secret: row.secret, previousUntil: row.previous_until };
  }

  /** Sends to endpoints again that had been switched off for failing. */
  async switchOn(tenant: number, nos: readonly number[]): Promise<void> {
    if (nos.length === 0) return;
    await this.ask(
      `update webhook_endpoints set switched_off = null, failing_since = null
        where tenant = $1 and no = any($2::integer[]) and (switched_off is not null or failing_since is not null)`,
      [tenant, numberArray(nos)],
    );
  }

  /** Sends an example of a kind to an endpoint, active or not, once and without keeping it. */
  async test(tenant: number, { no, url }: Webhook, kind: WebhookKind): Promise<Outcome & { readonly id: string }> {
    const secrets = await this.secretsOf(tenant, no);
    const id = `test_${randomUUID()}`;
    const body = JSON.stringify(exampleOf(kind));
    const outcome = await this.transport.post(url, signatureHeaders(id, new Date(), body, secrets), body, limits.webhookTestMs);
    return { ...outcome, id };
  }

  /** Those with which messages to an endpoint are signed now. */
  private async secretsOf(tenant: number, no: number): Promise<Secrets> {
    await ensureSecrets(this.pool, tenant, [no]).catch(fail);
    const { rows } = await this.ask<Secrets>(
      `select secret, case when previous_until > now() then previous_secret end as previous from webhook_endpoints where tenant = $1 and no = $2`,
      [tenant, no],
    );
    const [secrets] = rows;
    if (!secrets) throw new Error(`webhook endpoint ${no} of tenant ${tenant} has no row`);
    return secrets;
  }

  /** The deliveries of an endpoint, the newest first. */
  async deliveries(tenant: number, no: number, { status, kind, limit, skip }: DeliveryQuery): Promise<readonly Delivery[]> {
    const { rows } = await this.ask<Delivery>(
      `${deliveries} where d.tenant = $1 and d.endpoint = $2 ${status === undefined ? '' : `and d.status = '${status}'`}
         and ($3::text is null or d.kind = $3) order by d.outbox desc limit $4 offset $5`,
      [tenant, no, kind ?? null, limit, skip],
    );
    return rows;
  }

  /**
   * Sends a delivery again, with all of its tries, whatever has become of it; one that waits for its next try is tried now. Undefined
   * for one that the endpoint doesn't have.
   */
  async resend(tenant: number, no: number, id: string): Promise<Delivery | undefined> {
    await this.ask(
      `update webhook_deliveries
          set status = 'pending', next_attempt_at = now(), finished = null, attempts = case when status = 'pending' then attempts else 0 end
        where tenant = $1 and endpoint = $2 and id = $3 and claim is null`,
      [tenant, no, id],
    );
    const { rows } = await this.ask<Delivery>(`${deliveries} where d.tenant = $1 and d.endpoint = $2 and d.id = $3`, [tenant, no, id]);
    return rows[0];
  }

  private ask<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<T>> {
    return this.pool.query<T>(text, values).catch(fail);
  }
}

function fail(error: unknown): never {
  throw postgresFailure(error);
}

/** An example of each kind of message, for tests of endpoints and for the documents. The shapes are those of the contract's `webhooks`. */

const at = '2026-01-15T09:30:00.000Z';
const user = {
  ...{ id: 'example-user', email: 'ana@example.com', name: 'Ana', tz: 'Europe/Lisbon', deviceTokens: [], subscribeToEmails: true },
  ...{ attributes: { plan: 'pro' }, control: false, created: '2026-01-01T08:00:00.000Z', updated: at },
};
const system = {
  ...{ id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f001', key: 'points', name: 'Points', description: null, badgeUrl: null },
  maxPoints: null,
};
const level = (key: string, name: string, points: number, last: string): object => ({
  ...{ id: `5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f00${last}`, key, name, description: '', badgeUrl: null, points },
});
const achievement = {
  ...{ id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f004', key: 'first-hundred', name: 'First hundred', description: null, badgeUrl: null },
  ...{ trigger: 'metric', metricId: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f005', metricName: 'Flashcards viewed', metricValue: 100 },
  ...{ userAttributes: [], eventAttributes: [] },
};
const streak = {
  ...{ length: 7, frequency: 'daily', started: '2026-01-09', periodStart: '2026-01-15', periodEnd: '2026-01-15', expires: '2026-01-16' },
  ...{ freezes: 2, maxFreezes: 5, freezeAutoEarnInterval: 7, freezeAutoEarnAmount: 1 },
};
const wholeStreak = {
  ...{ ...streak, extended: at, pauses: [] },
  streakHistory: [{ periodStart: '2026-01-15', periodEnd: '2026-01-15', length: 7, usedFreeze: false, usedPause: false }],
};
const boost = {
  ...{ id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f006', name: 'Double XP', userId: null, pointsSystemId: system.id },
  ...{
    pointsSystemKey: system.key,
    pointsSystemName: system.name,
    start: '2026-01-15',
    end: '2026-01-22',
    multiplier: 2,
    rounding: 'down',
  },
};
const leaderboard = {
  ...{ id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f007', key: 'weekly', name: 'Weekly', description: null, rankBy: 'points' },
  ...{ pointsSystemKey: system.key, pointsSystemName: system.name, breakdownAttribute: null, breakdownAttributes: [] },
  ...{ start: '2026-01-12', end: null, startTime: null, endTime: null, maxParticipants: 100, runUnit: 'day', runInterval: 7 },
};
const rankings = [{ userId: user.id, userName: user.name, rank: 1, value: 120 }];

const examples: Readonly<Record<WebhookKind, object>> = {
  'achievement.completed': { user, achievement: { ...achievement, achievedAt: at } },
  'streak.started': { user, streak: { ...streak, length: 1, started: '2026-01-15' } },
  'streak.extended': { user, streak },
  'streak.lost': { user, length: 7 },
  'streak.freeze_consumed': { user, consumed: 1, freezes: 1 },
  'streak.freeze_earned': { user, earned: 1, freezes: 3 },
  'points.changed': { user, points: { ...system, total: 120, level: level('bronze', 'Bronze', 100, '2'), added: 20, awards: [] } },
  'points.level_changed': {
    ...{ user, points: { ...system, total: 520 } },
    ...{ previousLevel: level('bronze', 'Bronze', 100, '2'), newLevel: level('silver', 'Silver', 500, '3') },
  },
  'points.boost_started': { timestamp: at, boost: { ...boost, status: 'active' } },
  'points.boost_finished': { timestamp: at, boost: { ...boost, status: 'finished' } },
  'leaderboard.started': { leaderboard: { ...leaderboard, status: 'active', rankings: [] } },
  'leaderboard.changed': { leaderboard: { ...leaderboard, status: 'active', rankings } },
  'leaderboard.rank_changed': {
    ...{ user, leaderboard: { ...leaderboard, status: 'active', rank: 1, value: 120, previousRank: 3, previousValue: 80 } },
  },
  'leaderboard.finished': { leaderboard: { ...leaderboard, status: 'finished', rankings } },
  'emails.recap_due': { timestamp: at, user, recap: { periodStart: '2026-01-08', periodEnd: '2026-01-14' } },
  'emails.reactivation_due': { timestamp: at, user, reactivation: { messageNumber: 1, daysSinceLastActive: 7 } },
  'emails.streak_reminder_due': { timestamp: at, user, streak: wholeStreak },
  'emails.achievement_due': { timestamp: at, user, achievement: { ...achievement, achievedAt: at } },
};

/** A message of a kind as it could be sent. */
export const exampleOf = (kind: WebhookKind): object => ({ type: kind, ...examples[kind] });
