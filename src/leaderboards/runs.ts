import { DateTime } from 'luxon';
import { dateToDay, dayToDate } from '../calendar.js';
import type { Leaderboard } from '../config/model.js';

/** The day that lies so many months or years after a date. */
const plus = (date: string, span: { readonly months: number } | { readonly years: number }): number =>
  dateToDay(DateTime.fromISO(date, { zone: 'utc' }).plus(span).toISODate() ?? '');

/** The first day of run number `count` of a repeating leaderboard; months and years are added to its start (docs/rules.md, "Runs"). */
function runStart(board: Leaderboard, count: number): number {
  const units = count * board.runInterval;
  switch (board.runUnit) {
    case 'month':
      return plus(board.start, { months: units });
    case 'year':
      return plus(board.start, { years: units });
    default:
      return dateToDay(board.start) + units;
  }
}

/** Which run a day is in, counted from 0; below 0 before the start. */
function runCount(board: Leaderboard, day: number): number {
  const days = day - dateToDay(board.start);
  const averageDays = { day: 1, month: 30.436875, year: 365.2425 }[board.runUnit ?? 'day'] * board.runInterval;
  let count = Math.floor(days / averageDays);
  while (runStart(board, count) > day) count -= 1;
  while (runStart(board, count + 1) <= day) count += 1;
  return count;
}

/** The first day of the run that a day is in. */
export function runOf(board: Leaderboard, day: number): number {
  return runStart(board, runCount(board, day));
}

/** The first day after a run, which is named by its first day. */
export function runEnd(board: Leaderboard, run: number): number {
  return runStart(board, runCount(board, run) + 1);
}

/** The runs that begin within the days from `first` to `last`, as first days. */
export function runsBetween(board: Leaderboard, first: number, last: number): number[] {
  const runs: number[] = [];
  for (let count = Math.max(runCount(board, first), 0); runStart(board, count) <= last; count += 1) runs.push(runStart(board, count));
  return runs.filter((run) => dayToDate(run) >= board.start && (board.end === null || dayToDate(run) <= board.end));
}
