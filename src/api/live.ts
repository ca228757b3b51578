import { z } from 'zod';
import { idSchema } from '../engine/user-properties.js';
import { tenantMoment } from '../engine/users.js';
import { LaurelError } from '../shared/errors.js';
import { runText } from './leaderboards.js';
import { attributeFilters, callersIdsText, integerText, keyText } from './query.js';
import { requireLeaderboard } from '../plan/active-config.js';
import { keySchema } from '../config/schema/fields.js';
import { limits } from '../shared/limits.js';
import { boundedArray, instantShape } from '../shared/shapes.js';
import { type Route, defineRoute } from './route.js';

const tokenShape = z
  .object({ token: z.string().meta({ description: 'A secret, for the parameter `token`.' }), expires: instantShape })
  .meta({ id: 'LiveToken' });

const token = z.string().optional().meta({ description: 'A live token, in place of a key in a header.' });
const lastEventId = z.string().optional().meta({ description: 'The header `Last-Event-ID` takes precedence.' });

export const liveRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/leaderboards/{key}/live',
    operation: 'leaderboards_live',
    summary: 'Watch a page of a leaderboard, or a list of users on it, as server-sent events',
    description:
      'Sends `snapshot` with the ranking, then `change` with the rows that differ, or another `snapshot`, at most twice a second, and ' +
      '`finished` when the run is over. With the id of the last message, in the header `Last-Event-ID` or in `lastEventId`, it sends ' +
      'nothing until something has changed. docs/live.md describes the messages.',
    access: 'anyone',
    live: 'stream',
    produces: 'text/event-stream',
    responses: { 200: z.string() },
    params: z.object({ key: keyText('leaderboard') }),
    query: z.object({
      offset: integerText(0, limits.maxAbsoluteTotal, 0),
      limit: integerText(0, limits.maxRankingsPage, 10),
      run: runText,
      userAttributes: attributeFilters,
      userIds: callersIdsText(idSchema, limits.maxListedUsers).optional(),
      token,
      lastEventId,
    }),
    handle: async ({
      services: { live },
      principal,
      tenant,
      params: { key },
      query: { token: _, lastEventId: lastId, run, userIds, ...query },
    }) => {
      if (principal.live && !principal.live.leaderboards.includes(key)) {
        throw new LaurelError('forbidden', 'This live token does not name this leaderboard: create a token that does.');
      }
      const ranking = { ...query, run, userIds, userId: undefined };
      return { status: 200, body: await live.watchBoard({ principal, tenant, lastId }, key, ranking) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/live',
    operation: 'users_live',
    summary: 'Watch a user, as server-sent events',
    description:
      'Sends `change` with what each event, call and elapsed time changed for the user, and `reset` first and whenever messages may have been ' +
      'missed: the client then reads the user again. With the id of the last message, in the header `Last-Event-ID` or in `lastEventId`, it ' +
      'sends the messages after it. docs/live.md describes the messages.',
    access: ({ params }) => [params.id],
    live: 'stream',
    produces: 'text/event-stream',
    responses: { 200: z.string() },
    params: z.object({ id: idSchema }),
    query: z.object({ token, lastEventId }),
    handle: async ({ services: { live }, principal, tenant, params: { id }, query }) => {
      if (principal.live && principal.live.userId !== id) {
        throw new LaurelError('forbidden', 'This live token does not name this user: create a token that does.');
      }
      return { status: 200, body: await live.watchUser({ principal, tenant, lastId: query.lastEventId }, id) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/live-tokens',
    operation: 'live_tokens_create',
    summary: 'Create a token with which a browser can watch leaderboards and a user',
    description:
      'EventSource sends no headers, and a page must hold no admin key: the page sends the token as the parameter `token` of a live ' +
      'stream. A token may watch only what it names, at least one leaderboard or a user, acts for the key that it was created with, and ' +
      'ends with that key.',
    access: ({ body }) => (body.userId === undefined ? [] : [body.userId]),
    live: 'token',
    // It changes nothing: a token allows less than the key that it is made with.
    reads: true,
    responses: { 201: tokenShape },
    body: z.object({
      leaderboards: boundedArray(keySchema, limits.maxLiveTokenLeaderboards)
        .optional()
        .meta({ description: 'The keys of the leaderboards.' }),
      userId: idSchema.optional().meta({ description: 'The user whose stream may be watched.' }),
      expiresInS: z.number().int().min(1).max(limits.maxLiveTokenS).default(limits.maxLiveTokenS).meta({ description: 'Seconds.' }),
    }),
    handle: async ({ services: { engine, liveTokens }, principal, tenant, body: { leaderboards = [], userId, expiresInS } }) => {
      if (leaderboards.length === 0 && userId === undefined) {
        throw new LaurelError('unprocessable', 'Name what the token may watch: `leaderboards`, `userId` or both.');
      }
      const config = await engine.config(tenant);
      for (const key of leaderboards) requireLeaderboard(config, key);
      const asOf = await tenantMoment(engine, tenant);
      const { token, expires } = await liveTokens.create({ principal, tenant, leaderboards, userId, asOf, expiresInS });
      return { status: 201, body: { token, expires: expires.toISOString() } };
    },
  }),
];
