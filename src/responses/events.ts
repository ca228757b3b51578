import { z } from 'zod';
import type { BoardFact, EventEntry, UserEntry } from '../ledger/entry.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { utcDate } from '../shared/calendar.js';
import { dateShape } from '../shared/shapes.js';
import { type UserAchievementResponse, completedResponse, userAchievementShape } from './achievements.js';
import { type EventLeaderboardResponse, eventLeaderboardResponse, eventLeaderboardShape } from './leaderboards.js';
import { type EventPointsResponse, eventPointsResponse, pointsBlockShape } from './points.js';
import { eventStreakShape } from './streaks.js';

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

/** What an entry changed, as the blocks of a response. */
type Entry = EventEntry | UserEntry;

/** The achievements that were completed, in order. */
export function completedBlock(config: ActiveConfig, { achieved = [], at }: Entry): UserAchievementResponse[] {
  return achieved.map((no) => completedResponse(config, mustGet(config.achievementByNo, no, 'achievement'), at));
}

/** The points systems that changed, by key. */
export function pointsBlock(config: ActiveConfig, { points, id }: Entry): Record<string, EventPointsResponse> {
  return Object.fromEntries(
    points.map((fact) => [mustGet(config.systemByNo, fact.no, 'points system').key, eventPointsResponse(config, id, fact)]),
  );
}

/**
 * The leaderboards on which the user's place changed, by key; not those on which the user is outside before and after. One entry can change a
 * board twice, as when the user moves to another group: what counts is where the user is in the end, and where in that group the user had
 * been before.
 */
export function leaderboardsBlock(config: ActiveConfig, { boards, at }: Entry): Record<string, EventLeaderboardResponse> {
  const today = utcDate(at);
  const before = new Map<string, number | undefined>();
  const last = new Map<string, BoardFact>();
  for (const fact of boards) {
    const { key } = mustGet(config.leaderboardByNo, fact.no, 'leaderboard');
    const place = `${fact.no}:${fact.run}:${fact.group ?? ''}`;
    if (!before.has(place)) before.set(place, fact.previousRank);
    const { previousRank: _, ...rest } = fact;
    const previousRank = before.get(place);
    // A user without a value has left the group, and one without either rank was outside before and after.
    if (fact.value === undefined || (fact.rank === undefined && previousRank === undefined)) last.delete(key);
    else last.set(key, previousRank === undefined ? rest : { ...rest, previousRank });
  }
  return Object.fromEntries([...last].map(([key, fact]) => [key, eventLeaderboardResponse(config, fact, today)]));
}
