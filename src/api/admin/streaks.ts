import { z } from 'zod';
import { Refusal, refusal, type Result } from '../../engine/refusals.js';
import { addPause, changeStreak, removePause } from '../../engine/streaks.js';
import { outcomes } from '../../redis/contract.js';
import { countOf } from '../audit.js';
import { defineRoute, type Route } from '../route.js';
import { dateShape, dateText } from '../../shared/shapes.js';
import { idSchema } from '../../engine/user-properties.js';
import { batch, batchResponses, batchStatus, deletedSchema, dryRun, eachItem, idList, issueSchema } from './requests.js';

const issues = z.array(issueSchema);
const issuesIn = (response: unknown): number => (response as { readonly issues: readonly unknown[] }).issues.length;

/** The contract's `AdminStreakPause`. */
const pauseShape = z
  .object({ id: z.uuid(), userId: z.string(), start: dateShape, end: dateShape, status: z.enum(['active', 'archived']) })
  .meta({ id: 'StreakPause' });
type Pause = z.infer<typeof pauseShape>;

export const streakAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/streaks/freezes',
    operation: 'admin_streaks_freezes_create',
    description: 'May exceed the configured maximum, up to 100 per user. A dry run is a 200: all items without an issue would succeed.',
    responses: batchResponses(z.object({ issues })),
    summary: 'Give users a streak freeze each',
    audit: ({ body: { freezes, dryRun: isDryRun }, response }) =>
      isDryRun ? undefined : countOf(freezes.length - issuesIn(response), 'streak freeze', 'given'),
    body: z.object({ freezes: batch(z.object({ userId: idSchema })), dryRun }),
    handle: async ({ services, tenant, body: { freezes, dryRun: isDryRun } }) => {
      const { done, issues } = await eachItem(
        freezes,
        ({ userId }) => changeStreak(services.engine, tenant, 'grantFreeze', userId, isDryRun),
        ({ userId }) => ({ userId }),
      );
      return { status: isDryRun ? 200 : batchStatus(done.length), body: { issues } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/streaks/freezes/take',
    operation: 'admin_streaks_freezes_take',
    description: 'A user who holds no freeze is an issue.',
    responses: { 200: z.object({ issues }) },
    summary: 'Take a streak freeze from users',
    audit: ({ body: { freezes }, response }) => countOf(freezes.length - issuesIn(response), 'streak freeze', 'taken'),
    body: z.object({ freezes: batch(z.object({ userId: idSchema })) }),
    handle: async ({ services, tenant, body: { freezes } }) => {
      const { issues } = await eachItem(
        freezes,
        ({ userId }) => changeStreak(services.engine, tenant, 'takeFreeze', userId),
        ({ userId }) => ({ userId }),
      );
      return { status: 200, body: { issues } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/streaks/pauses',
    operation: 'admin_streaks_pauses_create',
    description:
      "Both dates are included. A pause that starts before the user's local date is an issue. A user has at most 100 pauses; " +
      'a new one replaces the one that ended first.',
    responses: batchResponses(z.object({ created: z.array(pauseShape), issues })),
    summary: "Pause users' streaks",
    body: z.object({ pauses: batch(z.object({ userId: idSchema, start: dateText, end: dateText })) }),
    handle: async ({ services, tenant, body }) => {
      const { done: created, issues } = await eachItem(
        body.pauses,
        async ({ userId, start, end }): Promise<Result<Pause>> => {
          if (end < start) return { ok: false, refusal: new Refusal('The end of a pause must not be before its start.') };
          const result = await addPause(services.engine, tenant, userId, { start, end });
          return result.ok ? { ok: true, value: { id: result.value, userId, start, end, status: 'active' } } : result;
        },
        ({ userId }) => ({ userId }),
      );
      return { status: batchStatus(created.length), body: { created, issues } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/streaks/pauses',
    operation: 'admin_streaks_pauses_delete',
    responses: { 200: z.object({ deleted: z.array(deletedSchema), issues }) },
    summary: 'Delete pauses',
    query: idList,
    handle: async ({ services, tenant, query }) => {
      const { ledgerId } = await services.clock.ledgerId(tenant);
      await services.history.waitFor(tenant, ledgerId);
      const { done, issues } = await eachItem(
        query.ids,
        async (id): Promise<Result<string>> => {
          const owner = await services.history.pauseOwner(tenant, id);
          if (owner === undefined) return { ok: false, refusal: refusal(outcomes.pauseUnknown) };
          return removePause(services.engine, tenant, owner, id);
        },
        (id) => ({ id }),
      );
      return { status: 200, body: { deleted: done.map((id) => ({ id })), issues } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/streaks/restore',
    operation: 'admin_streaks_restore',
    description:
      'Sets the streak back to the length that it had when it was last lost. A running streak that is longer is an issue, and ' +
      'so is a user who never lost one.',
    responses: batchResponses(z.object({ restoredUsers: z.array(z.string()), issues })),
    summary: 'Restore the last streaks that users lost',
    audit: ({ response }) => {
      const users = (response as { restoredUsers: string[] }).restoredUsers;
      return countOf(users.length, 'streak', 'restored', users);
    },
    body: z.object({ users: batch(z.object({ id: idSchema })) }),
    handle: async ({ services, tenant, body }) => {
      const { done: restoredUsers, issues } = await eachItem(
        body.users,
        ({ id }) => changeStreak(services.engine, tenant, 'restoreStreak', id),
        ({ id }) => ({ userId: id }),
      );
      return { status: batchStatus(restoredUsers.length), body: { restoredUsers, issues } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/streaks/reset',
    operation: 'admin_streaks_reset',
    description:
      'Ends the current streak at once, also in a period in which it was extended. A restore brings it back. A user who has no ' +
      'streak is an issue of severity `warning`.',
    responses: { 200: z.object({ resetUsers: z.array(z.string()), issues }) },
    summary: "Reset users' streaks",
    audit: ({ response }) => {
      const users = (response as { resetUsers: string[] }).resetUsers;
      return countOf(users.length, 'streak', 'reset', users);
    },
    body: z.object({ users: batch(z.object({ id: idSchema })) }),
    handle: async ({ services, tenant, body }) => {
      const { done: resetUsers, issues } = await eachItem(
        body.users,
        ({ id }) => changeStreak(services.engine, tenant, 'resetStreak', id),
        ({ id }) => ({ userId: id }),
      );
      return { status: 200, body: { resetUsers, issues } };
    },
  }),
];
