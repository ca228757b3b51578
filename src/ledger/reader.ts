import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { LaurelError } from '../errors.js';
import { hasCommitted } from './offsets.js';
import { limits } from '../limits.js';
import { postgresFailure } from '../postgres/pool.js';

/** One local day of a user on a board, the newest first; ranks and values are null where the user was not on it. */
export interface HistoryDay {
  /** `YYYY-MM-DD`, the user's local date. */
  readonly date: string;
  readonly at: Date;
  readonly previousRank: number | null;
  readonly rank: number | null;
  readonly previousValue: number | null;
  readonly value: number | null;
}

const pollMs = 5;

/** Reads what only Postgres keeps, and waits until it has what a caller may know already (semantics.md, "Reads"). */
export class HistoryReader {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Waits for the write-behind to pass a ledger id; a 503 after limits.readYourWritesWaitMs. */
  async waitFor(tenant: number, ledgerId: string): Promise<void> {
    const giveUpAt = Date.now() + limits.readYourWritesWaitMs;
    while (!(await this.query(() => hasCommitted(this.pool, tenant, ledgerId)))) {
      if (Date.now() > giveUpAt) {
        throw new LaurelError('not_ready', 'The history of the last moments is not stored yet. Try again shortly.');
      }
      await delay(pollMs);
    }
  }

  /** The last `days` days on which a user's events changed the user's place on a board. */
  async leaderboardDays(tenant: number, leaderboard: number, run: number, user: string, days: number): Promise<HistoryDay[]> {
    const { rows } = await this.query(() =>
      this.pool.query<HistoryDay>(
        `select to_char(day, 'YYYY-MM-DD') as date, at, previous_rank as "previousRank", rank, previous_value as "previousValue", value
           from leaderboard_history
          where tenant = $1 and leaderboard = $2 and run = $3 and user_id = $4
          order by day desc
          limit $5`,
        [tenant, leaderboard, run, user, days],
      ),
    );
    return rows;
  }

  private async query<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw postgresFailure(error);
    }
  }
}
