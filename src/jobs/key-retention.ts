import type pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { text } from '../engine/function-calls.js';
import type { HistoryReader } from '../history/reader.js';
import { saveClock } from '../ledger/offsets.js';
import { dayMs } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { inTransaction } from '../postgres/pool.js';
import { bytesOfUuid, storedKey } from '../redis/encoding.js';
import type { JobTools } from './job.js';

/** A key that an event of a metric has used, or an adjustment of a points system. */
interface UsedKey {
  readonly user: string;
  /** The `no` of the metric or points system. */
  readonly object: number;
  readonly key: string;
  /** The event or adjustment. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** A pass over the users whose keys have expired, in the order of the indexes. */
interface Pass {
  readonly days: number;
  readonly startedMs: number;
  /** It removes keys that were used after the one moment, up to the other; both in milliseconds since 1970. */
  readonly afterMs: number;
  readonly upToMs: number;
  last: Pick<UsedKey, 'user' | 'object' | 'atMs' | 'id'>;
  isDone: boolean;
}

const nil = '00000000-0000-0000-0000-000000000000';
const moment = (parameter: string): string => `to_timestamp(${parameter} / 1000.0)`;
const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/** The next keys of a table: those behind $4, $5, $6, $7 that were used after $2, up to $3. */
const keysOf = (table: string, object: string): string => `
  (select user_id as user, ${object} as object, idempotency_key as key, id, at from ${table}
    where tenant = $1 and at > ${moment('$2::float8')} and at <= ${moment('$3::float8')} and idempotency_key is not null
      and user_id >= $4 and (user_id, ${object}, at, id) > ($4, $5, ${moment('$6::float8')}, $7)
    order by user_id, ${object}, at, id limit ${limits.retentionPageKeys})`;

const page = `
  select "user", object, key, id, ${milliseconds('at')} as "atMs"
    from (${keysOf('events', 'metric')} union all ${keysOf('points_adjustments', 'system')}) as used
   order by "user", object, at, id limit ${limits.retentionPageKeys}`;

/** Begins a pass up to $2, unless one runs. */
const begin = `
  insert into key_retention as stored (tenant, removing_up_to) values ($1, ${moment('$2::float8')})
  on conflict (tenant) do update set removing_up_to = excluded.removing_up_to
    where stored.removing_up_to = stored.removed_up_to and stored.removed_up_to < excluded.removing_up_to`;

const running = `
  select greatest(${milliseconds('removed_up_to')}, 0) as "afterMs", ${milliseconds('removing_up_to')} as "upToMs", last_user as user
    from key_retention where tenant = $1`;

/** The newest user whose keys are removed. A user's deletion locks the row too, and no deleted user is noted. */
const advance = `
  update key_retention set last_user = (select max(id) from users where tenant = $1 and id <= $3)
   where tenant = $1 and removing_up_to = ${moment('$2::float8')} and removed_up_to < removing_up_to
     and last_user < (select max(id) from users where tenant = $1 and id <= $3)`;

const finish = `update key_retention set removed_up_to = removing_up_to, last_user = '' where tenant = $1 and removing_up_to = ${moment('$2::float8')}`;

const retentionOf = (config: ActiveConfig): number | null => config.document.settings.idempotencyRetentionDays;

/** The moment up to which idempotency keys have expired at `nowMs`, both in ms since 1970; minus infinity if keys never expire. */
export function keysExpiredUpTo(config: ActiveConfig, nowMs: number): number {
  const days = retentionOf(config);
  return days === null ? -Infinity : nowMs - days * dayMs;
}

/**
 * Removes expired idempotency keys from Redis (docs/rules/idempotency.md). Expiry does not depend on it: an event checks a key's age itself. Once a
 * day of the clock, a pass reads the events and adjustments that were made since the last one and whose keys have expired, and Postgres notes how
 * far it is, so that a restore brings back no key that Redis has lost. A key that a newer event has used since is unchanged, and processing a page
 * twice changes nothing.
 */
export class KeyRetention {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly history: HistoryReader;
  private readonly log: Logger;
  private readonly passes = new Map<number, Pass>();

  constructor({ engine, pool, clock, history, log }: JobTools) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
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
    if (!pass || pass.days !== days || (pass.isDone && now - pass.startedMs >= dayMs)) {
      pass = await this.begin(tenant, days);
      this.passes.set(tenant, pass);
    }
    for (let done = 0; done < pages && !pass.isDone; done += 1) if (!(await this.processPage(tenant, pass))) return;
  }

  /** Begins a pass, or continues the one that runs. */
  private async begin(tenant: number, days: number): Promise<Pass> {
    const { config, values } = await this.engine.call(tenant, 'clock', () => ({ args: { to: '' } }));
    const now = Number(text(values[0]));
    // Whatever a key was used by before now is in Postgres, and a Redis that is lost after this continues at this time.
    await this.history.waitFor(tenant, (await this.clock.ledgerId(tenant)).ledgerId);
    await saveClock(this.pool, tenant, now);
    const upToMs = keysExpiredUpTo(config, now);
    if (upToMs > 0) await this.pool.query(begin, [tenant, upToMs]);
    const { rows } = await this.pool.query<Pick<Pass, 'afterMs' | 'upToMs'> & Pick<UsedKey, 'user'>>(running, [tenant]);
    const { user, ...range } = rows[0] ?? { afterMs: 0, upToMs: 0, user: '' };
    // No object has a number as high.
    const last = { user, object: user === '' ? 0 : 2 ** 31 - 1, atMs: 0, id: nil };
    return { days, startedMs: now, ...range, last, isDone: range.afterMs === range.upToMs };
  }

  /** Returns whether the pass may go on: not after the configuration was changed to one under which its keys have not expired. */
  private async processPage(tenant: number, pass: Pass): Promise<boolean> {
    const { afterMs, upToMs, last } = pass;
    const now = await this.clock.now(tenant);
    const isExpired = (config: ActiveConfig): boolean => upToMs <= keysExpiredUpTo(config, now);
    if (!isExpired(await this.engine.config(tenant))) return false;
    const { rows } = await this.pool.query<UsedKey>(page, [tenant, afterMs, upToMs, last.user, last.object, last.atMs, last.id]);
    // Redis decides, under the configuration that is active there.
    const { config } = await this.engine.call(tenant, 'deleteKeys', (active) => ({
      args: {},
      pairs: isExpired(active) ? rows.flatMap(({ object, user, key, id }) => [String(object), user, storedKey(key), bytesOfUuid(id)]) : [],
    }));
    if (!isExpired(config)) return false;
    pass.last = rows.at(-1) ?? last;
    pass.isDone = rows.length < limits.retentionPageKeys;
    await this.note(tenant, pass, rows.findLast(({ user }) => user !== pass.last.user)?.user);
    if (rows.length > 0) this.log.debug({ tenant, keys: rows.length }, 'expired idempotency keys removed');
    return true;
  }

  /** Notes in Postgres how far a pass is: at its end, or at a user, of whom it has removed all keys. */
  private async note(tenant: number, { upToMs, isDone }: Pass, user: string | undefined): Promise<void> {
    if (isDone) await this.pool.query(finish, [tenant, upToMs]);
    if (isDone || user === undefined) return;
    await inTransaction(this.pool, async (client) => {
      await client.query('select 1 from key_retention where tenant = $1 for update', [tenant]);
      await client.query(advance, [tenant, upToMs, user]);
    });
  }
}
