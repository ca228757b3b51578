import { z } from 'zod';
import { rankStreaks, readStreak, streakRankings } from '../engine/streaks.js';
import { limits } from '../shared/limits.js';
import { callersIdsText, integerText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { longestStreakShape, streakRankingShape, streakShape } from '../responses/streaks.js';
import { idSchema } from '../engine/user-properties.js';

export const streakRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users/{id}/streak',
    operation: 'users_streak',
    description:
      'A period in which the streak is not yet extended has length 0 in `streakHistory`. `pauses` lists those that end on the ' +
      "user's local date or later. Freeze fields are present where freezes are configured or the user holds one.",
    responses: { 200: streakShape },
    summary: "Read a user's streak and the history of its last periods",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema }),
    query: z.object({ historyPeriods: integerText(0, limits.maxHistoryPeriods, 7) }),
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readStreak(services, tenant, params.id, query.historyPeriods),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/streaks/rankings',
    operation: 'streaks_rankings',
    description: 'By the configured frequency. A streak that has just ended leaves the list within a second.',
    responses: { 200: z.array(longestStreakShape) },
    summary: 'List the users with the longest streaks, now or ever',
    access: 'admin',
    query: z.object({ limit: integerText(1, limits.maxStreakUsers, 10), type: z.enum(['active', 'longest']).default('active') }),
    handle: async ({ services, tenant, query }) => ({ status: 200, body: await streakRankings(services, tenant, query.type, query.limit) }),
  }),
  defineRoute({
    method: 'get',
    path: '/streaks',
    operation: 'streaks_list',
    description: 'An unknown user has length 0.',
    responses: { 200: z.array(streakRankingShape) },
    summary: 'Rank users by the length of their streaks',
    access: ({ query }) => query.userIds,
    query: z.object({ userIds: callersIdsText(idSchema, limits.maxStreakUsers) }),
    handle: async ({ services, tenant, query }) => ({ status: 200, body: await rankStreaks(services.engine, tenant, query.userIds) }),
  }),
];
