/** Changes of a configuration that an operator makes in a history. An edit that finds nothing to change, or would break a rule, changes nothing. */
import type { Achievement, ConfigDocument, ConfigObject, PointsSystem, StreakSettings } from '../../../src/config/model.js';
import { dateOf, dayMs } from './time.js';

/** Objects are named by their position, counted on from the start again beyond the end of a list. */
export type Edit =
  | { readonly edit: 'level'; readonly system: number; readonly level: number; readonly points: number }
  | { readonly edit: 'maxPoints'; readonly system: number; readonly maxPoints: number | null }
  | { readonly edit: 'threshold'; readonly system: number; readonly trigger: number; readonly threshold: number }
  | { readonly edit: 'triggerStatus'; readonly system: number; readonly trigger: number }
  | {
      readonly edit: 'boost';
      readonly system: number;
      readonly boost: number;
      readonly multiplier: number;
      readonly rounding: 'down' | 'up' | 'nearest';
      readonly startsInDays: number;
      /** Null has no end. */
      readonly lastsDays: number | null;
    }
  /** The next status of the table: inactive → active ↔ locked. */
  | { readonly edit: 'achievementStatus'; readonly achievement: number }
  | { readonly edit: 'achievementValue'; readonly achievement: number; readonly value: number }
  | { readonly edit: 'openLeaderboard'; readonly leaderboard: number }
  | { readonly edit: 'participants'; readonly leaderboard: number; readonly max: number }
  | { readonly edit: 'condition'; readonly condition: number; readonly threshold: number }
  | { readonly edit: 'evaluationMode'; readonly mode: StreakSettings['evaluationMode'] }
  | { readonly edit: 'frequency'; readonly frequency: StreakSettings['frequency'] }
  | { readonly edit: 'defaultZone'; readonly zone: string }
  | { readonly edit: 'initialFreezes'; readonly initial: number }
  /** Users may have conditions of their own, or may not any more. */
  | { readonly edit: 'personalization' };

/** The list with one object changed, if the change says something new. */
function changed<T extends ConfigObject>(list: readonly T[], position: number, updated: string, change: (object: T) => T): readonly T[] {
  const index = list.length === 0 ? -1 : position % list.length;
  return list.map((object, at) => {
    if (at !== index) return object;
    const next = change(object);
    return JSON.stringify(next) === JSON.stringify(object) ? object : { ...next, updated };
  });
}

/** Rules of a system: levels have different points, and none is above `maxPoints`. */
const isValid = ({ levels, maxPoints }: PointsSystem): boolean =>
  new Set(levels.map(({ points }) => points)).size === levels.length &&
  levels.every(({ points }) => maxPoints === null || points <= maxPoints);

const nextStatus = { inactive: 'active', active: 'locked', locked: 'active' } as const;

/** The achievement that needs a higher or lower value. */
function withValue(achievement: Achievement, value: number): Achievement {
  switch (achievement.trigger) {
    case 'metric':
      return { ...achievement, metricValue: value };
    case 'streak':
      return { ...achievement, streakLength: Math.max(1, Math.round(value / 5)) };
    case 'api':
    case 'achievement':
      return achievement;
  }
}

/** The document after an edit made at a moment; it is `document` itself, or equal to it, if there is nothing to change. */
export function applyEdit(document: ConfigDocument, edit: Edit, nowMs: number): ConfigDocument {
  const updated = new Date(nowMs).toISOString();
  const date = (inDays: number): string => dateOf(Math.floor(nowMs / dayMs) + inDays);
  const system = (change: (object: PointsSystem) => PointsSystem): ConfigDocument => ({
    ...document,
    pointsSystems: changed(document.pointsSystems, 'system' in edit ? edit.system : 0, updated, (object) => {
      const next = change(object);
      return isValid(next) ? next : object;
    }),
  });
  const streaks = (change: Partial<StreakSettings>): ConfigDocument => ({ ...document, streaks: { ...document.streaks, ...change } });
  switch (edit.edit) {
    case 'level':
      return system((object) => ({
        ...object,
        levels: changed(object.levels, edit.level, updated, (level) => ({ ...level, points: edit.points })),
      }));
    case 'maxPoints':
      return system((object) => ({ ...object, maxPoints: edit.maxPoints }));
    case 'threshold':
      return system((object) => ({
        ...object,
        triggers: changed(object.triggers, edit.trigger, updated, (trigger) =>
          trigger.type === 'metric' ? { ...trigger, metricThreshold: edit.threshold } : trigger,
        ),
      }));
    case 'triggerStatus':
      return system((object) => ({
        ...object,
        triggers: changed(object.triggers, edit.trigger, updated, (trigger) => ({
          ...trigger,
          status: trigger.status === 'active' ? 'inactive' : 'active',
        })),
      }));
    case 'boost': {
      const { multiplier, rounding, startsInDays, lastsDays } = edit;
      const end = lastsDays === null ? null : date(startsInDays + lastsDays - 1);
      return system((object) => ({
        ...object,
        boosts: changed(object.boosts, edit.boost, updated, (boost) => ({
          ...boost,
          multiplier,
          rounding,
          start: date(startsInDays),
          end,
        })),
      }));
    }
    case 'achievementStatus': {
      const advance = (object: Achievement): Achievement => ({ ...object, status: nextStatus[object.status] });
      return { ...document, achievements: changed(document.achievements, edit.achievement, updated, advance) };
    }
    case 'achievementValue':
      return {
        ...document,
        achievements: changed(document.achievements, edit.achievement, updated, (object) => withValue(object, edit.value)),
      };
    case 'openLeaderboard':
      return {
        ...document,
        leaderboards: changed(document.leaderboards, edit.leaderboard, updated, (object) => ({ ...object, status: 'active' })),
      };
    case 'participants':
      return {
        ...document,
        leaderboards: changed(document.leaderboards, edit.leaderboard, updated, (object) => ({ ...object, maxParticipants: edit.max })),
      };
    case 'condition': {
      const { metrics } = document.streaks;
      return streaks({
        metrics: metrics.map((each, index) => (index === edit.condition % metrics.length ? { ...each, threshold: edit.threshold } : each)),
      });
    }
    case 'evaluationMode':
      return streaks({ evaluationMode: edit.mode });
    case 'frequency':
      return streaks({ frequency: edit.frequency });
    case 'defaultZone':
      return { ...document, settings: { ...document.settings, defaultTimeZone: edit.zone } };
    case 'initialFreezes':
      return streaks({ freezes: { ...document.streaks.freezes, initial: edit.initial } });
    case 'personalization':
      return streaks({ personalization: !document.streaks.personalization });
  }
}
