import { z } from 'zod';
import { completeForUser, requireApiTrigger } from '../../engine/achievements.js';
import { idSchema } from '../../engine/user-properties.js';
import { requireAchievementById, type ActiveConfig } from '../../plan/active-config.js';
import { counted } from '../../shared/counted.js';
import { defineRoute, type Route } from '../route.js';
import { batch, batchResponses, batchStatus, dryRun, eachItem, issueSchema, uuid } from './requests.js';

const responseSchema = z.object({
  completedUsers: z.array(z.string()).meta({ description: 'The users who have completed it now; in a dry run, those who would.' }),
  issues: z.array(issueSchema),
});

/** Achievements by operators (docs/rules/achievements.md). */
export const achievementAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/achievements/{id}/completions',
    operation: 'admin_achievements_completions_create',
    description:
      'Only of an achievement whose trigger is `api`. Points, webhooks and messages follow as for other completions. An unknown user is an issue. A ' +
      'user who has completed it before is an issue of severity `warning`, so a batch can be repeated. A dry run is a 200.',
    responses: batchResponses(responseSchema),
    summary: 'Complete an achievement for users',
    audit: ({ params: { id }, body: { dryRun: isDryRun }, response }) => {
      const { completedUsers: users } = response as z.infer<typeof responseSchema>;
      return isDryRun || users.length === 0 ? undefined : { summary: `${counted(users.length, 'completion')} made of ${id}`, users };
    },
    params: z.object({ id: uuid }),
    body: z.object({ users: batch(z.object({ id: idSchema })), dryRun }),
    handle: async ({ services, tenant, params: { id }, body: { users, dryRun: isDryRun } }) => {
      const pick = (config: ActiveConfig) => {
        const achievement = requireAchievementById(config, id);
        requireApiTrigger(achievement);
        return achievement;
      };
      pick(await services.engine.config(tenant));
      const { done: completedUsers, issues } = await eachItem(
        users,
        ({ id: user }) => completeForUser(services.engine, tenant, pick, { user, isDryRun }),
        ({ id: userId }) => ({ userId }),
      );
      return { status: isDryRun ? 200 : batchStatus(completedUsers.length), body: { completedUsers, issues } };
    },
  }),
];
