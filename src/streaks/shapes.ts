import { z } from 'zod';
import { dateShape, instantShape } from '../shapes.js';

/** The contract's `BaseStreakResponse`. */
export const baseStreakShape = z.object({
  length: z.number().int().meta({ description: 'In periods.' }),
  frequency: z.enum(['daily', 'weekly', 'monthly']),
  started: dateShape.nullable(),
  periodStart: dateShape.nullable(),
  periodEnd: dateShape.nullable(),
  expires: dateShape.nullable().meta({ description: 'The last local date on which the user can still extend the streak.' }),
  freezes: z.number().int().optional().meta({
    description:
      'How many freezes the user holds. This and the other fields of freezes are present where freezes are configured, or where the user holds one.',
  }),
  maxFreezes: z.number().int().optional().meta({ description: 'The configured maximum, or `freezes` where more were granted.' }),
  freezeAutoEarnInterval: z
    .number()
    .int()
    .optional()
    .meta({ description: 'Local days between two freezes that are earned; 0 earns none.' }),
  freezeAutoEarnAmount: z.number().int().optional(),
});
export type BaseStreak = z.infer<typeof baseStreakShape>;

/** The contract's `MetricEventStreakResponse`. */
export const eventStreakShape = baseStreakShape
  .extend({ extended: z.boolean().meta({ description: 'Whether this event extended the streak.' }) })
  .meta({ id: 'EventStreak' });
export type EventStreakResponse = z.infer<typeof eventStreakShape>;

const periodShape = z.object({
  periodStart: dateShape,
  periodEnd: dateShape,
  length: z.number().int().meta({ description: '0: there was no streak in this period.' }),
  usedFreeze: z
    .boolean()
    .optional()
    .meta({ description: 'Present where freezes are configured or the user holds one, and where one was used.' }),
  usedPause: z.boolean(),
});
export type StreakPeriodResponse = z.infer<typeof periodShape>;

/** The contract's `StreakResponse`. */
export const streakShape = baseStreakShape
  .extend({
    extended: instantShape.nullable().meta({ description: 'When the streak was last extended; null without a streak.' }),
    streakHistory: z.array(periodShape).meta({ description: 'Oldest first, the current period last.' }),
    pauses: z.array(z.object({ id: z.uuid(), start: dateShape, end: dateShape })).meta({ description: 'Current and upcoming pauses.' }),
  })
  .meta({ id: 'Streak' });
export type StreakResponse = z.infer<typeof streakShape>;

/** What the official client library expects of rankings of all users. */
export const longestStreakShape = z
  .object({ userId: z.string(), name: z.string().nullable(), streakLength: z.number().int() })
  .meta({ id: 'LongestStreak' });

/** An item of the contract's `BulkStreakResponse`. */
export const streakRankingShape = z
  .object({ userId: z.string(), streakLength: z.number().int(), extended: instantShape.nullable() })
  .meta({ id: 'StreakRanking' });
export type StreakRanking = z.infer<typeof streakRankingShape>;
