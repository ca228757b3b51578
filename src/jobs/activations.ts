import { createHash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Achievement, Leaderboard } from '../config/model.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import type { HistoryReader } from '../ledger/reader.js';
import { limits } from '../limits.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { boardKind } from '../plan/boards.js';

/** Something that is active, and what about it decides who belongs to it: when that changes, users are looked at again. */
interface Activation {
  readonly no: number;
  readonly key: string;
  readonly kind: 'achievement' | 'leaderboard';
  readonly definition: string;
  /** A query of ($1 tenant, $2 cursor) for the next users, in the order in which they are entered: `cursor` and `user_id`. */
  readonly users: string;
}

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

const everybody = `select id as cursor, id as user_id from users where tenant = $1 and id > $2 order by id limit ${limits.activationUsers}`;

/** Orders users by when they reached the value, so that ties come out as if the board had been there all along. */
const byMoment = (table: string, condition: string): string => `
  select cursor, user_id from (
    select to_char(at at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || lpad(rev::text, 12, '0') || user_id as cursor, user_id
      from ${table} where tenant = $1 and ${condition}
  ) as reached where cursor > $2 order by cursor limit ${limits.activationUsers}`;

/** The place of each frequency in a user's streaks (lua/modules/streaks.lua), from 0, and that of the moment of extension in a streak. */
const streakPlaces = { daily: 3, weekly: 4, monthly: 5 } as const;
const extendedAtPlace = 3;

function usersOf(config: ActiveConfig, board: Leaderboard): string {
  switch (board.rankBy) {
    case 'metric':
      return byMoment('user_metrics', `metric = ${known(config.metricById, board.metricId, 'metric').no}`);
    case 'points':
      return byMoment('user_points', `system = ${known(config.systemById, board.pointsSystemId, 'points system').no}`);
    case 'streak': {
      const place = streakPlaces[config.document.streaks.frequency];
      return `select cursor, user_id from (
          select lpad(state -> ${place} ->> ${extendedAtPlace}, 16, '0') || user_id as cursor, user_id from user_streaks where tenant = $1 and state is not null
        ) as reached where cursor > $2 order by cursor limit ${limits.activationUsers}`;
    }
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

/** What is active in a configuration and can be qualified for without doing anything more. */
function activationsOf(config: ActiveConfig): Activation[] {
  const { achievements, leaderboards } = config.document;
  return [
    ...achievements
      .filter(({ archived, status, trigger }) => !archived && status === 'active' && trigger !== 'api')
      .map((one): Activation => ({ no: one.no, key: one.key, kind: 'achievement', definition: achievementDefinition(one), users: everybody })),
    ...leaderboards
      .filter((board) => !board.archived && board.status === 'active' && boardKind(board) !== 'gain')
      .map((board): Activation => ({ no: board.no, key: board.key, kind: 'leaderboard', definition: hash(board.maxParticipants), users: usersOf(config, board) })),
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

  constructor(engine: Engine, pool: pg.Pool, clock: Clock, history: HistoryReader, log: Logger) {
    this.engine = engine;
    this.pool = pool;
    this.clock = clock;
    this.history = history;
    this.log = log;
  }

  /** Does what is still to be done for a tenant. The write-behind must be running: what Redis had counted by now is waited for. */
  async run(tenant: number): Promise<void> {
    const config = await this.engine.config(tenant);
    const { rows } = await this.pool.query<{ object: number; definition: string; cursor: string; completed: Date | null }>(
      'select object, definition, cursor, completed from activations where tenant = $1',
      [tenant],
    );
    const noted = new Map(rows.map((row) => [row.object, row]));
    for (const activation of activationsOf(config)) {
      const note = noted.get(activation.no);
      const isSame = note?.definition === activation.definition;
      if (!isSame || note.completed === null) await this.enter(tenant, activation, isSame ? note.cursor : '');
    }
  }

  private async enter(tenant: number, activation: Activation, from: string): Promise<void> {
    const { ledgerId } = await this.clock.ledgerId(tenant);
    await this.history.waitFor(tenant, ledgerId);
    let cursor = from;
    let entered = 0;
    for (;;) {
      const { rows } = await this.pool.query<{ cursor: string; user_id: string }>(activation.users, [tenant, cursor]);
      for (const { user_id: user } of rows) {
        const entryId = randomUUID();
        await this.engine.call(tenant, 'activateFor', () => ({ args: { user, entryId }, pairs: [String(activation.no)] }));
      }
      entered += rows.length;
      cursor = rows.at(-1)?.cursor ?? cursor;
      await this.note(tenant, activation, cursor, rows.length < limits.activationUsers);
      this.log.info({ tenant, [activation.kind]: activation.key, users: entered }, 'users who qualify for what has become active are being entered');
      if (rows.length < limits.activationUsers) return;
    }
  }

  private async note(tenant: number, { no, kind, definition }: Activation, cursor: string, isComplete: boolean): Promise<void> {
    await this.pool.query(
      `insert into activations (tenant, object, kind, definition, cursor, completed)
       values ($1, $2, $3, $4, $5, case when $6 then now() end)
       on conflict (tenant, object) do update
         set definition = excluded.definition, cursor = excluded.cursor, completed = excluded.completed`,
      [tenant, no, kind, definition, cursor, isComplete],
    );
  }
}
