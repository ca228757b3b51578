import { z } from 'zod';
import { listLeaderboards, readLeaderboard, readUserLeaderboard } from '../engine/leaderboards.js';
import { leaderboardShape, rankingsShape, userLeaderboardShape } from '../responses/leaderboards.js';
import { limits } from '../shared/limits.js';
import { attributeFilters, booleanText, integerText, keyText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { dateText } from '../shared/shapes.js';
import { idSchema } from '../engine/user-properties.js';

const runText = dateText.optional().meta({ description: 'A date of the run that is meant; the current run without it.' });

export const leaderboardRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/leaderboards',
    operation: 'leaderboards_all',
    answers: { 200: z.array(leaderboardShape) },
    summary: 'List the leaderboards that are active or scheduled',
    access: 'anyone',
    params: z.object({}),
    query: z.object({ includeFinished: booleanText }),
    body: null,
    handle: async ({ services, tenant, query }) => ({
      status: 200,
      body: await listLeaderboards(services, tenant, query.includeFinished),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/leaderboards/{key}',
    operation: 'leaderboards_get',
    answers: { 200: rankingsShape },
    summary: 'Read a page of rankings, of the current run or of a past one',
    access: ({ query }) => (query.userId === undefined ? [] : [query.userId]),
    params: z.object({ key: keyText('leaderboard') }),
    query: z.object({
      offset: integerText(0, limits.maxAbsoluteTotal, 0),
      limit: integerText(0, limits.maxRankingsPage, 10),
      run: runText,
      userId: idSchema.optional().meta({ description: 'The offset counts from the place of this user.' }),
      userAttributes: attributeFilters,
    }),
    body: null,
    handle: async ({ services, tenant, params, query: { run, userId, ...query } }) => ({
      status: 200,
      body: await readLeaderboard(services, tenant, params.key, { ...query, run, userId }),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/leaderboards/{key}',
    operation: 'users_leaderboard',
    answers: { 200: userLeaderboardShape },
    summary: "Read a user's place on a leaderboard, and its history by day",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema, key: keyText('leaderboard') }),
    query: z.object({ numEvents: integerText(0, limits.maxHistoryDays, 10), run: runText }),
    body: null,
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserLeaderboard(services, tenant, params.id, params.key, { run: query.run, days: query.numEvents }),
    }),
  }),
];
