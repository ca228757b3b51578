import type pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { dayMs } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { bytesOfUuid, storedKey } from '../redis/encoding.js';
import type { JobTools } from './job.js';

interface KeyRow {
  readonly user_id: string;
  readonly metric: number;
  readonly key: string;
  readonly event_id: string;
  readonly at_ms: number;
}

/** One pass over all of a tenant's keys, in the order of the table's primary key. */
interface Pass {
  readonly days: number;
  readonly startedMs: number;
  last: Pick<KeyRow, 'user_id' | 'metric' | 'key'>;
  done: boolean;
}

const page = `
  select user_id, metric, key, event_id, (extract(epoch from at) * 1000)::float8 as at_ms from idempotency_keys
  where tenant = $1 and (user_id, metric, key) > ($2, $3, $4) order by user_id, metric, key limit ${limits.retentionPageKeys}`;

const remove = `
  delete from idempotency_keys as stored
  using unnest($2::text[], $3::integer[], $4::text[], $5::uuid[]) as old (user_id, metric, key, event_id)
  where stored.tenant = $1 and stored.user_id = old.user_id and stored.metric = old.metric and stored.key = old.key
    and stored.event_id = old.event_id`;

const retentionOf = (config: ActiveConfig): number | null => config.document.settings.idempotencyRetentionDays;

/** The moment up to which idempotency keys have expired at `nowMs`, both in ms since 1970; minus infinity if keys never expire. */
export function keysExpiredUpTo(config: ActiveConfig, nowMs: number): number {
  const days = retentionOf(config);
  return days === null ? -Infinity : nowMs - days * dayMs;
}

/**
 * Removes expired idempotency keys from Redis and then from Postgres (docs/rules/idempotency.md). Expiry does not depend on it: an event checks a key's
 * age itself. Once a day of the clock it reads the table in pages, so that tenants without expiry need no index. A key that a newer event has used
 * since is unchanged, and processing a page twice changes nothing.
 */
export class KeyRetention {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly passes = new Map<number, Pass>();

  constructor({ engine, pool, clock, log }: JobTools) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.log = log;
  }

  /** Processes at most `pages` pages of a tenant. */
  async run(tenant: number, pages: number): Promise<void> {
    const days = retentionOf(await this.engine.config(tenant));
    if (days === null) {
      this.passes.delete(tenant);
      return;
    }
    const now = await this.clock.now(tenant);
    let pass = this.passes.get(tenant);
    if (!pass || pass.days !== days || (pass.done && now - pass.startedMs >= dayMs)) {
      pass = { days, startedMs: now, last: { user_id: '', metric: 0, key: '' }, done: false };
      this.passes.set(tenant, pass);
    }
    for (let done = 0; done < pages && !pass.done; done += 1) await this.processPage(tenant, pass);
  }

  private async processPage(tenant: number, pass: Pass): Promise<void> {
    const { rows } = await this.pool.query<KeyRow>(page, [tenant, pass.last.user_id, pass.last.metric, pass.last.key]);
    const removed = await this.removeExpired(tenant, rows);
    pass.last = rows.at(-1) ?? pass.last;
    pass.done = rows.length < limits.retentionPageKeys;
    if (removed > 0) this.log.debug({ tenant, keys: removed }, 'expired idempotency keys removed');
  }

  private async removeExpired(tenant: number, rows: readonly KeyRow[]): Promise<number> {
    const now = await this.clock.now(tenant);
    const expiredUnder = (config: ActiveConfig): KeyRow[] => {
      const upTo = keysExpiredUpTo(config, now);
      return rows.filter(({ at_ms: at }) => at <= upTo);
    };
    if (expiredUnder(await this.engine.config(tenant)).length === 0) return 0;
    // Redis decides, under the configuration that is active there.
    const { config } = await this.engine.call(tenant, 'deleteKeys', (active) => ({
      args: {},
      pairs: expiredUnder(active).flatMap(({ metric, user_id: user, key, event_id: event }) => [
        String(metric),
        user,
        storedKey(key),
        bytesOfUuid(event),
      ]),
    }));
    const old = expiredUnder(config);
    await this.pool.query(remove, [
      tenant,
      textArray(old.map(({ user_id: user }) => user)),
      numberArray(old.map(({ metric }) => metric)),
      textArray(old.map(({ key }) => key)),
      textArray(old.map(({ event_id: event }) => event)),
    ]);
    return old.length;
  }
}
