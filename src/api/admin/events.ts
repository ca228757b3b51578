import { z } from 'zod';
import { correctEvent } from '../../engine/corrections.js';
import { trackBatch } from '../../engine/events.js';
import { limits } from '../../shared/limits.js';
import { eventSchema } from '../events.js';
import { defineRoute, type Route } from '../route.js';
import { callersIdSchema, idSchema } from '../../engine/user-properties.js';
import { countOf } from '../audit.js';
import { batch, issueOf, issueSchema, uuid } from './requests.js';

/** The contract's `BatchMetricEventUser`, which has no `signUpDate`. */
const batchEventSchema = eventSchema.extend({
  key: z.string(),
  user: eventSchema.shape.user.omit({ signUpDate: true }),
  idempotencyKey: callersIdSchema.optional(),
});

/** The contract's `BatchEventsResponse`, with the reasons why events were not counted. */
const responseSchema = z.object({ accepted: z.number().int(), issues: z.array(issueSchema) });

const correctionSchema = z
  .object({
    eventId: z.uuid().meta({ description: 'The event that takes back the other one.' }),
    corrects: z.uuid(),
    value: z.number().meta({ description: 'What it added to the total: the negative value of the event that it corrects.' }),
    idempotentReplayed: z.boolean().meta({ description: 'Whether the event was corrected before, so that nothing was counted.' }),
  })
  .meta({ id: 'EventCorrection' });

export const eventAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/metrics/events',
    operation: 'admin_metrics_batch_events',
    isTraffic: true,
    audit: ({ response }) => countOf((response as z.infer<typeof responseSchema>).accepted, 'event', 'counted'),
    description:
      'Each event is atomic, in the order of the batch. A wrong shape anywhere is a 422, and nothing is counted. An event ' +
      "that the configuration or the user's state refuses is in `issues`, and the others are counted. After a 503, send the " +
      'batch again with the same keys.',
    summary: 'Count many events, in order',
    responses: { 202: responseSchema },
    body: batch(batchEventSchema, limits.maxBatchEvents),
    maxBodyBytes: limits.maxBatchEventsBytes,
    handle: async ({ services, tenant, body }) => {
      const { accepted, issues } = await trackBatch(
        services.engine,
        tenant,
        body.map(({ key, user, value, attributes, idempotencyKey }) => ({ metricKey: key, user, value, attributes, idempotencyKey })),
      );
      const response: z.infer<typeof responseSchema> = {
        accepted,
        issues: issues.map(({ index, userId, message }) => issueOf(index, { userId }, message)),
      };
      return { status: 202, body: response };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/users/{id}/events/{eventId}/correction',
    operation: 'admin_users_events_correct',
    description:
      'Counts the negative value of the event now, with its metric and attributes, and once: a second call is a 200 and changes ' +
      'nothing. Totals, leaderboards and the sums of achievements and triggers follow; streaks, points and completed achievements stay.',
    responses: { 200: correctionSchema, 201: correctionSchema },
    summary: 'Take back an event that was sent by mistake',
    audit: ({ response }) => countOf((response as z.infer<typeof correctionSchema>).idempotentReplayed ? 0 : 1, 'event', 'corrected'),
    params: z.object({ id: idSchema, eventId: uuid }),
    handle: async ({ services, tenant, params: { id, eventId } }) => {
      const body = await correctEvent(services, tenant, id, eventId);
      return { status: body.idempotentReplayed ? 200 : 201, body };
    },
  }),
];
