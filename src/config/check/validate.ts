/** The rules of a complete configuration. Schemas of fields are in kinds.ts; what an object can become, in transitions.ts. */
import { dayBefore } from '../../shared/calendar.js';
import { limits } from '../../shared/limits.js';
import { cycleProblems } from './cycles.js';
import { withSeconds } from '../schema/fields.js';
import { identityOf, type Kind } from '../schema/kind.js';
import { kinds } from '../schema/kinds.js';
import {
  type ConfigDocument,
  type ConfigObject,
  type Leaderboard,
  type ListName,
  type MessageSettings,
  type PointsSystem,
  type Settings,
  type StreakSettings,
  listIn,
} from '../schema/model.js';
import { at, type At, isLive, nestedIn, type Parts, partsOf } from './parts.js';
import { type ConfigProblem, type Problem } from '../file/problems.js';
import { referenceProblems } from './references.js';
import { workProblems } from './work.js';
import { templateProblems } from './template-problems.js';
import { type Path } from '../file/yaml.js';

/**
 * What is wrong with a document, each problem with its path from the document's root; an empty list if it can be compiled and run. The
 * rules are those of docs/configuration.md. Archived objects may break them, except that a key stays taken, so that a key that comes back finds
 * its object again; leaderboards and webhooks don't come back.
 */
export function validateConfig(document: ConfigDocument): ConfigProblem[] {
  const parts = partsOf(document);
  return [
    ...keyProblems(document, parts),
    ...countProblems(parts),
    ...referenceProblems(document, parts),
    ...cycleProblems(parts),
    ...parts.pointsSystems.flatMap(levelProblems),
    ...triggerProblems(parts),
    ...settingsProblems(document.settings),
    ...quietProblems(document.messages),
    ...templateProblems(document, parts),
    ...streakProblems(document.streaks),
    ...periodProblems(parts),
    ...boostProblems(parts),
    ...parts.leaderboards.flatMap(leaderboardProblems),
    ...workProblems(parts),
  ];
}

const lists = Object.keys(kinds) as ListName[];

/** Keys that two objects of a list share. */
function keyProblems(document: ConfigDocument, parts: Parts): ConfigProblem[] {
  const systems = at(document.pointsSystems, ['pointsSystems']);
  return lists.flatMap((list) => {
    const kind = kinds[list];
    if (kinds.pointsSystems.inside.includes(list)) return systems.flatMap((system) => repeated(kind, nestedIn(system, list)));
    return repeated(kind, kind.comesBack ? at<ConfigObject>(listIn(document, list), [list]) : parts[list]);
  });
}

function repeated(kind: Kind, objects: readonly At<ConfigObject>[]): ConfigProblem[] {
  const seen = new Set<string>();
  return objects.flatMap(({ object, path }): ConfigProblem[] => {
    const identity = identityOf(kind, object);
    const known = seen.has(identity);
    seen.add(identity);
    return known ? [{ code: 'key_taken', path: [...path, 'key'], subject: { kind: kind.name, key: object.key } }] : [];
  });
}

/** Only what is in use counts: archived objects cost an event nothing. */
function countProblems(parts: Parts): ConfigProblem[] {
  return lists.flatMap((list): ConfigProblem[] => {
    const { name, most } = kinds[list];
    const { length: found } = parts[list];
    const isNested = kinds.pointsSystems.inside.includes(list);
    const what = `${name}s${isNested ? ' in all points systems' : ''}`;
    return found > most ? [{ code: 'too_many', path: [isNested ? 'pointsSystems' : list], what, found, most }] : [];
  });
}

/** Adds to a problem the object that has it, and the path of the value at fault. */
const of =
  (kind: string, { object, path }: At<ConfigObject>) =>
  (field: string, problem: Problem): ConfigProblem => ({ ...problem, path: [...path, field], subject: { kind, key: object.key } });

function levelProblems(system: At<PointsSystem>): ConfigProblem[] {
  const { maxPoints, levels } = system.object;
  const byPoints = new Map<number, string>();
  return at(levels, [...system.path, 'levels'])
    .filter(isLive)
    .flatMap((level) => {
      const { points, key } = level.object;
      const problem = of('level', level);
      const other = byPoints.get(points);
      byPoints.set(points, other ?? key);
      if (other !== undefined) return [problem('points', { code: 'same_points', other, points })];
      return maxPoints === null || points <= maxPoints ? [] : [problem('points', { code: 'unreachable_level', points, maxPoints })];
    });
}

function triggerProblems({ triggers }: Parts): ConfigProblem[] {
  return triggers
    .filter(({ object }) => object.type === 'metric' && object.blockIfOutOfPoints && object.points > 0)
    .map((trigger) => of('trigger', trigger)('blockIfOutOfPoints', { code: 'nothing_to_block' }));
}

function settingsProblems({ achievementFromHour: from, achievementToHour: to }: Settings): ConfigProblem[] {
  if (from < to) return [];
  return [{ code: 'hours_reversed', path: ['settings', 'achievementToHour'], subject: { kind: 'settings' }, from, to }];
}

/** Halves of quiet hours without the other half, and none at all. */
function quietProblems({ quietFromHour: from, quietToHour: to }: MessageSettings): ConfigProblem[] {
  const problem = (field: string, of: Problem): ConfigProblem => ({ ...of, path: ['messages', field], subject: { kind: 'messages' } });
  if (from === null && to !== null) return [problem('quietFromHour', { code: 'missing_with', field: 'quietFromHour', by: 'quietToHour' })];
  if (from === null || to === null) {
    return from === to ? [] : [problem('quietToHour', { code: 'missing_with', field: 'quietToHour', by: 'quietFromHour' })];
  }
  return from === to ? [problem('quietToHour', { code: 'no_quiet_hour', hour: from })] : [];
}

function streakProblems({ enabled, frequency, metrics, freezes, daysOff }: StreakSettings): ConfigProblem[] {
  const { initial, maximum, earnInterval, earnAmount } = freezes;
  const problems: ConfigProblem[] = [];
  const add = (field: Path, problem: Problem): unknown =>
    problems.push({ ...problem, path: ['streaks', ...field], subject: { kind: 'streaks' } });
  if (enabled && metrics.length === 0) add(['metrics'], { code: 'no_conditions' });
  if (daysOff.length > 0 && frequency !== 'daily') add(['daysOff'], { code: 'days_off_not_daily', frequency });
  if (maximum > limits.maxFreezes) add(['freezes', 'maximum'], { code: 'too_many_freezes', maximum });
  if (initial > maximum) add(['freezes', 'initial'], { code: 'initial_above_maximum', initial, maximum });
  for (const [field, by] of [
    ['earnInterval', 'earnAmount'],
    ['earnAmount', 'earnInterval'],
  ] as const) {
    if (freezes[by] > 0 && freezes[field] === 0) {
      add(['freezes', field], { code: 'missing_with', field: `freezes.${field}`, by: `freezes.${by}` });
    }
  }
  if (earnInterval > 0 && earnAmount > 0 && maximum === 0) add(['freezes', 'maximum'], { code: 'no_room_for_freezes' });
  return problems;
}

/** Ends before starts. A leaderboard that was finished on its first day ends on the day before. */
function periodProblems({ boosts, leaderboards }: Parts): ConfigProblem[] {
  const periods = [
    ...boosts.map((boost) => ({ ...boost.object, problem: of('boost', boost), earliest: boost.object.start })),
    ...leaderboards.map((board) => ({ ...board.object, problem: of('leaderboard', board), earliest: dayBefore(board.object.start) })),
  ];
  return periods.flatMap(({ start, end, problem, earliest }) =>
    // Days written YYYY-MM-DD sort as texts.
    end !== null && end < earliest ? [problem('end', { code: 'ends_before_start', start, end })] : [],
  );
}

/** Boosts for one user that also choose users by attributes. */
function boostProblems({ boosts }: Parts): ConfigProblem[] {
  return boosts
    .filter(({ object }) => object.userId !== null && object.userAttributes.length > 0)
    .map((boost) => of('boost', boost)('userAttributes', { code: 'chosen_twice' }));
}

/** Halves of a run without the other half; windows of no length. */
function leaderboardProblems(board: At<Leaderboard>): ConfigProblem[] {
  const problem = of('leaderboard', board);
  const { startTime, endTime, runUnit, runInterval } = board.object;
  const problems: ConfigProblem[] = [];
  if (startTime !== null && endTime !== null && withSeconds(startTime) === withSeconds(endTime)) {
    problems.push(problem('endTime', { code: 'empty_window', time: startTime }));
  } else if (startTime === null && endTime !== null && withSeconds(endTime) === '00:00:00') {
    problems.push(problem('endTime', { code: 'empty_day' }));
  }
  if (runUnit !== null && runInterval === 0)
    problems.push(problem('runInterval', { code: 'missing_with', field: 'runInterval', by: 'runUnit' }));
  if (runUnit === null && runInterval > 0) problems.push(problem('runUnit', { code: 'missing_with', field: 'runUnit', by: 'runInterval' }));
  return problems;
}
