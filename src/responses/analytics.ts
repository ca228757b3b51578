import { z } from 'zod';
import { dateShape } from '../shared/shapes.js';
import { refShape } from './refs.js';

const listedShape = refShape.extend({ archived: z.boolean() });
const count = z.number().int();
const counts = (description: string) => z.array(count).meta({ description });
const numbers = (description: string) => z.array(z.number()).meta({ description });
const days = z.array(dateShape).meta({ description: 'Every day from the first to the last. The other lists have one number for each.' });

export const analyticsDaysShape = z
  .object({
    from: dateShape,
    until: dateShape,
    days,
    events: counts('Events of all metrics.'),
    activeUsers: counts('Users with an event on the day.'),
    activeUsers30: counts('Users with an event on the day or one of the 29 days before it.'),
    newUsers: counts('Users who were created on the day.'),
    metrics: z.array(
      listedShape.extend({ events: counts('Events of the metric.'), change: numbers('The sum of the values of these events.') }),
    ),
    triggers: z.array(
      listedShape.extend({
        type: z.enum(['metric', 'streak', 'achievement', 'time', 'user_creation']),
        system: refShape,
        awards: counts('Awards of the trigger.'),
        points: numbers('The sum of their points.'),
      }),
    ),
    adjustments: z
      .array(
        listedShape.extend({
          awards: counts('Adjustments of the points system by operators.'),
          points: numbers('The sum of their points.'),
        }),
      )
      .meta({ description: 'The points systems with adjustments in the range.' }),
    achievements: z.array(listedShape.extend({ completions: counts('Users who completed the achievement on the day.') })),
  })
  .meta({ id: 'AnalyticsDays' });
export type AnalyticsDaysResponse = z.infer<typeof analyticsDaysShape>;

export const analyticsAchievementShape = listedShape
  .extend({
    days,
    completions: counts('Users who completed the achievement on the day.'),
    completed: counts('Completions up to the end of the day.'),
    users: counts('Users who were created up to the end of the day.'),
    rarity: numbers('`completed` in percent of `users`, to two decimals.'),
  })
  .meta({ id: 'AnalyticsAchievement' });
export type AnalyticsAchievementResponse = z.infer<typeof analyticsAchievementShape>;

export const analyticsStreaksShape = z
  .object({
    frequency: z.enum(['daily', 'weekly', 'monthly']),
    alive: count.meta({ description: 'Users with a streak.' }),
    longest: count.meta({ description: 'The length of the longest current streak, in periods; 0 without one.' }),
    lengths: z.array(
      z.object({
        from: count.meta({ description: 'Inclusive.' }),
        to: count.nullable().meta({ description: 'Inclusive; null for no end.' }),
        users: count,
      }),
    ),
  })
  .meta({ id: 'AnalyticsStreaks' });
export type AnalyticsStreaksResponse = z.infer<typeof analyticsStreaksShape>;

export const analyticsLevelsShape = z
  .object({
    system: refShape,
    users: count.meta({ description: 'All users.' }),
    levels: z
      .array(
        z.object({
          id: z.uuid().nullable(),
          key: z.string().nullable(),
          name: z.string().nullable(),
          points: count.nullable().meta({ description: 'The total from which a user has this level.' }),
          users: count.meta({ description: 'Users who have this level and no higher one.' }),
        }),
      )
      .meta({
        description:
          'The lowest first. Users without a level are in the first item, whose other fields are null; a level from 0 points leaves none.',
      }),
  })
  .meta({ id: 'AnalyticsLevels' });
export type AnalyticsLevelsResponse = z.infer<typeof analyticsLevelsShape>;
