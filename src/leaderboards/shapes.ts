import { z } from 'zod';
import { attributeShape, dateShape, instantShape, timeShape } from '../shapes.js';

/** The contract's `LeaderboardResponse`, with the status that it requires. */
export const leaderboardShape = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    rankBy: z.enum(['metric', 'points', 'streak']),
    status: z.enum(['inactive', 'scheduled', 'active', 'finished']),
    metricKey: z.string().optional(),
    metricName: z.string().optional(),
    pointsSystemKey: z.string().optional(),
    pointsSystemName: z.string().optional(),
    breakdownAttribute: z.string().nullable().meta({ deprecated: true, description: 'Use `breakdownAttributes`.' }),
    breakdownAttributes: z
      .array(z.string())
      .meta({ description: 'Keys of user attributes: one board for each combination of their values.' }),
    start: dateShape,
    end: dateShape.nullable(),
    startTime: timeShape.nullable(),
    endTime: timeShape.nullable(),
    maxParticipants: z.number().int(),
    runUnit: z.enum(['day', 'month', 'year']).nullable(),
    runInterval: z.number().int().meta({ description: '0 for a leaderboard that does not repeat.' }),
  })
  .meta({ id: 'Leaderboard' });
export type LeaderboardResponse = z.infer<typeof leaderboardShape>;

/** What a leaderboard ranks by, where the spec's table has null for what does not apply. The contract leaves it out. */
const rankedShape = {
  metricKey: z.string().nullable(),
  metricName: z.string().nullable(),
  pointsSystemKey: z.string().nullable(),
  pointsSystemName: z.string().nullable(),
};

/** The contract's `LeaderboardRanking`. */
export const rankingShape = z
  .object({ userId: z.string(), userName: z.string().nullable(), rank: z.number().int(), value: z.number() })
  .meta({ id: 'LeaderboardRanking' });

/** The contract's `LeaderboardResponseWithRankings`. */
export const rankingsShape = leaderboardShape
  .extend({ ...rankedShape, rankings: z.array(rankingShape) })
  .meta({ id: 'LeaderboardWithRankings' });
export type RankingsResponse = z.infer<typeof rankingsShape>;

const dayShape = z
  .object({
    date: dateShape.meta({ description: "The user's local date." }),
    timestamp: instantShape.meta({ deprecated: true }),
    previousRank: z.number().int().nullable(),
    rank: z.number().int().nullable(),
    previousValue: z.number().nullable(),
    value: z.number().nullable(),
  })
  .meta({ id: 'LeaderboardDay' });

/** The contract's `UserLeaderboardResponseWithHistory`. */
export const userLeaderboardShape = leaderboardShape
  .extend({
    ...rankedShape,
    rank: z.number().int().nullable().meta({ description: 'Null for a user who has no value, or is beyond `maxParticipants`.' }),
    value: z.number().nullable(),
    history: z.array(dayShape).meta({ description: 'The days on which the user moved, oldest first.' }),
  })
  .meta({ id: 'UserLeaderboard' });
export type UserLeaderboardResponse = z.infer<typeof userLeaderboardShape>;

/** The contract's `MetricEventLeaderboardResponse`. */
export const eventLeaderboardShape = leaderboardShape
  .extend({
    breakdownAttributeValue: z.string().optional().meta({ deprecated: true, description: 'Use `breakdownAttributeValues`.' }),
    breakdownAttributeValues: z.array(attributeShape).optional(),
    threshold: z.number().meta({ description: 'The value that a newcomer has to beat; 0 while there is room.' }),
    previousRank: z.number().int().nullable(),
    rank: z.number().int().nullable().meta({ description: 'Null for a user whom the event left beyond `maxParticipants`.' }),
  })
  .meta({ id: 'EventLeaderboard' });
export type EventLeaderboardResponse = z.infer<typeof eventLeaderboardShape>;
