import { z } from 'zod';
import { rankStreaks, readStreak } from '../engine/streaks.js';
import { limits } from '../limits.js';
import { integerText } from '../routing/query.js';
import { defineRoute, type Route } from '../routing/route.js';
import { idSchema } from '../users/schema.js';

/** One id, or several as a repeated parameter. */
const userIds = z
  .union([idSchema.transform((id) => [id]), z.array(idSchema)])
  .refine((ids) => ids.length <= limits.maxStreakUsers, `must have at most ${limits.maxStreakUsers} items`);

export const streakRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users/{id}/streak',
    summary: "Read a user's streak and the history of its last periods",
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
    path: '/streaks',
    summary: 'Rank users by the length of their streaks',
    params: z.object({}),
    query: z.object({ userIds }),
    body: null,
    handle: async ({ services, tenant, query }) => ({ status: 200, body: await rankStreaks(services.engine, tenant, query.userIds) }),
  }),
];
