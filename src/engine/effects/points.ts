import type { PointsLevel, PointsSystem, PointsTrigger } from '../../config/schema/model.js';
import { abovePoints, awardedSince, everyone, type Totals, withPoints, withTotals } from '../../history/counts.js';
import { levelsDefinition, levelsOf } from '../../plan/points.js';
import { dayMs } from '../../shared/calendar.js';
import { limits } from '../../shared/limits.js';
import { counted, isDropped, pairs, type PlannedChange, type Question, subjectOf } from './question.js';

/** Users who change level, points above a new maximum, points that are no longer shown or awarded. */
export const pointsQuestions = ({ from, to, now }: PlannedChange): Question[] =>
  pairs(from.pointsSystems, to.pointsSystems).flatMap(({ was, is }) => {
    if (!was) return [];
    if (was.archived && !is.archived) return [restoredSystem(is), ...restoredTriggers(is)];
    if (isDropped(was, is)) return [droppedSystem(is), ...triggerQuestions(was, is, now)];
    return is.archived ? [] : [...levelQuestions(was, is), ...maximumQuestions(was, is), ...triggerQuestions(was, is, now)];
  });

const droppedSystem = (system: PointsSystem): Question => ({
  subject: subjectOf('points system', system),
  count: withPoints(system.no),
  of: 'users',
  sentence: (count) => `${counted(count, 'user has', 'users have')} points in it, which would no longer be shown.`,
  what: 'users with points in it',
});

const restoredSystem = (system: PointsSystem): Question => ({
  subject: subjectOf('points system', system),
  count: withPoints(system.no),
  of: 'users',
  sentence: (count) => `${counted(count, 'user has', 'users have')} points in it, which would be shown again.`,
  what: 'users with points in it',
});

/** Time triggers award for nothing before the activation (docs/rules/time.md); others wait for what users do. */
const restoredTriggers = (system: PointsSystem): Question[] =>
  system.triggers
    .filter((trigger) => awards(trigger) && trigger.type === 'time')
    .map((trigger) => ({
      subject: subjectOf('trigger', trigger, system.key),
      count: trigger.userAttributes.length === 0 ? everyone : null,
      of: 'users',
      sentence: (count) =>
        `It would award ${counted(count, 'user')} points from now on, and nothing for the time in which the points system was archived.`,
      what: 'users whom it would award points from now on, and nothing for the time in which the points system was archived,',
    }));

/** The totals that give users another level than before. */
function changedTotals(was: PointsSystem, is: PointsSystem): Totals[] {
  const [before, after] = [levelsOf(was), levelsOf(is)];
  const levelAt = (levels: readonly PointsLevel[], total: number): number | undefined =>
    levels.findLast(({ points }) => points <= total)?.no;
  const starts = [...new Set([...before, ...after].map(({ points }) => points))].sort((a, b) => a - b);
  const ranges = starts.map((from, at) => ({ from, until: starts[at + 1] ?? null }));
  return ranges.filter(({ from }) => levelAt(before, from) !== levelAt(after, from));
}

function levelQuestions(was: PointsSystem, is: PointsSystem): Question[] {
  if (levelsDefinition(was) === levelsDefinition(is)) return [];
  return [
    {
      subject: subjectOf('points system', is),
      count: withTotals(is.no, changedTotals(was, is)),
      of: 'users',
      sentence: (count) => `${counted(count, 'user')} would change level.`,
      what: 'users who would change level',
    },
  ];
}

function maximumQuestions(was: PointsSystem, is: PointsSystem): Question[] {
  const { maxPoints } = is;
  if (maxPoints === null || maxPoints >= (was.maxPoints ?? limits.maxAbsoluteTotal)) return [];
  return [
    {
      subject: subjectOf('points system', is),
      count: abovePoints(is.no, maxPoints),
      of: 'users',
      sentence: (count) =>
        `${counted(count, 'user has', 'users have')} more than the new maximum: they keep their points and earn no more.`,
      what: 'users with more than the new maximum',
    },
  ];
}

const awards = ({ archived, status }: PointsTrigger): boolean => !archived && status === 'active';

function triggerQuestions(was: PointsSystem, is: PointsSystem, now: number): Question[] {
  return pairs(was.triggers, is.triggers).flatMap((trigger) => {
    // Of an archived system, only time triggers are named: they would award points without any event.
    const ends = is.archived ? trigger.is.type === 'time' : !awards(trigger.is);
    if (!trigger.was || !awards(trigger.was) || !ends) return [];
    const days = limits.effectAwardDays;
    return [
      {
        subject: subjectOf('trigger', trigger.is, is.key),
        count: awardedSince(trigger.is.no, now - days * dayMs),
        of: 'users' as const,
        sentence: (count: number) => `${counted(count, 'user')} got points from it in the last ${days} days; it would award no more.`,
        what: `users who got points from it in the last ${days} days`,
      },
    ];
  });
}
