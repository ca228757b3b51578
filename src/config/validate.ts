/** The rules of a complete configuration. What a field can be is schema.ts; what an object can become, transitions.ts. */
import { dayBefore } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import { cycleProblems } from './cycles.js';
import { withSeconds } from './fields.js';
import {
  type ConfigDocument,
  type ConfigObject,
  type Leaderboard,
  type PointsSystem,
  type Settings,
  type StreakSettings,
} from './model.js';
import { type At, live, type Parts, partsOf } from './parts.js';
import { type ConfigProblem, named } from './problems.js';
import { referenceProblems, repetitionProblems } from './references.js';
import { workProblems } from './work.js';
import { type Path } from './yaml.js';

/**
 * What is wrong with a document, each problem with its path from the document's root; an empty list if it can be compiled and run. The
 * rules are those of issue 2, "Configuration as a file", issue 3, "Bad input", and docs/configuration.md. What is archived may say what it
 * likes, except that its key stays its own, so that a key that comes back finds its object again; leaderboards and webhooks don't come back.
 */
export function validateConfig(document: ConfigDocument): ConfigProblem[] {
  const parts = partsOf(document);
  return [
    ...keyProblems(document, parts),
    ...countProblems(document, parts),
    ...referenceProblems(document, parts),
    ...repetitionProblems(document, parts),
    ...cycleProblems(parts),
    ...parts.systems.flatMap(levelProblems),
    ...triggerProblems(parts),
    ...settingsProblems(document.settings),
    ...streakProblems(document.streaks),
    ...periodProblems(parts),
    ...boostProblems(parts),
    ...parts.leaderboards.flatMap(leaderboardProblems),
    ...workProblems(document, parts),
  ];
}

const nestedLists = ['levels', 'triggers', 'boosts'] as const;

function keyProblems(document: ConfigDocument, parts: Parts): ConfigProblem[] {
  const at = <T extends ConfigObject>(list: readonly T[], path: Path): At<T>[] =>
    list.map((object, index) => ({ object, path: [...path, index] }));
  const inSystems = document.pointsSystems.flatMap((system, index) =>
    nestedLists.flatMap((list) => repeated(list.slice(0, -1), at<ConfigObject>(system[list], ['pointsSystems', index, list]))),
  );
  return [
    // A user attribute and an event attribute may share a key (model.ts).
    ...repeated('attribute', at(document.attributes, ['attributes']), ({ type, key }) => `${type} ${key}`),
    ...repeated('metric', at(document.metrics, ['metrics'])),
    ...repeated('points system', at(document.pointsSystems, ['pointsSystems'])),
    ...inSystems,
    ...repeated('achievement', at(document.achievements, ['achievements'])),
    ...repeated('leaderboard', parts.leaderboards),
    ...repeated('webhook', parts.webhooks),
  ];
}

function repeated<T extends ConfigObject>(kind: string, list: readonly At<T>[], identity = (object: T) => object.key): ConfigProblem[] {
  const seen = new Set<string>();
  return list.flatMap(({ object, path }) => {
    const known = seen.has(identity(object));
    seen.add(identity(object));
    return known ? [{ path: [...path, 'key'], sentence: `${named(kind, object)}: the key is taken` }] : [];
  });
}

/** Only what is in use counts: archived objects cost an event nothing. */
function countProblems(document: ConfigDocument, parts: Parts): ConfigProblem[] {
  const counts: [what: string, path: Path, count: number, most?: number][] = [
    ['attributes', ['attributes'], live(document.attributes, []).length],
    ['metrics', ['metrics'], parts.metrics.length],
    ['points systems', ['pointsSystems'], parts.systems.length],
    ['achievements', ['achievements'], parts.achievements.length],
    ['leaderboards', ['leaderboards'], parts.leaderboards.length],
    ['webhooks', ['webhooks'], parts.webhooks.length, limits.maxWebhooks],
    ...nestedLists.map((list): [string, Path, number] => [`${list} in all points systems`, ['pointsSystems'], parts[list].length]),
  ];
  return counts
    .filter(([, , count, most = limits.maxConfigObjects]) => count > most)
    .map(([what, path, count, most = limits.maxConfigObjects]) => ({
      path,
      sentence: `there would be ${count} ${what}: ${most} is the most`,
    }));
}

function levelProblems({ object: system, path }: At<PointsSystem>): ConfigProblem[] {
  const byPoints = new Map<number, string>();
  return live(system.levels, [...path, 'levels']).flatMap(({ object: level, path: at }) => {
    const from = named('level', level);
    const other = byPoints.get(level.points);
    byPoints.set(level.points, other ?? named('level', level));
    if (other !== undefined) return [{ path: [...at, 'points'], sentence: `${from}: ${other} starts at ${level.points} points as well` }];
    if (system.maxPoints === null || level.points <= system.maxPoints) return [];
    return [{ path: [...at, 'points'], sentence: `${from}: ${level.points} points can't be reached, as maxPoints is ${system.maxPoints}` }];
  });
}

function triggerProblems({ triggers }: Parts): ConfigProblem[] {
  return triggers.flatMap(({ object, path }) => {
    if (object.type !== 'metric' || !object.blockIfOutOfPoints || object.points < 0) return [];
    const sentence = `${named('trigger', object)}: blockIfOutOfPoints has nothing to block, as the trigger deducts no points`;
    return [{ path: [...path, 'blockIfOutOfPoints'], sentence }];
  });
}

function settingsProblems({ achievementFromHour: from, achievementToHour: to }: Settings): ConfigProblem[] {
  if (from < to) return [];
  const sentence = `settings: achievementToHour is ${to}, which is not after achievementFromHour, ${from}`;
  return [{ path: ['settings', 'achievementToHour'], sentence }];
}

function streakProblems({ enabled, metrics, freezes }: StreakSettings): ConfigProblem[] {
  const problem = (field: Path, sentence: string): ConfigProblem => ({ path: ['streaks', ...field], sentence: `streaks: ${sentence}` });
  const { initial, maximum, earnInterval, earnAmount } = freezes;
  const problems: ConfigProblem[] = [];
  if (enabled && metrics.length === 0)
    problems.push(problem(['metrics'], 'metrics must name at least one metric while streaks are enabled'));
  if (maximum > limits.maxFreezes) {
    problems.push(problem(['freezes', 'maximum'], `freezes.maximum is ${maximum}: ${limits.maxFreezes} is the most`));
  }
  if (initial > maximum) {
    problems.push(problem(['freezes', 'initial'], `freezes.initial is ${initial}, which is above the maximum of ${maximum}`));
  }
  if (earnAmount > 0 && earnInterval === 0) {
    problems.push(problem(['freezes', 'earnInterval'], 'freezes.earnInterval is missing, which freezes.earnAmount needs'));
  }
  if (earnInterval > 0 && earnAmount === 0) {
    problems.push(problem(['freezes', 'earnAmount'], 'freezes.earnAmount is missing, which freezes.earnInterval needs'));
  }
  if (earnInterval > 0 && earnAmount > 0 && maximum === 0) {
    problems.push(problem(['freezes', 'maximum'], 'freezes.maximum is 0, so that no freeze could be earned'));
  }
  return problems;
}

/** Ends before starts. A leaderboard that was finished on its first day ends on the day before. */
function periodProblems({ boosts, leaderboards }: Parts): ConfigProblem[] {
  const periods = [
    ...boosts.map(({ object, path }) => ({ object, path, from: named('boost', object), earliest: object.start })),
    ...leaderboards.map(({ object, path }) => ({ object, path, from: named('leaderboard', object), earliest: dayBefore(object.start) })),
  ];
  return periods.flatMap(({ object: { start, end }, path, from, earliest }) =>
    // Days written YYYY-MM-DD sort as texts.
    end !== null && end < earliest ? [{ path: [...path, 'end'], sentence: `${from}: the end ${end} is before the start ${start}` }] : [],
  );
}

/** Boosts for one user that also choose whom they are for by attributes. */
function boostProblems({ boosts }: Parts): ConfigProblem[] {
  return boosts
    .filter(({ object }) => object.userId !== null && object.userAttributes.length > 0)
    .map(({ object, path }) => ({
      path: [...path, 'userAttributes'],
      sentence: `${named('boost', object)}: it is for one user (userId), so userAttributes have nothing to choose`,
    }));
}

/** Halves of a run without the other half; windows of no length. */
function leaderboardProblems({ object: board, path }: At<Leaderboard>): ConfigProblem[] {
  const problem = (field: string, sentence: string): ConfigProblem => ({
    path: [...path, field],
    sentence: `${named('leaderboard', board)}: ${sentence}`,
  });
  const { startTime, endTime, runUnit, runInterval } = board;
  const problems: ConfigProblem[] = [];
  if (startTime !== null && endTime !== null && withSeconds(startTime) === withSeconds(endTime)) {
    problems.push(problem('endTime', `the window is empty, as startTime and endTime are both ${startTime}`));
  } else if (startTime === null && endTime !== null && withSeconds(endTime) === '00:00:00') {
    problems.push(problem('endTime', 'the window is empty, as it ends at 00:00, when the day begins: leave endTime out'));
  }
  if (runUnit !== null && runInterval === 0) problems.push(problem('runInterval', 'runInterval is missing, which runUnit needs'));
  if (runUnit === null && runInterval > 0) problems.push(problem('runUnit', 'runUnit is missing, which runInterval needs'));
  return problems;
}
