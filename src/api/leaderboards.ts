import { z } from 'zod';
import { listLeaderboards, readLeaderboard, readUserLeaderboard } from '../engine/leaderboards.js';
import { leaderboardShape, rankingsShape, userLeaderboardShape } from '../responses/leaderboards.js';
import { limits } from '../shared/limits.js';
import { attributeFilters, booleanText, callersIdsText, integerText, keyText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { dateText } from '../shared/shapes.js';
import { idSchema } from '../engine/user-properties.js';

export const runText = dateText.optional().meta({ description: 'A date of a past run; the current run without it.' });

export const leaderboardRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/leaderboards',
    operation: 'leaderboards_all',
    responses: { 200: z.array(leaderboardShape) },
    summary: 'List active and scheduled leaderboards',
    access: 'anyone',
    query: z.object({ includeFinished: booleanText }),
    handle: async ({ services, tenant, query }) => ({
      status: 200,
      body: await listLeaderboards(services, tenant, query.includeFinished),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/leaderboards/{key}',
    operation: 'leaderboards_get',
    description:
      'A leaderboard with breakdown needs `userAttributes` with a value for each of its attributes; on others the parameter ' +
      "is a 422. Without `run`, the run of today's UTC date is read. A run that has not begun is empty, and a date before the " +
      'first run is a 422. With `userId`, a user without a rank gets no rows. With `userIds`, the ranking has only these users, each ' +
      'with `rankInList`, the rank among them, and users without a rank are left out; `offset` and `limit` page through this list.',
    responses: { 200: rankingsShape },
    summary: 'Read a page of a leaderboard, of its current run or a past one',
    access: ({ query }) => (query.userId === undefined ? [] : [query.userId]),
    params: z.object({ key: keyText('leaderboard') }),
    query: z.object({
      offset: integerText(0, limits.maxAbsoluteTotal, 0),
      limit: integerText(0, limits.maxRankingsPage, 10),
      run: runText,
      userId: idSchema.optional().meta({ description: 'The offset counts from the rank of this user.' }),
      userAttributes: attributeFilters,
      userIds: callersIdsText(idSchema, limits.maxListedUsers).optional(),
    }),
    handle: async ({ services, tenant, params, query: { run, userId, userIds, ...query } }) => ({
      status: 200,
      body: await readLeaderboard(services, tenant, params.key, { ...query, run, userId, userIds }),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/leaderboards/{key}',
    operation: 'users_leaderboard',
    description:
      "Without `run`, the run of the user's local date is read. `rank` and `value` are null for a user beyond " +
      "`maxParticipants`. `history` has a row for each local date on which the user's own events changed the rank or value, " +
      'the oldest first.',
    responses: { 200: userLeaderboardShape },
    summary: "Read a user's rank on a leaderboard, and its history by day",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema, key: keyText('leaderboard') }),
    query: z.object({ numEvents: integerText(0, limits.maxHistoryDays, 10), run: runText }),
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserLeaderboard(services, tenant, params.id, { key: params.key, run: query.run, days: query.numEvents }),
    }),
  }),
];
