import { z } from 'zod';
import { attributesSchema, idSchema, propertiesIn, userPropertiesSchema } from '../engine/user-properties.js';
import { trackEvent } from '../engine/events.js';
import { eventShape } from '../responses/events.js';
import { limits } from '../shared/limits.js';
import { keyText } from './query.js';
import { type Route, defineRoute } from './route.js';

/** The body of an event (docs/rules/events.md). Its metric is in the path. */
export const eventSchema = z.object({
  user: userPropertiesSchema.extend({ id: idSchema }),
  value: z
    .number()
    .min(-limits.maxAbsoluteTotal)
    .max(limits.maxAbsoluteTotal)
    .meta({ description: 'Added to the total. May be negative or a decimal.' }),
  attributes: attributesSchema.optional(),
});

/** `POST /metrics/{key}/event`: 201 for a new event, 202 for a repeated idempotency key. */
export const metricRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/metrics/{key}/event',
    operation: 'metrics_event',
    description:
      'All effects of the event happen in one atomic step, or none; the response contains everything that it changed. A ' +
      'request with an `Idempotency-Key` that this user has used on this metric responds with 202 and changes nothing.',
    responses: { 201: eventShape, 202: eventShape },
    idempotent: true,
    summary: 'Track an event of a user on a metric',
    access: ({ body }) => [body.user.id],
    permission: 'events',
    writes: ({ body: { user, value } }) => ({ fields: propertiesIn(user), eventValue: value }),
    params: z.object({ key: keyText('metric') }),
    body: eventSchema,
    handle: async ({ services, tenant, params, body, idempotencyKey }) => {
      const { user, value, attributes } = body;
      const tracked = await trackEvent(services.engine, tenant, { metricKey: params.key, user, value, attributes, idempotencyKey });
      return { status: tracked.replayed ? 202 : 201, body: tracked.body };
    },
  }),
];
