import { z } from 'zod';
import { identifyUser, readProfile, readUserMetric, readUserMetrics, readUserPoints, type IdentifyMode } from '../engine/users.js';
import { limits } from '../limits.js';
import { metricShape } from '../metrics/shapes.js';
import { userPointsShape } from '../points/shapes.js';
import { idSchema, userPropertiesSchema } from '../users/schema.js';
import { userShape } from '../users/shapes.js';
import { integerText, keyText } from '../routing/query.js';
import { defineRoute, type Route } from '../routing/route.js';

const userParams = z.object({ id: idSchema });
const noQuery = z.object({});

function identifyRoute(method: 'put' | 'patch', operation: string, mode: IdentifyMode, summary: string): Route {
  return defineRoute({
    method,
    path: '/users/{id}',
    operation,
    answers: { 200: userShape },
    summary,
    access: ({ params }) => [params.id],
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
    operation: 'users_create',
    answers: { 201: userShape },
    summary: 'Create a user',
    access: ({ body }) => [body.id],
    params: z.object({}),
    query: noQuery,
    body: userPropertiesSchema.extend({ id: idSchema }),
    handle: async ({ services, tenant, body: { id, ...properties } }) => ({
      status: 201,
      body: await identifyUser(services.engine, tenant, 'create', id, properties),
    }),
  }),
  identifyRoute('put', 'users_identify', 'upsert', 'Identify a user: create or change'),
  identifyRoute('patch', 'users_update', 'update', 'Change a user'),
  defineRoute({
    method: 'get',
    path: '/users/{id}',
    operation: 'users_get',
    answers: { 200: userShape },
    summary: 'Read a user',
    access: ({ params }) => [params.id],
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
    operation: 'users_all_metrics',
    answers: { 200: z.array(metricShape) },
    summary: 'Read all metric totals of a user',
    access: ({ params }) => [params.id],
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
    operation: 'users_single_metric',
    answers: { 200: metricShape },
    summary: 'Read one metric total of a user',
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema, key: keyText('metric') }),
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
    operation: 'users_points',
    answers: { 200: userPointsShape },
    summary: "Read a user's points, level and newest awards",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema, key: keyText('points system') }),
    query: z.object({ awards: integerText(1, limits.maxAwardsRead, 10) }),
    body: null,
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserPoints(services.engine, tenant, params.id, params.key, query.awards),
    }),
  }),
];
