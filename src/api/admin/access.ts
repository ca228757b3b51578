import { z } from 'zod';
import { auditWays, type ListedAuditEntry } from '../../access/audit.js';
import type { ListedSession } from '../../access/sessions.js';
import { idSchema } from '../../engine/user-properties.js';
import { limits } from '../../shared/limits.js';
import { instantShape } from '../../shared/shapes.js';
import { integerText } from '../query.js';
import { type Route, defineRoute } from '../route.js';
import { deletedSchema, idList, issueSchema, pageQuery, report } from './requests.js';

const sessionSchema = z
  .object({
    id: z.uuid(),
    keyId: z.uuid().meta({ description: 'The admin key that the operator signed in with, whose rights the session has.' }),
    keyName: z.string(),
    created: instantShape,
    expires: instantShape,
    lastUsed: instantShape.meta({ description: 'Saved at most once a minute.' }),
    current: z.boolean().meta({ description: 'Whether this request belongs to the session.' }),
  })
  .meta({ id: 'DashboardSession' });

const showSession = (
  { created, expires, lastUsed, ...session }: ListedSession,
  current: string | undefined,
): z.infer<typeof sessionSchema> => ({
  ...session,
  created: created.toISOString(),
  expires: expires.toISOString(),
  lastUsed: lastUsed.toISOString(),
  current: session.id === current,
});

export const entrySchema = z
  .object({
    id: z.string(),
    at: instantShape,
    tenantId: z.uuid().nullable().meta({ description: 'The tenant that the change concerns; null for a change of the account.' }),
    key: z
      .object({ id: z.uuid(), name: z.string(), prefix: z.string() })
      .nullable()
      .meta({ description: 'The admin key; null for a command.' }),
    via: z.enum(auditWays).meta({ description: '`command`: `laurel apply`, `laurel restore` or `laurel keys`.' }),
    operation: z.string().meta({ description: 'The operation’s name in this reference, or the name of the command.' }),
    summary: z.string(),
    userId: z.string().nullable().meta({ description: 'The user, of a change that is about one user who was not deleted since.' }),
    users: z.array(z.string()).meta({ description: 'All users that the change is about.' }),
    ignoredFields: z.array(z.string()).meta({ description: 'The fields of the request that the API does not know, and ignored.' }),
    configurationVersion: z.number().int().nullable().meta({ description: 'The version of the configuration that the change saved.' }),
  })
  .meta({ id: 'AuditEntry' });

export const showEntry = ({ at, users, ...entry }: ListedAuditEntry): z.infer<typeof entrySchema> => ({
  ...entry,
  at: at.toISOString(),
  users: [...users],
  ignoredFields: [...entry.ignoredFields],
  userId: users.length === 1 ? (users[0] ?? null) : null,
});

const cursor = z.string().regex(/^[1-9]\d{0,17}$/, 'must be the `next` of an earlier response');

/** Who is signed in to the dashboard, and who changed what. A key bound to a tenant sees those of its tenant. */
export const accessRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/dashboard-sessions',
    operation: 'admin_dashboard_sessions_list',
    description: 'A key bound to a tenant sees the sessions of the tenant’s keys, any other key all of them.',
    summary: 'List the open sessions of the dashboard, the newest first',
    responses: { 200: z.array(sessionSchema) },
    query: pageQuery,
    handle: async ({ services, principal, query }) => {
      const sessions = await services.sessions.list(principal.tenant, query);
      return { status: 200, body: sessions.map((session) => showSession(session, principal.sessionId)) };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/dashboard-sessions',
    operation: 'admin_dashboard_sessions_delete',
    description: 'Every process refuses them within a second. Their keys stay valid.',
    summary: 'End sessions of the dashboard',
    responses: { 200: z.object({ deleted: z.array(deletedSchema), issues: z.array(issueSchema) }) },
    query: idList,
    handle: async ({ services, principal, query: { ids } }) => {
      const outcomes = await services.sessions.endAll(ids, principal.tenant);
      const { done, issues } = report(ids, outcomes, (id) => ({ id }));
      return { status: 200, body: { deleted: done, issues } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/audit-log',
    operation: 'admin_audit_log_list',
    description:
      'Successful changes through the Admin API, those through the Application API from the dashboard, and commands. ' +
      'A key bound to a tenant sees the entries of its tenant, any other key all of them. Entries are kept for 400 days.',
    summary: 'List who changed what, the newest first',
    responses: { 200: z.object({ entries: z.array(entrySchema), next: z.string().nullable() }) },
    query: z.object({
      limit: integerText(1, limits.maxBatchItems, 50),
      cursor: cursor.optional().meta({ description: 'The `next` of the page before.' }),
      user: idSchema.optional().meta({ description: 'Only changes that are about this user.' }),
    }),
    handle: async ({ services, principal, query }) => {
      const found = await services.audit.list(principal.tenant, { ...query, limit: query.limit + 1 });
      const entries = found.slice(0, query.limit);
      return {
        status: 200,
        body: { entries: entries.map(showEntry), next: found.length > query.limit ? (entries.at(-1)?.id ?? null) : null },
      };
    },
  }),
];
