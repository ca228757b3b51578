import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { utcDate } from '../shared/calendar.js';
import type { Leaderboard } from '../config/schema/model.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { text } from '../engine/function-calls.js';
import { statusOn } from '../responses/leaderboards.js';
import type { HistoryReader } from '../history/reader.js';
import { limits } from '../shared/limits.js';
import { firstPlaceFirst } from '../shared/ranking.js';
import { numberArray } from '../postgres/arrays.js';
import { readAllUsers } from '../postgres/pool.js';
import { mustGet, type ActiveConfig } from '../plan/active-config.js';
import { achievementDefinition, boardDefinition, entersAchievement, entersBoard } from '../plan/activation.js';
import { perpetualRun } from '../plan/boards.js';
import type { JobTools } from './job.js';

/** Objects have numbers from 1; this is what time does to users. */
const timeNo = 0;

/** The reserved range of the tie sequence for users who are entered on a leaderboard, in the order in which they reached their values. */
interface SequenceRange {
  /** The last number before the range: a user with a later one was entered by an event since. */
  readonly since: number;
  /** The size of the range; further users get the next number of the sequence. */
  readonly count: number;
}

/** The progress of an activation. */
interface Progress {
  readonly cursor: string;
  /** The number of users entered so far. */
  readonly entered: number;
  readonly range: SequenceRange;
}

/** An active object. When its `definition`, the part that decides which users qualify, changes, all users are checked again. */
interface Activation {
  readonly no: number;
  readonly key: string;
  readonly kind: 'achievement' | 'leaderboard' | 'time';
  readonly definition: string;
  /** The query ($1 tenant, $2 cursor, $3 limit) of the next users, `cursor` and `user_id`, in the order in which they are entered. */
  readonly users: string;
  /** Larger where each page scans all users. */
  readonly pageSize: number;
  /** The leaderboard to fill. */
  readonly board?: Leaderboard;
}

interface UserRow {
  readonly cursor: string;
  readonly user_id: string;
}

/** By the bytes of their ids, as Redis orders users to whom something is due at the same moment. */
const allUsers = `
  select id as cursor, id as user_id from users where tenant = $1 and id collate "C" > $2 order by id collate "C" limit $3`;

/** Orders users by the ledger position at which they reached the value, so that ties are ordered as if the leaderboard had always existed. */
const byReached = (table: string, reached: string, condition: string): string => `
  select cursor, user_id from (
    select ${reached} || user_id as cursor, user_id from ${table} where tenant = $1 and ${condition}
  ) as row where cursor > $2 order by cursor limit $3`;

/** The participants, by id, of a leaderboard that does not repeat, whose history does not end with their current rank and value. */
const participants = `
  select user_id from (
    select user_id, value, row_number() over (partition by "group" order by ${firstPlaceFirst}) as rank
      from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3) as participant
   where rank <= $4 and user_id > $5 and not exists (
     select 1 from (
       select rank, value from leaderboard_history as day
        where day.tenant = $1 and day.leaderboard = $2 and day.run = $3 and day.user_id = participant.user_id order by day.day desc limit 1) as last
      where last.rank = participant.rank and last.value = participant.value)
   order by user_id limit $6`;

function usersOf(config: ActiveConfig, board: Leaderboard): string {
  switch (board.rankBy) {
    case 'metric':
      return byReached('user_metrics', 'reached', `metric = ${mustGet(config.metricById, board.metricId, 'metric').no}`);
    case 'points':
      return byReached('user_points', 'reached', `system = ${mustGet(config.systemById, board.pointsSystemId, 'points system').no}`);
    case 'streak':
      // All users: those without a streak of this frequency leave the leaderboard that they are on by another frequency.
      return byReached('user_streaks', `reached_${config.document.streaks.frequency}`, 'true');
  }
}

/** The objects that are active on a date (UTC) and that users may already qualify for. */
function activationsOf(config: ActiveConfig, today: string): Activation[] {
  const { achievements, leaderboards } = config.document;
  return [
    ...achievements.filter(entersAchievement).map((one): Activation => ({
      no: one.no,
      key: one.key,
      kind: 'achievement',
      definition: achievementDefinition(one),
      users: allUsers,
      pageSize: limits.activationUsers,
    })),
    ...leaderboards
      .filter((board) => entersBoard(board) && statusOn(board, today) === 'active')
      .map((board): Activation => ({
        no: board.no,
        key: board.key,
        kind: 'leaderboard',
        definition: boardDefinition(board, config.document),
        users: usersOf(config, board),
        pageSize: limits.activationReadUsers,
        board,
      })),
  ];
}

/**
 * Enters users who already qualify into objects that became active or changed: achievements are completed silently, leaderboards are filled with the
 * users' current values (docs/rules/achievements.md, docs/rules/leaderboards.md). Runs in bounded steps and saves its progress after each, so that an
 * interrupted activation resumes; entering a user twice changes nothing.
 */
export class Activations {
  private readonly engine: Engine;
  private readonly pool: pg.Pool;
  private readonly clock: Clock;
  private readonly history: HistoryReader;
  private readonly log: Logger;
  private readonly signal: AbortSignal | undefined;

  constructor({ engine, pool, clock, history, log, signal }: JobTools) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.log = log;
    this.signal = signal;
  }

  /** Runs a tenant's pending activations. The write-behind must be running: this waits until it has committed the current ledger. */
  async run(tenant: number): Promise<void> {
    const config = await this.engine.config(tenant);
    const { rows } = await this.pool.query<Progress & { object: number; definition: string; completed: Date | null }>(
      `select object, definition, cursor, entered, completed, json_build_object('since', since, 'count', reserved) as range
         from activations where tenant = $1`,
      [tenant],
    );
    const saved = new Map(rows.map((row) => [row.object, row]));
    const [pass, running, epoch] = await this.timePass(tenant);
    const activations = [...pass, ...activationsOf(config, utcDate(await this.clock.now(tenant)))];
    await this.deleteInactive(
      tenant,
      [...saved.keys()].filter((no) => !activations.some((activation) => activation.no === no)),
    );
    for (const activation of activations) {
      const progress = saved.get(activation.no);
      const isSame = progress?.definition === activation.definition;
      if (!isSame || progress.completed === null) await this.enter(tenant, activation, isSame ? progress : undefined);
      if (activation.no === timeNo) await this.engine.call(tenant, 'dropSegments', () => ({ args: { upTo: running, epoch } }));
    }
  }

  /**
   * The pass that takes all users over the ends of segments of time (lua/modules/segments.lua), if there are ended ones, the number of the segment
   * that runs, and the epoch. A restore may bring back users as they were before the pass: it starts over in a new epoch.
   */
  private async timePass(tenant: number): Promise<[pass: Activation[], running: number, epoch: string]> {
    const { values } = await this.engine.call(tenant, 'readSegments', () => ({ args: {} }));
    const [epoch, running] = [text(values[0]), Number(values[1])];
    if (running === 0) return [[], 0, epoch];
    const definition = `${epoch} ${running}`;
    const pass: Activation = { no: timeNo, key: 'time', kind: 'time', definition, users: allUsers, pageSize: limits.activationUsers };
    return [[pass], running, epoch];
  }

  /** Deletes the progress of inactive objects: their activation starts over when they become active again. */
  private async deleteInactive(tenant: number, objects: readonly number[]): Promise<void> {
    if (objects.length === 0) return;
    await this.pool.query('delete from activations where tenant = $1 and object = any($2::integer[])', [tenant, numberArray(objects)]);
  }

  /** Enters users; resumes an interrupted activation. */
  private async enter(tenant: number, activation: Activation, from: Progress | undefined): Promise<void> {
    let progress = from ?? { cursor: '', entered: 0, range: await this.reserveRange(tenant, activation) };
    // Saved before the first step: an interrupted activation must resume with the same range, so that no user is entered twice.
    if (!from && activation.board) await this.saveProgress(tenant, activation, progress, false);
    // A user who reaches a value from here on gets a later number.
    await this.waitForLedger(tenant);
    let isLast = false;
    while (!isLast) {
      const rows = await readAllUsers<UserRow>(this.pool, activation.users, [tenant, progress.cursor, activation.pageSize]);
      for (let first = 0; first < Math.max(rows.length, 1); first += limits.activationUsers) {
        const step = rows.slice(first, first + limits.activationUsers);
        await this.enterStep(tenant, activation, step, progress);
        progress = { ...progress, cursor: step.at(-1)?.cursor ?? progress.cursor, entered: progress.entered + step.length };
        isLast = rows.length < activation.pageSize && first + step.length === rows.length;
        if (isLast && activation.board) await this.recordRanks(tenant, activation.board);
        await this.saveProgress(tenant, activation, progress, isLast);
        this.log[progress.entered === 0 ? 'debug' : 'info'](
          { tenant, kind: activation.kind, key: activation.key, users: progress.entered },
          'activation in progress',
        );
      }
    }
  }

  private async reserveRange(tenant: number, { board }: Activation): Promise<SequenceRange> {
    if (!board) return { since: 0, count: 0 };
    const { values } = await this.engine.call(tenant, 'reserveSeq', () => ({ args: {} }));
    return { since: Number(values[0]), count: Number(values[1]) };
  }

  private async enterStep(tenant: number, activation: Activation, step: readonly UserRow[], { entered, range }: Progress): Promise<void> {
    this.signal?.throwIfAborted();
    const { no, kind } = activation;
    if (kind === 'time') {
      await this.settleUsers(tenant, step);
      return;
    }
    const { since, count } = range;
    // The order does not matter for users with their own number on a leaderboard.
    const atOnce = kind === 'leaderboard' ? limits.sweepUsers : 1;
    for (let first = 0; first < step.length; first += atOnce) {
      const calls = step.slice(first, first + atOnce).map(({ user_id: user }, i) => {
        const nth = entered + first + i + 1;
        const args = { user, entryId: randomUUID(), ranks: 0, since, seq: nth <= count ? since + nth : '' };
        return this.engine.call(tenant, 'activateFor', () => ({ args, pairs: [String(no)] }));
      });
      await Promise.all(calls);
    }
  }

  /**
   * Settles users in this order, which decides ties (docs/rules/time.md). One call settles many of them: of calls for one
   * user each, sent at once, those that need a zone or a plan first would be executed after the others.
   */
  private async settleUsers(tenant: number, step: readonly UserRow[]): Promise<void> {
    for (let first = 0; first < step.length; first += limits.sweepUsers) {
      const pairs = step.slice(first, first + limits.sweepUsers).flatMap(({ user_id: user }) => [randomUUID(), user]);
      await this.engine.call(tenant, 'settleUsers', () => ({ args: {}, pairs }));
    }
  }

  /** Adds the ranks on a filled leaderboard to the participants' history, unless it already has them. */
  private async recordRanks(tenant: number, { no, maxParticipants }: Leaderboard): Promise<void> {
    await this.waitForLedger(tenant);
    let last = '';
    let isLast = false;
    while (!isLast) {
      const rows = await readAllUsers<{ user_id: string }>(this.pool, participants, [
        tenant,
        no,
        perpetualRun,
        maxParticipants,
        last,
        limits.activationReadUsers,
      ]);
      for (const { user_id: user } of rows) {
        this.signal?.throwIfAborted();
        const args = { user, entryId: randomUUID(), ranks: 1, since: 0, seq: '' };
        await this.engine.call(tenant, 'activateFor', () => ({ args, pairs: [String(no)] }));
        last = user;
      }
      isLast = rows.length < limits.activationReadUsers;
    }
  }

  private async waitForLedger(tenant: number): Promise<void> {
    const { ledgerId } = await this.clock.ledgerId(tenant);
    await this.history.waitFor(tenant, ledgerId);
  }

  private async saveProgress(
    tenant: number,
    { no, kind, definition }: Activation,
    { cursor, entered, range }: Progress,
    isComplete: boolean,
  ): Promise<void> {
    await this.pool.query(
      `insert into activations (tenant, object, kind, definition, cursor, entered, since, reserved, completed)
       values ($1, $2, $3, $4, $5, $6, $7, $8, case when $9 then now() end)
       on conflict (tenant, object) do update
         set definition = excluded.definition, cursor = excluded.cursor, entered = excluded.entered, since = excluded.since,
             reserved = excluded.reserved, completed = excluded.completed`,
      // A completed activation needs no cursor, which contains the id of a user.
      [tenant, no, kind, definition, isComplete ? '' : cursor, entered, range.since, range.count, isComplete],
    );
  }
}
