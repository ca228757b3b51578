import { z } from 'zod';
import { readProfile } from '../../engine/users.js';
import { instantShape } from '../../shared/shapes.js';
import { limits } from '../../shared/limits.js';
import { integerText } from '../query.js';
import { authorOf } from './author.js';
import { defineRoute, type Route } from '../route.js';
import { userResponse } from '../../responses/users.js';
import { callersIdSchema, idSchema, textSchema } from '../../engine/user-properties.js';
import { userShape } from '../../responses/users.js';

const userParams = z.object({ id: idSchema });

const confirmationSchema = z
  .object({
    email: z.string().nullable(),
    required: z.boolean().meta({ description: 'Whether the user receives no emails until the address is confirmed: CONFIRM_ADDRESSES.' }),
    status: z
      .enum(['none', 'sent', 'confirmed'])
      .meta({ description: 'Of this address: `sent` means that the user has a link to confirm it.' }),
    sent: instantShape.nullable().meta({ description: 'When the newest confirmation was sent.' }),
    confirmed: instantShape.nullable(),
  })
  .meta({ id: 'EmailConfirmation' });

export const userAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users',
    operation: 'admin_users_list',
    description: 'Sorted by id, byte by byte. `search` matches the start of an id or an email address, or the start of words of a name.',
    summary: 'List users by id, or search them by the start of an id, an email address or the words of a name',
    responses: { 200: z.array(userShape) },
    query: z.object({
      limit: integerText(1, limits.maxUsersPage, 10),
      skip: integerText(0, limits.maxUsersSkipped, 0),
      search: textSchema(1).optional(),
    }),
    handle: async ({ services, tenant, query }) => {
      const config = await services.engine.config(tenant);
      const { ledgerId } = await services.clock.ledgerId(tenant);
      await services.history.waitFor(tenant, ledgerId);
      const users = await services.directory.list(tenant, query);
      return { status: 200, body: users.map(({ id, profile }) => userResponse(config, id, profile)) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}',
    operation: 'admin_users_get',
    summary: 'Read a user',
    responses: { 200: userShape },
    params: userParams,
    handle: async ({ services, tenant, params }) => ({ status: 200, body: await readProfile(services.engine, tenant, params.id) }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/email-confirmation',
    operation: 'admin_users_email_confirmation_get',
    summary: 'Read whether a user has confirmed the email address',
    responses: { 200: confirmationSchema },
    params: userParams,
    handle: async ({ services, tenant, params }) => {
      const { email, isRequired, status, sent, confirmed } = await services.confirmations.find(tenant, params.id);
      const times = { sent: sent?.toISOString() ?? null, confirmed: confirmed?.toISOString() ?? null };
      return { status: 200, body: { email, required: isRequired, status, ...times } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/users/{id}/email-confirmation',
    operation: 'admin_users_email_confirmation_send',
    description:
      'Not for an address that is confirmed or suppressed. A mailbox receives at most one in ten minutes and ' +
      `${limits.maxConfirmationsADay} in a day, and a tenant may ask for ${limits.maxConfirmationsAsked} in an hour. ` +
      'With MESSAGES=log, it is logged and not sent.',
    summary: 'Send a user the email with the link that confirms the address',
    responses: {
      200: z.object({
        sent: z.boolean(),
        detail: z.string().nullable().meta({ description: 'What the server replied, or why the email was not sent.' }),
      }),
    },
    params: userParams,
    handle: async ({ services, tenant, params }) => ({ status: 200, body: await services.confirmations.send(tenant, params.id) }),
  }),
  defineRoute({
    method: 'delete',
    path: '/users/{id}',
    operation: 'admin_users_delete',
    description:
      'Responds when nothing is left of the user in Redis, Postgres or the ledger. An id that never became a user is deleted ' +
      'too if it has boosts, keys or messages. After a 503, the rest happens by itself, or nothing has been deleted.',
    summary: 'Delete a user and all data about the user',
    responses: { 200: z.object({ id: z.string() }) },
    archivedTenants: true,
    audit: () => ({ summary: '1 user deleted', users: [] }),
    // Not idSchema: a user may have been stored under an id that is refused by now.
    params: z.object({ id: callersIdSchema }),
    handle: async ({ services, principal, tenant, params }) => {
      await services.forget(tenant, params.id, await authorOf({ services, principal, tenant }));
      return { status: 200, body: { id: params.id } };
    },
  }),
];
