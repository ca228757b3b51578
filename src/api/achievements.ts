import { z } from 'zod';
import { achievementWithStatsShape, userAchievementWithStatsShape } from '../responses/achievements.js';
import { completeAchievement, listAchievements } from '../engine/achievements.js';
import { completionShape } from '../responses/events.js';
import { readUserAchievements } from '../engine/users.js';
import { attributeFilters, keyText, onlyTrueText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { idSchema, propertiesIn, userPropertiesSchema } from '../engine/user-properties.js';

export const achievementRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/achievements',
    operation: 'achievements_all',
    description: 'Lists active achievements; `rarity` is the percentage of users who completed one, to two decimals.',
    responses: { 200: z.array(achievementWithStatsShape) },
    summary: 'List all achievements, with how many users have completed each',
    access: 'anyone',
    query: z.object({ userAttributes: attributeFilters }),
    handle: async ({ services, tenant, query }) => ({
      status: 200,
      body: await listAchievements(services.engine, tenant, query.userAttributes),
    }),
  }),
  defineRoute({
    method: 'post',
    path: '/achievements/{key}/complete',
    operation: 'achievements_complete',
    description:
      'Only achievements with the trigger `api`. A second completion is a 422. Points and composite achievements follow as in ' +
      'an event.',
    responses: { 201: completionShape },
    summary: 'Complete an achievement for a user',
    access: ({ body }) => [body.user.id],
    writes: ({ body }) => ({ fields: propertiesIn(body.user) }),
    params: z.object({ key: keyText('achievement') }),
    body: z.object({ user: userPropertiesSchema.extend({ id: idSchema }) }),
    handle: async ({ services, tenant, params, body }) => ({
      status: 201,
      body: await completeAchievement(services.engine, tenant, params.key, body.user),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/achievements',
    operation: 'users_achievements',
    description: 'A locked achievement is listed only if the user has completed it.',
    responses: { 200: z.array(userAchievementWithStatsShape) },
    summary: "Read a user's achievements",
    access: ({ params }) => [params.id],
    params: z.object({ id: idSchema }),
    query: z.object({
      includeIncomplete: onlyTrueText(
        '`true` lists the achievements that the user has not completed as well. With any other value, only completed ones.',
      ),
    }),
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readUserAchievements(services.engine, tenant, params.id, query.includeIncomplete),
    }),
  }),
];
