import { z } from 'zod';
import { daysOff, evaluationMode } from '../config/schema/fields.js';
import { channels, notificationTypes } from '../config/schema/message-types.js';
import { idSchema, propertiesIn, userPropertiesSchema } from '../engine/user-properties.js';
import {
  type IdentifyMode,
  identifyUser,
  readPreferences,
  readProfile,
  readUserMetric,
  readUserMetrics,
  readUserPoints,
  setPreferences,
} from '../engine/users.js';
import { metricShape } from '../responses/metrics.js';
import { userPointsShape } from '../responses/points.js';
import { preferencesShape, userShape } from '../responses/users.js';
import { limits } from '../shared/limits.js';
import { boundedArray } from '../shared/shapes.js';
import { integerText, keyText } from './query.js';
import { type Route, defineRoute } from './route.js';

const userParams = z.object({ id: idSchema });

function identifyRoute(method: 'put' | 'patch', operation: string, mode: IdentifyMode, summary: string): Route {
  return defineRoute({
    method,
    path: '/users/{id}',
    operation,
    responses: { 200: userShape },
    summary,
    access: ({ params }) => [params.id],
    permission: 'identify',
    writes: ({ body }) => ({ fields: propertiesIn(body) }),
    params: userParams,
    body: userPropertiesSchema,
    handle: async ({ services, tenant, params, body }) => ({
      status: 200,
      body: await identifyUser(services.engine, tenant, mode, { ...body, id: params.id }),
    }),
  });
}

export const userRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/users',
    operation: 'users_create',
    description: 'A known id is a 422.',
    responses: { 201: userShape },
    summary: 'Create a user',
    access: ({ body }) => [body.id],
    permission: 'identify',
    writes: ({ body }) => ({ fields: propertiesIn(body) }),
    body: userPropertiesSchema.extend({ id: idSchema }),
    handle: async ({ services, tenant, body: { id, ...properties } }) => ({
      status: 201,
      body: await identifyUser(services.engine, tenant, 'create', { ...properties, id }),
    }),
  }),
  identifyRoute('put', 'users_identify', 'upsert', 'Identify a user: create or change'),
  identifyRoute('patch', 'users_update', 'update', 'Change a user'),
  defineRoute({
    method: 'get',
    path: '/users/{id}',
    operation: 'users_get',
    responses: { 200: userShape },
    summary: 'Read a user',
    access: ({ params }) => [params.id],
    params: userParams,
    handle: async ({ services, tenant, params }) => ({
      status: 200,
      body: await readProfile(services.engine, tenant, params.id),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics',
    operation: 'users_all_metrics',
    responses: { 200: z.array(metricShape) },
    summary: 'Read all metric totals of a user',
    access: ({ params }) => [params.id],
    params: userParams,
    handle: async ({ services, tenant, params }) => ({
      status: 200,
      body: await readUserMetrics(services.engine, tenant, params.id),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics/{key}',
    operation: 'users_single_metric',
    responses: { 200: metricShape },
    summary: 'Read one metric total of a user',
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema, key: keyText('metric') }),
    handle: async ({ services, tenant, params }) => ({
      status: 200,
      body: await readUserMetric(services.engine, tenant, params.id, params.key),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/points/{key}',
    operation: 'users_points',
    description: '`level` is null if there are no levels or none is reached.',
    responses: { 200: userPointsShape },
    summary: "Read a user's points, level and most recent awards",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema, key: keyText('points system') }),
    query: z.object({ awards: integerText(1, limits.maxAwardsRead, 10) }),
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserPoints(services.engine, tenant, params.id, { key: params.key, awards: query.awards }),
    }),
  }),
];

const channelList = boundedArray(z.enum(channels), channels.length).refine(
  (list) => new Set(list).size === list.length,
  'must not list a channel twice',
);
const notifications = z.object(Object.fromEntries(notificationTypes.map((type) => [type, channelList.optional()])));

const streak = z.object({
  enabled: z.boolean().optional(),
  evaluationMode: evaluationMode.optional(),
  metrics: boundedArray(
    z.object({ key: z.string(), threshold: z.number().positive('must be above 0').max(limits.maxAbsoluteTotal) }),
    limits.maxStreakConditions,
  )
    .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'must not list a metric twice')
    .optional(),
  daysOff: daysOff.optional().meta({ description: 'Weekdays that do not count for the daily streak, from 0 (Sunday) to 6 (Saturday).' }),
});

const params = z.object({ id: idSchema });
const ofUser = (parts: { readonly params: z.infer<typeof params> }): readonly string[] => [parts.params.id];

export const preferenceRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users/{id}/preferences',
    operation: 'users_get_preferences',
    responses: { 200: preferencesShape },
    summary: "Read a user's preferences",
    access: ofUser,
    params,
    handle: async ({ services, tenant, params: { id } }) => ({ status: 200, body: await readPreferences(services.engine, tenant, id) }),
  }),
  defineRoute({
    method: 'patch',
    path: '/users/{id}/preferences',
    operation: 'users_update_preferences',
    description:
      'An empty list of channels switches a type off. While personalization is off, `streak` takes only `enabled`: conditions and days off are a 403.',
    responses: { 200: preferencesShape },
    summary: "Change a user's preferences: only the fields you send",
    access: ofUser,
    permission: 'identify',
    writes: () => ({ fields: ['preferences'] }),
    params,
    body: z.object({ notifications: notifications.optional(), streak: streak.optional() }),
    handle: async ({ services, tenant, params: { id }, body }) => ({
      status: 200,
      body: await setPreferences(services.engine, tenant, id, body),
    }),
  }),
];
