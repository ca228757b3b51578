import { createHash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { utcDate } from '../shared/calendar.js';
import type { Achievement, Leaderboard } from '../config/model.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { statusOn } from '../responses/leaderboards.js';
import type { HistoryReader } from '../ledger/reader.js';
import { limits } from '../shared/limits.js';
import { numberArray } from '../postgres/arrays.js';
import { readAllUsers } from '../postgres/pool.js';
import { mustGet, type ActiveConfig } from '../plan/active-config.js';
import { boardKind, perpetualRun } from '../plan/boards.js';
import type { JobTools } from './job.js';

/** Objects have numbers from 1; these stand for what time does to users, and for the conditions of streaks. */
const timeNo = 0;
const conditionsNo = -1;

/** The numbers of the sequence of ties that users who are entered on a board get, in the order in which they reached their values. */
interface Numbers {
  /** The last number before them: a user with a later one has come by an event since. */
  readonly since: number;
  /** How many have been reserved; users beyond get the next number of the sequence. */
  readonly count: number;
}

/** How far a pass is. */
interface Progress {
  readonly cursor: string;
  /** Users who have been entered. */
  readonly entered: number;
  readonly numbers: Numbers;
}

/** Something that is active, and what about it decides who belongs to it: when that changes, users are looked at again. */
interface Activation {
  readonly no: number;
  readonly key: string;
  readonly kind: 'achievement' | 'leaderboard' | 'time';
  readonly definition: string;
  /** A query of ($1 tenant, $2 cursor, $3 how many) for the next users, in the order in which they are entered: `cursor` and `user_id`. */
  readonly users: string;
  /** How many are read at once: many where reading them means to look at all users. */
  readonly atOnce: number;
  /** The leaderboard that is filled. */
  readonly board?: Leaderboard;
}

interface UserRow {
  readonly cursor: string;
  readonly user_id: string;
}

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

const everybody = 'select id as cursor, id as user_id from users where tenant = $1 and id > $2 order by id limit $3';

/** Orders users by where in the ledger they reached the value, so that ties come out as if the board had been there all along. */
const byReached = (table: string, reached: string, condition: string): string => `
  select cursor, user_id from (
    select ${reached} || user_id as cursor, user_id from ${table} where tenant = $1 and ${condition}
  ) as row where cursor > $2 order by cursor limit $3`;

/** The participants of a leaderboard that does not repeat, by id, whose history does not end with the rank and value that they have. */
const participants = `
  select user_id from (
    select user_id, value, row_number() over (partition by "group" order by value desc, seq) as rank
      from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3) as place
   where rank <= $4 and user_id > $5 and not exists (
     select 1 from (
       select rank, value from leaderboard_history as day
        where day.tenant = $1 and day.leaderboard = $2 and day.run = $3 and day.user_id = place.user_id order by day.day desc limit 1) as last
      where last.rank = place.rank and last.value = place.value)
   order by user_id limit $6`;

function usersOf(config: ActiveConfig, board: Leaderboard): string {
  switch (board.rankBy) {
    case 'metric':
      return byReached('user_metrics', 'reached', `metric = ${mustGet(config.metricById, board.metricId, 'metric').no}`);
    case 'points':
      return byReached('user_points', 'reached', `system = ${mustGet(config.systemById, board.pointsSystemId, 'points system').no}`);
    case 'streak':
      // Those without a streak of this frequency leave the places that they have by another one.
      return byReached('user_streaks', `reached_${config.document.streaks.frequency}`, 'true');
  }
}

function achievementDefinition(achievement: Achievement): string {
  const { userAttributes } = achievement;
  switch (achievement.trigger) {
    case 'metric':
      return hash([achievement.metricValue, achievement.eventAttributes, userAttributes]);
    case 'streak':
      return hash([achievement.streakLength, userAttributes]);
    case 'achievement':
      return hash([achievement.achievementIds, userAttributes]);
    case 'api':
      return hash([]);
  }
}

/** What time does to users: when that changes, it has to be worked out for everybody when it next does something. */
function timeOf(config: ActiveConfig): Activation[] {
  const { streaks, pointsSystems, settings } = config.document;
  const triggers = pointsSystems.flatMap((system) =>
    system.archived ? [] : system.triggers.filter(({ archived, status, type }) => !archived && status === 'active' && type === 'time'),
  );
  if (!streaks.enabled && triggers.length === 0) return [];
  const { enabled, frequency, freezes } = streaks;
  const definition = hash([
    enabled,
    frequency,
    freezes,
    settings.weekStart,
    settings.defaultTimeZone,
    triggers.map(({ no, updated }) => [no, updated]),
  ]);
  return [{ no: timeNo, key: 'streaks and time triggers', kind: 'time', definition, users: everybody, atOnce: limits.activationUsers }];
}

/** What extends a streak: when that changes, a period may count as kept by what has been counted in it already. */
function conditionsOf({ document }: ActiveConfig): Activation[] {
  const { enabled, evaluationMode, metrics } = document.streaks;
  if (!enabled) return [];
  const definition = hash([evaluationMode, metrics]);
  return [{ no: conditionsNo, key: 'streak conditions', kind: 'time', definition, users: everybody, atOnce: limits.activationUsers }];
}

/** What is active in a configuration on a date (UTC) and can be qualified for without doing anything more. */
function activationsOf(config: ActiveConfig, today: string): Activation[] {
  const { achievements, leaderboards } = config.document;
  return [
    ...timeOf(config),
    ...conditionsOf(config),
    ...achievements
      .filter(({ archived, status, trigger }) => !archived && status === 'active' && trigger !== 'api')
      .map((one): Activation => ({
        no: one.no,
        key: one.key,
        kind: 'achievement',
        definition: achievementDefinition(one),
        users: everybody,
        atOnce: limits.activationUsers,
      })),
    ...leaderboards
      .filter((board) => !board.archived && board.status === 'active' && boardKind(board) !== 'gain' && statusOn(board, today) === 'active')
      .map((board): Activation => ({
        no: board.no,
        key: board.key,
        kind: 'leaderboard',
        // A streak board that ranks another frequency is filled anew.
        definition: board.rankBy === 'streak' ? config.document.streaks.frequency : '',
        users: usersOf(config, board),
        atOnce: limits.activationReadUsers,
        board,
      })),
  ];
}

/**
 * Enters the users who already qualify into what has become active, or has changed: achievements are completed silently, boards are filled
 * with the values that users have (docs/rules/achievements.md). In bounded steps, each noted, so that a pass that was cut off goes on where it was; entering
 * somebody twice changes nothing.
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

  /** Does what is still to be done for a tenant. The write-behind must be running: what Redis had counted by now is waited for. */
  async run(tenant: number): Promise<void> {
    const config = await this.engine.config(tenant);
    const { rows } = await this.pool.query<Progress & { object: number; definition: string; completed: Date | null }>(
      `select object, definition, cursor, entered, completed, json_build_object('since', since, 'count', reserved) as numbers
         from activations where tenant = $1`,
      [tenant],
    );
    const noted = new Map(rows.map((row) => [row.object, row]));
    const activations = activationsOf(config, utcDate(await this.clock.now(tenant)));
    await this.forget(
      tenant,
      [...noted.keys()].filter((no) => !activations.some((activation) => activation.no === no)),
    );
    for (const activation of activations) {
      const note = noted.get(activation.no);
      const isSame = note?.definition === activation.definition;
      if (!isSame || note.completed === null) await this.enter(tenant, activation, isSame ? note : undefined);
    }
  }

  /** What is not active now begins anew when it becomes so again. */
  private async forget(tenant: number, objects: readonly number[]): Promise<void> {
    if (objects.length === 0) return;
    await this.pool.query('delete from activations where tenant = $1 and object = any($2::integer[])', [tenant, numberArray(objects)]);
  }

  /** Enters users, from where an earlier pass was cut off on. */
  private async enter(tenant: number, activation: Activation, from: Progress | undefined): Promise<void> {
    let progress = from ?? { cursor: '', entered: 0, numbers: await this.reserveNumbers(tenant, activation) };
    // A pass that is cut off in its first step goes on with the same numbers, so that no user is entered twice.
    if (!from && activation.board) await this.note(tenant, activation, progress, false);
    // A user who reaches a value from here on has a later number.
    await this.waitForLedger(tenant);
    for (let isLast = false; !isLast;) {
      const rows = await readAllUsers<UserRow>(this.pool, activation.users, [tenant, progress.cursor, activation.atOnce]);
      for (let first = 0; first < Math.max(rows.length, 1); first += limits.activationUsers) {
        const step = rows.slice(first, first + limits.activationUsers);
        await this.enterStep(tenant, activation, step, progress);
        progress = { ...progress, cursor: step.at(-1)?.cursor ?? progress.cursor, entered: progress.entered + step.length };
        isLast = rows.length < activation.atOnce && first + step.length === rows.length;
        if (isLast && activation.board) await this.showRanks(tenant, activation.board);
        await this.note(tenant, activation, progress, isLast);
        this.log[progress.entered === 0 ? 'debug' : 'info'](
          { tenant, kind: activation.kind, key: activation.key, users: progress.entered },
          'users who qualify for what has become active are being entered',
        );
      }
    }
  }

  private async reserveNumbers(tenant: number, { board }: Activation): Promise<Numbers> {
    if (!board) return { since: 0, count: 0 };
    const { values } = await this.engine.call(tenant, 'reserveSeq', () => ({ args: {} }));
    return { since: Number(values[0]), count: Number(values[1]) };
  }

  private async enterStep(tenant: number, activation: Activation, step: readonly UserRow[], { entered, numbers }: Progress): Promise<void> {
    this.signal?.throwIfAborted();
    const { no, kind } = activation;
    const { since, count } = numbers;
    // What time does to a user is the same in any order, and so is who enters a board with a number of the own.
    const atOnce = no === timeNo || kind === 'leaderboard' ? limits.sweepUsers : 1;
    for (let first = 0; first < step.length; first += atOnce) {
      const calls = step.slice(first, first + atOnce).map(({ user_id: user }, i) => {
        const nth = entered + first + i + 1;
        const args = { user, entryId: randomUUID(), ranks: 0, since, seq: nth <= count ? since + nth : '' };
        return this.engine.call(tenant, 'activateFor', () => ({ args, pairs: [String(no)] }));
      });
      await Promise.all(calls);
    }
  }

  /** Notes the ranks of a board that has been filled in the history of its participants, but for those whose history has them. */
  private async showRanks(tenant: number, { no, maxParticipants }: Leaderboard): Promise<void> {
    await this.waitForLedger(tenant);
    for (let last = '', isLast = false; !isLast;) {
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

  private async note(
    tenant: number,
    { no, kind, definition }: Activation,
    { cursor, entered, numbers }: Progress,
    isComplete: boolean,
  ): Promise<void> {
    await this.pool.query(
      `insert into activations (tenant, object, kind, definition, cursor, entered, since, reserved, completed)
       values ($1, $2, $3, $4, $5, $6, $7, $8, case when $9 then now() end)
       on conflict (tenant, object) do update
         set definition = excluded.definition, cursor = excluded.cursor, entered = excluded.entered, since = excluded.since,
             reserved = excluded.reserved, completed = excluded.completed`,
      // The cursor has the id of a user in it, and is of no use any more.
      [tenant, no, kind, definition, isComplete ? '' : cursor, entered, numbers.since, numbers.count, isComplete],
    );
  }
}
