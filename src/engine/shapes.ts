import { z } from 'zod';
import { userAchievementShape } from '../achievements/shapes.js';
import { eventLeaderboardShape } from '../leaderboards/shapes.js';
import { pointsBlockShape } from '../points/shapes.js';
import { dateShape } from '../shapes.js';
import { eventStreakShape } from '../streaks/shapes.js';

/** The contract's `EventResponse`. */
export const eventShape = z
  .object({
    eventId: z.string(),
    metricId: z.string(),
    total: z.number().meta({ description: "The user's new total of the metric." }),
    achievements: z.array(userAchievementShape).meta({ description: 'What the event completed.' }),
    currentStreak: eventStreakShape,
    points: pointsBlockShape.meta({ description: 'Points system key → what the event did there; only the systems that it changed.' }),
    leaderboards: z
      .record(z.string(), eventLeaderboardShape)
      .meta({ description: "Leaderboard key → the user's place; only the leaderboards that the event changed." }),
    idempotencyKey: z.string().optional().meta({ description: 'The key that was sent, if one was.' }),
    idempotentReplayed: z.boolean().optional().meta({ description: 'Whether the key had been used before, so that nothing was counted.' }),
  })
  .meta({ id: 'Event' });
export type EventResponse = z.infer<typeof eventShape>;

/** The contract's `AchievementCompletionResponse`. */
export const completionShape = z
  .object({ completionId: z.string(), achievement: userAchievementShape, points: pointsBlockShape })
  .meta({ id: 'AchievementCompletion' });
export type CompletionResponse = z.infer<typeof completionShape>;

/** An item of an event summary. */
export const summaryItemShape = z
  .object({
    date: dateShape.meta({ description: 'The first day of the bucket.' }),
    total: z.number().meta({ description: 'At the end of the bucket.' }),
    change: z.number().meta({ description: '0 for a bucket in which nothing happened.' }),
  })
  .meta({ id: 'SummaryItem' });
export type SummaryItem = z.infer<typeof summaryItemShape>;
