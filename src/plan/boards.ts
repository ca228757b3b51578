import { dateToDay } from '../shared/calendar.js';
import type { Leaderboard } from '../config/schema/model.js';
import { userRecords } from '../redis/contract.js';
import { placeOf } from '../redis/layout.js';

/** The run number of a leaderboard that does not repeat. */
export const perpetualRun = 0;

/**
 * How a leaderboard is kept (lua/modules/leaderboards.lua): `total` ranks what users have anyway, `grouped` does so within groups of
 * users, `gain` ranks what users gained while it counted.
 */
export type BoardKind = 'total' | 'grouped' | 'gain';

export interface PlanBoard {
  readonly no: number;
  /** `no` as text, for keys. */
  readonly key: string;
  readonly kind: BoardKind;
  readonly isStreak: boolean;
  /** Participants: users beyond that rank have no place. */
  readonly max: number;
  /** The index of the last place of a full board, as text. */
  readonly lastPlace: string;
  /** Local days since 1970-01-01, both inclusive. */
  readonly first: number;
  readonly last?: number;
  readonly unit?: 'day' | 'month' | 'year';
  readonly interval?: number;
  /** Milliseconds since local midnight: from this up to, but not at, that. */
  readonly from?: number;
  readonly to?: number;
  /** The `no` of the user's attributes, as text. */
  readonly breakdown?: readonly string[];
  /** The record of the user that notes the place, with the value but for streaks, and the position of the places in it, from 1. */
  readonly record: string;
  readonly placesAt: number;
}

/** Whether a leaderboard ranks users within groups. */
export const isBrokenDown = ({ breakdown }: PlanBoard): boolean => breakdown !== undefined;

/** Milliseconds since midnight of `HH:MM` or `HH:MM:SS`. */
function timeOfDay(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** Whether only events inside a window of the day count. */
const hasWindow = ({ startTime, endTime }: Leaderboard): boolean => startTime !== null || endTime !== null;

export function boardKind(board: Leaderboard): BoardKind {
  if (board.runUnit !== null || (hasWindow(board) && board.rankBy !== 'streak')) return 'gain';
  return board.breakdownAttributes.length > 0 ? 'grouped' : 'total';
}

/** The record of the user's hash that notes the place on a leaderboard: that of what it ranks. `resolve` gives the `no` of an id. */
function boardRecord(board: Leaderboard, resolve: (id: string) => number): string {
  switch (board.rankBy) {
    case 'metric':
      return `${userRecords.metric}${resolve(board.metricId)}`;
    case 'points':
      return `${userRecords.points}${resolve(board.pointsSystemId)}`;
    case 'streak':
      return userRecords.streakPlaces;
  }
}

/** The layout of that record. */
const layoutOf = { metric: 'metric', points: 'points', streak: 'streakPlaces' } as const;

/** Compiles a leaderboard. `resolve` gives the `no` of an id. */
export function compileBoard(board: Leaderboard, resolve: (id: string) => number): PlanBoard {
  return {
    no: board.no,
    key: String(board.no),
    kind: boardKind(board),
    isStreak: board.rankBy === 'streak',
    max: board.maxParticipants,
    lastPlace: String(board.maxParticipants - 1),
    first: dateToDay(board.start),
    ...(board.end === null ? {} : { last: dateToDay(board.end) }),
    ...(board.runUnit === null ? {} : { unit: board.runUnit, interval: board.runInterval }),
    ...(hasWindow(board) ? { from: timeOfDay(board.startTime ?? '00:00'), to: timeOfDay(board.endTime ?? '24:00') } : {}),
    ...(board.breakdownAttributes.length === 0 ? {} : { breakdown: board.breakdownAttributes.map((id) => String(resolve(id))) }),
    record: boardRecord(board, resolve),
    placesAt: placeOf(layoutOf[board.rankBy], 'places') + 1,
  };
}
