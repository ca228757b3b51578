import { z } from 'zod';
import {
  type AdminKey,
  createAdminKeys,
  deleteAdminKeys,
  getAdminKey,
  listAdminKeys,
  rotateAdminKeys,
  updateAdminKeys,
} from '../../access/admin-keys.js';
import { keyAccesses, keyFields, keyPermissions } from '../../access/keys.js';
import { createApplicationKeys, deleteApplicationKeys, listApplicationKeys } from '../../access/key-store.js';
import { oneOf } from '../../config/schema/fields.js';
import { callersIdSchema, idSchema, lineSchema } from '../../engine/user-properties.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { boundedArray, instantShape } from '../../shared/shapes.js';
import { type Route, defineRoute } from '../route.js';
import { batch, batchResponses, batchStatus, deletedSchema, idList, issueSchema, pageQuery, report } from './requests.js';

const adminKeySchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    prefix: z.string(),
    status: z.enum(['active', 'revoked']),
    access: z.enum(keyAccesses).meta({ description: '`read`: the key may change nothing.' }),
    created: instantShape,
    revoked: instantShape.nullable(),
    lastUsed: instantShape.nullable(),
    tenantId: z.uuid().nullable().meta({ description: 'The tenant that the key is bound to; null for a key of the account.' }),
  })
  .meta({ id: 'AdminKey' });
/** With the key itself, which is shown this once. */
const madeSchema = adminKeySchema.extend({ key: z.string() }).meta({ id: 'CreatedAdminKey' });

const name = lineSchema(0, limits.maxNameChars);
const tenantId = callersIdSchema.meta({
  description: 'Binds the key to a tenant, named by its id or customerId: its calls are about that tenant without a `Tenant-ID` header.',
});
const access = oneOf(keyAccesses).meta({ description: '`full` without it. `read`: the key may call only what changes nothing.' });
const id = z.uuid('must be a UUID');
const issues = z.array(issueSchema);

const show = <T extends AdminKey>({ created, revoked, lastUsed, ...key }: T) => ({
  ...key,
  created: created.toISOString(),
  revoked: revoked?.toISOString() ?? null,
  lastUsed: lastUsed?.toISOString() ?? null,
});

export const adminKeyRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/admin-api-keys',
    operation: 'admin_admin_api_keys_list',
    summary: 'List admin keys, the oldest first, with when each was last used',
    responses: { 200: z.array(adminKeySchema) },
    query: pageQuery,
    handle: async ({ services: { account }, query }) => {
      await account.noteUse();
      return { status: 200, body: (await account.store((pool) => listAdminKeys(pool, query))).map(show) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/admin-api-keys/{id}',
    operation: 'admin_admin_api_keys_get',
    summary: 'Read an admin key, and when it was last used',
    responses: { 200: adminKeySchema },
    params: z.object({ id }),
    handle: async ({ services: { account }, params }) => {
      const known = await account.store((pool) => getAdminKey(pool, params.id));
      if (known) await account.noteUse();
      const key = known && (await account.store((pool) => getAdminKey(pool, params.id)));
      if (!key) throw new LaurelError('not_found', `There is no admin key with the id ${JSON.stringify(params.id)}.`);
      return { status: 200, body: show(key) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/admin-api-keys',
    operation: 'admin_admin_api_keys_create',
    summary: 'Create admin keys, of the account or of one tenant; a key is shown this once',
    responses: batchResponses(z.object({ created: z.array(madeSchema), issues })),
    body: batch(z.object({ name, tenantId: tenantId.optional(), access: access.optional() })),
    handle: async ({ services: { account }, body }) => {
      const items = body.map((item) => ({
        name: item.name,
        access: item.access ?? 'full',
        tenant: item.tenantId === undefined ? null : account.findTenant(item.tenantId),
      }));
      const outcomes = await account.store((pool) => createAdminKeys(pool, items));
      await account.announce();
      const { done, issues: problems } = report(body, outcomes, () => ({}));
      return { status: batchStatus(done.length), body: { created: done.map(show), issues: problems } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/admin-api-keys/rotate',
    operation: 'admin_admin_api_keys_rotate',
    summary: 'Create a key in the place of each; the old ones stay valid until they are revoked',
    responses: batchResponses(z.object({ created: z.array(madeSchema), issues })),
    body: batch(z.object({ id })),
    handle: async ({ services: { account }, body }) => {
      const outcomes = await account.store((pool) =>
        rotateAdminKeys(
          pool,
          body.map((item) => item.id),
        ),
      );
      await account.announce();
      const { done, issues: problems } = report(body, outcomes, (item) => ({ id: item.id }));
      return { status: batchStatus(done.length), body: { created: done.map(show), issues: problems } };
    },
  }),
  defineRoute({
    method: 'patch',
    path: '/admin-api-keys',
    operation: 'admin_admin_api_keys_update',
    summary: 'Rename admin keys, and revoke them for good',
    responses: { 200: z.object({ updated: z.array(adminKeySchema), issues }) },
    body: batch(z.object({ id, name: name.optional(), status: z.literal('revoked').optional() })),
    handle: async ({ services: { account }, body }) => {
      const outcomes = await account.store((pool) => updateAdminKeys(pool, body));
      await account.announce();
      const { done, issues: problems } = report(body, outcomes, (item) => ({ id: item.id }));
      return { status: 200, body: { updated: done.map(show), issues: problems } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/admin-api-keys',
    operation: 'admin_admin_api_keys_delete',
    summary: 'Revoke admin keys and take them off the list',
    responses: { 200: z.object({ deleted: z.array(deletedSchema), issues }) },
    query: idList,
    handle: async ({ services: { account }, query: { ids } }) => {
      const outcomes = await account.store((pool) => deleteAdminKeys(pool, ids));
      await account.announce();
      const { done, issues: problems } = report(ids, outcomes, (one) => ({ id: one }));
      return { status: 200, body: { deleted: done, issues: problems } };
    },
  }),
];

/** The contract's `CreatedApplicationKey`. */
const createdSchema = z
  .object({ id: z.uuid(), userId: z.string(), key: z.string(), prefix: z.string() })
  .meta({ id: 'CreatedApplicationKey' });
const unknown = { problem: 'There is no application key with this id.' };

/** What limits a key. */
const limitFields = {
  permissions: boundedArray(z.enum(keyPermissions), keyPermissions.length)
    .optional()
    .meta({ description: 'The groups of routes that the key may call; all routes that are open to application keys without it.' }),
  fields: boundedArray(z.enum(keyFields), keyFields.length)
    .optional()
    .meta({ description: 'What the key may write of its user, in an event too. Without it: all, or nothing if there are `permissions`.' }),
  maxEventValue: z
    .number()
    .min(0)
    .max(limits.maxAbsoluteTotal)
    .optional()
    .meta({ description: 'The largest `value` of an event; the smallest is then 0.' }),
  expires: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date-time such as 2026-01-31T12:00:00Z' })
    .optional()
    .meta({ description: 'When the key stops being valid.' }),
};

const applicationKeySchema = z
  .object({
    id: z.uuid(),
    userId: z.string(),
    prefix: z.string(),
    status: z.enum(['active', 'expired']).meta({ description: 'Revoked keys are not listed.' }),
    permissions: z.array(z.enum(keyPermissions)).nullable().meta({ description: 'Null: all routes that are open to application keys.' }),
    fields: z.array(z.enum(keyFields)).nullable().meta({ description: 'Null: everything of the user.' }),
    maxEventValue: z.number().nullable(),
    expires: instantShape.nullable(),
    created: instantShape,
    lastUsed: instantShape.nullable(),
  })
  .meta({ id: 'ApplicationKey' });

export const applicationKeyRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/application-api-keys',
    operation: 'admin_application_api_keys_list',
    summary: 'List application keys, the oldest first, with when each was last used',
    responses: { 200: z.array(applicationKeySchema) },
    query: pageQuery.extend({ userId: idSchema.optional() }),
    handle: async ({ services: { account }, tenant, query: { userId, ...page } }) => {
      await account.noteUse();
      const keys = await account.store((pool) => listApplicationKeys(pool, tenant, { ...page, userId }));
      const body = keys.map(({ created, lastUsed, expires, ...key }) => ({
        ...key,
        status: expires && expires.getTime() <= account.now() ? 'expired' : 'active',
        created: created.toISOString(),
        expires: expires?.toISOString() ?? null,
        lastUsed: lastUsed?.toISOString() ?? null,
      }));
      return { status: 200, body };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/application-api-keys',
    operation: 'admin_application_api_keys_create',
    summary: 'Create application keys, each for the data of one user; a key is shown this once',
    responses: batchResponses(z.object({ created: z.array(createdSchema), issues })),
    description:
      'Without limits, a key may call every route that is open to application keys. Limit the keys of web pages (docs/keys.md). ' +
      'A key with `permissions` and without `fields` may write no property of the user.',
    body: batch(z.object({ userId: idSchema, ...limitFields })),
    handle: async ({ services: { account }, tenant, body }) => {
      const items = body.map(({ expires, ...item }) => ({ ...item, expires: expires === undefined ? null : new Date(expires) }));
      const outcomes = await account.store((pool) => createApplicationKeys(pool, { tenant, items, nowMs: account.now() }));
      const { done, issues: problems } = report(body, outcomes, ({ userId }) => ({ userId }));
      return { status: batchStatus(done.length), body: { created: done, issues: problems } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/application-api-keys',
    operation: 'admin_application_api_keys_delete',
    summary: 'Revoke application keys: every process refuses them within a second',
    responses: { 200: z.object({ deleted: z.array(deletedSchema), issues }) },
    query: idList,
    handle: async ({ services, tenant, query: { ids } }) => {
      const found = await services.account.store((pool) => deleteApplicationKeys(pool, tenant, ids));
      await services.account.announce();
      const outcomes = found.map((isFound, i) => (isFound ? { id: ids[i] ?? '' } : unknown));
      const { done, issues: problems } = report(ids, outcomes, (id) => ({ id }));
      return { status: 200, body: { deleted: done, issues: problems } };
    },
  }),
];
