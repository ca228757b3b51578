import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.js';
import type { Comparison } from '../engine/failures.js';
import type { ActiveRedis } from '../ledger/active-redis.js';
import type { Objection } from '../ledger/active-redis-rules.js';
import { LeaseLost } from '../ledger/offsets.js';
import { limits } from '../shared/limits.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { RedisConnection } from '../redis/connection.js';
import pLimit from 'p-limit';
import { needOf, restoreTenant, RestoreFenced } from './restore.js';

export interface ReconcilerOptions {
  readonly engine: Engine;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly active: ActiveRedis;
  readonly testClock: boolean;
  /** Without it, tenants are compared only, and an operator restores them. */
  readonly autoRestore: boolean;
  readonly log: Logger;
}

/**
 * Restores a Redis that lacks data that Postgres has, tenant by tenant, without an operator (ARCHITECTURE.md, invariant 5). A Redis that has
 * everything is left as it is, with what Postgres has not got yet; so is one of another database. Several workers may do so at once, and
 * beside a `laurel restore`: the lease of the tenant's stream lets one of them work, and the others wait until it is through or gone.
 */
export class Reconciler {
  private readonly options: ReconcilerOptions;
  private readonly limit = pLimit(limits.reconcileTenants);
  private readonly working = new Map<number, Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(options: ReconcilerOptions) {
    this.options = options;
  }

  /**
   * Compares a tenant's Redis with Postgres and restores it if it lacks something. Returns when it is in sync, or when that can't be
   * reached now (then what the reason is has been logged, and whoever finds out again calls again). Callers at the same time share the work.
   */
  resync(tenant: number): Promise<void> {
    const running = this.working.get(tenant);
    if (running) return running;
    const work = this.limit(() => this.waitForSync(tenant))
      .catch((error: unknown) => {
        if (this.stopping.signal.aborted) return;
        this.options.log[isStoreTrouble(error) ? 'debug' : 'error']({ err: error, tenant }, 'resync failed, will retry');
      })
      .finally(() => this.working.delete(tenant));
    this.working.set(tenant, work);
    return work;
  }

  /** Ends what is being restored between two steps; the next worker goes on there. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.working.values());
  }

  private async waitForSync(tenant: number): Promise<void> {
    const { engine, autoRestore, log } = this.options;
    for (let said = ''; !this.stopping.signal.aborted;) {
      const { found, epoch, newest, offset, objection } = await engine.compare(tenant);
      if (found === 'in_sync') return;
      if (objection && (objection.reason === 'superseded' || !autoRestore || found === 'fenced')) {
        if (said !== objection.reason) this.warnFenced(tenant, objection);
        said = objection.reason;
        if (objection.reason === 'superseded' || !autoRestore) return;
        await this.pause();
        continue;
      }
      if (found === 'foreign') {
        log.error({ tenant, epoch, expected: offset.epoch }, 'this Redis belongs to another database, and is left alone');
        return;
      }
      if (found === 'ahead') {
        log.error({ tenant, epoch, newest, committed: offset.lastId }, 'Postgres is older than Redis, and nothing is written down');
        return;
      }
      if (!autoRestore) {
        log.error({ tenant, newest, committed: offset.lastId }, 'Redis lacks what Postgres has, and AUTO_RESTORE is off');
        return;
      }
      // While another worker restores it, or another Redis is active, once.
      if (said !== offset.epoch && !objection)
        log.warn({ tenant, found, newest, committed: offset.lastId }, 'Redis lacks what Postgres has, and is restored');
      if (objection && said !== objection.reason) this.warnFenced(tenant, objection);
      said = objection?.reason ?? offset.epoch;
      if (!(await this.restore(tenant, found))) await this.pause();
    }
  }

  private warnFenced(tenant: number, { reason, own, other, confirmedBy }: Objection): void {
    const fields = { tenant, why: reason, redis: own.address, prefix: own.prefix, active: other.address, activePrefix: other.prefix };
    this.options.log.error({ ...fields, host: confirmedBy?.host, pid: confirmedBy?.pid }, 'another Redis is active for this Postgres');
  }

  /** Returns false while another restore is at work, or another Redis is active. */
  private async restore(tenant: number, found: Comparison['found']): Promise<boolean> {
    const { engine, redis, pool, active, testClock, log } = this.options;
    const startedMs = performance.now();
    let saidMs = startedMs;
    try {
      const restored = await restoreTenant({
        ...{ tenant, partition: engine.partition(tenant), redis, pool, testClock, signal: this.stopping.signal },
        ...{ active, need: needOf(found) },
        onProgress: (restored, all) => {
          if (performance.now() - saidMs < limits.reconcileLogMs) return;
          saidMs = performance.now();
          log.info({ tenant, restored, users: all }, 'Redis is being restored');
        },
      });
      if (!restored) return true;
      const { users, resumed, saved } = restored;
      if (saved > 0) log.error({ tenant, entries: saved }, 'ledger entries of an ended epoch are saved as dead letters');
      log.info({ tenant, users, resumed, ms: Math.round(performance.now() - startedMs) }, 'Redis has been restored');
      return true;
    } catch (error) {
      if (error instanceof LeaseLost || error instanceof RestoreFenced) return false;
      throw error;
    }
  }

  private async pause(): Promise<void> {
    await delay(limits.reconcileRetryMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}
