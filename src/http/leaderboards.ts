import { z } from 'zod';
import { utcDate } from '../calendar.js';
import { readPlace, readRankings } from '../engine/leaderboards.js';
import { leaderboardResponse, statusOn } from '../leaderboards/response.js';
import { limits } from '../limits.js';
import { requireLeaderboard } from '../plan/active-config.js';
import { perpetualRun } from '../plan/compile.js';
import { idSchema } from '../users/schema.js';
import { booleanText, integerText } from '../routing/query.js';
import { defineRoute, type Route, type Services } from '../routing/route.js';

const today = async ({ clock }: Services, tenant: number): Promise<string> => utcDate(await clock.now(tenant));

export const leaderboardRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/leaderboards',
    summary: 'List the leaderboards that are active or scheduled',
    params: z.object({}),
    query: z.object({ includeFinished: booleanText }),
    body: null,
    handle: async ({ services, tenant, query }) => {
      const config = await services.engine.config(tenant);
      const date = await today(services, tenant);
      const visible = [...config.leaderboards.values()].filter((board) => {
        const status = statusOn(board, date);
        return status === 'active' || status === 'scheduled' || (status === 'finished' && query.includeFinished);
      });
      return { status: 200, body: visible.map((board) => leaderboardResponse(config, board, date)) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/leaderboards/{key}',
    summary: 'Read a page of rankings',
    params: z.object({ key: z.string() }),
    query: z.object({
      offset: integerText(0, limits.maxAbsoluteTotal, 0),
      limit: integerText(0, limits.maxRankingsPage, 10),
      userId: idSchema.optional(),
    }),
    body: null,
    handle: async ({ services, tenant, params, query }) => {
      const config = await services.engine.config(tenant);
      const board = requireLeaderboard(config, params.key);
      const page = { offset: query.offset, limit: query.limit, userId: query.userId };
      const [date, rankings] = await Promise.all([today(services, tenant), readRankings(services.engine, tenant, board.no, page)]);
      return { status: 200, body: { ...leaderboardResponse(config, board, date), rankings } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/leaderboards/{key}',
    summary: "Read a user's place on a leaderboard, and its history by day",
    params: z.object({ id: idSchema, key: z.string() }),
    query: z.object({ numEvents: integerText(0, limits.maxHistoryDays, 10) }),
    body: null,
    handle: async ({ services, tenant, params, query }) => {
      const config = await services.engine.config(tenant);
      const board = requireLeaderboard(config, params.key);
      const [date, place] = await Promise.all([today(services, tenant), readPlace(services.engine, tenant, board.no, params.id)]);
      await services.history.waitFor(tenant, place.ledgerId);
      const days = await services.history.leaderboardDays(tenant, board.no, perpetualRun, params.id, query.numEvents);
      return {
        status: 200,
        body: {
          ...leaderboardResponse(config, board, date),
          rank: place.rank,
          value: place.value,
          history: days.map(({ at, ...day }) => ({ ...day, timestamp: at.toISOString() })),
        },
      };
    },
  }),
];
