import { z } from 'zod';
import { completeAchievement, listAchievements } from '../engine/achievements.js';
import { readUserAchievements } from '../engine/users.js';
import { attributeFilters } from '../routing/query.js';
import { defineRoute, type Route } from '../routing/route.js';
import { idSchema, userPropertiesSchema } from '../users/schema.js';

export const achievementRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/achievements',
    summary: 'List all achievements, with how many users have completed each',
    params: z.object({}),
    query: z.object({ userAttributes: attributeFilters }),
    body: null,
    handle: async ({ services, tenant, query }) => ({
      status: 200,
      body: await listAchievements(services.engine, tenant, query.userAttributes),
    }),
  }),
  defineRoute({
    method: 'post',
    path: '/achievements/{key}/complete',
    summary: 'Complete an achievement for a user',
    params: z.object({ key: z.string() }),
    query: z.object({}),
    body: z.object({ user: userPropertiesSchema.extend({ id: idSchema }) }),
    handle: async ({ services, tenant, params, body }) => ({
      status: 201,
      body: await completeAchievement(services.engine, tenant, params.key, body.user),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/achievements',
    summary: "Read a user's achievements",
    params: z.object({ id: idSchema }),
    query: z.object({ includeIncomplete: z.enum(['true', 'false']).optional() }),
    body: null,
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserAchievements(services.engine, tenant, params.id, query.includeIncomplete === 'true'),
    }),
  }),
];
