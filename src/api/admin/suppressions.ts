/** Addresses that receive no emails (docs/messages-unsubscribe.md). */
import { z } from 'zod';
import { oneOf } from '../../config/schema/fields.js';
import { textSchema } from '../../engine/user-properties.js';
import { isSmtpAddress } from '../../messages/addresses/address.js';
import { suppressionReasons, type Suppression } from '../../messages/addresses/suppressions.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { instantShape } from '../../shared/shapes.js';
import { type Route, defineRoute } from '../route.js';

const email = textSchema(1, limits.maxEmailChars);
const query = z.object({ email });
/** An address that emails can be sent to. Look-ups and deletions accept any text, also one that was stored before this check. */
const suppressible = email.refine((text) => isSmtpAddress(text.trim()), 'must be an email address such as ana@example.com');

const suppressionSchema = z
  .object({ email: z.string(), reason: z.enum(suppressionReasons), created: instantShape })
  .meta({ id: 'Suppression' });

const show = (address: string, { reason, created }: Suppression): z.infer<typeof suppressionSchema> => ({
  email: address,
  reason,
  created: created.toISOString(),
});

const notSuppressed = (): LaurelError => new LaurelError('not_found', 'This address is not suppressed.');

export const suppressionRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/suppressions',
    operation: 'admin_suppressions_get',
    description: 'Only a keyed hash of each address is stored, so addresses can be looked up but not listed.',
    summary: 'Look up whether an address receives no emails, and why',
    responses: { 200: suppressionSchema },
    query,
    handle: async ({ services, tenant, query: { email: address } }) => {
      const found = await services.suppressions.find(tenant, address);
      if (!found) throw notSuppressed();
      return { status: 200, body: show(address, found) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/suppressions',
    operation: 'admin_suppressions_add',
    description: 'For bounces of other providers. The reason `complained` also unsubscribes the users who have the address.',
    summary: 'Send no more emails to an address',
    responses: { 200: suppressionSchema },
    body: z.object({ email: suppressible, reason: oneOf(suppressionReasons).optional() }),
    handle: async ({ services, tenant, body: { email: address, reason = 'manual' } }) => {
      const added = await services.suppressions.add(tenant, address, reason);
      if (reason === 'complained') await services.feedback.unsubscribeAll(tenant, address);
      return { status: 200, body: show(address, added) };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/suppressions',
    operation: 'admin_suppressions_delete',
    summary: 'Send emails to an address again',
    responses: { 200: z.object({ email: z.string() }) },
    query,
    handle: async ({ services, tenant, query: { email: address } }) => {
      if (!(await services.suppressions.remove(tenant, address))) throw notSuppressed();
      return { status: 200, body: { email: address } };
    },
  }),
];
