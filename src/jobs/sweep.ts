import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { dateToDay, dayToDate, utcDate } from '../shared/calendar.js';
import type { Channel } from '../config/message-types.js';
import type { Leaderboard } from '../config/model.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { statusOn } from '../responses/leaderboards.js';
import { runEnd, runOf } from '../responses/leaderboards.js';
import { DueMessages } from '../webhooks/due.js';
import { DueNotifications } from '../messages/due.js';
import { saveClock } from '../ledger/offsets.js';
import type { HistoryReader } from '../ledger/reader.js';
import { limits } from '../shared/limits.js';
import { Activations } from './activations.js';
import { Levels } from './levels.js';
import { KeyRetention } from './key-retention.js';
import { perpetualRun } from '../plan/boards.js';
import type { JobTools } from './job.js';

const dayMs = 86_400_000;

const activeBoards = (boards: readonly Leaderboard[]): Leaderboard[] =>
  boards.filter(({ archived, status }) => !archived && status === 'active');

/** The day up to which the runs of a leaderboard are over once `lastDay` has begun; -Infinity if none is. */
function endedUpTo(board: Leaderboard, lastDay: number): number {
  const end = board.end === null ? Infinity : dateToDay(board.end) + 1;
  if (end <= lastDay) return end;
  return board.runUnit === null || lastDay < dateToDay(board.start) ? -Infinity : runOf(board, lastDay);
}

/** The running pass of a tenant, or a new one. */
function shared<T>(running: Map<number, Promise<T>>, tenant: number, start: () => Promise<T>): Promise<T> {
  const current = running.get(tenant);
  if (current) return current;
  const started = start().finally(() => running.delete(tenant));
  running.set(tenant, started);
  return started;
}

/**
 * Does the work that has become due: settles due users, found in a sorted set, and ends the runs of leaderboards. Safe to run twice, in several processes
 * at once, and late: the result depends on the clock and not on the time of the call.
 */
export class Sweep {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly history: HistoryReader;
  private readonly activations: Activations;
  private readonly levels: Levels;
  private readonly retention: KeyRetention;
  private readonly messages: DueMessages;
  private readonly notifications: DueNotifications;
  private readonly log: Logger;
  /** Tenant → the configuration version, and up to which day the runs of each leaderboard were over at the last check. */
  private readonly checked = new Map<number, string>();
  /** Tenant → the configuration version and the active leaderboards at the last activation. */
  private readonly activated = new Map<number, string>();
  /** Tenant → the running settlement of its users, and the running publication of its messages. */
  private readonly settling = new Map<number, Promise<number>>();
  private readonly publishing = new Map<number, Promise<void>>();
  private readonly stopping = new AbortController();

  /** `open` are the channels of messages to users. `onMessages` is called when there are messages to deliver. */
  constructor(tools: JobTools, open: ReadonlySet<Channel> = new Set(), onMessages: () => void = () => undefined) {
    const { engine, pool, clock, history, log } = tools;
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.activations = new Activations({ ...tools, signal: this.stopping.signal });
    this.levels = new Levels({ ...tools, signal: this.stopping.signal });
    this.retention = new KeyRetention(tools);
    this.messages = new DueMessages(pool, onMessages);
    this.notifications = new DueNotifications({ stores: { engine, clock, history }, pool, open, onMessages });
    this.log = log;
  }

  /**
   * Settles due users, and publishes the webhooks and messages that are due. The service also calls it concurrently with `run`, whose work on
   * leaderboards and activations can take minutes with many users and must not delay what is due at a local hour.
   */
  async runDue(tenant: number): Promise<void> {
    await this.settle(tenant);
    await this.publishNow(tenant);
  }

  /** Settles all due users; returns how many. Concurrent callers share one pass. */
  private settle(tenant: number): Promise<number> {
    return shared(this.settling, tenant, () => this.settleUsers(tenant, ''));
  }

  /** Publishes what is due by now. Concurrent callers share one pass. */
  private publishNow(tenant: number): Promise<void> {
    return shared(this.publishing, tenant, async () => {
      await this.publish(tenant, await this.clock.now(tenant), limits.publishTransactionsPerRun);
    });
  }

  /** Aborts longer work between two steps; the next worker resumes it. */
  stop(): void {
    this.stopping.abort();
  }

  /** Does all due work of a tenant. */
  async run(tenant: number): Promise<void> {
    const settled = await this.settle(tenant);
    const now = await this.clock.now(tenant);
    const finalised = await this.updateLeaderboards(tenant, now);
    await this.retention.run(tenant, limits.retentionPagesPerRun);
    await this.publishNow(tenant);
    if (settled + finalised > 0) this.log.debug({ tenant, settled, finalised }, 'swept');
  }

  /** Moves the test clock from one due time to the next, so that everything happens in order, and does the work that is due at `toMs`. */
  async advance(tenant: number, toMs: number): Promise<number> {
    const now = await this.clock.now(tenant);
    for (const moment of [...(await this.boardStarts(tenant, now, toMs)), toMs]) {
      if (moment >= now) await this.settleUsers(tenant, moment);
      await this.updateLeaderboards(tenant, await this.clock.set(tenant, moment));
    }
    await this.retention.run(tenant, Infinity);
    if (await this.hasMessages(tenant)) {
      // Messages must include everything that happened until then.
      await this.history.waitFor(tenant, (await this.clock.ledgerId(tenant)).ledgerId);
      await this.publish(tenant, toMs, Infinity);
    }
    await saveClock(this.pool, tenant, toMs);
    return toMs;
  }

  private async hasMessages(tenant: number): Promise<boolean> {
    const config = await this.engine.config(tenant);
    return !this.messages.isIdle(config) || !this.notifications.isIdle(config);
  }

  /** Publishes due webhooks and messages to users. */
  private async publish(tenant: number, now: number, transactions: number): Promise<void> {
    const config = await this.engine.config(tenant);
    if (!this.messages.isIdle(config)) await this.messages.publish(config, now, transactions);
    if (!this.notifications.isIdle(config)) await this.notifications.publish(config, now, transactions);
  }

  /**
   * The times in between at which leaderboards start: UTC midnights. (Run ends are not among them: a run that is over in every time zone does not change,
   * so the time at which it is finalised makes no difference.)
   */
  private async boardStarts(tenant: number, fromMs: number, toMs: number): Promise<number[]> {
    const { document } = await this.engine.config(tenant);
    const moments = new Set(activeBoards(document.leaderboards).map(({ start }) => dateToDay(start) * dayMs));
    return [...moments].filter((moment) => moment > fromMs && moment < toMs).sort((a, b) => a - b);
  }

  /** Settles users in bounded calls until none is due, now or at a time of the test clock; returns how many. */
  private async settleUsers(tenant: number, upTo: number | ''): Promise<number> {
    let settled = 0;
    for (;;) {
      this.stopping.signal.throwIfAborted();
      const ids = Array.from({ length: limits.sweepUsers }, () => randomUUID());
      const { values } = await this.engine.call(tenant, 'sweep', () => ({ args: { upTo }, pairs: ids }));
      settled += Number(values[0]);
      if (Number(values[1]) === 1) return settled;
    }
  }

  /** Fills leaderboards that start, and ends runs that are over. Returns how many runs. */
  private async updateLeaderboards(tenant: number, now: number): Promise<number> {
    await this.activate(tenant, now);
    return this.finaliseRuns(tenant, now);
  }

  /** Runs activations after a new configuration or on the first day of a leaderboard, and recounts changed levels. */
  private async activate(tenant: number, now: number): Promise<void> {
    const { version, document } = await this.engine.config(tenant);
    const today = utcDate(now);
    const running = activeBoards(document.leaderboards).filter((board) => statusOn(board, today) === 'active');
    const key = [version, ...running.map(({ no }) => no)].join(' ');
    if (this.activated.get(tenant) === key) return;
    await this.activations.run(tenant);
    await this.levels.run(tenant);
    this.activated.set(tenant, key);
  }

  /** Ends the runs whose last day has been over in UTC for long enough; returns how many. */
  private async finaliseRuns(tenant: number, now: number): Promise<number> {
    const { version, document } = await this.engine.config(tenant);
    const lastDay = Math.floor((now - limits.finalisationDelayMs) / dayMs);
    const open = activeBoards(document.leaderboards).filter((board) => endedUpTo(board, lastDay) > -Infinity);
    const checked = [version, ...open.map((board) => endedUpTo(board, lastDay))].join(' ');
    if (open.length === 0 || this.checked.get(tenant) === checked) return 0;
    const { ledgerId } = await this.clock.ledgerId(tenant);
    let finalised = 0;
    for (const board of open) {
      for (const run of await this.runsToEnd(tenant, board, lastDay, ledgerId)) {
        const entryId = randomUUID();
        await this.engine.call(tenant, 'finalise', () => ({ args: { leaderboard: board.no, run, max: board.maxParticipants, entryId } }));
        this.log.info({ tenant, leaderboard: board.key, run: run === perpetualRun ? null : dayToDate(run) }, 'leaderboard run finalised');
        finalised += 1;
      }
    }
    this.checked.set(tenant, checked);
    return finalised;
  }

  /** The runs that have entries, are over by `lastDay` (their last day is before it) and not final yet. */
  private async runsToEnd(tenant: number, board: Leaderboard, lastDay: number, ledgerId: string): Promise<number[]> {
    // The last values of a run may not be committed yet.
    await this.history.waitFor(tenant, ledgerId);
    const runs = await this.openRuns(tenant, board);
    const end = board.end === null ? Infinity : dateToDay(board.end) + 1;
    return runs.filter((run) => Math.min(board.runUnit === null ? Infinity : runEnd(board, run), end) <= lastDay);
  }

  private async openRuns(tenant: number, board: Leaderboard): Promise<number[]> {
    const { rows } = await this.pool.query<{ run: number }>(
      // One index scan for each run, instead of reading all of their entries.
      `with recursive known as (
         (select run from leaderboard_entries where tenant = $1 and leaderboard = $2 order by run limit 1)
         union all
         select (select run from leaderboard_entries as entry
                  where entry.tenant = $1 and entry.leaderboard = $2 and entry.run > known.run order by run limit 1)
           from known where known.run is not null
       )
       select run from known where run is not null and not exists (
         select 1 from leaderboard_runs as done where done.tenant = $1 and done.leaderboard = $2 and done.run = known.run) order by run`,
      [tenant, board.no],
    );
    return rows.map(({ run }) => run);
  }
}
