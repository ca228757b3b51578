import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { dateToDay, dayToDate } from '../calendar.js';
import type { Leaderboard } from '../config/model.js';
import type { Clock } from '../engine/clock.js';
import { text, type Engine } from '../engine/engine.js';
import { runEnd } from '../leaderboards/runs.js';
import type { HistoryReader } from '../ledger/reader.js';
import { limits } from '../limits.js';
import { perpetualRun } from '../plan/boards.js';

const dayMs = 86_400_000;

/**
 * Does what time has made due: settles the users to whom something is due, found in a sorted set and not by looking at everybody, and ends the
 * runs of leaderboards. Safe to run twice, in several processes at once, and late: settling goes by the clock and not by when it is called.
 */
export class Sweep {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly history: HistoryReader;
  private readonly log: Logger;

  constructor(engine: Engine, pool: pg.Pool, clock: Clock, history: HistoryReader, log: Logger) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.log = log;
  }

  /** Everything that is due by now. */
  async run(tenant: number): Promise<void> {
    const settled = await this.settleUsers(tenant);
    const finalised = await this.finaliseRuns(tenant);
    if (settled + finalised > 0) this.log.debug({ tenant, settled, finalised }, 'what was due has been done');
  }

  /** Settles users in bounded calls until nobody is due; returns how many. */
  private async settleUsers(tenant: number): Promise<number> {
    let settled = 0;
    for (;;) {
      const ids = Array.from({ length: limits.sweepUsers }, () => randomUUID());
      const { values } = await this.engine.call(tenant, 'sweep', () => ({ args: { limit: limits.sweepUsers }, pairs: ids }));
      const count = Number(text(values[0]) || values[0]);
      settled += count;
      if (count === 0) return settled;
    }
  }

  /** Ends the runs whose last day has been over in UTC for long enough; returns how many. */
  private async finaliseRuns(tenant: number): Promise<number> {
    const config = await this.engine.config(tenant);
    const now = await this.clock.now(tenant);
    const lastDay = Math.floor((now - limits.finalisationDelayMs) / dayMs);
    const boards = config.document.leaderboards.filter(({ archived, status }) => !archived && status === 'active');
    const open = boards.filter((board) => board.runUnit !== null || (board.end !== null && dateToDay(board.end) < lastDay));
    if (open.length === 0) return 0;
    const { ledgerId } = await this.clock.ledgerId(tenant);
    let finalised = 0;
    for (const board of open) {
      for (const run of await this.runsToEnd(tenant, board, lastDay, ledgerId)) {
        const entryId = randomUUID();
        await this.engine.call(tenant, 'finalise', () => ({ args: { leaderboard: board.no, run, max: board.maxParticipants, entryId } }));
        this.log.info({ tenant, leaderboard: board.key, run: run === perpetualRun ? null : dayToDate(run) }, 'a run of a leaderboard is final');
        finalised += 1;
      }
    }
    return finalised;
  }

  /** The runs that have entries, are over by `lastDay` (their last day is before it) and not final yet. */
  private async runsToEnd(tenant: number, board: Leaderboard, lastDay: number, ledgerId: string): Promise<number[]> {
    const candidates = await this.openRuns(tenant, board);
    const isOver = (run: number): boolean => {
      const end = board.end === null ? Infinity : dateToDay(board.end) + 1;
      return Math.min(board.runUnit === null ? Infinity : runEnd(board, run), end) <= lastDay;
    };
    if (!candidates.some(isOver)) return [];
    // Somebody's last points of the run may not have been written down yet.
    await this.history.waitFor(tenant, ledgerId);
    return (await this.openRuns(tenant, board)).filter(isOver);
  }

  private async openRuns(tenant: number, board: Leaderboard): Promise<number[]> {
    const { rows } = await this.pool.query<{ run: number }>(
      `select distinct run from leaderboard_entries as entry where tenant = $1 and leaderboard = $2 and not exists (
         select 1 from leaderboard_runs as done where done.tenant = entry.tenant and done.leaderboard = entry.leaderboard and done.run = entry.run
       ) order by run`,
      [tenant, board.no],
    );
    return rows.map(({ run }) => run);
  }
}
