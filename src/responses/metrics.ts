import { z } from 'zod';
import type { Metric } from '../config/schema/model.js';
import { type UserAchievementResponse, userAchievementShape } from './achievements.js';

/** The contract's `MetricResponse`. `status` is not in it, but the official client library refuses a response without it. */
export const metricShape = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    status: z.literal('active'),
    current: z.number().meta({ description: "The user's total." }),
    achievements: z.array(userAchievementShape).meta({ description: "The metric's achievements, completed or not." }),
  })
  .meta({ id: 'Metric' });
export type MetricResponse = z.infer<typeof metricShape>;

/** What a metric is, for any user. `status` is not in the contract, but the official client library refuses a response without it. */
export const metricHead = ({ id, key, name }: Metric) => ({ id, key, name, status: 'active' as const });

/**
 * The contract's `MetricResponse`, with the user's total and the metric's achievements. A metric on which nothing has happened yet is at 0.
 */
export const metricResponse = (metric: Metric, current: number, achievements: UserAchievementResponse[]): MetricResponse => ({
  ...metricHead(metric),
  current,
  achievements,
});
