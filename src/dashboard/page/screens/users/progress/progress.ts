import { own } from '../../../../../shared/own.js';
import { shareOf } from '../../../../../shared/progress.js';
import type { components } from '../../../api/schema/application.js';
import { formatCount, formatNumber } from '../../../ui/numbers.js';

type AttributeValue = components['schemas']['AttributeValue'];
type Metric = components['schemas']['Metric'];

/** An achievement of a user. */
export type Goal = components['schemas']['UserAchievement'];

/** What decides how far a user is. */
export interface Standing {
  /** Metric id → total. */
  readonly totals: ReadonlyMap<string, number>;
  readonly streakLength: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly signUpDate: string | null;
  /** The achievements that the user has completed, by id. */
  readonly completed: ReadonlySet<string>;
  /** Achievement id → name. */
  readonly names: ReadonlyMap<string, string>;
}

export interface Progress {
  /** From 0 to 1; null where it can't be known from totals. */
  readonly share: number | null;
  /** `40 of 100 Flashcards`. */
  readonly text: string;
  /** Why the user can't complete it now, whatever the share. */
  readonly obstacles: readonly string[];
}

const pairOf = ({ key, value }: AttributeValue): string => `${key} = ${value}`;

function obstaclesOf({ userAttributes }: Goal, { attributes }: Standing): string[] {
  return userAttributes
    .filter(({ key, value }) => own(attributes, key) !== value)
    .map((needed) => {
      const has = own(attributes, needed.key);
      return `Needs ${pairOf(needed)}; the user has ${has === undefined ? 'no value' : `“${has}”`}.`;
    });
}

function missing(ids: readonly string[], { completed, names }: Standing): string {
  const left = ids.filter((id) => !completed.has(id));
  const shown = left.slice(0, 3).map((id) => names.get(id) ?? 'an inactive achievement');
  const more = left.length > shown.length ? ` and ${formatNumber(left.length - shown.length)} more` : '';
  return `${formatNumber(ids.length - left.length)} of ${formatCount(ids.length, 'achievement')}; missing: ${shown.join(', ')}${more}`;
}

/** How far a user is towards an achievement that is not completed, and what stands in the way. */
export function progressOf(goal: Goal, standing: Standing): Progress {
  const obstacles = obstaclesOf(goal, standing);
  switch (goal.trigger) {
    case 'metric': {
      const need = goal.metricValue ?? 0;
      const filters = goal.eventAttributes ?? [];
      if (filters.length > 0) {
        const text = `${formatNumber(need)} ${goal.metricName ?? ''} in events with ${filters.map(pairOf).join(', ')}`;
        return { share: null, text, obstacles };
      }
      const have = standing.totals.get(goal.metricId ?? '') ?? 0;
      return { share: shareOf(have, need), text: `${formatNumber(have)} of ${formatNumber(need)} ${goal.metricName ?? ''}`, obstacles };
    }
    case 'streak': {
      const need = goal.streakLength ?? 0;
      const text = `A streak of ${formatNumber(standing.streakLength)} of ${formatNumber(need)}`;
      return { share: shareOf(standing.streakLength, need), text, obstacles };
    }
    case 'achievement': {
      const ids = goal.achievementIds ?? [];
      const done = ids.filter((id) => standing.completed.has(id)).length;
      return { share: shareOf(done, ids.length), text: missing(ids, standing), obstacles };
    }
    case 'anniversary': {
      const { signUpDate } = standing;
      const years = formatCount(goal.anniversaryYears ?? 0, 'year');
      const text = signUpDate === null ? `${years} after the sign-up date, which the user lacks` : `${years} after ${signUpDate}`;
      return { share: null, text, obstacles };
    }
    case 'api':
      return { share: null, text: 'Completed by a call of the API', obstacles };
  }
}

/** What decides how far a user is, from what the API lists about the user. */
export function standingOf(
  { attributes, signUpDate }: Pick<Standing, 'attributes' | 'signUpDate'>,
  {
    achievements,
    metrics,
    streakLength,
  }: {
    readonly achievements: readonly Goal[];
    readonly metrics: readonly Pick<Metric, 'id' | 'current'>[];
    readonly streakLength: number;
  },
): Standing {
  return {
    totals: new Map(metrics.map(({ id, current }) => [id, current])),
    streakLength,
    attributes,
    signUpDate,
    completed: new Set(achievements.filter(({ achievedAt }) => achievedAt !== null).map(({ id }) => id)),
    names: new Map(achievements.map(({ id, name }) => [id, name])),
  };
}
