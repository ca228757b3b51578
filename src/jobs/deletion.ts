import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { text } from '../engine/function-calls.js';
import { refusal } from '../engine/refusals.js';
import { readProfile } from '../engine/users.js';
import type { Author } from '../config/store/author.js';
import { forgetInConfig, isInConfig } from '../config/store/forget.js';
import { ConfigConflict } from '../config/store/store.js';
import { LaurelError } from '../shared/errors.js';
import { hasRowsOf } from '../ledger/delete-user.js';
import type { HistoryReader } from '../history/reader.js';
import { postgresFailure, withPostgresErrors } from '../postgres/failure.js';
import { compilePlan } from '../plan/compile.js';
import { outcomes } from '../redis/contract.js';
import type { JobTools } from './job.js';

const numbersOf = (objects: readonly { readonly no: number }[]): string => objects.map(({ no }) => no).join(' ');

/** Whether Postgres has any data of an id. */
const isStored = async (pool: pg.Pool, tenant: number, user: string): Promise<boolean> =>
  (await withPostgresErrors(hasRowsOf(pool, tenant, user))) || withPostgresErrors(isInConfig(pool, tenant, user));

/**
 * Permanently deletes users, as privacy laws require: from Redis, Postgres, the ledger stream and the configuration.
 *
 * Keys and the configuration are first, then all of Redis in one call, which also appends the deletion to the ledger; the write-behind then deletes in
 * Postgres. A deletion interrupted before that call has only removed keys and boosts, and can be requested again; after it, the write-behind completes
 * the deletion alone.
 */
export class Deletion {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly history: HistoryReader;
  private readonly eraseKeys: (tenant: number, user: string) => Promise<void>;

  /** `eraseKeys` revokes a user's keys in every process, and erases their owner. */
  constructor({ engine, pool, clock, history }: JobTools, eraseKeys: (tenant: number, user: string) => Promise<void>) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.eraseKeys = eraseKeys;
  }

  /**
   * Deletes a user, and returns when no data is left. An id that never became a user may have keys, boosts and messages, which are deleted too. Throws a
   * 404 for an unknown id, and `not_ready` when Postgres is too far behind: either before anything was deleted or, if Postgres fails later, while the
   * deletion there is still pending. `author` is that of the version of the configuration without the user's boosts.
   */
  async run(tenant: number, user: string, author: Author): Promise<void> {
    await this.mustExist(tenant, user);
    await this.eraseKeys(tenant, user);
    await this.removeFromConfig(tenant, user, author);
    // Only Postgres knows the user's old runs that are not final yet. The user's hash has later participations.
    const { ledgerId } = await this.clock.ledgerId(tenant);
    await this.history.waitFor(tenant, ledgerId);
    const participations = await this.history.openParticipations(tenant, user);
    const pairs = participations.flatMap(({ leaderboard, run, group, seq }) => [String(leaderboard), String(run), group, seq]);
    const entryId = randomUUID();
    const { outcome, values } = await this.engine.call(tenant, 'deleteUser', ({ document }) => ({
      args: { user, entryId, metrics: numbersOf(document.metrics), systems: numbersOf(document.pointsSystems) },
      pairs,
    }));
    if (outcome !== outcomes.ok) throw refusal(outcome, user);
    const deletedAt = text(values[0]);
    await this.history.waitFor(tenant, deletedAt);
    // The write-behind trims too, but only after the commit that the line above waits for.
    await this.engine.trimLedger(tenant, deletedAt);
  }

  private async mustExist(tenant: number, user: string): Promise<void> {
    try {
      await readProfile(this.engine, tenant, user);
    } catch (error) {
      const isNoUser = error instanceof LaurelError && error.code === 'not_found';
      if (!isNoUser) throw error;
      if (await isStored(this.pool, tenant, user)) return;
      throw new LaurelError('not_found', `There is no user with the id ${JSON.stringify(user)}, and nothing is stored under it.`, {
        cause: error,
      });
    }
  }

  private async removeFromConfig(tenant: number, user: string, author: Author): Promise<void> {
    try {
      const now = new Date(await this.clock.now(tenant)).toISOString();
      const versions = await forgetInConfig(this.pool, tenant, user, { author, now });
      if (versions.length === 0) return;
      const config = await this.engine.refreshConfig(tenant);
      await this.engine.activate(config);
      const hashes = versions.map((version) => compilePlan(version).hash).filter((hash) => hash !== config.plan.hash);
      await this.engine.deletePlans(tenant, hashes);
    } catch (error) {
      if (!(error instanceof ConfigConflict)) throw postgresFailure(error);
      throw new LaurelError('not_ready', 'The configuration is being changed by other requests. Try again shortly.', { cause: error });
    }
  }
}
