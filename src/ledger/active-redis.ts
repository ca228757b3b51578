import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { inTransaction } from '../postgres/pool.js';
import { mastersOf } from '../redis/cluster.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, metaFields } from '../redis/contract.js';
import { redisFailure } from '../redis/failure.js';
import { infoFields } from '../redis/server.js';
import {
  objectionTo,
  type Confirmation,
  type Need,
  type Objection,
  type ProcessRole,
  type RedisPlace,
  type Standing,
} from './active-redis-rules.js';

/** Serializes claims: the ASCII codes of `laurel`. */
const claimLock = 0x6c617572656c;

interface ConfirmationRow {
  readonly process: string;
  readonly address: string;
  readonly prefix: string;
  readonly servers: string[];
  readonly host: string;
  readonly pid: number;
  readonly role: ProcessRole;
  readonly confirmedAt: Date;
  readonly isStopped: boolean;
}

const confirmations = `
  select process, address, prefix, servers, host, pid, role, confirmed_at as "confirmedAt", is_stopped as "isStopped"
    from redis_confirmations where confirmed_at is not null order by confirmed_at desc, process`;

/**
 * The processes that have confirmed which Redis holds the data of this database, the newest first: those that run have done so in the last
 * seconds, and one that was killed stays for about a minute.
 */
export async function listConfirmations(pool: pg.Pool): Promise<Confirmation[]> {
  return (await pool.query<ConfirmationRow>(confirmations)).rows;
}

/** The Redis that is active: the one that last opened or restored a partition of this database. Undefined before the first. */
export async function loadActiveRedis(pool: pg.Pool | pg.ClientBase): Promise<RedisPlace | undefined> {
  const { rows } = await pool.query<RedisPlace>('select address, prefix, servers from active_redis');
  return rows[0];
}

export interface ActiveRedisOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** REDIS_URL without its login (redis/address.ts), and REDIS_PREFIX. */
  readonly address: string;
  readonly prefix: string;
  /** The number of the logical database. */
  readonly db: number;
  readonly role: ProcessRole;
  /** The start of a tenant's keys. */
  readonly partition: (tenant: number) => string;
  /** The tenants whose partitions this process has opened. */
  readonly opened: () => Iterable<number>;
  /** How far the clock of confirmations is ahead of Postgres': only tests move it. */
  readonly aheadMs?: (() => number) | undefined;
}

/**
 * Fences every Redis but one: a partition is opened, or restored, for a database only while no process confirms another Redis, or another
 * REDIS_PREFIX, for the same database. Rules: active-redis-rules.ts; why: ARCHITECTURE.md.
 */
export class ActiveRedis {
  private readonly options: ActiveRedisOptions;
  private readonly process = randomUUID();
  /** The servers for which this process has confirmed, and until when no other Redis can become active. By performance.now(). */
  private granted = { servers: '', untilMs: -Infinity };
  /** Until when a partition may be on its way to being opened after a claim. */
  private claimedUntilMs = -Infinity;
  /** Restores that this process is at work on. */
  private restores = 0;
  /** Others no longer count on this process. */
  private isLeaving = false;
  /** The tenant whose partition held a current epoch last. */
  private holder: number | undefined;

  constructor(options: ActiveRedisOptions) {
    this.options = options;
  }

  /**
   * Asks for this process' Redis to be the active one. Undefined when it is from now on, or was already; else what is against it. A process that goes on
   * to ask, at least every limits.redisAskMs, gets it when the others have been silent long enough.
   */
  async claim(need: Need): Promise<Objection | undefined> {
    const servers = await this.servers();
    if (servers.join() === this.granted.servers && performance.now() < this.granted.untilMs) return undefined;
    const startedMs = performance.now();
    const objection = await inTransaction(this.options.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [claimLock]);
      const standing = await this.standing(client, servers);
      const against = objectionTo(need, standing);
      await (against ? this.ask(client, standing) : this.become(client, standing));
      return against;
    });
    if (!objection) {
      this.grant(servers, startedMs);
      this.claimedUntilMs = this.granted.untilMs;
    }
    return objection;
  }

  /** What is against opening or restoring a partition now, without asking for it. */
  async look(need: Need): Promise<Objection | undefined> {
    const standing = await this.standing(this.options.pool, await this.servers());
    return objectionTo(need, { ...standing, isAsking: false });
  }

  /** Throws an OperatorError, within the transaction of `client`, unless this process' Redis is still the active one: nothing else becomes it before the end. */
  async hold(client: pg.ClientBase): Promise<void> {
    const { rowCount } = await client.query('select 1 from active_redis where prefix = $1 and servers && $2::text[] for share', [
      this.options.prefix,
      textArray(await this.servers()),
    ]);
    if (rowCount !== 1) throw new OperatorError('Another Redis has become the active one of this Postgres in the meantime.');
  }

  /** Does a restore, during which this process confirms its Redis, although it holds no epoch yet. */
  async during<T>(restore: () => Promise<T>): Promise<T> {
    this.restores += 1;
    try {
      return await restore();
    } finally {
      this.restores -= 1;
    }
  }

  /**
   * Confirms that this process' Redis holds a current epoch; takes the confirmation back when it does not. Called once a second. When another
   * Redis has become active, the partitions are closed, so that every process compares before it serves from them again.
   */
  async confirm(): Promise<void> {
    const startedMs = performance.now();
    const servers = await this.servers();
    const held = await this.held(servers);
    const { rows } = await this.options.pool.query<{ isKept: boolean; isOther: boolean }>({
      name: 'confirm-redis',
      text: `
        with held as (
               select from stream_offsets as current
                 join unnest($9::integer[], $10::text[]) as held (tenant, epoch) on current.tenant = held.tenant and current.epoch::text = held.epoch
                limit 1),
             active as (select prefix = $3 and servers && $4::text[] as is_mine from active_redis),
             state as (select ($8 or exists (select from held)) and coalesce((select is_mine from active), false) as is_kept),
             kept as (
               insert into redis_confirmations as mine (process, address, prefix, servers, host, pid, role, confirmed_at)
               select $1, $2, $3, $4::text[], $5, $6, $7, clock_timestamp() + $11 * interval '1 millisecond' from state where is_kept
               on conflict (process) do update set servers = excluded.servers, confirmed_at = excluded.confirmed_at, is_stopped = $12),
             taken_back as (
               update redis_confirmations set confirmed_at = null
                where process = $1 and confirmed_at is not null and not (select is_kept from state))
        select is_kept as "isKept", coalesce((select not is_mine from active), false) as "isOther" from state`,
      values: [
        ...this.identity(servers),
        this.restores > 0 || startedMs < this.claimedUntilMs,
        numberArray(held.map(({ tenant }) => tenant)),
        textArray(held.map(({ epoch }) => epoch)),
        this.aheadMs,
        this.isLeaving,
      ],
    });
    const [state] = rows;
    if (state?.isKept === true) this.grant(servers, startedMs);
    else {
      this.granted = { servers: '', untilMs: -Infinity };
      this.holder = undefined;
    }
    if (state?.isOther === true && held.length > 0) await this.close();
    if (state?.isKept === true) await this.forgetKilled(servers);
  }

  /**
   * The process accepts no more requests, and stops. Returns whether it is the last one on this Redis, which drains the ledgers: another Redis may
   * become active after it. Of processes that stop at the same time, the one that asks last is told so.
   */
  async beginLeaving(): Promise<boolean> {
    this.isLeaving = true;
    const { pool, prefix } = this.options;
    await pool.query('update redis_confirmations set is_stopped = true where process = $1', [this.process]);
    const servers = await this.servers();
    const { rowCount } = await pool.query(
      `select 1 from redis_confirmations
        where process <> $1 and role <> 'command' and not is_stopped and prefix = $2 and servers && $3::text[]
          and confirmed_at > clock_timestamp() + $4 * interval '1 millisecond'`,
      [this.process, prefix, textArray(servers), this.aheadMs - limits.redisSilenceMs],
    );
    return rowCount === 0;
  }

  /** The process stops in order: another Redis still waits until limits.redisSilenceMs have passed, the same one under another run_id does not. */
  async leave(): Promise<void> {
    this.granted = { servers: '', untilMs: -Infinity };
    await this.options.pool.query(
      `with kept as (update redis_confirmations set is_stopped = true where process = $1 and confirmed_at is not null)
       delete from redis_confirmations where process = $1 and confirmed_at is null`,
      [this.process],
    );
  }

  private get aheadMs(): number {
    return this.options.aheadMs?.() ?? 0;
  }

  private grant(servers: readonly string[], startedMs: number): void {
    this.granted = { servers: servers.join(), untilMs: startedMs + limits.redisGrantMs };
  }

  private identity(servers: readonly string[]): unknown[] {
    const { address, prefix, role } = this.options;
    return [this.process, address, prefix, textArray(servers), hostname(), process.pid, role];
  }

  /**
   * The `run_id` of each master that answers, with the number of the database. One frozen master of a cluster must not keep the process from
   * confirming the others. Throws a LaurelError `not_ready` when none answers.
   */
  private async servers(): Promise<string[]> {
    const { redis, db } = this.options;
    const answers = await Promise.allSettled(mastersOf(redis).map((server) => inTime(server.info('server'))));
    const infos = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (infos.length === 0) {
      const failure: unknown = answers.find((answer) => answer.status === 'rejected')?.reason;
      throw redisFailure(failure ?? new Error('no master of the cluster is known'), redis);
    }
    return infos.map((info) => `${infoFields(info).get('run_id') ?? ''}/${db}`).sort();
  }

  /** Partitions that are open on these servers, with their epochs: the one that was found last, or else some of limits.redisHeldTenants. */
  private async held(servers: readonly string[]): Promise<{ tenant: number; epoch: string }[]> {
    const { redis, partition, opened, db } = this.options;
    const tenants = new Set<number>();
    for (const tenant of opened()) {
      if (tenants.size >= limits.redisHeldTenants) break;
      tenants.add(tenant);
    }
    const look = async (tenant: number): Promise<{ tenant: number; epoch: string }[]> => {
      const reading = redis.hmget(partition(tenant) + keyNames.meta, metaFields.epoch, metaFields.server);
      const [epoch, server] = await inTime(reading).catch(() => []);
      return epoch && servers.includes(`${server ?? ''}/${db}`) ? [{ tenant, epoch }] : [];
    };
    let held = this.holder === undefined ? [] : await look(this.holder);
    if (held.length === 0) held = (await Promise.all([...tenants].map(look))).flat();
    this.holder = held[0]?.tenant;
    return held;
  }

  private async standing(client: pg.Pool | pg.ClientBase, servers: readonly string[]): Promise<Standing> {
    const { address, prefix } = this.options;
    const { rows } = await client.query<ConfirmationRow & { isFresh: boolean }>(
      `select listed.*, "confirmedAt" > clock_timestamp() + $1 * interval '1 millisecond' as "isFresh" from (${confirmations}) as listed`,
      [this.aheadMs - limits.redisSilenceMs],
    );
    const { rows: asked } = await client.query<{ askedMs: number | null }>(
      `select case when asked_at > clock_timestamp() + $2 * interval '1 millisecond'
                   then extract(epoch from clock_timestamp() - asked_since)::double precision * 1000 + $3::double precision end as "askedMs"
         from redis_confirmations where process = $1`,
      [this.process, this.aheadMs - limits.redisAskMs, this.aheadMs],
    );
    const mine = { address, prefix, servers };
    const others = rows.filter((row) => row.process !== this.process && (row.prefix !== prefix || !overlaps(row.servers, servers)));
    return { mine, others, active: await loadActiveRedis(client), isAsking: true, askedMs: asked[0]?.askedMs ?? 0 };
  }

  private async ask(client: pg.ClientBase, { mine, askedMs }: Standing): Promise<void> {
    await client.query(
      `insert into redis_confirmations (process, address, prefix, servers, host, pid, role, asked_since, asked_at)
       select $1, $2, $3, $4::text[], $5, $6, $7, now.at, now.at from (select clock_timestamp() + $8 * interval '1 millisecond' as at) as now
       on conflict (process) do update
          set asked_at = excluded.asked_at, asked_since = case when $9 then redis_confirmations.asked_since else excluded.asked_at end`,
      [...this.identity(mine.servers), this.aheadMs, askedMs > 0],
    );
  }

  private async become(client: pg.ClientBase, { mine, others, active }: Standing): Promise<void> {
    if (!active || active.address !== mine.address || active.prefix !== mine.prefix || active.servers.join() !== mine.servers.join()) {
      await client.query(
        `insert into active_redis (address, prefix, servers, since) values ($1, $2, $3::text[], clock_timestamp())
         on conflict (is_only) do update set address = $1, prefix = $2, servers = $3::text[], since = clock_timestamp()`,
        [mine.address, mine.prefix, textArray(mine.servers)],
      );
    }
    await client.query('delete from redis_confirmations where process = any($1::uuid[])', [
      textArray(others.map((other) => other.process)),
    ]);
    await client.query(
      `insert into redis_confirmations (process, address, prefix, servers, host, pid, role, confirmed_at)
       values ($1, $2, $3, $4::text[], $5, $6, $7, clock_timestamp() + $8 * interval '1 millisecond')
       on conflict (process) do update
          set servers = excluded.servers, confirmed_at = excluded.confirmed_at, is_stopped = false, asked_since = null, asked_at = null`,
      [...this.identity(mine.servers), this.aheadMs],
    );
  }

  private async close(): Promise<void> {
    const { redis, partition, opened } = this.options;
    for (const tenant of opened()) await redis.hdel(partition(tenant) + keyNames.meta, metaFields.server);
  }

  /** Rows of processes on this Redis that were killed are of no use while this one confirms it. */
  private async forgetKilled(servers: readonly string[]): Promise<void> {
    await this.options.pool.query({
      name: 'forget-killed',
      text: `delete from redis_confirmations
              where greatest(confirmed_at, asked_at) < clock_timestamp() + $1 * interval '1 millisecond'
                and (confirmed_at is null or (prefix = $2 and servers && $3::text[]))`,
      values: [this.aheadMs - limits.redisForgetMs, this.options.prefix, textArray(servers)],
    });
  }
}

/** Rejects when Redis takes longer than limits.redisLookMs. */
async function inTime<T>(command: Promise<T>): Promise<T> {
  const over = new AbortController();
  const tooLate = delay(limits.redisLookMs, undefined, { signal: over.signal }).then(() => {
    throw new Error('Command timed out');
  });
  tooLate.catch(() => undefined);
  return Promise.race([command, tooLate]).finally(() => {
    over.abort();
  });
}

const overlaps = (some: readonly string[], others: readonly string[]): boolean => some.some((one) => others.includes(one));
