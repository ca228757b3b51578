import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { dateToDay, dayToDate, utcDate, dayMs } from '../shared/calendar.js';
import type { Channel } from '../config/schema/message-types.js';
import type { Leaderboard } from '../config/schema/model.js';
import { participantLimitAt } from '../config/store/store.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { boardEnd, finalFrom, runOf, statusOn } from '../responses/leaderboards.js';
import { DueWebhooks } from '../webhooks/due.js';
import { DueNotifications } from '../messages/schedule/due.js';
import { type Attempts, untilAttempted } from '../deliveries/attempted.js';
import { saveClock } from '../ledger/offsets.js';
import type { HistoryReader } from '../history/reader.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { Activations } from './activations.js';
import { Levels } from './levels.js';
import { KeyRetention } from './key-retention.js';
import { perpetualRun } from '../plan/boards.js';
import type { JobTools } from './job.js';

const activeBoards = (boards: readonly Leaderboard[]): Leaderboard[] =>
  boards.filter(({ archived, status }) => !archived && status === 'active');

/** The day up to which the runs of a leaderboard are over once `lastDay` has begun; -Infinity if none is. */
function endedUpTo(board: Leaderboard, lastDay: number): number {
  const end = boardEnd(board);
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

/** Where the test clock stops on its way. */
interface Moments {
  readonly boardStarts: ReadonlySet<number>;
  /** The next one after another, in milliseconds since 1970. */
  after(moment: number): Promise<number>;
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
  private readonly webhooks: DueWebhooks;
  private readonly notifications: DueNotifications;
  private readonly log: Logger;
  private readonly open: ReadonlySet<Channel>;
  /** Tenant → the configuration version, and up to which day the runs of each leaderboard were over at the last check. */
  private readonly checked = new Map<number, string>();
  /** Tenant → the configuration version and the active leaderboards at the last activation. */
  private readonly activated = new Map<number, string>();
  /** Tenant → how many segments of time had ended, which some users may still live in, when its users were settled last. */
  private readonly ended = new Map<number, number>();
  /** Tenant → the running settlement of its users, and the running publication of what is due. */
  private readonly settling = new Map<number, Promise<number>>();
  private readonly publishing = new Map<number, Promise<void>>();
  private readonly stopping = new AbortController();

  /** `open` are the channels of notifications. `onQueued` is called when there is something to deliver. */
  constructor(tools: JobTools, open: ReadonlySet<Channel> = new Set(), onQueued: () => void = () => undefined) {
    const { engine, pool, clock, history, log } = tools;
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.activations = new Activations({ ...tools, signal: this.stopping.signal });
    this.levels = new Levels({ ...tools, signal: this.stopping.signal });
    this.retention = new KeyRetention(tools);
    this.webhooks = new DueWebhooks(pool, onQueued);
    this.notifications = new DueNotifications({ stores: { engine, clock, history }, pool, open, onQueued });
    this.log = log;
    this.open = open;
  }

  /**
   * Settles due users, and publishes the webhooks and notifications that are due. The service also calls it concurrently with `run`, whose work on
   * leaderboards and activations can take minutes with many users and must not delay what is due at a local hour.
   */
  async runDue(tenant: number): Promise<void> {
    await this.settle(tenant);
    await this.publishNow(tenant);
  }

  /** Settles all due users; returns how many. Concurrent callers share one pass. */
  private settle(tenant: number): Promise<number> {
    return shared(this.settling, tenant, () => this.settleUsers(tenant));
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

  /**
   * Moves the test clock from one due moment to the next, so that everything happens in order, and does the work that is due at each. Stops after the
   * step during which `deadline`, a time of the process's clock, passes. Returns the time that is reached.
   */
  async advance(tenant: number, toMs: number, deadline = Infinity): Promise<number> {
    let now = await this.clock.now(tenant);
    // What a new configuration does at once is done before time passes under it.
    await this.settle(tenant);
    await this.activate(tenant, now);
    await this.publishAt(tenant, now);
    const moments = await this.momentsBetween(tenant, now, toMs);
    let attempts: Attempts = this.open.size > 0 ? 'made' : 'none';
    do {
      const moment = await moments.after(now);
      // What has been queued is attempted before the clock moves on: afterwards it may be too old.
      if (moment > now && attempts === 'made') attempts = await untilAttempted(this.pool, tenant, deadline);
      if (attempts === 'unfinished') break;
      if (moment >= now && !(await this.settleUntil(tenant, moment, deadline))) break;
      now = await this.moveClock(tenant, moment, toMs);
      if (moments.boardStarts.has(moment) || moment === toMs) await this.updateLeaderboards(tenant, now);
      await this.publishAt(tenant, now);
    } while (now < toMs && Date.now() < deadline);
    now = await this.clock.now(tenant);
    if (now === toMs) await this.retention.run(tenant, Infinity);
    await saveClock(this.pool, tenant, now);
    return now;
  }

  /** Moves the test clock, unless another process that moves it at the same time has moved it further, but not beyond `toMs`. */
  private async moveClock(tenant: number, moment: number, toMs: number): Promise<number> {
    try {
      return await this.clock.set(tenant, moment);
    } catch (error) {
      const now = await this.clock.now(tenant);
      if (error instanceof LaurelError && error.code === 'unprocessable' && now <= toMs) return now;
      throw error;
    }
  }

  /** The moments at which the test clock stops on its way: starts of leaderboards, what becomes due to users, and the end. */
  private async momentsBetween(tenant: number, fromMs: number, toMs: number): Promise<Moments> {
    const config = await this.engine.config(tenant);
    const boardStarts = new Set(await this.boardStarts(tenant, fromMs, toMs));
    const isQuiet = toMs <= fromMs || this.notifications.isIdle(config);
    if (!isQuiet) await this.waitForWrites(tenant);
    const due = isQuiet ? undefined : await this.notifications.momentsOf(config);
    return {
      boardStarts,
      after: async (moment) => {
        const next = [...boardStarts].filter((start) => start > moment);
        return Math.min(toMs, ...next, (await due?.after(moment)) ?? Infinity);
      },
    };
  }

  /** Waits until Postgres, from which notifications are made, has everything that happened so far. */
  private async waitForWrites(tenant: number): Promise<void> {
    await this.history.waitFor(tenant, (await this.clock.ledgerId(tenant)).ledgerId);
  }

  /** Publishes everything that is due at a moment of the test clock. */
  private async publishAt(tenant: number, now: number): Promise<void> {
    const config = await this.engine.config(tenant);
    if (this.webhooks.isIdle(config) && this.notifications.isIdle(config)) return;
    await this.waitForWrites(tenant);
    await this.publish(tenant, now, Infinity);
  }

  /** Publishes due webhooks and notifications. */
  private async publish(tenant: number, now: number, transactions: number): Promise<void> {
    const config = await this.engine.config(tenant);
    if (!this.webhooks.isIdle(config)) await this.webhooks.publish(config, now, transactions);
    if (!this.notifications.isIdle(config)) await this.notifications.publish(config, now, transactions);
  }

  /**
   * The times in between at which leaderboards start: UTC midnights. (Run ends are not among them: a run that is over in every time zone does not change,
   * and its limit of participants is the one of the moment when it could be finalised, so the time at which it is makes no difference.)
   */
  private async boardStarts(tenant: number, fromMs: number, toMs: number): Promise<number[]> {
    const { document } = await this.engine.config(tenant);
    const moments = new Set(activeBoards(document.leaderboards).map(({ start }) => dateToDay(start) * dayMs));
    return [...moments].filter((moment) => moment > fromMs && moment < toMs).sort((a, b) => a - b);
  }

  /** Settles users in bounded calls until none is due; returns how many. */
  private async settleUsers(tenant: number): Promise<number> {
    let settled = 0;
    while (true) {
      const { users, isDone } = await this.settleSome(tenant, '');
      settled += users;
      if (isDone) return settled;
    }
  }

  /** Settles users until none is due at a time to which the test clock moves; false if `deadline` has passed before. */
  private async settleUntil(tenant: number, upTo: number, deadline: number): Promise<boolean> {
    while (true) {
      const { isDone } = await this.settleSome(tenant, upTo);
      if (isDone) return true;
      if (Date.now() >= deadline) return false;
    }
  }

  private async settleSome(tenant: number, upTo: number | ''): Promise<{ users: number; isDone: boolean }> {
    this.stopping.signal.throwIfAborted();
    // New ids for each attempt: one that ends at a user who needs something first has settled others with its ids.
    const { values } = await this.engine.call(tenant, 'sweep', () => ({
      args: { upTo },
      pairs: Array.from({ length: limits.sweepUsers }, () => randomUUID()),
    }));
    this.ended.set(tenant, Number(values[2]));
    return { users: Number(values[0]), isDone: Number(values[1]) === 1 };
  }

  /** Fills leaderboards that start, and ends runs that are over. Returns how many runs. */
  private async updateLeaderboards(tenant: number, now: number): Promise<number> {
    await this.activate(tenant, now);
    return this.finaliseRuns(tenant, now);
  }

  /** Runs activations after a new configuration, on the first day of a leaderboard and after a restore, and recounts changed levels. */
  private async activate(tenant: number, now: number): Promise<void> {
    const { version, document } = await this.engine.config(tenant);
    const today = utcDate(now);
    const running = activeBoards(document.leaderboards).filter((board) => statusOn(board, today) === 'active');
    const key = [version, ...running.map(({ no }) => no)].join(' ');
    if (this.activated.get(tenant) === key && (this.ended.get(tenant) ?? 0) === 0) return;
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
      for (const run of await this.runsToEnd(tenant, board, now, ledgerId)) {
        const entryId = randomUUID();
        const max = await participantLimitAt(this.pool, tenant, board, finalFrom(board, run));
        await this.engine.call(tenant, 'finalise', () => ({ args: { leaderboard: board.no, run, max, entryId } }));
        this.log.info({ tenant, leaderboard: board.key, run: run === perpetualRun ? null : dayToDate(run) }, 'leaderboard run finalised');
        finalised += 1;
      }
    }
    this.checked.set(tenant, checked);
    return finalised;
  }

  /** The runs that have entries, and whose rankings are to be final by `now` and are not yet. */
  private async runsToEnd(tenant: number, board: Leaderboard, now: number, ledgerId: string): Promise<number[]> {
    // The last values of a run may not be committed yet.
    await this.history.waitFor(tenant, ledgerId);
    const runs = await this.openRuns(tenant, board);
    return runs.filter((run) => finalFrom(board, run) <= now);
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
