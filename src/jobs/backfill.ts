import type pg from 'pg';
import type { Logger } from 'pino';
import { randomUUID } from 'node:crypto';
import type { Leaderboard } from '../config/model.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import type { HistoryReader } from '../ledger/reader.js';
import { text, type Engine } from '../engine/engine.js';

/** Where the values that a leaderboard ranks are in Postgres. */
function source(config: ActiveConfig, board: Leaderboard): { table: string; column: string; no: number } {
  switch (board.rankBy) {
    case 'metric':
      return { table: 'user_metrics', column: 'metric', no: known(config.metricById, board.metricId, 'metric').no };
    case 'points':
      return { table: 'user_points', column: 'system', no: known(config.systemById, board.pointsSystemId, 'points system').no };
  }
}

/**
 * Enters the users who already had a value on boards that have become active (semantics.md, "Leaderboards"). Postgres names the highest,
 * at most as many as the board takes; Redis enters each with the value that the user then has. They are entered in the order in which
 * they reached their values, so that ties come out as if the board had been there all along. Entering somebody again changes nothing, so
 * a backfill that was cut off is simply done again.
 */
export class Backfill {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly history: HistoryReader;
  private readonly log: Logger;

  constructor(engine: Engine, pool: pg.Pool, history: HistoryReader, log: Logger) {
    this.engine = engine;
    this.pool = pool;
    this.history = history;
    this.log = log;
  }

  /** Does what is still to be done for a tenant. The write-behind must be running: what Redis had counted by now is waited for. */
  async run(tenant: number): Promise<void> {
    const config = await this.engine.config(tenant);
    const boards = config.document.leaderboards.filter(({ archived, status }) => !archived && status === 'active');
    const done = await this.completed(tenant);
    for (const board of boards) if (!done.has(board.no)) await this.enter(tenant, config, board);
  }

  private async completed(tenant: number): Promise<ReadonlySet<number>> {
    const { rows } = await this.pool.query<{ leaderboard: number }>('select leaderboard from leaderboard_backfills where tenant = $1', [
      tenant,
    ]);
    return new Set(rows.map(({ leaderboard }) => leaderboard));
  }

  private async enter(tenant: number, config: ActiveConfig, board: Leaderboard): Promise<void> {
    const { values } = await this.engine.call(tenant, 'ledgerId', () => ({ args: {} }));
    await this.history.waitFor(tenant, text(values[0]));
    const { table, column, no } = source(config, board);
    const { rows } = await this.pool.query<{ user_id: string }>(
      `select user_id from (
         select user_id, total, at, rev from ${table} where tenant = $1 and ${column} = $2 order by total desc, at, rev limit $3
       ) as highest order by at, rev`,
      [tenant, no, board.maxParticipants],
    );
    for (const { user_id: user } of rows) {
      const entryId = randomUUID();
      await this.engine.call(tenant, 'enterBoard', () => ({ args: { user, leaderboard: board.no, entryId } }));
    }
    await this.pool.query('insert into leaderboard_backfills (tenant, leaderboard) values ($1, $2) on conflict do nothing', [
      tenant,
      board.no,
    ]);
    this.log.info(
      { tenant, leaderboard: board.key, users: rows.length },
      'a leaderboard has been filled with the users who already had a value',
    );
  }
}
