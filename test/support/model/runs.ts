/** Rules "Runs", "Window" and "Breakdown": which run of a leaderboard a moment belongs to, whether it counts, and for which group. */
import type { ConfigDocument, Leaderboard } from '../../../src/config/schema/model.js';
import { dayMs, dayOf, hourMs, plus, timeOfDay } from './time.js';
import { localDayOf, zoneOf, type User } from './users.js';
import { byId } from './world.js';

/** The local days that a run covers, both inclusive; null has no end. A run is named by its first. */
export interface Span {
  readonly first: number;
  readonly last: number | null;
}

/** "Finalised 12 hours after the run's last local date has ended in UTC." */
const finalisationDelayMs = 12 * hourMs;
export const isOpen = (board: Leaderboard): boolean => !board.archived && board.status === 'active';

/** Whether the value is what was gained while it counted; otherwise it is the user's total. A window means nothing to a streak. */
export const ranksGains = (board: Leaderboard): boolean =>
  board.runUnit !== null || ((board.startTime !== null || board.endTime !== null) && board.rankBy !== 'streak');

/** What a leaderboard ranks, as `World` numbers it (User.reached). */
export function sourceOf(board: Leaderboard, config: ConfigDocument): string {
  switch (board.rankBy) {
    case 'metric':
      return `metric:${board.metricId}`;
    case 'points':
      return `points:${board.pointsSystemId}`;
    case 'streak':
      return `streak:${config.streaks.frequency}`;
  }
}

/** The run that a local day belongs to; null before the start and after the end. */
export function runAt(board: Leaderboard, day: number): Span | null {
  const start = dayOf(board.start);
  const end = board.end === null ? null : dayOf(board.end);
  if (day < start || (end !== null && day > end)) return null;
  if (board.runUnit === null) return { first: start, last: end };
  const { runUnit, runInterval } = board;
  let run = 0;
  while (plus(start, (run + 1) * runInterval, runUnit) <= day) run += 1;
  const next = plus(start, (run + 1) * runInterval, runUnit);
  return { first: plus(start, run * runInterval, runUnit), last: end === null ? next - 1 : Math.min(next - 1, end) };
}

/** The run that began on a day; it ends with the board where that ends before it. */
export const runFrom = (board: Leaderboard, first: number): Span =>
  runAt(board, first) ?? { first, last: board.end === null ? null : dayOf(board.end) };

/** The run on a local day: the last one when all are over, the first before it has begun, which it may have elsewhere. */
export function runNearest(board: Leaderboard, day: number): Span | null {
  return runAt(board, Math.max(dayOf(board.start), board.end === null ? day : Math.min(day, dayOf(board.end))));
}

export const finalisedAt = ({ last }: Span): number => (last === null ? Infinity : (last + 1) * dayMs + finalisationDelayMs);

function milliseconds(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/**
 * Whether a moment is inside the window of the user's local time: from its start up to, but not at, its end, over midnight if need be; a bound
 * that it lacks is midnight.
 */
function isInWindow(board: Leaderboard, user: User, moment: number): boolean {
  if (board.rankBy === 'streak') return true;
  const at = timeOfDay(zoneOf(user), moment);
  const isAfterStart = board.startTime === null || milliseconds(board.startTime) <= at;
  const isBeforeEnd = board.endTime === null || at < milliseconds(board.endTime);
  if (board.startTime === null || board.endTime === null) return isAfterStart && isBeforeEnd;
  return milliseconds(board.startTime) <= milliseconds(board.endTime) ? isAfterStart && isBeforeEnd : isAfterStart || isBeforeEnd;
}

/** The run in which something that happens to a user at a moment counts; null if it counts in none. */
export const runFor = (board: Leaderboard, user: User, moment: number): Span | null =>
  isInWindow(board, user, moment) ? runAt(board, localDayOf(user, moment)) : null;

/** The user's breakdown attribute values as one text; null if one is missing. */
export function groupOf(board: Leaderboard, user: User): string | null {
  const values = board.breakdownAttributes.map((id) => user.attributes.get(id));
  return values.includes(undefined) ? null : JSON.stringify(values);
}

/**
 * The group that `userAttributes` of a call names, `key:value` with a comma between two; null if it lacks a breakdown attribute, or names a group
 * of a leaderboard without breakdown.
 */
export function groupNamed(config: ConfigDocument, board: Leaderboard, userAttributes: string | undefined): string | null {
  if (userAttributes !== undefined && board.breakdownAttributes.length === 0) return null;
  const sent = new Map(
    (userAttributes ?? '').split(',').map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)]),
  );
  const values = board.breakdownAttributes.map((id) => sent.get(byId(config.attributes, id).key));
  return values.includes(undefined) ? null : JSON.stringify(values);
}
