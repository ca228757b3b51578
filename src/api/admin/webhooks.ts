import { z } from 'zod';
import { oneOf, whole } from '../../config/schema/fields.js';
import type { Webhook } from '../../config/schema/model.js';
import { webhookKinds } from '../../config/schema/webhook-kinds.js';
import { counted } from '../../shared/counted.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { instantShape } from '../../shared/shapes.js';
import { type Delivery, webhookStatuses } from '../../webhooks/admin.js';
import { type Route, type Services, defineRoute } from '../route.js';
import { attemptSchema, pageQuery, resendBody, resendDescription, resendResponse, uuid } from './requests.js';

const kind = oneOf(webhookKinds);

const deliverySchema = z
  .object({
    id: z.uuid().meta({ description: 'The `webhook-id` header, the same in every attempt.' }),
    kind: z.enum(webhookKinds),
    status: z.enum(webhookStatuses),
    userId: z.string().nullable(),
    occurred: instantShape.meta({ description: 'When it happened.' }),
    created: instantShape.meta({ description: 'When the message was created.' }),
    finished: instantShape.nullable().meta({ description: 'When it was delivered or abandoned.' }),
    attempts: z.number().int(),
    nextAttempt: instantShape.nullable().meta({ description: 'The earliest time of the next attempt; null if there is none.' }),
    payload: z.record(z.string(), z.unknown()),
    tries: z.array(attemptSchema).meta({ description: 'The latest attempts, the newest last.' }),
  })
  .meta({ id: 'WebhookDelivery' });

const showDelivery = (delivery: Delivery): z.infer<typeof deliverySchema> => ({
  id: delivery.id,
  kind: delivery.kind,
  status: delivery.status,
  userId: delivery.user_id,
  occurred: delivery.at.toISOString(),
  created: delivery.created.toISOString(),
  finished: delivery.finished?.toISOString() ?? null,
  attempts: delivery.attempts,
  nextAttempt: delivery.status === 'pending' ? delivery.next_attempt_at.toISOString() : null,
  payload: delivery.payload,
  tries: delivery.tries.map(({ at, durationMs, status, answer, error }) => ({ at, durationMs, status, answer, error })),
});

/** The endpoint with an id. Throws a 404. */
async function webhookOf({ configuration }: Services, tenant: number, id: string): Promise<Webhook> {
  const { webhooks } = await configuration.read(tenant);
  const found = webhooks.find((webhook) => webhook.id === id && !webhook.archived);
  if (!found) throw new LaurelError('not_found', `There is no webhook with the id ${id}.`);
  return found;
}

/** The endpoint with an id, which must be active. Throws a 404 or a 422. */
async function activeWebhook(services: Services, tenant: number, id: string): Promise<Webhook> {
  const webhook = await webhookOf(services, tenant, id);
  const state = (await services.webhooks.states(tenant, [webhook.no])).get(webhook.no);
  if (webhook.status !== 'active' || state?.switchedOff) {
    throw new LaurelError('unprocessable', 'The webhook is inactive: set its status to active first.');
  }
  return webhook;
}

/** Operations on an endpoint besides its configuration: its secret, tests and deliveries (docs/webhooks.md). */
export const deliveryRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/webhooks/{id}/rotate-secret',
    operation: 'admin_webhooks_rotate_secret',
    description: 'Until the overlap ends, messages carry the signatures of both secrets.',
    summary: 'Rotate the secret of a webhook: the new one is shown only once, and the old one stays valid for a while',
    responses: { 200: z.object({ id: z.uuid(), secret: z.string(), previousSecretValidUntil: instantShape.nullable() }) },
    params: z.object({ id: uuid }),
    body: z.object({ overlapHours: whole(0, limits.maxWebhookOverlapHours).optional() }),
    bodyOptional: true,
    handle: async ({ services, tenant, params: { id }, body: { overlapHours = limits.webhookOverlapHours } }) => {
      const { no } = await webhookOf(services, tenant, id);
      const { secret, previousUntil } = await services.webhooks.rotate(tenant, no, overlapHours);
      return { status: 200, body: { id, secret, previousSecretValidUntil: previousUntil?.toISOString() ?? null } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/webhooks/{id}/test',
    operation: 'admin_webhooks_test',
    description: 'The message is signed, but neither stored nor retried.',
    summary: 'Send an example message to a webhook and return the outcome',
    responses: { 200: attemptSchema.omit({ at: true }).extend({ id: z.string(), kind: z.enum(webhookKinds), delivered: z.boolean() }) },
    params: z.object({ id: uuid }),
    body: z.object({ kind: kind.optional() }),
    bodyOptional: true,
    handle: async ({ services, tenant, params: { id }, body }) => {
      const webhook = await webhookOf(services, tenant, id);
      const sent = body.kind ?? webhook.events[0] ?? 'points.changed';
      const { isAccepted, id: message, durationMs, status, answer, error } = await services.webhooks.test(tenant, webhook, sent);
      return { status: 200, body: { id: message, kind: sent, delivered: isAccepted, durationMs, status, answer, error } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/webhooks/totals',
    operation: 'admin_webhooks_totals',
    description: 'Of the deliveries that are still stored, which is for a week.',
    summary: 'Count the pending and the failed deliveries of each webhook',
    responses: { 200: z.array(z.object({ webhookId: z.uuid(), pending: z.number().int(), failed: z.number().int() })) },
    handle: async ({ services, tenant }) => {
      const [{ webhooks }, totals] = await Promise.all([services.configuration.read(tenant), services.webhooks.totals(tenant)]);
      const none = { pending: 0, failed: 0 };
      const listed = webhooks.filter(({ archived }) => !archived);
      return { status: 200, body: listed.map(({ id, no }) => ({ webhookId: id, ...(totals.get(no) ?? none) })) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/webhooks/{id}/deliveries',
    operation: 'admin_webhooks_deliveries',
    summary: 'List the deliveries of a webhook, the newest first',
    responses: { 200: z.array(deliverySchema) },
    params: z.object({ id: uuid }),
    query: pageQuery.extend({ status: oneOf(webhookStatuses).optional(), kind: kind.optional() }),
    handle: async ({ services, tenant, params: { id }, query }) => {
      const { no } = await webhookOf(services, tenant, id);
      return { status: 200, body: (await services.webhooks.deliveries(tenant, no, query)).map(showDelivery) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/webhooks/{id}/deliveries/resend',
    operation: 'admin_webhooks_deliveries_resend_failed',
    description: `${resendDescription} The webhook must be active.`,
    summary: 'Send the failed deliveries of a webhook again',
    responses: { 200: resendResponse },
    audit: ({ params: { id }, response }) => {
      const { resent } = response as z.infer<typeof resendResponse>;
      return resent === 0 ? undefined : { summary: `${counted(resent, 'failed delivery', 'failed deliveries')} of ${id} sent again` };
    },
    params: z.object({ id: uuid }),
    body: resendBody.extend({ kind: kind.optional() }),
    bodyOptional: true,
    handle: async ({ services, tenant, params: { id }, body: { kind: sent, from: fromMs, until: untilMs, cursor: after } }) => {
      const { no } = await activeWebhook(services, tenant, id);
      const kinds = sent === undefined ? undefined : [sent];
      return { status: 200, body: await services.webhooks.resendFailed(tenant, no, { kinds, span: { fromMs, untilMs }, after }) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/webhooks/{id}/deliveries/{deliveryId}/resend',
    operation: 'admin_webhooks_deliveries_resend',
    description: 'With all of its attempts, whatever its status. The webhook must be active.',
    summary: 'Send a delivery again',
    responses: { 200: deliverySchema },
    params: z.object({ id: uuid, deliveryId: uuid }),
    handle: async ({ services, tenant, params: { id, deliveryId } }) => {
      const { no } = await activeWebhook(services, tenant, id);
      const delivery = await services.webhooks.resend(tenant, no, deliveryId);
      if (!delivery) throw new LaurelError('not_found', `There is no delivery with the id ${deliveryId}.`);
      return { status: 200, body: showDelivery(delivery) };
    },
  }),
];
