import type pg from 'pg';
import type { Logger } from 'pino';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { StoreWatch } from '../logging/store-watch.js';
import { withPostgresErrors } from '../postgres/failure.js';
import type { RedisConnection } from '../redis/connection.js';
import { accountKeyNames, accountPrefix, channelNames } from '../redis/contract.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { accountState } from './account-row.js';
import { expiredKey, KeyRing, wrongKey, type Principal } from './key-ring.js';
import { keysSince, KeyUse, loadAdminKeys, loadKeys } from './key-store.js';
import { TenantDirectory, tenantsSince } from './tenants.js';

/** Calls `work` every `ms` until the returned function is called. */
export type Repeat = (ms: number, work: () => void) => () => void;

export interface AccountOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Receive the outcome of each periodic call of a store. */
  readonly watches: StoreWatches;
  /** How far the clock by which keys expire is ahead of Postgres'; only tests pass one. */
  readonly aheadMs?: (() => number) | undefined;
  /** Absent: by the clock of the process. */
  readonly repeat?: Repeat;
}

/** A key that a request about a tenant has sent. */
export interface SentKey {
  readonly prefix: string;
  readonly keyId: string;
  /** `tenants.no`. */
  readonly tenant: number;
}

/** What a change of the account may be about. */
export interface AccountChange {
  /** The prefixes of keys. */
  readonly prefixes: ReadonlySet<string>;
  /** `tenants.no`. */
  readonly tenants: ReadonlySet<number>;
}

export interface StoreWatches {
  readonly redis: StoreWatch;
  readonly postgres: StoreWatch;
}

const byClock: Repeat = (ms, work) => {
  const timer = setInterval(work, ms).unref();
  return () => {
    clearInterval(timer);
  };
};

/**
 * The tenants and the valid keys of the account in the memory of this process, so that a request needs no query. The process that revokes a key,
 * or archives or renames a tenant, applies the change before it responds, and announces it on a Redis channel. Every other process reads the change
 * from Postgres when it receives the announcement, and refuses requests (503) until it has; if the announcement is lost, it finds the new revision
 * by polling, every limits.accountPollMs. While Postgres is away and no change was announced, known keys stay valid (docs/keys.md).
 */
export class Account {
  private readonly options: AccountOptions;
  private readonly directory = new TenantDirectory();
  private readonly ring: KeyRing;
  private readonly use = new KeyUse();
  /** Up to where Postgres has been read. */
  private revision = -1;
  /** How far the clock of Postgres is ahead of `performance.now()`. */
  private clockMs = Date.now() - performance.now();
  /** Announcements that this process has received, and how many of them came before the start of its last successful read. */
  private announced = 0;
  private applied = 0;
  private reading: Promise<void> = Promise.resolve();
  private nextRead: Promise<void> | undefined;
  private stops: (() => void)[] = [];
  private readonly listeners: ((change: AccountChange | undefined) => void)[] = [];

  constructor(options: AccountOptions) {
    this.options = options;
    this.ring = new KeyRing((prefixes) => withPostgresErrors(loadKeys(options.pool, prefixes)));
  }

  /** Reads all tenants and admin keys, and follows their changes from here on. */
  async start(): Promise<void> {
    await this.catchUp();
    const { pool, watches } = this.options;
    this.every(limits.accountPollMs, () => this.catchUp(), watches.postgres);
    this.every(limits.redisProbeMs, () => this.probeRedis(), watches.redis);
    this.every(limits.keyUseMs, () => this.use.flush(pool), watches.postgres);
  }

  async stop(): Promise<void> {
    for (const stop of this.stops) stop();
    this.stops = [];
    await this.use.flush(this.options.pool).catch(() => undefined);
  }

  /** The active tenants, by no. */
  get tenants(): readonly number[] {
    return this.directory.nos;
  }

  /** The active tenant that a Tenant-ID header names. */
  findTenant(name: string): number | undefined {
    return this.directory.find(name);
  }

  /** The archived tenant that a Tenant-ID header names. */
  findArchivedTenant(id: string): number | undefined {
    return this.directory.findArchived(id);
  }

  /** Reads Postgres if no tenant has this name here: another process may have created one within the last second. */
  async learnTenant(name: string): Promise<void> {
    if (this.findTenant(name) === undefined) await withPostgresErrors(this.catchUp());
  }

  /** Another process has announced a change: until it is read, this process accepts no key. */
  receiveAnnouncement(): void {
    this.announced += 1;
    this.resync();
  }

  /** Reads changes now: announcements may have been lost. */
  resync(): void {
    this.catchUp().catch((error: unknown) => {
      this.options.log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error }, 'reading tenants and keys failed, will retry');
    });
  }

  /** The caller that sent this X-API-KEY header, without a promise in steady state. Throws a 401, or a 503 while an announced change cannot be read. */
  authenticate(header: string | undefined): Principal | Promise<Principal> {
    if (this.applied < this.announced) return this.authenticateAfterRead(header);
    const found = this.ring.authenticate(header);
    return found instanceof Promise || !this.hasTenantOf(found) ? this.admitLater(found) : this.admit(found);
  }

  private async authenticateAfterRead(header: string | undefined): Promise<Principal> {
    await withPostgresErrors(this.catchUp());
    return this.admitLater(this.ring.authenticate(header));
  }

  /**
   * The caller of a key that an earlier request about a tenant has sent, by the key's prefix and id. Throws a 401 once the key is no longer valid, or the
   * tenant is archived.
   */
  async recheck({ prefix, keyId, tenant }: SentKey): Promise<Principal> {
    await this.upToDate();
    const principal = await this.ring.recheck(prefix, keyId);
    return this.admitLater({ ...principal, tenant });
  }

  private async admitLater(found: Principal | Promise<Principal>): Promise<Principal> {
    const principal = await found;
    // Another process may have created the tenant within the last second.
    if (!this.hasTenantOf(principal)) await withPostgresErrors(this.catchUp());
    return this.admit(principal);
  }

  private admit(principal: Principal): Principal {
    if (!this.hasTenantOf(principal)) throw new LaurelError('unauthorized', wrongKey);
    if (principal.expires && principal.expires.getTime() <= this.now()) throw new LaurelError('unauthorized', expiredKey);
    this.use.note(principal.keyId);
    return principal;
  }

  /** The time by which keys expire: that of Postgres, so that all processes agree, whatever their clocks; not the test clock. */
  now(): number {
    return performance.now() + this.clockMs + (this.options.aheadMs?.() ?? 0);
  }

  /** False for the keys of an archived tenant, which are no longer valid. */
  private hasTenantOf({ tenant }: Principal): boolean {
    return tenant === null || this.directory.has(tenant);
  }

  /**
   * Calls `listener` whenever this process has applied a change of keys or tenants, before it accepts another request; without a change when
   * anything may have changed.
   */
  onChange(listener: (change: AccountChange | undefined) => void): void {
    this.listeners.push(listener);
  }

  /** Reads the changes that were announced to this process. Throws a 503 while they can't be read. */
  async upToDate(): Promise<void> {
    if (this.applied < this.announced) await withPostgresErrors(this.catchUp());
  }

  /** Notes that a key is used, by another request than one that sends it. */
  noteKey(keyId: string): void {
    this.use.note(keyId);
  }

  /** Reads or changes the account in Postgres. Throws a 503 when Postgres is away. */
  store<T>(work: (pool: pg.Pool) => Promise<T>): Promise<T> {
    return withPostgresErrors(work(this.options.pool));
  }

  /** Saves when this process last used keys. */
  noteUse(): Promise<void> {
    return this.store((pool) => this.use.flush(pool));
  }

  /**
   * Applies a committed change in this process and announces it to the others. Throws a 503 when Postgres cannot be read. An announcement that
   * Redis refuses is only logged, since the other processes poll.
   */
  async announce(): Promise<void> {
    await withPostgresErrors(this.catchUp());
    const { redis, prefix, log } = this.options;
    redis.publish(accountPrefix(prefix) + channelNames.changes, '').catch((error: unknown) => {
      log.debug({ err: error }, 'announcing a change of tenants or keys failed, other processes will poll it');
    });
  }

  /** Reads the changes that are committed at the time of the call. Callers share a read that has not started. */
  private catchUp(): Promise<void> {
    this.nextRead ??= this.reading
      .catch(() => undefined)
      .then(() => {
        this.nextRead = undefined;
        this.reading = this.readChanges();
        return this.reading;
      });
    return this.nextRead;
  }

  private async readChanges(): Promise<void> {
    const { pool } = this.options;
    const { announced } = this;
    const { revision: newest, nowMs } = await accountState(pool);
    this.clockMs = nowMs - performance.now();
    // A database that was restored from a backup has gone back.
    if (newest < this.revision) this.revision = -1;
    if (newest !== this.revision) await this.applyChanges(newest);
    this.applied = announced;
  }

  private async applyChanges(newest: number): Promise<void> {
    const { pool } = this.options;
    const isFirst = this.revision < 0;
    const [tenants, keys] = await Promise.all([
      tenantsSince(pool, this.revision),
      isFirst ? loadAdminKeys(pool) : keysSince(pool, this.revision),
    ]);
    if (isFirst) {
      this.directory.clear();
      this.ring.clear();
    }
    this.directory.update(tenants);
    this.ring.drop(keys.map(({ prefix }) => prefix));
    for (const key of keys) if (key.tenant === null && (!('isValid' in key) || key.isValid)) this.ring.add(key);
    this.revision = newest;
    const change = { prefixes: new Set(keys.map(({ prefix }) => prefix)), tenants: new Set(tenants.map(({ no }) => no)) };
    for (const listener of this.listeners) listener(isFirst ? undefined : change);
  }

  /** Writes to Redis, as events do: a full memory or disk is noticed and logged before a request fails. */
  private async probeRedis(): Promise<void> {
    const { redis, prefix } = this.options;
    await redis.set(accountPrefix(prefix) + accountKeyNames.probe, '', 'PX', 2 * limits.redisProbeMs);
  }

  /** Skips a run while the one before it is waiting for its store. */
  private every(ms: number, work: () => Promise<void>, watch: StoreWatch): void {
    let isRunning = false;
    const stop = (this.options.repeat ?? byClock)(ms, () => {
      if (isRunning) return;
      isRunning = true;
      work()
        .then(() => {
          watch.succeeded();
        })
        .catch((error: unknown) => {
          watch.failed(error);
          this.options.log.debug({ err: error }, 'periodic call of a store failed, will retry');
        })
        .finally(() => (isRunning = false));
    });
    this.stops.push(stop);
  }
}
