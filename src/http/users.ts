import { z } from 'zod';
import { identifyUser, readUser, type IdentifyMode } from '../engine/users.js';
import { LaurelError } from '../errors.js';
import type { RecentAward } from '../ledger/entry.js';
import { limits } from '../limits.js';
import { metricResponse } from '../metrics/response.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { awardResponse, levelAt, levelResponse, systemResponse } from '../points/response.js';
import { userFields } from '../redis/contract.js';
import { unpackMessage } from '../redis/message.js';
import { userResponse } from '../users/response.js';
import { idSchema, userPropertiesSchema } from '../users/schema.js';
import type { PointsSystem } from '../config/model.js';
import { integerText } from './query.js';
import { defineRoute, type Route } from './route.js';

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

function requireSystem(config: ActiveConfig, key: string): PointsSystem {
  const system = config.systems.get(key);
  if (!system) throw new LaurelError('not_found', `There is no points system with the key ${JSON.stringify(key)}.`);
  return system;
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
    handle: async ({ services, tenant, params }) => {
      const { config, fields } = await readUser(services.engine, tenant, params.id);
      return { status: 200, body: userResponse(config, params.id, fields) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics',
    summary: 'Read all metric totals of a user',
    params: userParams,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params }) => {
      const { config, fields } = await readUser(services.engine, tenant, params.id);
      return { status: 200, body: Array.from(config.metrics.values(), (metric) => metricResponse(metric, fields)) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics/{key}',
    summary: 'Read one metric total of a user',
    params: userKeyParams,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params }) => {
      const { config, fields } = await readUser(services.engine, tenant, params.id);
      const metric = config.metrics.get(params.key);
      if (!metric) throw new LaurelError('not_found', `There is no metric with the key ${JSON.stringify(params.key)}.`);
      return { status: 200, body: metricResponse(metric, fields) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/points/{key}',
    summary: "Read a user's points, level and newest awards",
    params: userKeyParams,
    query: z.object({ awards: integerText(1, limits.maxAwardsRead, 10) }),
    body: null,
    handle: async ({ services, tenant, params, query }) => {
      const { config, fields, awards } = await readUser(services.engine, tenant, params.id, {
        system: (active) => requireSystem(active, params.key).no,
        count: query.awards,
      });
      const system = known(config.systems, params.key, 'points system');
      const total = Number(fields[`${userFields.pointsTotal}${system.no}`] ?? 0);
      const level = levelAt(system, total);
      return {
        status: 200,
        body: {
          ...systemResponse(system),
          total,
          level: level && levelResponse(level),
          awards: awards.map((blob) => {
            const { id, at, award } = unpackMessage<RecentAward>(blob);
            return awardResponse(config, id, at, award);
          }),
        },
      };
    },
  }),
];
