import { z } from 'zod';
import { evaluationMode } from '../config/fields.js';
import { channels, notificationTypes, readPreferences, setPreferences } from '../engine/preferences.js';
import { limits } from '../limits.js';
import { boundedArray } from '../bounded.js';
import { defineRoute, type Route } from '../routing/route.js';
import { idSchema } from '../users/schema.js';
import { preferencesShape } from '../users/shapes.js';

const channelList = boundedArray(z.enum(channels), channels.length).refine(
  (list) => new Set(list).size === list.length,
  'must not name a channel twice',
);
const notifications = z.object(Object.fromEntries(notificationTypes.map((type) => [type, channelList.optional()])));

const streak = z.object({
  enabled: z.boolean().optional(),
  evaluationMode: evaluationMode.optional(),
  metrics: boundedArray(
    z.object({ key: z.string(), threshold: z.number().positive('must be above 0').max(limits.maxAbsoluteTotal) }),
    limits.maxStreakConditions,
  )
    .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'must not name a metric twice')
    .optional(),
});

const params = z.object({ id: idSchema });
const ofUser = (parts: { readonly params: z.infer<typeof params> }): readonly string[] => [parts.params.id];

export const preferenceRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users/{id}/preferences',
    operation: 'users_get_preferences',
    answers: { 200: preferencesShape },
    summary: 'Read what a user prefers',
    access: ofUser,
    params,
    query: z.object({}),
    body: null,
    handle: async ({ services, tenant, params: { id } }) => ({ status: 200, body: await readPreferences(services.engine, tenant, id) }),
  }),
  defineRoute({
    method: 'patch',
    path: '/users/{id}/preferences',
    operation: 'users_update_preferences',
    answers: { 200: preferencesShape },
    summary: 'Change what a user prefers: only what is sent is changed',
    access: ofUser,
    params,
    query: z.object({}),
    body: z.object({ notifications: notifications.optional(), streak: streak.optional() }),
    handle: async ({ services, tenant, params: { id }, body }) => ({
      status: 200,
      body: await setPreferences(services.engine, tenant, id, body),
    }),
  }),
];
