import type pg from 'pg';
import { betweenBatches } from '../ledger/offsets.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { WebhookKind } from '../config/schema/webhook-kinds.js';
import { subscribedKinds } from '../deliveries/outbox.js';
import { publishBoards, publishFinals } from './leaderboard-state.js';
import { trackedKinds, publishCalendar } from './zone-transitions.js';
import { publishPoints } from './points-state.js';
import { publishRanks } from './rank-state.js';
import { dayMs } from '../shared/calendar.js';

/** Publishes some of the due events. Returns the number of deliveries. */
type PublishDue = (client: pg.ClientBase, config: ActiveConfig, now: number) => Promise<number>;

/** A kind with scheduled events. */
interface Topic {
  readonly kind: WebhookKind;
  /** Selects a row if anything of a tenant is due at a time. */
  readonly findDue: string;
  readonly publish: PublishDue;
  /** Delete the state of a tenant. */
  readonly forget: readonly string[];
}

const topics: readonly Topic[] = [
  {
    kind: 'leaderboard.finished',
    findDue: `select 1 from webhook_leaderboard_state where kind = 'leaderboard.finished' and tenant = $1 and at <= $2 limit 1`,
    publish: publishFinals,
    forget: [`delete from webhook_leaderboard_state where kind = 'leaderboard.finished' and tenant = $1`],
  },
  {
    kind: 'points.changed',
    findDue: 'select 1 from webhook_points_state where tenant = $1 and at <= $2 limit 1',
    publish: publishPoints,
    forget: ['delete from webhook_points_state where tenant = $1'],
  },
  {
    kind: 'leaderboard.changed',
    findDue: `select 1 from webhook_leaderboard_state where kind = 'leaderboard.changed' and tenant = $1 and at <= $2 limit 1`,
    publish: publishBoards,
    forget: [`delete from webhook_leaderboard_state where kind = 'leaderboard.changed' and tenant = $1`],
  },
  {
    kind: 'leaderboard.rank_changed',
    findDue: 'select 1 from webhook_ranking_state where tenant = $1 and at <= $2 limit 1',
    publish: publishRanks,
    forget: ['delete from webhook_ranking_state where tenant = $1', 'delete from webhook_user_rank_state where tenant = $1'],
  },
];

const processedKey = ({ version }: ActiveConfig, day: number): string => `${version} ${day}`;

/**
 * Publishes scheduled events (docs/rules/webhooks.md): changes that are published at most every 15 minutes, finished runs, and what the calendar
 * starts and ends. Events and their state commit together, in the order of the tenant's ledger, whose offset each transaction locks. Safe to run
 * twice, in several processes at once, and late.
 */
export class DueWebhooks {
  private readonly pool: pg.Pool;
  private readonly onQueued: () => void;
  /** Tenant → the configuration version and the day for which the calendar was published and unsubscribed state deleted. */
  private readonly processed = new Map<number, string>();

  /** `onQueued` is called when there is something to deliver. */
  constructor(pool: pg.Pool, onQueued: () => void) {
    this.pool = pool;
    this.onQueued = onQueued;
  }

  /** Whether a tenant has no scheduled events and no state of former subscriptions. */
  isIdle(config: ActiveConfig): boolean {
    if (config.document.webhooks.length === 0) return true;
    return subscribedKinds(config).size === 0 && this.processed.get(config.tenant) === processedKey(config, 0);
  }

  /** Publishes the events that are due at a time of the engine's clock, in at most `transactions` for each kind; the rest is left to the next call. */
  async publish(config: ActiveConfig, now: number, transactions: number): Promise<void> {
    const kinds = subscribedKinds(config);
    const day = kinds.size === 0 ? 0 : Math.floor(now / dayMs);
    const key = processedKey(config, day);
    if (this.processed.get(config.tenant) !== key) {
      await this.deleteUnsubscribed(config.tenant, kinds);
      if (trackedKinds(kinds).length > 0) await this.inOrder(config.tenant, (client) => publishCalendar(client, config, kinds, now));
      this.processed.set(config.tenant, key);
    }
    for (const topic of topics) if (kinds.has(topic.kind)) await this.publishTopic(config, topic, now, transactions);
  }

  private async publishTopic(config: ActiveConfig, { findDue, publish }: Topic, now: number, transactions: number): Promise<void> {
    const { tenant } = config;
    for (let done = 0; done < transactions; done += 1) {
      const { rowCount } = await this.pool.query(findDue, [tenant, now]);
      if (rowCount === 0) return;
      await this.inOrder(tenant, (client) => publish(client, config, now));
    }
  }

  /** Runs `work` in the order of the tenant's ledger, which is also the order of the outbox (outbox.ts). */
  private async inOrder(tenant: number, work: (client: pg.ClientBase) => Promise<number>): Promise<void> {
    const sent = await betweenBatches(this.pool, tenant, work);
    if (sent > 0) this.onQueued();
  }

  /** Deletes the state of kinds without subscriptions: a later subscriber receives only what happens from then on. */
  private async deleteUnsubscribed(tenant: number, kinds: ReadonlySet<WebhookKind>): Promise<void> {
    const unsubscribed = topics.filter(({ kind }) => !kinds.has(kind)).flatMap(({ forget }) => forget);
    for (const statement of unsubscribed) await this.pool.query(statement, [tenant]);
    await this.pool.query('delete from webhook_calendar_state where tenant = $1 and not kind = any($2::text[])', [
      tenant,
      trackedKinds(kinds),
    ]);
  }
}
