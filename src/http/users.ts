import { z } from 'zod';
import { identifyUser, readProfile, readUserMetric, readUserMetrics, readUserPoints, type IdentifyMode } from '../engine/users.js';
import { limits } from '../limits.js';
import { idSchema, userPropertiesSchema } from '../users/schema.js';
import { integerText } from '../routing/query.js';
import { defineRoute, type Route } from '../routing/route.js';

const userParams = z.object({ id: idSchema });
const userKeyParams = z.object({ id: idSchema, key: z.string() });
const noQuery = z.object({});

function identifyRoute(method: 'put' | 'patch', mode: IdentifyMode, summary: string): Route {
  return defineRoute({
    method,
    path: '/users/{id}',
    summary,
    params: userParams,
    query: noQuery,
    body: userPropertiesSchema,
    handle: async ({ services, tenant, params, body }) => ({
      status: 200,
      body: await identifyUser(services.engine, tenant, mode, params.id, body),
    }),
  });
}

export const userRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/users',
    summary: 'Create a user',
    params: z.object({}),
    query: noQuery,
    body: userPropertiesSchema.extend({ id: idSchema }),
    handle: async ({ services, tenant, body: { id, ...properties } }) => ({
      status: 201,
      body: await identifyUser(services.engine, tenant, 'create', id, properties),
    }),
  }),
  identifyRoute('put', 'upsert', 'Identify a user: create or change'),
  identifyRoute('patch', 'update', 'Change a user'),
  defineRoute({
    method: 'get',
    path: '/users/{id}',
    summary: 'Read a user',
    params: userParams,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params }) => ({
      status: 200,
      body: await readProfile(services.engine, tenant, params.id),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics',
    summary: 'Read all metric totals of a user',
    params: userParams,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params }) => ({
      status: 200,
      body: await readUserMetrics(services.engine, tenant, params.id),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics/{key}',
    summary: 'Read one metric total of a user',
    params: userKeyParams,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params }) => ({
      status: 200,
      body: await readUserMetric(services.engine, tenant, params.id, params.key),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/points/{key}',
    summary: "Read a user's points, level and newest awards",
    params: userKeyParams,
    query: z.object({ awards: integerText(1, limits.maxAwardsRead, 10) }),
    body: null,
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserPoints(services.engine, tenant, params.id, params.key, query.awards),
    }),
  }),
];
