import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { PointsSystem } from '../config/schema/model.js';
import type { Engine } from '../engine/engine.js';
import { readLevelCounts, type LevelCounts } from '../engine/points.js';
import type { HistoryReader } from '../history/reader.js';
import { limits } from '../shared/limits.js';
import { mustGet } from '../plan/active-config.js';
import { levelsDefinition, levelsOf } from '../plan/points.js';
import { numberArray } from '../postgres/arrays.js';
import type { JobTools } from './job.js';

/** Leaves connections to Postgres for other work. */
const systemsAtOnce = 4;

interface UserRow {
  readonly user_id: string;
  readonly level: number;
  readonly is_counted: boolean;
}

const ofSystem = 'from user_points as row where tenant = $1 and system = $2 and user_id > $3 order by user_id limit';
/** The next users with points in a system, all of whom are recounted. */
const allUsers = `select user_id, coalesce(level, 0) as level, true as is_counted ${ofSystem} ${limits.relevelUsers}`;
/** The next users whose level is not the one of their total, and the last user of the page, which is the cursor. */
const misplaced = `
  with page as materialized (
    select user_id, coalesce(level, 0) as level, level is distinct from (
             select no from unnest($4::integer[], $5::bigint[]) as level (no, points)
              where level.points <= row.total order by level.points desc limit 1) as is_counted
      ${ofSystem} ${limits.relevelLook})
  select * from page where is_counted or user_id = (select max(user_id) from page) order by user_id`;

/**
 * Recounts users by level when the levels of a points system change (docs/rules/points.md): saves the new level of each affected user in Redis and in
 * the ledger. Events use the new levels as soon as the configuration switches, so the counts are right once all users with points at that time have
 * been processed. An interrupted recount starts over and skips users that are done.
 */
export class Levels {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly history: HistoryReader;
  private readonly log: Logger;
  private readonly signal: AbortSignal | undefined;

  constructor({ engine, pool, history, log, signal }: JobTools) {
    this.engine = engine;
    this.pool = pool;
    this.history = history;
    this.log = log;
    this.signal = signal;
  }

  /** Recounts a tenant's points systems whose levels changed. The write-behind must be running. */
  async run(tenant: number): Promise<void> {
    const { document } = await this.engine.config(tenant);
    const systems = document.pointsSystems.filter(({ archived }) => !archived);
    const reads = await Promise.all(
      systems.map(({ no }) => readLevelCounts(this.engine, tenant, (config) => mustGet(config.systemByNo, no, 'points system'))),
    );
    const stale = reads.filter(({ system, countedBy }) => countedBy !== levelsDefinition(system));
    const last = stale.at(-1);
    if (last) await this.history.waitFor(tenant, last.ledgerId);
    for (let i = 0; i < stale.length; i += systemsAtOnce) {
      await Promise.all(stale.slice(i, i + systemsAtOnce).map((read) => this.count(tenant, read)));
    }
  }

  private async count(tenant: number, { system, countedBy }: LevelCounts): Promise<void> {
    const definition = levelsDefinition(system);
    // The level in Postgres does not show whether a user has ever been counted.
    const users = countedBy === undefined ? await this.relevel(tenant, system, allUsers, []) : await this.relevelMisplaced(tenant, system);
    await this.engine.call(tenant, 'levelsCounted', () => ({ args: { system: system.no, definition } }));
    if (users > 0) this.log.info({ tenant, pointsSystem: system.key, users }, 'users recounted by level');
  }

  private relevelMisplaced(tenant: number, system: PointsSystem): Promise<number> {
    const levels = levelsOf(system);
    const values = [numberArray(levels.map(({ no }) => no)), numberArray(levels.map(({ points }) => points))];
    return this.relevel(tenant, system, misplaced, values);
  }

  private async relevel(tenant: number, { no: system }: PointsSystem, users: string, values: readonly string[]): Promise<number> {
    let cursor = '';
    let count = 0;
    while (true) {
      const { rows } = await this.pool.query<UserRow>(users, [tenant, system, cursor, ...values]);
      const last = rows.at(-1);
      if (!last) return count;
      const counted = rows.filter(({ is_counted: isCounted }) => isCounted);
      for (let first = 0; first < counted.length; first += limits.relevelUsers) {
        this.signal?.throwIfAborted();
        await Promise.all(counted.slice(first, first + limits.relevelUsers).map((user) => this.countUser(tenant, system, user)));
      }
      count += counted.length;
      cursor = last.user_id;
    }
  }

  private async countUser(tenant: number, system: number, { user_id: user, level: stored }: UserRow): Promise<void> {
    const entryId = randomUUID();
    await this.engine.call(tenant, 'relevel', () => ({ args: { user, entryId, system, stored } }));
  }
}
