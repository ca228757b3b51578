import { z } from 'zod';
import { userAchievementShape } from '../achievements/shapes.js';

/** The contract's `MetricResponse`. `status` is not in it, but the official client library refuses an answer without it. */
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
