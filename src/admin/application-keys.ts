import { z } from 'zod';
import { createApplicationKeys, deleteApplicationKeys } from '../keys/store.js';
import { defineRoute, type Route } from '../routing/route.js';
import { idSchema } from '../users/schema.js';
import { batch, batchAnswers, batchStatus, deletedSchema, idList, issueSchema, report } from './batch.js';

/** The contract's `CreatedApplicationKey`. */
const createdSchema = z
  .object({ id: z.uuid(), userId: z.string(), key: z.string(), prefix: z.string() })
  .meta({ id: 'CreatedApplicationKey' });
const issues = z.array(issueSchema);
const none = z.object({});
const unknown = { problem: 'There is no application key with this id.' };

export const applicationKeyRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/application-api-keys',
    operation: 'admin_application_api_keys_create',
    summary: 'Create application keys, each for the data of one user; a key is shown this once',
    answers: batchAnswers(z.object({ created: z.array(createdSchema), issues })),
    params: none,
    query: none,
    body: batch(z.object({ userId: idSchema })),
    handle: async ({ services, tenant, body }) => {
      const userIds = body.map(({ userId }) => userId);
      const outcomes = await services.account.store((pool) => createApplicationKeys(pool, tenant, userIds));
      const { done, issues: problems } = report(body, outcomes, ({ userId }) => ({ userId }));
      return { status: batchStatus(done.length), body: { created: done, issues: problems } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/application-api-keys',
    operation: 'admin_application_api_keys_delete',
    summary: 'Revoke application keys: no process accepts them any more when this has been answered',
    answers: { 200: z.object({ deleted: z.array(deletedSchema), issues }) },
    params: none,
    query: idList,
    body: null,
    handle: async ({ services, tenant, query: { ids } }) => {
      const found = await services.account.store((pool) => deleteApplicationKeys(pool, tenant, ids));
      await services.account.announce();
      const outcomes = found.map((isFound, i) => (isFound ? { id: ids[i] ?? '' } : unknown));
      const { done, issues: problems } = report(ids, outcomes, (id) => ({ id }));
      return { status: 200, body: { deleted: done, issues: problems } };
    },
  }),
];
