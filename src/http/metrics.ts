import { z } from 'zod';
import { eventShape } from '../engine/shapes.js';
import { trackEvent } from '../engine/track.js';
import { eventSchema } from '../metrics/schema.js';
import { keyText } from '../routing/query.js';
import { defineRoute, type Route } from '../routing/route.js';

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
