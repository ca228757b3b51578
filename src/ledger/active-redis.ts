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
  type ClaimPurpose,
  type Objection,
  type ProcessRole,
  type RedisIdentity,
  type ClaimState,
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

/** The confirmations of this database, newest first. Running processes confirm every second; a killed one stays listed for about a minute. */
export async function listConfirmations(pool: pg.Pool): Promise<Confirmation[]> {
  return (await pool.query<ConfirmationRow>(confirmations)).rows;
}

/** The active Redis, which last opened or restored a partition of this database; undefined before the first. */
async function loadActiveRedis(pool: pg.Pool | pg.ClientBase): Promise<RedisIdentity | undefined> {
  const { rows } = await pool.query<RedisIdentity>('select address, prefix, servers from active_redis');
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
  /** The key prefix of a tenant. */
  readonly partition: (tenant: number) => string;
  /** The tenants whose partitions this process has opened. */
  readonly opened: () => Iterable<number>;
  /** Receives the INFO of the servers (sections `server` and `persistence`) each time that it is read, at least once a second. */
  readonly onServers?: ((servers: readonly ReadonlyMap<string, string>[]) => void) | undefined;
  /** How far the clock of confirmations is ahead of Postgres' clock; only tests set it. */
  readonly aheadMs?: (() => number) | undefined;
}

/**
 * Fences every Redis but one: a process opens or restores a partition only while no process confirms another Redis, or another REDIS_PREFIX, for
 * the same database. Rules: active-redis-rules.ts; why: docs/architecture/redis.md.
 */
export class ActiveRedis {
  private readonly options: ActiveRedisOptions;
  private readonly process = randomUUID();
  /** The servers that this process confirmed, and until when no other Redis can become active, by performance.now(). */
  private grantedUntil = { servers: '', untilMs: -Infinity };
  /** Until when a partition may still be opened after a claim, by performance.now(). */
  private claimedUntilMs = -Infinity;
  /** Restores that run in this process. */
  private restores = 0;
  private isShuttingDown = false;
  /** The tenant whose partition was last found to hold a current epoch. */
  private lastHeldTenant: number | undefined;

  constructor(options: ActiveRedisOptions) {
    this.options = options;
  }

  /**
   * Makes this process's Redis the active one. Returns undefined when it is active now, else the objection. A process that repeats the claim at
   * least every limits.redisAskMs succeeds once the other processes have been silent long enough.
   */
  async claim(need: ClaimPurpose): Promise<Objection | undefined> {
    const servers = await this.servers();
    if (servers.join() === this.grantedUntil.servers && performance.now() < this.grantedUntil.untilMs) return undefined;
    const startedMs = performance.now();
    const objection = await inTransaction(this.options.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [claimLock]);
      const claimState = await this.loadClaimState(client, servers);
      const against = objectionTo(need, claimState);
      await (against ? this.recordClaim(client, claimState) : this.activate(client, claimState));
      return against;
    });
    if (!objection) {
      this.grant(servers, startedMs);
      this.claimedUntilMs = this.grantedUntil.untilMs;
    }
    return objection;
  }

  /** The objection that a claim would meet now, without making it. */
  async check(need: ClaimPurpose): Promise<Objection | undefined> {
    const claimState = await this.loadClaimState(this.options.pool, await this.servers());
    return objectionTo(need, { ...claimState, isClaiming: false });
  }

  /** Keeps this process's Redis the active one until the transaction of `client` ends. Throws an OperatorError when it no longer is. */
  async lockActive(client: pg.ClientBase): Promise<void> {
    const { rowCount } = await client.query('select 1 from active_redis where prefix = $1 and servers && $2::text[] for share', [
      this.options.prefix,
      textArray(await this.servers()),
    ]);
    if (rowCount !== 1) throw new OperatorError('Another Redis is now active for this Postgres.');
  }

  /** Runs a restore; until it ends, this process confirms its Redis although that holds no epoch yet. */
  async whileRestoring<T>(restore: () => Promise<T>): Promise<T> {
    this.restores += 1;
    try {
      return await restore();
    } finally {
      this.restores -= 1;
    }
  }

  /**
   * Confirms that this process's Redis holds a current epoch, or withdraws the confirmation; then, and while Redis is away, Postgres learns only that
   * the process runs. Called once a second. When another Redis has become active, closes the partitions, so that every process compares before it
   * serves from them again.
   */
  async confirm(): Promise<void> {
    const startedMs = performance.now();
    const servers = await this.servers().catch(async (error: unknown) => {
      await this.noteRunning([]);
      throw error;
    });
    const heldEpochs = await this.held(servers);
    const { rows } = await this.options.pool.query<{ isConfirmed: boolean; isOther: boolean }>({
      name: 'confirm-redis',
      text: `
        with held as (
               select from stream_offsets as current
                 join unnest($9::integer[], $10::text[]) as held (tenant, epoch) on current.tenant = held.tenant and current.epoch::text = held.epoch
                limit 1),
             active as (select prefix = $3 and servers && $4::text[] as is_mine from active_redis),
             state as (select ($8 or exists (select from held)) and coalesce((select is_mine from active), false) as is_confirmed),
             confirmed as (
               insert into redis_confirmations (process, address, prefix, servers, host, pid, role, confirmed_at)
               select $1, $2, $3, $4::text[], $5, $6, $7, clock_timestamp() + $11 * interval '1 millisecond' from state where is_confirmed
               on conflict (process) do update set servers = excluded.servers, confirmed_at = excluded.confirmed_at, is_stopped = $12),
             withdrawn as (
               update redis_confirmations set confirmed_at = null
                where process = $1 and confirmed_at is not null and not (select is_confirmed from state))
        select is_confirmed as "isConfirmed", coalesce((select not is_mine from active), false) as "isOther" from state`,
      values: [
        ...this.identity(servers),
        this.restores > 0 || startedMs < this.claimedUntilMs,
        numberArray(heldEpochs.map(({ tenant }) => tenant)),
        textArray(heldEpochs.map(({ epoch }) => epoch)),
        this.aheadMs,
        this.isShuttingDown,
      ],
    });
    const [state] = rows;
    if (state?.isConfirmed === true) this.grant(servers, startedMs);
    else {
      this.grantedUntil = { servers: '', untilMs: -Infinity };
      this.lastHeldTenant = undefined;
      await this.noteRunning(servers);
    }
    if (state?.isOther === true && heldEpochs.length > 0) await this.closePartitions();
    if (state?.isConfirmed === true) await this.deleteStaleConfirmations(servers);
  }

  /**
   * Announces that this process shuts down. Returns whether it is the last one on this Redis, which then drains the ledgers: another Redis may
   * become active after it. Of processes that shut down at the same time, the last to call is the last one.
   */
  async beginShutdown(): Promise<boolean> {
    this.isShuttingDown = true;
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

  /** Marks the shutdown as clean: another Redis still waits for limits.redisSilenceMs, the same one under another run_id does not. */
  async finishShutdown(): Promise<void> {
    this.grantedUntil = { servers: '', untilMs: -Infinity };
    await this.options.pool.query(
      `with confirmed as (update redis_confirmations set is_stopped = true where process = $1 and confirmed_at is not null)
       delete from redis_confirmations where process = $1 and confirmed_at is null`,
      [this.process],
    );
  }

  private get aheadMs(): number {
    return this.options.aheadMs?.() ?? 0;
  }

  private grant(servers: readonly string[], startedMs: number): void {
    this.grantedUntil = { servers: servers.join(), untilMs: startedMs + limits.redisGrantMs };
  }

  private identity(servers: readonly string[]): unknown[] {
    const { address, prefix, role } = this.options;
    return [this.process, address, prefix, textArray(servers), hostname(), process.pid, role];
  }

  /**
   * The `run_id` of each master that replies, with the number of the database. One frozen master of a cluster must not keep the process from
   * confirming the others. Throws a LaurelError `not_ready` when none replies.
   */
  private async servers(): Promise<string[]> {
    const { redis, db } = this.options;
    const replies = await Promise.allSettled(mastersOf(redis).map((server) => withTimeout(server.info('server', 'persistence'))));
    const infos = replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []));
    if (infos.length === 0) {
      const failure: unknown = replies.find((reply) => reply.status === 'rejected')?.reason;
      throw redisFailure(failure ?? new Error('no master of the cluster is known'), redis);
    }
    const fields = infos.map(infoFields);
    this.options.onServers?.(fields);
    return fields.map((of) => `${of.get('run_id') ?? ''}/${db}`).sort();
  }

  /** Partitions that are open on these servers, with their epochs: the one found last time, or else those among limits.redisHeldTenants tenants. */
  private async held(servers: readonly string[]): Promise<{ tenant: number; epoch: string }[]> {
    const { redis, partition, opened, db } = this.options;
    const tenants = new Set<number>();
    for (const tenant of opened()) {
      if (tenants.size >= limits.redisHeldTenants) break;
      tenants.add(tenant);
    }
    const readEpoch = async (tenant: number): Promise<{ tenant: number; epoch: string }[]> => {
      const reading = redis.hmget(partition(tenant) + keyNames.meta, metaFields.epoch, metaFields.server);
      const [epoch, server] = await withTimeout(reading).catch(() => []);
      return epoch && servers.includes(`${server ?? ''}/${db}`) ? [{ tenant, epoch }] : [];
    };
    let held = this.lastHeldTenant === undefined ? [] : await readEpoch(this.lastHeldTenant);
    if (held.length === 0) held = (await Promise.all([...tenants].map(readEpoch))).flat();
    this.lastHeldTenant = held[0]?.tenant;
    return held;
  }

  private async loadClaimState(client: pg.Pool | pg.ClientBase, servers: readonly string[]): Promise<ClaimState> {
    const { address, prefix } = this.options;
    const { rows } = await client.query<ConfirmationRow & { isFresh: boolean }>(
      `select listed.*, "confirmedAt" > clock_timestamp() + $1 * interval '1 millisecond' as "isFresh" from (${confirmations}) as listed`,
      [this.aheadMs - limits.redisSilenceMs],
    );
    const { rows: claims } = await client.query<{ claimingMs: number | null }>(
      `select case when asked_at > clock_timestamp() + $2 * interval '1 millisecond'
                   then extract(epoch from clock_timestamp() - asked_since)::double precision * 1000 + $3::double precision end as "claimingMs"
         from redis_confirmations where process = $1`,
      [this.process, this.aheadMs - limits.redisAskMs, this.aheadMs],
    );
    const mine = { address, prefix, servers };
    const others = rows.filter((row) => row.process !== this.process && (row.prefix !== prefix || !overlaps(row.servers, servers)));
    return { own: mine, others, active: await loadActiveRedis(client), isClaiming: true, claimingMs: claims[0]?.claimingMs ?? 0 };
  }

  private async recordClaim(client: pg.ClientBase, { own, claimingMs }: ClaimState): Promise<void> {
    await client.query(
      `insert into redis_confirmations (process, address, prefix, servers, host, pid, role, asked_since, asked_at)
       select $1, $2, $3, $4::text[], $5, $6, $7, now.at, now.at from (select clock_timestamp() + $8 * interval '1 millisecond' as at) as now
       on conflict (process) do update
          set asked_at = excluded.asked_at, asked_since = case when $9 then redis_confirmations.asked_since else excluded.asked_at end`,
      [...this.identity(own.servers), this.aheadMs, claimingMs > 0],
    );
  }

  /**
   * Records that this process runs without a confirmation, for `laurel status`: like a process that asks to become active, but with no `asked_since`.
   * A claim that is being made stays as it is.
   */
  private async noteRunning(servers: readonly string[]): Promise<void> {
    if (this.isShuttingDown) return;
    await this.options.pool.query({
      name: 'note-running',
      text: `
        insert into redis_confirmations as known (process, address, prefix, servers, host, pid, role, asked_at)
        values ($1, $2, $3, $4::text[], $5, $6, $7, clock_timestamp() + $8 * interval '1 millisecond')
        on conflict (process) do update set asked_since = null, asked_at = excluded.asked_at
         where known.asked_since is null or known.asked_at < excluded.asked_at - $9 * interval '1 millisecond'`,
      values: [...this.identity(servers), this.aheadMs, limits.redisAskMs],
    });
  }

  private async activate(client: pg.ClientBase, { own, others, active }: ClaimState): Promise<void> {
    if (!active || active.address !== own.address || active.prefix !== own.prefix || active.servers.join() !== own.servers.join()) {
      await client.query(
        `insert into active_redis (address, prefix, servers, since) values ($1, $2, $3::text[], clock_timestamp())
         on conflict (is_only) do update set address = $1, prefix = $2, servers = $3::text[], since = clock_timestamp()`,
        [own.address, own.prefix, textArray(own.servers)],
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
      [...this.identity(own.servers), this.aheadMs],
    );
  }

  private async closePartitions(): Promise<void> {
    const { redis, partition, opened } = this.options;
    for (const tenant of opened()) await redis.hdel(partition(tenant) + keyNames.meta, metaFields.server);
  }

  /** While this process confirms its Redis, the confirmations of killed processes on the same Redis are redundant. */
  private async deleteStaleConfirmations(servers: readonly string[]): Promise<void> {
    await this.options.pool.query({
      name: 'delete-stale-confirmations',
      text: `delete from redis_confirmations
              where greatest(confirmed_at, asked_at) < clock_timestamp() + $1 * interval '1 millisecond'
                and (confirmed_at is null or (prefix = $2 and servers && $3::text[]))`,
      values: [this.aheadMs - limits.redisForgetMs, this.options.prefix, textArray(servers)],
    });
  }
}

/** Rejects when Redis takes longer than limits.redisLookMs. */
async function withTimeout<T>(command: Promise<T>): Promise<T> {
  const done = new AbortController();
  const timeout = delay(limits.redisLookMs, undefined, { signal: done.signal }).then(() => {
    throw new Error('Command timed out');
  });
  timeout.catch(() => undefined);
  return Promise.race([command, timeout]).finally(() => {
    done.abort();
  });
}

const overlaps = (some: readonly string[], others: readonly string[]): boolean => some.some((one) => others.includes(one));
