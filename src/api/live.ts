import { z } from 'zod';
import { requireLeaderboard } from '../plan/active-config.js';
import { keySchema } from '../config/schema/fields.js';
import { limits } from '../shared/limits.js';
import { boundedArray, instantShape } from '../shared/shapes.js';
import { type Route, defineRoute } from './route.js';

const tokenShape = z
  .object({ token: z.string().meta({ description: 'A secret, for the parameter `token`.' }), expires: instantShape })
  .meta({ id: 'LiveToken' });

export const liveRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/live-tokens',
    operation: 'live_tokens_create',
    summary: 'Create a token with which a browser can watch leaderboards',
    description:
      'EventSource sends no headers, and a page must hold no admin key: the page sends the token as the parameter `token` of a live ' +
      'stream. A token may watch only the leaderboards that it names, acts for the key that it was created with, and ends with that key.',
    access: 'anyone',
    live: 'token',
    // It changes nothing: a token allows less than the key that it is made with.
    reads: true,
    responses: { 201: tokenShape },
    body: z.object({
      leaderboards: boundedArray(keySchema, limits.maxLiveTokenLeaderboards, 1).meta({ description: 'The keys of the leaderboards.' }),
      expiresInS: z.number().int().min(1).max(limits.maxLiveTokenS).default(limits.maxLiveTokenS).meta({ description: 'Seconds.' }),
    }),
    handle: async ({ services: { engine, liveTokens }, principal, tenant, body: { leaderboards, expiresInS } }) => {
      const config = await engine.config(tenant);
      for (const key of leaderboards) requireLeaderboard(config, key);
      const { token, expires } = await liveTokens.create({ principal, tenant, leaderboards, expiresInS });
      return { status: 201, body: { token, expires: expires.toISOString() } };
    },
  }),
];
