import { z } from 'zod';
import { attributesSchema, idSchema, userPropertiesSchema } from '../engine/user-properties.js';
import { trackEvent } from '../engine/events.js';
import { eventShape } from '../responses/events.js';
import { limits } from '../shared/limits.js';
import { keyText } from './query.js';
import { type Route, defineRoute } from './route.js';

/** One event as callers send it (spec, "Event"), but for its metric. */
export const eventSchema = z.object({
  user: userPropertiesSchema.extend({ id: idSchema }),
  value: z
    .number()
    .min(-limits.maxAbsoluteTotal)
    .max(limits.maxAbsoluteTotal)
    .meta({ description: 'What is added to the total; negative or a decimal is fine.' }),
  attributes: attributesSchema.optional(),
});

/** `POST /metrics/{key}/event`: 201 when the event was counted, 202 when its idempotency key had been used before. */
export const metricRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/metrics/{key}/event',
    operation: 'metrics_event',
    answers: { 201: eventShape, 202: eventShape },
    idempotent: true,
    summary: 'Count one event of a user on a metric',
    access: ({ body }) => [body.user.id],
    params: z.object({ key: keyText('metric') }),
    query: z.object({}),
    body: eventSchema,
    handle: async ({ services, tenant, params, body, idempotencyKey }) => {
      const { user, value, attributes } = body;
      const answer = await trackEvent(services.engine, tenant, { metricKey: params.key, user, value, attributes, idempotencyKey });
      return { status: answer.replayed ? 202 : 201, body: answer.body };
    },
  }),
];
