import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.js';
import { LeaseLost } from '../ledger/offsets.js';
import { limits } from '../limits.js';
import type { RedisConnection } from '../redis/connection.js';
import { Turns } from '../turns.js';
import { restoreTenant } from './restore.js';

export interface ReconcilerOptions {
  readonly engine: Engine;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly testClock: boolean;
  /** Without it, tenants are compared only, and an operator restores them. */
  readonly autoRestore: boolean;
  readonly log: Logger;
}

/**
 * Brings a Redis that lacks what Postgres has level with it, tenant by tenant, without an operator (ARCHITECTURE.md, invariant 5). A Redis that has
 * everything is left as it is, with what Postgres has not got yet; so is one of another database. Several workers may do so at once, and
 * beside a `laurel restore`: the lease of the tenant's stream lets one of them work, and the others wait until it is through or gone.
 */
export class Reconciler {
  private readonly options: ReconcilerOptions;
  private readonly turns = new Turns(limits.reconcileTenants);
  private readonly working = new Map<number, Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(options: ReconcilerOptions) {
    this.options = options;
  }

  /**
   * Compares a tenant's Redis with Postgres and brings it level if it lacks something. Returns when it is level, or when that can't be
   * reached now (then what the reason is has been logged, and whoever finds out again calls again). Callers at the same time share the work.
   */
  bring(tenant: number): Promise<void> {
    const running = this.working.get(tenant);
    if (running) return running;
    const work = this.turns
      .take(() => this.untilLevel(tenant))
      .catch((error: unknown) => {
        if (!this.stopping.signal.aborted) this.options.log.error({ err: error, tenant }, 'Redis could not be brought level yet');
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

  private async untilLevel(tenant: number): Promise<void> {
    const { engine, autoRestore, log } = this.options;
    for (let said = ''; !this.stopping.signal.aborted;) {
      const { found, epoch, newest, offset } = await engine.compare(tenant);
      if (found === 'level') return;
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
      // While another worker restores it, once.
      if (said !== offset.epoch)
        log.warn({ tenant, found, newest, committed: offset.lastId }, 'Redis lacks what Postgres has, and is restored');
      said = offset.epoch;
      if (!(await this.restore(tenant))) await this.pause();
    }
  }

  /** Returns false while somebody else restores the tenant. */
  private async restore(tenant: number): Promise<boolean> {
    const { engine, redis, pool, testClock, log } = this.options;
    const startedMs = performance.now();
    let saidMs = startedMs;
    try {
      const { users, resumed } = await restoreTenant({
        ...{ tenant, partition: engine.partition(tenant), redis, pool, testClock, signal: this.stopping.signal },
        onProgress: (restored, all) => {
          if (performance.now() - saidMs < limits.reconcileLogMs) return;
          saidMs = performance.now();
          log.info({ tenant, restored, users: all }, 'Redis is being restored');
        },
      });
      log.info({ tenant, users, resumed, ms: Math.round(performance.now() - startedMs) }, 'Redis has been restored');
      return true;
    } catch (error) {
      if (error instanceof LeaseLost) return false;
      throw error;
    }
  }

  private async pause(): Promise<void> {
    await delay(limits.reconcileRetryMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}
