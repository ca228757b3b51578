import { z } from 'zod';
import {
  archiveTenants,
  createTenants,
  getTenant,
  listTenants,
  updateTenants,
  type Tenant,
  type TenantOutcome,
} from '../../access/tenants.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { defineRoute, type Route, type Services } from '../route.js';
import { instantShape } from '../../shared/shapes.js';
import { callersIdSchema, lineSchema } from '../../engine/user-properties.js';
import { batch, batchResponses, batchStatus, deletedSchema, idList, issueSchema, pageQuery, report } from './requests.js';

/** The contract's `AdminTenant`. */
const tenantSchema = z
  .object({
    id: z.uuid(),
    customerId: z.string(),
    name: z.string(),
    status: z.enum(['active', 'archived']),
    created: instantShape,
    updated: instantShape,
  })
  .meta({ id: 'Tenant' });

/** It goes into a header, which loses the spaces around it. */
const customerId = callersIdSchema.refine((text) => text.trim() === text, 'must not begin or end with a space');
const name = lineSchema(1, limits.maxNameChars);
const id = z.uuid('must be a UUID');
const issues = z.array(issueSchema);

const show = ({ no: _, customerId: customer, created, updated, ...tenant }: Tenant): z.infer<typeof tenantSchema> => ({
  ...tenant,
  customerId: customer ?? '',
  created: created.toISOString(),
  updated: updated.toISOString(),
});

/** Announces the changes of a batch, and reports its outcomes. */
async function settle<I>(
  { account }: Services,
  items: readonly I[],
  outcomes: readonly TenantOutcome[],
  named: (item: I) => { readonly id?: string },
): Promise<{ done: Tenant[]; issues: z.infer<typeof issues> }> {
  await account.announce();
  return report(items, outcomes, named);
}

/** The contract's `AdminEnvironment`. */
const environmentSchema = z
  .object({ name: z.string(), key: z.string(), priority: z.int().min(1).max(10).meta({ description: 'Production is always 1.' }) })
  .meta({ id: 'Environment' });

export const environmentRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/environments',
    operation: 'admin_environments_list',
    summary: 'List environments: an installation is one, production',
    responses: { 200: z.array(environmentSchema) },
    handle: () => Promise.resolve({ status: 200, body: [{ name: 'Production', key: 'production', priority: 1 }] }),
  }),
];

export const tenantRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/tenants',
    operation: 'admin_tenants_list',
    summary: 'List tenants, the oldest first',
    responses: { 200: z.array(tenantSchema) },
    query: pageQuery,
    handle: async ({ services, query }) => ({
      status: 200,
      body: (await services.account.store((pool) => listTenants(pool, query))).map(show),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/tenants/{id}',
    operation: 'admin_tenants_get',
    summary: 'Read a tenant',
    responses: { 200: tenantSchema },
    params: z.object({ id }),
    handle: async ({ services, params }) => {
      const tenant = await services.account.store((pool) => getTenant(pool, params.id));
      if (!tenant) throw new LaurelError('not_found', `There is no tenant with the id ${JSON.stringify(params.id)}.`);
      return { status: 200, body: show(tenant) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/tenants',
    operation: 'admin_tenants_create',
    summary: 'Create tenants, each with an empty configuration',
    responses: batchResponses(z.object({ created: z.array(tenantSchema), issues })),
    body: batch(z.object({ customerId, name })),
    handle: async ({ services, body }) => {
      const outcomes = await services.account.store((pool) => createTenants(pool, body));
      const { done, issues: problems } = await settle(services, body, outcomes, () => ({}));
      return { status: batchStatus(done.length), body: { created: done.map(show), issues: problems } };
    },
  }),
  defineRoute({
    method: 'patch',
    path: '/tenants',
    operation: 'admin_tenants_update',
    summary: 'Change tenants: only what is sent is changed',
    responses: { 200: z.object({ updated: z.array(tenantSchema), issues }) },
    body: batch(z.object({ id, customerId: customerId.optional(), name: name.optional() })),
    handle: async ({ services, body }) => {
      const outcomes = await services.account.store((pool) => updateTenants(pool, body));
      const { done, issues: problems } = await settle(services, body, outcomes, (item) => ({ id: item.id }));
      return { status: 200, body: { updated: done.map(show), issues: problems } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/tenants',
    operation: 'admin_tenants_delete',
    summary: 'Archive tenants: they are unknown from then on',
    responses: { 200: z.object({ deleted: z.array(deletedSchema), issues }) },
    query: idList,
    handle: async ({ services, query }) => {
      const outcomes = await services.account.store((pool) => archiveTenants(pool, query.ids));
      const { done, issues: problems } = await settle(services, query.ids, outcomes, (item) => ({ id: item }));
      return { status: 200, body: { deleted: done.map((tenant) => ({ id: tenant.id })), issues: problems } };
    },
  }),
];
