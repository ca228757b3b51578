import { z } from 'zod';
import { areAttributes, attributesSchema, idSchema, propertiesIn, userIdProblem, userPropertiesSchema } from '../engine/user-properties.js';
import { trackEvent } from '../engine/events.js';
import { eventShape } from '../responses/events.js';
import { canonicalZone } from '../shared/calendar.js';
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

type EventBody = z.infer<typeof eventSchema>;

/** Whether a value is an object without other fields than these. */
function hasOnly<F extends string>(sent: unknown, fields: readonly F[]): sent is Partial<Record<F, unknown>> {
  return typeof sent === 'object' && sent !== null && Object.keys(sent).every((field) => fields.some((known) => known === field));
}

/**
 * An event as most are, of a user with an id and perhaps a time zone, as `eventSchema` would return it, which takes longer. Undefined for any other:
 * the schema decides on it, and has all the sentences.
 */
export function plainEvent(sent: unknown): EventBody | undefined {
  if (!hasOnly(sent, ['user', 'value', 'attributes']) || !hasOnly(sent.user, ['id', 'tz'])) return undefined;
  const { id, tz } = sent.user;
  if (typeof id !== 'string' || typeof userIdProblem(id) === 'string') return undefined;
  if (tz !== undefined && (typeof tz !== 'string' || canonicalZone(tz) !== tz)) return undefined;
  if (typeof sent.value !== 'number' || Math.abs(sent.value) > limits.maxAbsoluteTotal) return undefined;
  return sent.attributes === undefined || areAttributes(sent.attributes) ? (sent as EventBody) : undefined;
}

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
    plainBody: plainEvent,
    handle: async ({ services, tenant, params, body, idempotencyKey }) => {
      const { user, value, attributes } = body;
      const tracked = await trackEvent(services.engine, tenant, { metricKey: params.key, user, value, attributes, idempotencyKey });
      return { status: tracked.replayed ? 202 : 201, body: tracked.body };
    },
  }),
];
