import { z } from 'zod';
import { attributeShape, instantShape } from '../shapes.js';

const eventAttributeShape = attributeShape
  .optional()
  .meta({ deprecated: true, description: 'Sent where there is exactly one filter; use `eventAttributes`.' });

/** Filters on the attributes of events; `eventAttribute`, which the contract deprecates, is sent where there is exactly one. */
export const eventFiltersShape = z.object({ eventAttribute: eventAttributeShape, eventAttributes: z.array(attributeShape) });
export type EventFilters = z.infer<typeof eventFiltersShape>;

/** The contract's `AchievementResponse`. */
export const achievementShape = z.object({
  id: z.string(),
  key: z.string(),
  name: z.string(),
  trigger: z.enum(['metric', 'streak', 'api', 'achievement']).meta({ description: 'What completes it.' }),
  description: z.string().nullable(),
  badgeUrl: z.string().nullable(),
  userAttributes: z.array(attributeShape).meta({ description: 'Only users with all of these can complete it.' }),
  metricId: z.string().optional(),
  metricName: z.string().optional(),
  metricValue: z.number().optional().meta({ description: 'The total that completes it.' }),
  ...eventFiltersShape.partial().shape,
  streakLength: z.number().int().optional(),
  achievementIds: z.array(z.string()).optional().meta({ description: 'All of these complete it.' }),
});
export type AchievementResponse = z.infer<typeof achievementShape>;

const achievedAt = { achievedAt: instantShape.nullable() };
const stats = {
  completions: z.number().int().meta({ description: 'How many users have completed it.' }),
  rarity: z.number().meta({ description: 'The percentage of users who have completed it, to two decimals.' }),
};

/** The contract's `UserAchievementResponse`. */
export const userAchievementShape = achievementShape.extend(achievedAt).meta({ id: 'UserAchievement' });
export type UserAchievementResponse = z.infer<typeof userAchievementShape>;

/** The contract's `AchievementWithStatsResponse`. */
export const achievementWithStatsShape = achievementShape.extend(stats).meta({ id: 'AchievementWithStats' });
export type AchievementWithStatsResponse = z.infer<typeof achievementWithStatsShape>;

/** The contract's `UserAchievementWithStatsResponse`. */
export const userAchievementWithStatsShape = achievementShape.extend({ ...stats, ...achievedAt }).meta({ id: 'UserAchievementWithStats' });
export type UserAchievementWithStatsResponse = z.infer<typeof userAchievementWithStatsShape>;
