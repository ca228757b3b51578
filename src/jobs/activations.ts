import { createHash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { utcDate } from '../calendar.js';
import type { Achievement, Leaderboard } from '../config/model.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { statusOn } from '../leaderboards/response.js';
import type { HistoryReader } from '../ledger/reader.js';
import { limits } from '../limits.js';
import { numberArray } from '../postgres/arrays.js';
import { overAll } from '../postgres/pool.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { boardKind } from '../plan/boards.js';
import type { JobTools } from './tools.js';

/** Objects have numbers from 1; these stand for what time does to users, and for the conditions of streaks. */
const timeNo = 0;
const conditionsNo = -1;

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
  /** The frequency that a streak board ranks: when it changes, the board begins anew. */
  readonly frequency?: string;
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

function usersOf(config: ActiveConfig, board: Leaderboard): string {
  switch (board.rankBy) {
    case 'metric':
      return byReached('user_metrics', 'reached', `metric = ${known(config.metricById, board.metricId, 'metric').no}`);
    case 'points':
      return byReached('user_points', 'reached', `system = ${known(config.systemById, board.pointsSystemId, 'points system').no}`);
    case 'streak':
      return byReached('user_streaks', `reached_${config.document.streaks.frequency}`, 'state is not null');
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

/** What decides who is on a board, or is remembered outside of it. */
const boardDefinition = ({ maxParticipants, end }: Leaderboard): string => `${maxParticipants}${end === null ? '' : ' and ends'}`;

/** Whether a board has only become smaller: nobody enters it for that. */
const isSmaller = (now: string, before: string): boolean =>
  Number.parseInt(now, 10) < Number.parseInt(before, 10) && now.replace(/^\d+/, '') === before.replace(/^\d+/, '');

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
        definition: boardDefinition(board),
        users: usersOf(config, board),
        atOnce: limits.activationReadUsers,
        ...(board.rankBy === 'streak' ? { frequency: config.document.streaks.frequency } : {}),
      })),
  ];
}

/**
 * Enters the users who already qualify into what has become active, or has changed: achievements are completed silently, boards are filled
 * with the values that users have (semantics.md). In bounded steps, each noted, so that a pass that was cut off goes on where it was; entering
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
    const { rows } = await this.pool.query<{
      object: number;
      definition: string;
      frequency: string;
      cursor: string;
      completed: Date | null;
    }>('select object, definition, frequency, cursor, completed from activations where tenant = $1', [tenant]);
    const noted = new Map(rows.map((row) => [row.object, row]));
    const activations = activationsOf(config, utcDate(await this.clock.now(tenant)));
    await this.forget(
      tenant,
      [...noted.keys()].filter((no) => !activations.some((activation) => activation.no === no)),
    );
    for (const activation of activations) {
      const note = noted.get(activation.no);
      const isSame = note?.definition === activation.definition && note.frequency === (activation.frequency ?? '');
      if (note && activation.frequency !== undefined && note.frequency !== activation.frequency) await this.empty(tenant, activation);
      const isDone = note !== undefined && note.completed !== null;
      if (
        isDone &&
        activation.kind === 'leaderboard' &&
        note.frequency === (activation.frequency ?? '') &&
        isSmaller(activation.definition, note.definition)
      ) {
        await this.note(tenant, activation, note.cursor, true);
      } else if (!isSame || !isDone) await this.enter(tenant, activation, isSame ? note.cursor : '');
    }
  }

  /** What is not active now begins anew when it becomes so again. */
  private async forget(tenant: number, objects: readonly number[]): Promise<void> {
    if (objects.length === 0) return;
    await this.pool.query('delete from activations where tenant = $1 and object = any($2::integer[])', [tenant, numberArray(objects)]);
  }

  private async empty(tenant: number, { no }: Activation): Promise<void> {
    await this.engine.call(tenant, 'emptyBoard', () => ({ args: { leaderboard: no } }));
  }

  private async enter(tenant: number, activation: Activation, from: string): Promise<void> {
    const { ledgerId } = await this.clock.ledgerId(tenant);
    await this.history.waitFor(tenant, ledgerId);
    let cursor = from;
    let entered = 0;
    for (let isComplete = false; !isComplete;) {
      const rows = await overAll<UserRow>(this.pool, activation.users, [tenant, cursor, activation.atOnce]);
      for (let first = 0; first < Math.max(rows.length, 1); first += limits.activationUsers) {
        const step = rows.slice(first, first + limits.activationUsers);
        await this.enterStep(tenant, activation, step);
        entered += step.length;
        cursor = step.at(-1)?.cursor ?? cursor;
        isComplete = rows.length < activation.atOnce && first + step.length === rows.length;
        await this.note(tenant, activation, cursor, isComplete);
        this.log.info(
          { tenant, kind: activation.kind, key: activation.key, users: entered },
          'users who qualify for what has become active are being entered',
        );
      }
    }
  }

  private async enterStep(tenant: number, activation: Activation, step: readonly UserRow[]): Promise<void> {
    this.signal?.throwIfAborted();
    // What time does to a user is the same in any order; the order of who enters a board is that of the rows.
    const atOnce = activation.no === timeNo ? limits.sweepUsers : 1;
    for (let first = 0; first < step.length; first += atOnce) {
      await Promise.all(step.slice(first, first + atOnce).map(({ user_id: user }) => this.enterUser(tenant, activation, user)));
    }
  }

  private async enterUser(tenant: number, { no }: Activation, user: string): Promise<void> {
    const entryId = randomUUID();
    await this.engine.call(tenant, 'activateFor', () => ({ args: { user, entryId }, pairs: [String(no)] }));
  }

  private async note(
    tenant: number,
    { no, kind, definition, frequency = '' }: Activation,
    cursor: string,
    isComplete: boolean,
  ): Promise<void> {
    await this.pool.query(
      `insert into activations (tenant, object, kind, definition, frequency, cursor, completed)
       values ($1, $2, $3, $4, $5, $6, case when $7 then now() end)
       on conflict (tenant, object) do update
         set definition = excluded.definition, frequency = excluded.frequency, cursor = excluded.cursor, completed = excluded.completed`,
      // The cursor has the id of a user in it, and is of no use any more.
      [tenant, no, kind, definition, frequency, isComplete ? '' : cursor, isComplete],
    );
  }
}
