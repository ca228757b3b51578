import type pg from 'pg';
import { betweenBatches } from '../ledger/offsets.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { WebhookKind } from '../config/webhook-kinds.js';
import { subscribedKinds } from './outbox.js';
import { publishBoards, publishFinals } from './leaderboard-state.js';
import { notedKinds, publishCalendar } from './zone-transitions.js';
import { publishPoints } from './points-state.js';
import { publishRanks } from './rank-state.js';

const dayMs = 86_400_000;

/** Tells some of what is due: how many of it there were, 0 for none left, and how many deliveries there are. */
type Publish = (client: pg.ClientBase, config: ActiveConfig, now: number) => Promise<readonly [due: number, sent: number]>;

/** What is told when its time has come, by the kind that needs it: the table where it waits, and who tells it. */
const topics: readonly (readonly [kind: WebhookKind, table: string, tell: Publish])[] = [
  ['leaderboard.finished', `webhook_leaderboard_state where kind = 'leaderboard.finished' and`, publishFinals],
  ['points.changed', 'webhook_points_state where', publishPoints],
  ['leaderboard.changed', `webhook_leaderboard_state where kind = 'leaderboard.changed' and`, publishBoards],
  ['leaderboard.rank_changed', 'webhook_ranking_state where', publishRanks],
];

const nameOf = ({ version }: ActiveConfig, day: number): string => `${version} ${day}`;

/**
 * Makes messages of what is due (docs/webhooks.md, "When each kind is sent"): changes that are told at most every 15 minutes, runs that have ended,
 * and what the calendar begins and ends. Messages and the note that they are made commit together, in the order of the tenant's ledger, whose
 * offset each transaction locks. Safe to run twice, in several processes at once, and late.
 */
export class DueMessages {
  private readonly pool: pg.Pool;
  private readonly onMessages: () => void;
  /** Tenant → the configuration version and the day for which the calendar has been looked at, and what nobody subscribes to forgotten. */
  private readonly looked = new Map<number, string>();

  /** `onMessages` hears that there are deliveries to make. */
  constructor(pool: pg.Pool, onMessages: () => void) {
    this.pool = pool;
    this.onMessages = onMessages;
  }

  /** Whether nothing can be due for a tenant, nor be left from a time when somebody wanted to hear of it. */
  isIdle(config: ActiveConfig): boolean {
    if (config.document.webhooks.length === 0) return true;
    return subscribedKinds(config).size === 0 && this.looked.get(config.tenant) === nameOf(config, 0);
  }

  /** Tells what is due at a moment of the engine's clock, in at most `transactions` for each kind; the rest is for the next call. */
  async tell(config: ActiveConfig, now: number, transactions: number): Promise<void> {
    const kinds = subscribedKinds(config);
    const day = kinds.size === 0 ? 0 : Math.floor(now / dayMs);
    const looked = nameOf(config, day);
    if (this.looked.get(config.tenant) !== looked) {
      await this.forgetOthers(config.tenant, kinds);
      if (notedKinds(kinds).length > 0) await this.inOrder(config.tenant, (client) => publishCalendar(client, config, kinds, now));
      this.looked.set(config.tenant, looked);
    }
    for (const [kind, table, tell] of topics) if (kinds.has(kind)) await this.publishAll(config, table, tell, now, transactions);
  }

  private async publishAll(config: ActiveConfig, table: string, tell: Publish, now: number, transactions: number): Promise<void> {
    const { tenant } = config;
    for (let done = 0; done < transactions; done += 1) {
      const { rowCount } = await this.pool.query(`select 1 from ${table} tenant = $1 and at <= $2 limit 1`, [tenant, now]);
      if (rowCount === 0) return;
      await this.inOrder(tenant, async (client) => (await tell(client, config, now))[1]);
    }
  }

  /** Messages are added in one order (webhooks/outbox.ts). */
  private async inOrder(tenant: number, work: (client: pg.ClientBase) => Promise<number>): Promise<void> {
    const sent = await betweenBatches(this.pool, tenant, work);
    if (sent > 0) this.onMessages();
  }

  /** Forgets what was told last of kinds that nobody subscribes to any more: who does so later is told of what happens from then on. */
  private async forgetOthers(tenant: number, kinds: ReadonlySet<WebhookKind>): Promise<void> {
    for (const [kind, table] of topics) if (!kinds.has(kind)) await this.pool.query(`delete from ${table} tenant = $1`, [tenant]);
    if (!kinds.has('leaderboard.rank_changed')) await this.pool.query('delete from webhook_user_rank_state where tenant = $1', [tenant]);
    await this.pool.query('delete from webhook_calendar_state where tenant = $1 and not kind = any($2::text[])', [
      tenant,
      notedKinds(kinds),
    ]);
  }
}
