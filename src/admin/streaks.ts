import { z } from 'zod';
import { isDate } from '../calendar.js';
import { addPause, grantFreeze, removePause, restoreStreak } from '../engine/streaks.js';
import { defineRoute, type Route } from '../routing/route.js';
import { idSchema } from '../users/schema.js';
import { batch, eachItem } from './batch.js';

const date = z.string().refine(isDate, 'must be a date such as 2026-01-31');

export const streakAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/streaks/freezes',
    summary: 'Give users a streak freeze each',
    params: z.object({}),
    query: z.object({}),
    body: z.object({ freezes: batch(z.object({ userId: idSchema })) }),
    handle: async ({ services, tenant, body }) => ({
      status: 201,
      body: {
        issues: await eachItem(
          body.freezes,
          ({ userId }) => grantFreeze(services.engine, tenant, userId),
          ({ userId }) => ({ userId }),
        ),
      },
    }),
  }),
  defineRoute({
    method: 'post',
    path: '/streaks/pauses',
    summary: "Pause users' streaks",
    params: z.object({}),
    query: z.object({}),
    body: z.object({ pauses: batch(z.object({ userId: idSchema, start: date, end: date })) }),
    handle: async ({ services, tenant, body }) => {
      const created: object[] = [];
      const issues = await eachItem(
        body.pauses,
        async ({ userId, start, end }) => {
          if (end < start) return 'The end of a pause must not be before its start.';
          const { id, problem } = await addPause(services.engine, tenant, userId, start, end);
          if (problem === undefined) created.push({ id, userId, start, end, status: 'active' });
          return problem;
        },
        ({ userId }) => ({ userId }),
      );
      return { status: 201, body: { created, issues } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/streaks/pauses',
    summary: 'Delete pauses',
    params: z.object({}),
    query: z.object({ ids: z.union([z.uuid('must be a UUID').transform((id) => [id]), batch(z.uuid('must be a UUID'))]) }),
    body: null,
    handle: async ({ services, tenant, query }) => {
      const deleted: object[] = [];
      const { ledgerId } = await services.clock.ledgerId(tenant);
      await services.history.waitFor(tenant, ledgerId);
      const issues = await eachItem(
        query.ids,
        async (id) => {
          const owner = await services.history.pauseOwner(tenant, id);
          if (owner === undefined) return 'There is no pause with this id.';
          const problem = await removePause(services.engine, tenant, owner, id);
          if (problem === undefined) deleted.push({ id });
          return problem;
        },
        (id) => ({ id }),
      );
      return { status: 200, body: { deleted, issues } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/streaks/restore',
    summary: 'Restore the streaks that users have lost last',
    params: z.object({}),
    query: z.object({}),
    body: z.object({ users: batch(z.object({ id: idSchema })) }),
    handle: async ({ services, tenant, body }) => {
      const restoredUsers: string[] = [];
      const issues = await eachItem(
        body.users,
        async ({ id }) => {
          const problem = await restoreStreak(services.engine, tenant, id);
          if (problem === undefined) restoredUsers.push(id);
          return problem;
        },
        ({ id }) => ({ userId: id }),
      );
      return { status: 200, body: { restoredUsers, issues } };
    },
  }),
];
