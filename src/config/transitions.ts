/**
 * The rules between what an object was and what it would become: status moves (docs/rules/leaderboards.md, docs/rules/achievements.md),
 * and what stays as it is because data of users would mean something else. They bind archived achievements that come back as well.
 */
import { dayBefore } from '../shared/calendar.js';
import { fieldChanges } from './changes.js';
import { withSeconds } from './fields.js';
import { type Achievement, type Leaderboard } from './model.js';
import { named } from './problems.js';

/** Why an object can't become another. */
export interface Refusal {
  /** The field at fault, with the name that it has in a file. */
  readonly field: string;
  readonly sentence: string;
}

type KeyOf = (id: string) => string;

/** What can follow on each status. New ones start with any: a configuration that was exported can be applied elsewhere. */
const achievementMoves: Readonly<Record<Achievement['status'], readonly Achievement['status'][]>> = {
  inactive: ['active'],
  active: ['locked'],
  locked: ['active'],
};

/** What is wrong with a change of an achievement. `keyOf` gives the key of the metric with an id. */
export function achievementRefusals(was: Achievement, is: Achievement, keyOf: KeyOf): Refusal[] {
  const refusal = (field: string, sentence: string): Refusal => ({ field, sentence: `${named('achievement', was)}: ${sentence}` });
  const refusals: Refusal[] = [];
  if (is.status !== was.status && !achievementMoves[was.status].includes(is.status)) {
    const sentence =
      was.status === 'inactive'
        ? 'it is inactive and has to be active before it can be locked'
        : `it is ${was.status} and can't become inactive again: status: locked keeps users from completing it`;
    refusals.push(refusal('status', sentence));
  }
  if (is.trigger !== was.trigger) {
    refusals.push(refusal('trigger', `its trigger is ${was.trigger} for good: an achievement with another trigger needs another key`));
  } else if (was.trigger === 'metric' && is.trigger === 'metric' && is.metricId !== was.metricId) {
    const metric = `metric ${JSON.stringify(keyOf(was.metricId))}`;
    refusals.push(refusal('metricKey', `it counts ${metric} for good: an achievement by another metric needs another key`));
  }
  return refusals;
}

/** What an active leaderboard keeps, by the file's names. */
const kept: ReadonlySet<string> = new Set([
  'rankBy',
  'metricKey',
  'pointsSystemKey',
  'start',
  'startTime',
  'endTime',
  'breakdownAttributes',
  'runUnit',
  'runInterval',
]);

/** What is wrong with a change of a leaderboard on a day, `YYYY-MM-DD` in UTC. An inactive one can become anything. */
export function leaderboardRefusals(was: Leaderboard, is: Leaderboard, today: string, keyOf: KeyOf): Refusal[] {
  if (was.status === 'inactive') return [];
  const refusal = (field: string, sentence: string): Refusal => ({ field, sentence: `${named('leaderboard', was)}: ${sentence}` });
  const refusals = keptFields(was, is, keyOf).map((field) =>
    refusal(
      field,
      `${field} stays as it is once a leaderboard is active, as its values would mean something else: make a new one under another key`,
    ),
  );
  if (is.status === 'inactive') refusals.push(refusal('status', "it is active and can't become inactive again: it finishes after its end"));
  const sentence = endFault(was, is, today);
  return sentence === null ? refusals : [...refusals, refusal('end', sentence)];
}

/** The fields that differ of those that stay. A window that is only written differently is the same. */
function keptFields(was: Leaderboard, is: Leaderboard, keyOf: KeyOf): string[] {
  const comparable = (board: Leaderboard): Leaderboard => ({
    ...board,
    startTime: board.startTime === null ? null : withSeconds(board.startTime),
    endTime: board.endTime === null ? null : withSeconds(board.endTime),
  });
  const fields = fieldChanges(comparable(was), comparable(is), keyOf).map(({ field }) => field);
  // What it is ranked by follows from how it is ranked.
  const follows = fields.includes('rankBy') ? ['metricKey', 'pointsSystemKey'] : [];
  return fields.filter((field) => kept.has(field) && !follows.includes(field));
}

/** Nothing leads out of Finished (docs/rules/leaderboards.md), and what has counted until today can't be taken back. */
function endFault(was: Leaderboard, is: Leaderboard, today: string): string | null {
  if (was.end === is.end) return null;
  if (was.end !== null && was.end < today) return `it finished after ${was.end} and stays finished: make a new one under another key`;
  // One that ended yesterday is finished now.
  const earliest = dayBefore(today);
  if (is.end !== null && is.end < earliest)
    return `the end ${is.end} is over: an active leaderboard can end on ${earliest} at the earliest`;
  return null;
}

/** What leaderboards are shown as on a day; `new` for one that there isn't yet. */
type Shown = 'new' | 'inactive' | 'scheduled' | 'active' | 'finished';

/**
 * Why a leaderboard that is shown as something can't be asked to become something else; null if it can, as far as its status goes
 * (docs/rules/leaderboards.md: one with a start in the future is scheduled and not made active, and the rest is up to time). `start` is what
 * was asked for, or is stored, and undefined for one that is still to be chosen.
 */
export function statusRefusal(shown: Shown, asked: Shown, start: string | undefined, today: string): string | null {
  if (asked === shown) return null;
  if (asked === 'finished') return shown === 'scheduled' ? 'it is scheduled and has not begun: delete it' : null;
  switch (shown) {
    case 'new':
    case 'inactive':
      return asked === 'active' && start !== undefined && start > today
        ? `it can't be active before its start ${start}: status: scheduled makes it active on that day`
        : null;
    case 'scheduled':
      return asked === 'active' ? 'it is scheduled and becomes active on its start by itself' : null;
    case 'active':
      return asked === 'scheduled' ? "it is active and can't become scheduled again" : null;
    case 'finished':
      return `it is finished and stays so: make a new one under another key`;
  }
}

/**
 * The end of a leaderboard that is asked to be finished, `end` where one is sent or stored that is over: the day before, so that nothing counts
 * from now on. Null where a leaderboard that does not run yet has no end that is over.
 */
export function finishedEnd(shown: Shown, end: string | null, today: string): string | null {
  if (end !== null && end < today) return end;
  return shown === 'active' ? dayBefore(today) : null;
}

/** What is wrong with `status: scheduled`, which only a start in the future gives. One that was scheduled may stay so in the file. */
export function scheduleRefusals(was: Leaderboard | undefined, is: Leaderboard, today: string): Refusal[] {
  const wasScheduled = was?.status === 'active' && was.start === is.start;
  if (is.start > today || wasScheduled) return [];
  const sentence = `${named('leaderboard', is)}: start must be after today, ${today}, for status: scheduled, not ${is.start}`;
  return [{ field: 'start', sentence }];
}
