import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Clock } from '../engine/clock.js';
import { text, type Engine } from '../engine/engine.js';
import { refusal } from '../engine/failures.js';
import { readProfile } from '../engine/users.js';
import { forgetInConfig, isInConfig } from '../config/forget.js';
import { ConfigConflict } from '../config/store.js';
import { LaurelError } from '../shared/errors.js';
import { hasRowsOf } from '../ledger/delete-user.js';
import type { HistoryReader } from '../ledger/reader.js';
import { postgresFailure } from '../postgres/pool.js';
import { compilePlan } from '../plan/compile.js';
import { outcomes } from '../redis/contract.js';
import type { JobTools } from './job.js';

const numbersOf = (objects: readonly { readonly no: number }[]): string => objects.map(({ no }) => no).join(' ');

/** Whether Postgres has anything of an id. */
async function isStored(pool: pg.Pool, tenant: number, user: string): Promise<boolean> {
  try {
    return (await hasRowsOf(pool, tenant, user)) || (await isInConfig(pool, tenant, user));
  } catch (error) {
    throw postgresFailure(error);
  }
}

/**
 * Deletes users for good, as privacy laws ask for: out of Redis, out of Postgres, out of the ledger stream and out of the configuration.
 *
 * Keys and the configuration go first, then all of Redis in one call, which also puts the deletion into the ledger; the write-behind does it in
 * Postgres when it comes to it. Cut off before that call, a deletion has only taken away keys and boosts, and can be asked for again; cut off
 * after it, the rest is done by the write-behind alone.
 */
export class Deletion {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly history: HistoryReader;
  private readonly eraseKeys: (tenant: number, user: string) => Promise<void>;

  /** `eraseKeys` revokes a user's keys in every process, and leaves no trace of whose they were. */
  constructor({ engine, pool, clock, history }: JobTools, eraseKeys: (tenant: number, user: string) => Promise<void>) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.eraseKeys = eraseKeys;
  }

  /**
   * Deletes a user, and returns when nothing is left anywhere. An id that never became a user may have keys, boosts and messages, which are
   * deleted too. Throws a 404 for an id of which nothing is known; `not_ready` when Postgres does not follow in time, before anything has been
   * deleted or, if Postgres fails later, while it still has to be deleted there.
   */
  async run(tenant: number, user: string): Promise<void> {
    await this.mustBeKnown(tenant, user);
    await this.eraseKeys(tenant, user);
    await this.forgetBoosts(tenant, user);
    // Old runs that are not final yet, which only Postgres knows that the user is on. What comes in until the call below is in the user's hash.
    const { ledgerId } = await this.clock.ledgerId(tenant);
    await this.history.waitFor(tenant, ledgerId);
    const places = await this.history.openParticipations(tenant, user);
    const pairs = places.flatMap(({ leaderboard, run, group, seq }) => [String(leaderboard), String(run), group, seq]);
    const entryId = randomUUID();
    const { outcome, values } = await this.engine.call(tenant, 'deleteUser', ({ document }) => ({
      args: { user, entryId, metrics: numbersOf(document.metrics), systems: numbersOf(document.pointsSystems) },
      pairs,
    }));
    if (outcome !== outcomes.ok) throw refusal(outcome, user);
    const deletedAt = text(values[0]);
    await this.history.waitFor(tenant, deletedAt);
    // The write-behind trims as well, but after it has committed, for which was waited here.
    await this.engine.trimLedger(tenant, deletedAt);
  }

  private async mustBeKnown(tenant: number, user: string): Promise<void> {
    try {
      await readProfile(this.engine, tenant, user);
    } catch (error) {
      const isNoUser = error instanceof LaurelError && error.code === 'not_found';
      if (!isNoUser || !(await isStored(this.pool, tenant, user))) throw error;
    }
  }

  private async forgetBoosts(tenant: number, user: string): Promise<void> {
    try {
      const versions = await forgetInConfig(this.pool, tenant, user);
      if (versions.length === 0) return;
      const config = await this.engine.refreshConfig(tenant);
      await this.engine.activate(config);
      const hashes = versions.map((version) => compilePlan(version).hash).filter((hash) => hash !== config.plan.hash);
      await this.engine.deletePlans(tenant, hashes);
    } catch (error) {
      if (!(error instanceof ConfigConflict)) throw postgresFailure(error);
      throw new LaurelError('not_ready', 'The configuration is being changed by others. Try again shortly.', { cause: error });
    }
  }
}
