import type { Achievement, AttributeFilter } from '../../config/schema/model.js';
import { type Condition, entering, type Entering } from '../../history/achievement-counts.js';
import { type Count, withAchievement } from '../../history/counts.js';
import { achievementDefinition, conditionsDefinition, entersAchievement } from '../../plan/activation.js';
import { mustGet } from '../../plan/active-config.js';
import { counted, pairs, type PlannedChange, type Question, subjectOf } from './question.js';

/** Achievements that users would complete by the backfill, and completed ones that close or are completed in another way from then on. */
export function achievementQuestions(change: PlannedChange): Question[] {
  const backfill = new Backfill(change);
  const completed = pairs(change.from.achievements, change.to.achievements).flatMap(({ was, is }) => completedBefore(was, is));
  return [...backfill.questions(), ...completed];
}

/** What a change means to users who have completed an achievement; undefined if it means nothing. */
function meaningOf(was: Achievement, is: Achievement): string | undefined {
  if (is.archived) return ', which would no longer be shown.';
  if (is.status === 'locked') return was.status === 'active' ? ' and would keep it; no other user could complete it.' : undefined;
  const isOtherMetric = was.trigger === 'metric' && is.trigger === 'metric' && was.metricId !== is.metricId;
  const other = was.trigger !== is.trigger ? 'trigger' : isOtherMetric ? 'metric' : undefined;
  if (other === undefined || was.status === 'inactive') return undefined;
  return ` and would keep it; other users would complete it by the new ${other}.`;
}

function completedBefore(was: Achievement | undefined, is: Achievement): Question[] {
  const rest = !was || was.archived ? undefined : meaningOf(was, is);
  if (rest === undefined) return [];
  return [
    {
      subject: subjectOf('achievement', is),
      count: withAchievement(is.no),
      of: 'users',
      sentence: (count) => `${counted(count, 'user has', 'users have')} completed it${rest}`,
      what: 'users who have completed it',
    },
  ];
}

type ById = ReadonlyMap<string, Achievement>;

/** What the backfill after a change does (jobs/activations.ts). */
class Backfill {
  private readonly change: PlannedChange;
  private readonly numbers: ReadonlyMap<string, number>;
  /** The achievements that it can complete, each after those that it needs. Null where that can't be known beforehand. */
  private readonly entering = new Map<Achievement, Entering | null>();

  constructor(change: PlannedChange) {
    this.change = change;
    const { attributes, metrics, achievements } = change.to;
    this.numbers = new Map([attributes, metrics, achievements].flat().map(({ id, no }) => [id, no]));
    const was = new Map(change.from.achievements.map((achievement) => [achievement.id, achievement]));
    const open = new Map(achievements.filter(entersAchievement).map((achievement) => [achievement.id, achievement]));
    for (const achievement of open.values()) this.visit(achievement, open, was);
  }

  questions(): Question[] {
    const open = new Map([...this.entering.keys()].map((achievement) => [achievement.id, achievement]));
    return [...this.entering].map(([achievement, entered]) => ({
      subject: subjectOf('achievement', achievement),
      count: entered && this.count(achievement, open),
      of: 'users',
      sentence: (count) => `${counted(count, 'user')} would complete it.`,
      what: 'users who would complete it',
    }));
  }

  /** Decides whether an achievement is completed for users, after those that it needs. Achievements do not need each other in a cycle. */
  private visit(achievement: Achievement, open: ById, was: ById): void {
    if (this.entering.has(achievement)) return;
    const needed = neededBy(achievement, open);
    for (const need of needed) this.visit(need, open, was);
    const before = was.get(achievement.id);
    const isSame = before && entersAchievement(before) && achievementDefinition(before) === achievementDefinition(achievement);
    const follows = needed.filter((need) => this.entering.has(need));
    if (isSame && follows.length === 0) return;
    const condition = this.condition(achievement, !isSame);
    if (!condition) return;
    const isUnknown = condition === 'unknown' || follows.some((need) => this.entering.get(need) === null);
    this.entering.set(achievement, isUnknown ? null : this.enteringOf(achievement, condition));
  }

  private enteringOf({ no, userAttributes }: Achievement, condition: Condition): Entering {
    return { no, condition, attributes: this.filter(userAttributes) };
  }

  /** Null for what no backfill completes. */
  private condition(achievement: Achievement, isFresh: boolean): Condition | 'unknown' | null {
    switch (achievement.trigger) {
      case 'metric': {
        const { metricId, metricValue: value, eventAttributes } = achievement;
        return { metric: this.no(metricId), value, isSummed: eventAttributes.length > 0 };
      }
      case 'streak':
        return streakCondition(achievement.streakLength, this.change);
      case 'anniversary':
        // The local day of each user decides, which Postgres does not know.
        return 'unknown';
      case 'achievement':
        return { needs: achievement.achievementIds.map((id) => this.no(id)), isFresh };
      case 'api':
        return null;
    }
  }

  private filter(filters: readonly AttributeFilter[]): Entering['attributes'] {
    return Object.fromEntries(filters.map(({ attributeId, attributeValue }) => [String(this.no(attributeId)), attributeValue]));
  }

  private no(id: string): number {
    return mustGet(this.numbers, id, 'object');
  }

  /** Counts the users for whom an achievement is completed, with all that it needs and that is completed before it. */
  private count(achievement: Achievement, open: ById): Count {
    const chain = new Set<Achievement>();
    const add = (one: Achievement): void => {
      if (chain.has(one)) return;
      for (const need of neededBy(one, open)) add(need);
      chain.add(one);
    };
    add(achievement);
    return entering([...chain].flatMap((one) => this.entering.get(one) ?? []));
  }
}

/** Which of these achievements a composite needs. */
const neededBy = (achievement: Achievement, among: ById): Achievement[] =>
  achievement.trigger === 'achievement' ? achievement.achievementIds.flatMap((id) => among.get(id) ?? []) : [];

/** Without streaks, no length reaches anything. New conditions of streaks change the lengths before achievements are backfilled. */
function streakCondition(length: number, { from, to }: PlannedChange): Condition | 'unknown' | null {
  if (!to.streaks.enabled) return null;
  const isNew = !from.streaks.enabled || conditionsDefinition(from) !== conditionsDefinition(to);
  return isNew ? 'unknown' : { streak: to.streaks.frequency, length };
}
