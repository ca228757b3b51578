import { z } from 'zod';
import { achievementTriggers } from '../config/schema/kinds.js';
import type { Achievement, AttributeFilter } from '../config/schema/model.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { attributeShape, instantShape } from '../shared/shapes.js';
import { instant } from './users.js';

const eventAttributeShape = attributeShape
  .optional()
  .meta({ deprecated: true, description: 'Sent where there is exactly one filter; use `eventAttributes`.' });

/** Filters on the attributes of events; `eventAttribute`, which the contract deprecates, is sent where there is exactly one. */
export const eventFiltersShape = z.object({ eventAttribute: eventAttributeShape, eventAttributes: z.array(attributeShape) });
export type EventFilters = z.infer<typeof eventFiltersShape>;

/** The contract's `AchievementResponse`. */
const achievementShape = z.object({
  id: z.string(),
  key: z.string(),
  name: z.string(),
  trigger: z.enum(achievementTriggers).meta({ description: 'What completes it.' }),
  description: z.string().nullable(),
  badgeUrl: z.string().nullable(),
  userAttributes: z.array(attributeShape).meta({ description: 'Only users with all of these can complete it.' }),
  metricId: z.string().optional(),
  metricName: z.string().optional(),
  metricValue: z.number().optional().meta({ description: 'The total that completes it.' }),
  ...eventFiltersShape.partial().shape,
  streakLength: z.number().int().optional(),
  achievementIds: z.array(z.string()).optional().meta({ description: 'All of these complete it.' }),
  anniversaryYears: z.number().int().optional().meta({ description: 'How many years after `signUpDate` it is completed.' }),
});
export type AchievementResponse = z.infer<typeof achievementShape>;

const achievedAt = { achievedAt: instantShape.nullable() };
const statsShape = {
  completions: z.number().int().meta({ description: 'How many users have completed it.' }),
  rarity: z.number().meta({ description: 'The percentage of users who have completed it, to two decimals.' }),
};

/** The contract's `UserAchievementResponse`. */
export const userAchievementShape = achievementShape.extend(achievedAt).meta({ id: 'UserAchievement' });
export type UserAchievementResponse = z.infer<typeof userAchievementShape>;

/** The contract's `AchievementWithStatsResponse`. */
export const achievementWithStatsShape = achievementShape.extend(statsShape).meta({ id: 'AchievementWithStats' });
export type AchievementWithStatsResponse = z.infer<typeof achievementWithStatsShape>;

/** The contract's `UserAchievementWithStatsResponse`. */
export const userAchievementWithStatsShape = achievementShape
  .extend({ ...statsShape, ...achievedAt })
  .meta({ id: 'UserAchievementWithStats' });
export type UserAchievementWithStatsResponse = z.infer<typeof userAchievementWithStatsShape>;

/** Filters as keys and values. */
export function filterList(config: ActiveConfig, list: readonly AttributeFilter[]): { key: string; value: string }[] {
  return list.map(({ attributeId, attributeValue }) => ({
    key: mustGet(config.attributeById, attributeId, 'attribute').key,
    value: attributeValue,
  }));
}

/** Event filters as the contract has them; `eventAttribute`, which it deprecates, is sent where there is exactly one. */
export function eventFilters(config: ActiveConfig, list: readonly AttributeFilter[]): EventFilters {
  const eventAttributes = filterList(config, list);
  const [eventAttribute, second] = eventAttributes;
  return { ...(eventAttribute && !second ? { eventAttribute } : {}), eventAttributes };
}

function byTrigger(config: ActiveConfig, achievement: Achievement): Partial<AchievementResponse> {
  switch (achievement.trigger) {
    case 'metric': {
      const metric = mustGet(config.metricById, achievement.metricId, 'metric');
      const counted = { metricId: metric.id, metricValue: achievement.metricValue, metricName: metric.name };
      return { ...counted, ...eventFilters(config, achievement.eventAttributes) };
    }
    case 'streak':
      return { streakLength: achievement.streakLength };
    case 'achievement':
      return { achievementIds: [...achievement.achievementIds] };
    case 'anniversary':
      return { anniversaryYears: achievement.anniversaryYears };
    case 'api':
      return {};
  }
}

/** The contract's `AchievementResponse`. */
export function achievementResponse(config: ActiveConfig, achievement: Achievement): AchievementResponse {
  const { id, key, name, trigger, description, badgeUrl } = achievement;
  return {
    id,
    key,
    name,
    trigger,
    description,
    badgeUrl,
    ...byTrigger(config, achievement),
    userAttributes: filterList(config, achievement.userAttributes),
  };
}

/** The contract's `UserAchievementResponse`. `at` in milliseconds since 1970; undefined for one that is not completed. */
export function completedResponse(config: ActiveConfig, achievement: Achievement, at: number | undefined): UserAchievementResponse {
  return { ...achievementResponse(config, achievement), achievedAt: at === undefined ? null : instant(at) };
}

/** Completions, and users, of a tenant. */
export interface Counts {
  /** Achievement `no` → how many users have completed it. */
  readonly completions: ReadonlyMap<number, number>;
  readonly users: number;
}

/** The percentage of users who have completed an achievement, to two decimals. */
export const rarityOf = (completed: number, users: number): number => (users === 0 ? 0 : Math.round((completed * 10_000) / users) / 100);

/** `rarity` is the percentage of users who have completed it, to two decimals (docs/rules/achievements.md). */
export function stats({ completions, users }: Counts, no: number): { completions: number; rarity: number } {
  const count = completions.get(no) ?? 0;
  return { completions: count, rarity: rarityOf(count, users) };
}
