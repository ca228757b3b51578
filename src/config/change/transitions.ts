/**
 * The rules between what an object was and what it would become (docs/rules/achievements.md, docs/rules/leaderboards.md): status moves, and
 * what stays as it is because data of users would mean something else. They bind archived achievements that come back as well.
 */
import { dateToDay, dayBefore, dayToDate, weekShiftOf } from '../../shared/calendar.js';
import { fieldChanges } from './changes.js';
import { type KeyOf } from '../file/convert.js';
import { withSeconds } from '../schema/fields.js';
import { kinds } from '../schema/kinds.js';
import { type Achievement, type Leaderboard, type Settings } from '../schema/model.js';
import { type Problem } from '../file/problems.js';

/** Why an object can't become another. */
export interface Refusal {
  /** The field at fault, with the name that it has in a file. */
  readonly field: string;
  readonly problem: Problem;
}

/** What can follow on each status. New ones start with any: a configuration that was exported can be applied elsewhere. */
const achievementMoves: Readonly<Record<Achievement['status'], readonly Achievement['status'][]>> = {
  inactive: ['active'],
  active: ['locked'],
  locked: ['active'],
};

/** What is wrong with a change of an achievement. */
export function achievementProblems({ status }: Achievement, is: Achievement): Refusal[] {
  if (is.status === status || achievementMoves[status].includes(is.status)) return [];
  return [{ field: 'status', problem: status === 'inactive' ? { code: 'not_active_yet' } : { code: 'inactive_again', status } }];
}

/** What is wrong with a change of a leaderboard on a day, `YYYY-MM-DD` in UTC. An inactive one can become anything. */
export function leaderboardProblems(was: Leaderboard, is: Leaderboard, today: string, keyOf: KeyOf): Refusal[] {
  if (was.status === 'inactive') return [];
  const refusals = keptFields(was, is, keyOf).map((field): Refusal => ({ field, problem: { code: 'fixed_field', field } }));
  if (is.status === 'inactive') refusals.push({ field: 'status', problem: { code: 'leaderboard_inactive_again' } });
  const problem = endProblem(was, is, today);
  return problem === null ? refusals : [...refusals, { field: 'end', problem }];
}

/** The fields that differ of those that stay. A window that is only written differently is the same. */
function keptFields(was: Leaderboard, is: Leaderboard, keyOf: KeyOf): string[] {
  const comparable = (board: Leaderboard): Leaderboard => ({
    ...board,
    startTime: board.startTime === null ? null : withSeconds(board.startTime),
    endTime: board.endTime === null ? null : withSeconds(board.endTime),
  });
  const fields = fieldChanges(kinds.leaderboards.fields, comparable(was), comparable(is), keyOf).map(({ field }) => field);
  const { by = '', varying, permanent } = kinds.leaderboards;
  // What it is ranked by follows from how it is ranked.
  const hasOtherFields = fields.includes(by);
  return fields.filter((field) => permanent.has(field) && !(hasOtherFields && varying.has(field)));
}

/** A finished leaderboard stays finished, and what has counted until today can't be taken back. */
function endProblem(was: Leaderboard, is: Leaderboard, today: string): Problem | null {
  if (was.end === is.end) return null;
  if (was.end !== null && was.end < today) return { code: 'finished_for_good', end: was.end };
  // One that ended yesterday is finished now.
  const earliest = dayBefore(today);
  return is.end !== null && is.end < earliest ? { code: 'end_is_over', end: is.end, earliest } : null;
}

/** What leaderboards are shown as on a day; `new` for one that there isn't yet. */
type Shown = 'new' | 'inactive' | 'scheduled' | 'active' | 'finished';

/**
 * Why a request can't give a leaderboard another status than it is shown with; null if it can, as far as the status goes
 * (docs/rules/leaderboards.md): one with a start in the future is scheduled and not made active, and the rest is up to time. `start` is the
 * requested or stored one, and undefined for one that is still to be chosen.
 */
export function statusProblem(shown: Shown, requested: Shown, start: string | undefined, today: string): Problem | null {
  if (requested === shown) return null;
  if (requested === 'finished') return shown === 'scheduled' ? { code: 'not_begun' } : null;
  switch (shown) {
    case 'new':
    case 'inactive':
      return requested === 'active' && start !== undefined && start > today ? { code: 'active_too_early', start } : null;
    case 'scheduled':
      return requested === 'active' ? { code: 'active_by_itself' } : null;
    case 'active':
      return requested === 'scheduled' ? { code: 'scheduled_again' } : null;
    case 'finished':
      return { code: 'stays_finished' };
  }
}

/**
 * The end of a leaderboard that a request finishes: `end` where the requested or stored one is over, otherwise the day before, so that nothing
 * counts from now on. Null where a leaderboard that does not run yet has no end that is over.
 */
export function finishedEnd(shown: Shown, end: string | null, today: string): string | null {
  if (end !== null && end < today) return end;
  return shown === 'active' ? dayBefore(today) : null;
}

/** What is wrong with `status: scheduled`, which only a start in the future gives. One that was scheduled may stay so in the file. */
export function scheduleProblems(was: Leaderboard | undefined, is: Leaderboard, today: string): Refusal[] {
  const wasScheduled = was?.status === 'active' && was.start === is.start;
  if (is.start > today || wasScheduled) return [];
  return [{ field: 'start', problem: { code: 'not_scheduled', start: is.start, today } }];
}

/** Days of a week. */
const weekDays = 7;

/**
 * The first day of a new leaderboard that names none: `today` (`YYYY-MM-DD`), and for a weekly one the next day on which a week starts,
 * which today can be (docs/rules/leaderboards.md).
 */
export function firstDayOf({ runUnit, runInterval }: Leaderboard, today: string, weekStart: Settings['weekStart']): string {
  if (runUnit !== 'day' || runInterval !== weekDays) return today;
  const day = dateToDay(today);
  const dayOfWeek = (day + weekShiftOf({ weekStart })) % weekDays;
  return dayToDate(day + ((weekDays - dayOfWeek) % weekDays));
}
