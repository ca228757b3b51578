import { z } from 'zod';
import { dateToDay, dayToDate, isDate, utcDate } from '../calendar.js';
import type { Leaderboard } from '../config/model.js';
import { readPlace, readRankings, type BoardRun, type Ranking } from '../engine/leaderboards.js';
import { LaurelError } from '../errors.js';
import { groupOf, leaderboardResponse, statusOn } from '../leaderboards/response.js';
import { runOf } from '../leaderboards/runs.js';
import { limits } from '../limits.js';
import { requireLeaderboard, type ActiveConfig } from '../plan/active-config.js';
import { boardKind, perpetualRun } from '../plan/boards.js';
import { attributeFilters, booleanText, integerText } from '../routing/query.js';
import { defineRoute, type Route, type Services } from '../routing/route.js';
import { idSchema } from '../users/schema.js';

const today = async ({ clock }: Services, tenant: number): Promise<string> => utcDate(await clock.now(tenant));

const runText = z
  .string()
  .refine(isDate, 'must be a date such as 2026-01-31')
  .optional();

/** The run that a date is in, today's without one; the first day of it. */
function resolveRun(board: Leaderboard, run: string | undefined, date: string): number {
  if (board.runUnit === null) {
    if (run !== undefined) throw new LaurelError('unprocessable', 'This leaderboard does not repeat: leave `run` out.');
    return perpetualRun;
  }
  const day = dateToDay(run ?? (date < board.start ? board.start : date));
  if (dayToDate(day) < board.start) throw new LaurelError('unprocessable', `The first run of this leaderboard starts on ${board.start}.`);
  return runOf(board, day);
}

/** The group that `userAttributes` names. A board that is broken down needs a value of each attribute, and no other does. */
function resolveGroup(config: ActiveConfig, board: Leaderboard, filters: ReadonlyMap<string, string>): string {
  const keys = board.breakdownAttributes.map((id) => config.attributeById.get(id)?.key ?? '');
  if (keys.length === 0 && filters.size > 0) {
    throw new LaurelError('unprocessable', 'This leaderboard has no breakdown attributes: leave `userAttributes` out.');
  }
  const values = keys.map((key) => filters.get(key));
  if (values.some((value) => value === undefined) || filters.size > keys.length) {
    throw new LaurelError('unprocessable', `Send \`userAttributes\` with a value of each of ${keys.join(', ')}, as in ${keys.map((key) => `${key}:value`).join(',')}.`);
  }
  return groupOf(values.map((value) => value ?? ''));
}

/** A page of a run that is final, from Postgres. With a user, the offset counts from that user's place. */
async function finalPage(services: Services, tenant: number, board: BoardRun, page: { offset: number; limit: number; userId: string | undefined }): Promise<Ranking[]> {
  const rows = await services.history.finalRankings(tenant, board.leaderboard, board.run, board.group);
  const base = page.userId === undefined ? 0 : rows.findIndex(({ userId }) => userId === page.userId);
  return base < 0 ? [] : rows.slice(base + page.offset, base + page.offset + page.limit);
}

const isFinal = (services: Services, tenant: number, board: Leaderboard, run: number): Promise<boolean> =>
  board.runUnit === null ? Promise.resolve(false) : services.history.isFinal(tenant, board.no, run);

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
    summary: 'Read a page of rankings, of the current run or of a past one',
    params: z.object({ key: z.string() }),
    query: z.object({
      offset: integerText(0, limits.maxAbsoluteTotal, 0),
      limit: integerText(0, limits.maxRankingsPage, 10),
      run: runText,
      userId: idSchema.optional(),
      userAttributes: attributeFilters,
    }),
    body: null,
    handle: async ({ services, tenant, params, query }) => {
      const config = await services.engine.config(tenant);
      const board = requireLeaderboard(config, params.key);
      const date = await today(services, tenant);
      const run = {
        leaderboard: board.no,
        kind: boardKind(board),
        run: resolveRun(board, query.run, date),
        group: resolveGroup(config, board, query.userAttributes),
      };
      const page = { offset: query.offset, limit: query.limit, userId: query.userId };
      const rankings = (await isFinal(services, tenant, board, run.run))
        ? await finalPage(services, tenant, run, page)
        : await readRankings(services.engine, tenant, run, page);
      return { status: 200, body: { ...leaderboardResponse(config, board, date), rankings } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/leaderboards/{key}',
    summary: "Read a user's place on a leaderboard, and its history by day",
    params: z.object({ id: idSchema, key: z.string() }),
    query: z.object({ numEvents: integerText(0, limits.maxHistoryDays, 10), run: runText }),
    body: null,
    handle: async ({ services, tenant, params, query }) => {
      const config = await services.engine.config(tenant);
      const board = requireLeaderboard(config, params.key);
      const date = await today(services, tenant);
      const run = resolveRun(board, query.run, date);
      const place = await readPlace(services.engine, tenant, { leaderboard: board.no, kind: boardKind(board), run }, params.id);
      await services.history.waitFor(tenant, place.ledgerId);
      const final = (await isFinal(services, tenant, board, run)) ? await services.history.finalPlace(tenant, board.no, run, params.id) : place;
      const days = await services.history.leaderboardDays(tenant, board.no, run, params.id, query.numEvents);
      return {
        status: 200,
        body: {
          ...leaderboardResponse(config, board, date),
          rank: final?.rank ?? null,
          value: final?.value ?? null,
          history: days.map(({ at, ...day }) => ({ ...day, timestamp: at.toISOString() })),
        },
      };
    },
  }),
];
