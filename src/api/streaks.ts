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
    answers: { 200: streakShape },
    summary: "Read a user's streak and the history of its last periods",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema }),
    query: z.object({ historyPeriods: integerText(0, limits.maxHistoryPeriods, 7) }),
    body: null,
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readStreak(services.engine, services.history, tenant, params.id, query.historyPeriods),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/streaks/rankings',
    operation: 'streaks_rankings',
    answers: { 200: z.array(longestStreakShape) },
    summary: 'List the users with the longest streaks, now or ever',
    access: 'admin',
    params: z.object({}),
    query: z.object({ limit: integerText(1, limits.maxStreakUsers, 10), type: z.enum(['active', 'longest']).default('active') }),
    body: null,
    handle: async ({ services, tenant, query }) => ({ status: 200, body: await streakRankings(services, tenant, query.type, query.limit) }),
  }),
  defineRoute({
    method: 'get',
    path: '/streaks',
    operation: 'streaks_list',
    answers: { 200: z.array(streakRankingShape) },
    summary: 'Rank users by the length of their streaks',
    access: ({ query }) => query.userIds,
    params: z.object({}),
    query: z.object({ userIds: callersIdsText(idSchema, limits.maxStreakUsers) }),
    body: null,
    handle: async ({ services, tenant, query }) => ({ status: 200, body: await rankStreaks(services.engine, tenant, query.userIds) }),
  }),
];
