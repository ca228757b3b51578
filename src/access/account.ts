import type pg from 'pg';
import type { Logger } from 'pino';
import { LaurelError } from '../shared/errors.js';
import { KeyRing, wrongKey, type Principal } from './key-ring.js';
import { KeyLookup } from './lookup.js';
import { KeyUse } from './key-use.js';
import { keysSince, loadAdminKeys, loadKeys } from './key-store.js';
import { limits } from '../shared/limits.js';
import { withPostgresErrors } from '../postgres/pool.js';
import { accountRevision } from '../postgres/pool.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { StoreWatch } from '../logging/store-watch.js';
import type { RedisConnection } from '../redis/connection.js';
import { Lease } from './lease.js';
import { TenantDirectory } from './tenants.js';
import { tenantsSince } from './tenants.js';

export interface AccountOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Hear every time that this process has asked a store, and how that went. */
  readonly watches: StoreWatches;
}

export interface StoreWatches {
  readonly redis: StoreWatch;
  readonly postgres: StoreWatch;
}

/**
 * What this process knows of the account: its tenants, and the keys that may call. It is in memory, so that a request costs no question, and
 * as current as lease.ts says: a tenant or a key that has been archived or revoked is unknown to every process when that has been answered.
 */
export class Account {
  private readonly options: AccountOptions;
  private readonly directory = new TenantDirectory();
  private readonly ring: KeyRing;
  private readonly lease: Lease;
  private readonly use = new KeyUse();
  /** Up to where Postgres has been read. */
  private revision = -1;
  private catching: Promise<void> = Promise.resolve();
  private timers: NodeJS.Timeout[] = [];

  constructor(options: AccountOptions) {
    const { redis, prefix, pool } = options;
    this.options = options;
    this.ring = new KeyRing(new KeyLookup((prefixes) => withPostgresErrors(loadKeys(pool, prefixes))));
    this.lease = new Lease({ redis, prefix, catchUp: () => withPostgresErrors(this.catchUp()) });
    // Of a cluster, the connection to one node: it may be the one that knows of this process.
    for (const event of ['close', '-node']) {
      redis.on(event, () => {
        this.lease.drop();
      });
    }
  }

  /** Reads what there is, and keeps up with it from here on. A Redis that can't answer yet is asked again with the first request. */
  async start(): Promise<void> {
    await this.catchUp();
    await this.lease.renew().catch((error: unknown) => {
      this.options.log.warn({ err: error }, 'this process could not tell others of itself yet, and will try again');
    });
    const { redis, postgres } = this.options.watches;
    this.every(limits.accountRenewMs, () => this.lease.renew(), redis);
    this.every(limits.accountCheckMs, () => this.catchUp(), postgres);
    this.every(limits.keyUseMs, () => this.use.flush(this.options.pool), postgres);
  }

  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
    await this.use.flush(this.options.pool).catch(() => undefined);
    await this.lease.leave();
  }

  /** The tenants that there are now, by no. */
  get tenants(): readonly number[] {
    return this.directory.nos;
  }

  /** The tenant that a Tenant-ID header means. */
  findTenant(name: string): number | undefined {
    return this.directory.find(name);
  }

  /** The archived tenant that a Tenant-ID header means. */
  findArchivedTenant(id: string): number | undefined {
    return this.directory.findArchived(id);
  }

  /** Somebody has changed something: this process does not wait until it looks by itself. */
  heard(): void {
    this.lease.renew().catch((error: unknown) => {
      this.options.log[isStoreTrouble(error) ? 'debug' : 'warn'](
        { err: error },
        'a change of tenants or keys could not be taken over yet, and will be tried again',
      );
    });
  }

  /** Who sent this X-API-KEY header. Throws a 401, or a 503 while this process can't know. */
  authenticate(header: string | undefined): Principal | Promise<Principal> {
    return this.lease.holds ? this.noted(this.ring.authenticate(header)) : this.authenticateLater(header);
  }

  /**
   * Makes sure that a principal may still call, after something has been waited for: a key that was revoked while the body was on its way is
   * not let in.
   */
  confirm(principal: Principal, header: string | undefined): Principal | Promise<Principal> {
    return principal.isLive && this.lease.holds && this.hasTenantOf(principal) ? principal : this.authenticateLater(header);
  }

  /** The keys of an archived tenant end with it. */
  private hasTenantOf({ tenant }: Principal): boolean {
    return tenant === null || this.directory.has(tenant);
  }

  private async authenticateLater(header: string | undefined): Promise<Principal> {
    while (!this.lease.holds) await this.lease.renew();
    return this.noted(this.ring.authenticate(header));
  }

  private noted(found: Principal | Promise<Principal>): Principal | Promise<Principal> {
    if (found instanceof Promise) return found.then((principal) => this.noted(principal));
    if (!this.hasTenantOf(found)) throw new LaurelError('unauthorized', wrongKey);
    this.use.note(found.keyId);
    return found;
  }

  /** Reads or changes what Postgres has of the account. Throws a 503 when Postgres is away. */
  store<T>(work: (pool: pg.Pool) => Promise<T>): Promise<T> {
    return withPostgresErrors(work(this.options.pool));
  }

  /** Writes down when keys were last used, as far as this process knows. */
  noteUse(): Promise<void> {
    return this.store((pool) => this.use.flush(pool));
  }

  /** Makes what has been changed of tenants and keys known to every process before it returns. Throws a 503 when that can't be made sure of. */
  async announce(): Promise<void> {
    await withPostgresErrors(this.catchUp());
    await this.lease.announce();
  }

  /** One after the other: what was read first must not be taken over last. */
  private catchUp(): Promise<void> {
    this.catching = this.catching.then(
      () => this.readChanges(),
      () => this.readChanges(),
    );
    return this.catching;
  }

  /** Reads the changes that Postgres has had since the last time. */
  private async readChanges(): Promise<void> {
    const { pool } = this.options;
    const newest = await accountRevision(pool);
    // A database that was restored from a backup has gone back.
    if (newest < this.revision) this.revision = -1;
    if (newest === this.revision) return;
    const isFirst = this.revision < 0;
    const [tenants, keys] = await Promise.all([
      tenantsSince(pool, this.revision),
      isFirst ? loadAdminKeys(pool) : keysSince(pool, this.revision),
    ]);
    if (isFirst) {
      this.directory.clear();
      this.ring.clear();
    }
    this.directory.take(tenants);
    this.ring.drop(keys.map(({ prefix }) => prefix));
    for (const key of keys) if (key.tenant === null && (!('isValid' in key) || key.isValid)) this.ring.take(key);
    if (this.revision < newest) this.revision = newest;
  }

  /** One at a time: what a store that is away holds up does not pile up. */
  private every(ms: number, work: () => Promise<void>, watch: StoreWatch): void {
    let isRunning = false;
    const timer = setInterval(() => {
      if (isRunning) return;
      isRunning = true;
      work()
        .then(() => {
          watch.succeeded();
        })
        .catch((error: unknown) => {
          watch.failed(error);
          this.options.log.debug({ err: error }, 'what this process knows of tenants and keys could not be looked after');
        })
        .finally(() => (isRunning = false));
    }, ms);
    timer.unref();
    this.timers.push(timer);
  }
}
