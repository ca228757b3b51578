import { z } from 'zod';
import { userAchievementShape } from './achievements.js';
import { leaderboardShape } from './leaderboards.js';
import { dateShape } from '../shared/shapes.js';
import { userShape } from './users.js';

const changeShape = z.object({
  currentTotal: z.number().meta({ description: 'At the end of the period.' }),
  changeThisPeriod: z.number(),
  percentChange: z.number().meta({ description: 'Of the total before the period; where that was 0, 100 for a rise and -100 for a fall.' }),
});

const percentile = z
  .number()
  .optional()
  .meta({ description: 'The percentage of the other users active in the period who changed less. Not sent for a day.' });

const ofMetric = { name: z.string(), units: z.string().nullable() };

const attributeValueShape = changeShape.extend(ofMetric).meta({ id: 'WrappedAttributeValue' });

/** The contract's `WrappedMetric`. */
const metricShape = changeShape
  .extend({
    ...ofMetric,
    percentileThisPeriod: percentile,
    byAttribute: z
      .record(z.string(), z.record(z.string(), attributeValueShape))
      .meta({ description: 'Event attribute key → value → what the events with it came to.' }),
  })
  .meta({ id: 'WrappedMetric' });
export type WrappedMetric = z.infer<typeof metricShape>;

/** The contract's `WrappedPoints`. */
const pointsShape = changeShape
  .extend({ name: z.string(), description: z.string().nullable(), percentileThisPeriod: percentile })
  .meta({ id: 'WrappedPoints' });
export type WrappedPoints = z.infer<typeof pointsShape>;

const placeShape = leaderboardShape
  .extend({ rank: z.number().int().nullable(), value: z.number().nullable() })
  .meta({ id: 'WrappedLeaderboard' });
export type WrappedPlace = z.infer<typeof placeShape>;

/** The contract's `WrappedActivityPeriod`. */
const periodShape = z.object({
  metrics: z.record(z.string(), metricShape).meta({ description: 'Metric key → what the user did, for metrics with events.' }),
  points: z.record(z.string(), pointsShape).meta({ description: 'Points system key → what the user earned, for systems with awards.' }),
  achievements: z.array(userAchievementShape).meta({ description: 'Those that were completed in the period, in that order.' }),
  leaderboards: z.record(z.string(), placeShape).meta({ description: "Leaderboard key → the user's best rank in the period." }),
});
export type WrappedPeriod = z.infer<typeof periodShape>;

const streakShape = z
  .object({
    length: z.number().int(),
    frequency: z.enum(['daily', 'weekly', 'monthly']),
    periodStart: dateShape.nullable().meta({ description: 'The period in which the streak was longest.' }),
    periodEnd: dateShape.nullable(),
    started: dateShape.nullable(),
  })
  .meta({ id: 'WrappedStreak' });
export type WrappedStreak = z.infer<typeof streakShape>;

/** The contract's `WrappedResponse`. */
export const wrappedShape = z
  .object({
    user: userShape,
    activity: z.object({
      daysActive: z.number().int(),
      weeksActive: z.number().int(),
      monthsActive: z.number().int(),
      mostActiveDay: periodShape.extend({ date: dateShape }),
      mostActiveWeek: periodShape.extend({ start: dateShape, end: dateShape }),
      mostActiveMonth: periodShape.extend({ month: z.number().int().meta({ description: '0 is January.' }) }),
      entireYear: periodShape.extend({ longestStreak: streakShape }),
    }),
  })
  .meta({ id: 'Wrapped' });
export type WrappedResponse = z.infer<typeof wrappedShape>;
