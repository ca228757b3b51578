/**
 * Estimates how long one call of the function library takes inside Redis under a configuration, in the worst case: everything that an event
 * can cause happens at once. A configuration above the limit is refused, and a batch is sent in parts of bounded work.
 */
import { limits } from '../../shared/limits.js';
import {
  type Achievement,
  type AttributeFilter,
  type Leaderboard,
  type PointsBoost,
  type PointsSystem,
  type PointsTrigger,
} from '../schema/model.js';
import { type Parts } from './parts.js';
import { type ConfigProblem, type Problem } from '../file/problems.js';

/** The most that one of each takes, in µs of Redis CPU time. `npm run bench -- largest` verifies the sum. */
const costs = {
  call: 200,
  attribute: 6,
  filter: 0.5,
  /** An award, and what each active boost adds to it. Boosts are multiplied exactly: `boostPair` is paid once, for each two of them. */
  award: 9,
  boost: 2.5,
  boostPair: 0.12,
  /** A points system with an award, and each level and boost that is checked for it. */
  system: 14,
  level: 0.2,
  consideredBoost: 0.3,
  /** A trigger that does not match. */
  passed: 0.2,
  achievement: 9,
  prerequisite: 0.7,
  total: 22,
  gain: 25,
  /** Moving a participant from one group to another. */
  move: 45,
  breakdownAttribute: 1,
} as const;

/** The most that a call causes. */
interface Work {
  readonly us: number;
  readonly triggers: number;
  readonly achievements: number;
  readonly prerequisites: number;
  readonly leaderboards: number;
}

export interface ConfigWork {
  /** The effects of any call about a user, whatever the metric: the user is new, the streak is extended, an attribute has changed. */
  readonly cascade: Work;
  /** The effects of one event, the cascade included, by the id of its metric. */
  readonly events: ReadonlyMap<string, Work>;
  /**
   * One step of settling a user, in which every time trigger fires once, every anniversary comes and the streak is lost; `timeTriggersUs` of it are
   * the triggers'.
   */
  readonly settle: Work;
  readonly timeTriggersUs: number;
}

const nothing: Work = { us: 0, triggers: 0, achievements: 0, prerequisites: 0, leaderboards: 0 };

const sum = (all: readonly Work[]): Work =>
  all.reduce(
    (a, b) => ({
      us: a.us + b.us,
      triggers: a.triggers + b.triggers,
      achievements: a.achievements + b.achievements,
      prerequisites: a.prerequisites + b.prerequisites,
      leaderboards: a.leaderboards + b.leaderboards,
    }),
    nothing,
  );

interface Filtered {
  readonly userAttributes: readonly AttributeFilter[];
  readonly eventAttributes?: readonly AttributeFilter[];
}
const filtersUs = ({ userAttributes, eventAttributes = [] }: Filtered): number =>
  (userAttributes.length + eventAttributes.length) * costs.filter;

/** Whether a leaderboard ranks gains, and so updates once for each award. */
const ranksGains = (board: Leaderboard): boolean => board.runUnit !== null || board.startTime !== null || board.endTime !== null;

function boardWork(board: Leaderboard): Work {
  const { length: attributes } = board.breakdownAttributes;
  const us = attributes > 0 ? costs.move + attributes * costs.breakdownAttribute : ranksGains(board) ? costs.gain : costs.total;
  return { ...nothing, us, leaderboards: 1 };
}

/** Whether any metric can move participants of a leaderboard: it ranks streaks, or users change groups. */
const movesAnyway = (board: Leaderboard): boolean => board.rankBy === 'streak' || board.breakdownAttributes.length > 0;

function achievementWork(achievement: Achievement): Work {
  const prerequisites = achievement.trigger === 'achievement' ? achievement.achievementIds.length : 0;
  return {
    ...nothing,
    us: costs.achievement + filtersUs(achievement) + prerequisites * costs.prerequisite,
    achievements: 1,
    prerequisites,
  };
}

/** The most boosts of a list that are active on the same day. */
function mostAtOnce(boosts: readonly PointsBoost[]): number {
  // Days written YYYY-MM-DD sort as texts. On a day, starts come before ends, which are inclusive.
  const changes = boosts.flatMap(({ start, end }) => [[start, 1] as const, ...(end === null ? [] : [[end, -1] as const])]);
  changes.sort(([dayA, a], [dayB, b]) => (dayA < dayB ? -1 : dayA > dayB ? 1 : b - a));
  let active = 0;
  let most = 0;
  for (const [, change] of changes) {
    active += change;
    most = Math.max(most, active);
  }
  return most;
}

/** Groups objects by a key. */
function grouped<T, K>(objects: readonly T[], keyOf: (object: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const object of objects) {
    const group = groups.get(keyOf(object));
    if (group) group.push(object);
    else groups.set(keyOf(object), [object]);
  }
  return groups;
}

/** The work of a points system once a trigger awards points in it, and of each of its triggers. */
class SystemWork {
  readonly triggers: readonly PointsTrigger[];
  private readonly awardUs: number;
  private readonly own: Work;
  private readonly boards: readonly Leaderboard[];

  /** `boards` are those that rank its points. */
  constructor(system: PointsSystem, boards: readonly Leaderboard[]) {
    const inUse = system.boosts.filter(({ archived }) => !archived);
    const shared = inUse.filter(({ userId }) => userId === null);
    const personal = [...grouped(inUse, ({ userId }) => userId)].filter(([userId]) => userId !== null).map(([, list]) => mostAtOnce(list));
    const active = mostAtOnce(shared) + Math.max(0, ...personal);
    const considered = shared.length * costs.consideredBoost + shared.reduce((us, boost) => us + filtersUs(boost), 0);
    const levels = system.levels.filter(({ archived }) => !archived).length;
    this.triggers = system.triggers.filter(({ archived, status }) => !archived && status === 'active');
    this.awardUs = costs.award + active * costs.boost;
    this.own = { ...nothing, us: costs.system + levels * costs.level + considered + active ** 2 * costs.boostPair };
    this.boards = boards;
  }

  awards(triggers: readonly PointsTrigger[]): Work {
    const us = triggers.reduce((all, trigger) => all + this.awardUs + filtersUs(trigger), 0);
    return { ...nothing, us, triggers: triggers.length };
  }

  /** The system itself, with the leaderboards that only its points move. */
  whole(): Work {
    return sum([this.own, ...this.boards.filter((board) => !movesAnyway(board)).map(boardWork)]);
  }

  /** All triggers of achievements at once. */
  ofAchievements(): Work {
    const triggers = this.triggers.filter(({ type }) => type === 'achievement');
    return triggers.length === 0 ? nothing : sum([this.awards(triggers), this.own, ...this.boards.map(boardWork)]);
  }

  /** All time triggers, each of which gains by itself. */
  time(): Work {
    const triggers = this.triggers.filter(({ type }) => type === 'time');
    if (triggers.length === 0) return nothing;
    const boards = this.boards.map((board) => ({ work: boardWork(board), times: ranksGains(board) ? triggers.length : 1 }));
    return sum([this.awards(triggers), this.own, ...boards.map(({ work, times }) => ({ ...work, us: work.us * times }))]);
  }
}

/** What anniversaries complete, and what that earns. */
function anniversaryWork(achievements: readonly Achievement[], systems: readonly SystemWork[]): Work {
  if (!achievements.some(({ trigger }) => trigger === 'anniversary')) return nothing;
  const completed = achievements.filter(({ trigger }) => trigger === 'anniversary' || trigger === 'achievement').map(achievementWork);
  return sum([...completed, ...systems.map((system) => system.ofAchievements())]);
}

/** Estimates the work of calls under the objects in use. */
export function estimateWork(parts: Parts): ConfigWork {
  const boards = parts.leaderboards.flatMap(({ object }) => (object.status === 'active' ? [object] : []));
  const achievements = parts.achievements.map(({ object }) => object);
  const byId = new Map(achievements.map((achievement) => [achievement.id, achievement]));
  const ofSystem = grouped(boards, (board) => (board.rankBy === 'points' ? board.pointsSystemId : undefined));
  const systems = parts.pointsSystems.map(({ object }) => new SystemWork(object, ofSystem.get(object.id) ?? []));

  const perMetric = new Map<string, Work[]>();
  const cascade: Work[] = [];
  /** Adds to the work of events on a metric, or of all events. */
  const add = (metricId: string | undefined, work: Work): void => {
    const list = metricId === undefined ? cascade : (perMetric.get(metricId) ?? []);
    if (metricId !== undefined) perMetric.set(metricId, list);
    list.push(work);
  };
  const metricOfAchievement = (achievement: Achievement | undefined): string | undefined =>
    achievement?.trigger === 'metric' ? achievement.metricId : undefined;
  const metricOf = (trigger: PointsTrigger): string | undefined =>
    trigger.type === 'metric'
      ? trigger.metricId
      : trigger.type === 'achievement'
        ? metricOfAchievement(byId.get(trigger.achievementId))
        : undefined;

  const user: Work = { ...nothing, us: costs.call + parts.attributes.length * costs.attribute };
  cascade.push(user, { ...nothing, us: parts.triggers.length * costs.passed });
  for (const achievement of achievements) add(metricOfAchievement(achievement), achievementWork(achievement));
  for (const board of boards) {
    if (movesAnyway(board)) cascade.push(boardWork(board));
    else if (board.rankBy === 'metric') add(board.metricId, boardWork(board));
  }
  for (const system of systems) {
    const byMetric = grouped(
      system.triggers.filter(({ type }) => type !== 'time'),
      metricOf,
    );
    for (const [metricId, triggers] of byMetric) {
      add(metricId, system.awards(triggers));
      if (metricId === undefined || !byMetric.has(undefined)) add(metricId, system.whole());
    }
  }

  const anyCall = sum(cascade);
  const time = sum(systems.map((system) => system.time()));
  return {
    cascade: anyCall,
    events: new Map(parts.metrics.map(({ object }) => [object.id, sum([anyCall, ...(perMetric.get(object.id) ?? [])])])),
    settle: sum([user, time, anniversaryWork(achievements, systems), ...boards.filter(({ rankBy }) => rankBy === 'streak').map(boardWork)]),
    timeTriggersUs: time.us,
  };
}

const tooMuch = (of: string, work: Work, mostUs: number, advice: string): Problem => {
  const counts = [
    [work.triggers, 'triggers'],
    [work.achievements, 'achievements'],
    [work.prerequisites, 'prerequisites of achievements'],
    [work.leaderboards, 'leaderboards'],
  ] as const;
  return { code: 'too_much_work', of, us: work.us, counts: counts.filter(([count]) => count > 0), mostUs, advice };
};

/** Work that would block Redis for too long. */
export function workProblems(parts: Parts): ConfigProblem[] {
  const { cascade, events, settle } = estimateWork(parts);
  const prerequisites = parts.achievements.reduce((count, { object }) => count + achievementWork(object).prerequisites, 0);
  const filtered: readonly Filtered[] = [...parts.triggers, ...parts.boosts, ...parts.achievements].map(({ object }) => object);
  const filters = filtered.reduce(
    (count, { userAttributes, eventAttributes = [] }) => count + userAttributes.length + eventAttributes.length,
    0,
  );
  const problems: ConfigProblem[] = [
    {
      code: 'too_many',
      path: ['achievements'],
      what: 'prerequisites in all achievements',
      found: prerequisites,
      most: limits.maxPrerequisites,
    },
    { code: 'too_many', path: ['attributes'], what: 'attribute filters in all objects', found: filters, most: limits.maxAllFilters },
  ].filter(({ found, most }) => found > most) as ConfigProblem[];
  if (settle.us > limits.maxSettleWorkUs) {
    const problem = tooMuch('one hour of one user', settle, limits.maxSettleWorkUs, 'Configure fewer of them');
    problems.push({ ...problem, path: ['pointsSystems'], subject: { kind: 'time triggers and streaks' } });
  }
  if (cascade.us > limits.maxEventWorkUs) {
    const advice = 'Configure fewer objects that do not belong to one metric';
    return [...problems, { ...tooMuch('an event on any metric', cascade, limits.maxEventWorkUs, advice), path: ['metrics'] }];
  }
  for (const { object, path } of parts.metrics) {
    const work = events.get(object.id) ?? nothing;
    if (work.us <= limits.maxEventWorkUs) continue;
    const problem = tooMuch('an event', work, limits.maxEventWorkUs, 'Configure fewer of them on this metric');
    problems.push({ ...problem, path, subject: { kind: 'metric', key: object.key } });
  }
  return problems;
}
