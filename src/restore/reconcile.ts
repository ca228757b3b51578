import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.js';
import type { Comparison } from '../engine/sync.js';
import type { ActiveRedis } from '../ledger/active-redis.js';
import { isSamePlace, type Objection } from '../ledger/active-redis-rules.js';
import { LeaseLost } from '../ledger/offsets.js';
import { limits } from '../shared/limits.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { RedisConnection } from '../redis/connection.js';
import pLimit from 'p-limit';
import { claimPurposeOf, restoreTenant, RestoreFenced } from './restore.js';

export interface ReconcilerOptions {
  readonly engine: Engine;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly active: ActiveRedis;
  /** If off, tenants are only compared, and an operator restores them. */
  readonly autoRestore: boolean;
  readonly log: Logger;
}

/**
 * Resyncs a Redis that lacks data of Postgres, tenant by tenant, without an operator (ARCHITECTURE.md, invariant 5). Leaves a Redis that lacks nothing
 * as it is, with its uncommitted entries, and one of another database too. Several workers and `laurel restore` may run at once: the lease of the
 * tenant's stream lets one of them restore, and the others wait until it is done or gone.
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
   * Compares a tenant's Redis with Postgres and restores it if it lacks data. Returns when it is in sync, or when it can't be synced now (the reason
   * is logged, and the next caller that finds it out of sync calls again). Concurrent callers share the work.
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

  /** Aborts running restores between two steps; the next worker resumes them. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.working.values());
  }

  private async waitForSync(tenant: number): Promise<void> {
    const { engine, autoRestore, log } = this.options;
    let logged = '';
    while (!this.stopping.signal.aborted) {
      const { found, epoch, newest, offset, objection } = await engine.compare(tenant);
      if (found === 'in_sync') return;
      if (objection && (objection.reason === 'superseded' || !autoRestore || found === 'fenced')) {
        if (logged !== objection.reason) this.warnFenced(tenant, objection);
        logged = objection.reason;
        if (objection.reason === 'superseded' || !autoRestore) return;
        await this.pause();
        continue;
      }
      if (found === 'foreign') {
        log.error({ tenant, epoch, expected: offset.epoch }, 'Redis belongs to another database, left unchanged');
        return;
      }
      if (found === 'ahead') {
        log.error({ tenant, epoch, newest, committed: offset.lastId }, 'Postgres is older than Redis, nothing is persisted');
        return;
      }
      if (!autoRestore) {
        log.error({ tenant, newest, committed: offset.lastId }, 'Redis is behind Postgres, and AUTO_RESTORE is off');
        return;
      }
      // Logged once while another worker restores it or another Redis is active.
      if (logged !== offset.epoch && !objection)
        log.warn({ tenant, found, newest, committed: offset.lastId }, 'Redis is behind Postgres, restoring');
      if (objection && logged !== objection.reason) this.warnFenced(tenant, objection);
      logged = objection?.reason ?? offset.epoch;
      if (!(await this.restore(tenant, found))) await this.pause();
    }
  }

  private warnFenced(tenant: number, objection: Objection): void {
    const { reason, own, other, confirmedBy } = objection;
    if (isSamePlace(objection)) {
      const fields = { tenant, redis: own.address, prefix: own.prefix, host: confirmedBy?.host, pid: confirmedBy?.pid };
      this.options.log.warn(fields, 'another server at the address of Redis, waiting for every process to notice');
      return;
    }
    const fields = { tenant, why: reason, redis: own.address, prefix: own.prefix, active: other.address, activePrefix: other.prefix };
    this.options.log.error({ ...fields, host: confirmedBy?.host, pid: confirmedBy?.pid }, 'another Redis is active for this Postgres');
  }

  /** Returns false while another restore is running or another Redis is active. */
  private async restore(tenant: number, found: Comparison['found']): Promise<boolean> {
    const { engine, redis, pool, active, log } = this.options;
    const startedMs = performance.now();
    let loggedMs = startedMs;
    try {
      const restored = await restoreTenant({
        tenant,
        partition: engine.partition(tenant),
        redis,
        pool,
        signal: this.stopping.signal,
        active,
        purpose: claimPurposeOf(found),
        onProgress: (restored, all) => {
          if (performance.now() - loggedMs < limits.reconcileLogMs) return;
          loggedMs = performance.now();
          log.info({ tenant, restored, users: all }, 'restoring Redis');
        },
      });
      if (!restored) return true;
      const { users, resumed, saved } = restored;
      if (saved > 0) log.error({ tenant, entries: saved }, 'ledger entries of an ended epoch saved as dead letters');
      log.info({ tenant, users, resumed, ms: Math.round(performance.now() - startedMs) }, 'Redis restored');
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
