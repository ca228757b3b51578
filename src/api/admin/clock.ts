import { z } from 'zod';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { instantShape } from '../../shared/shapes.js';
import { type Route, type Services, defineRoute } from '../route.js';

/** Without TEST_CLOCK the route does not exist (docs/rules/time.md). */
function requireTestClock({ clock }: Services): void {
  if (!clock.settable) throw new LaurelError('not_found', 'The test clock is off: start the service with TEST_CLOCK=1.');
}

const clockShape = z.object({ now: instantShape }).meta({ id: 'Clock' });

const body = (nowMs: number): z.infer<typeof clockShape> => ({ now: new Date(nowMs).toISOString() });

export const clockRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/clock',
    operation: 'admin_clock_get',
    responses: { 200: clockShape },
    summary: 'Read the test clock',
    handle: async ({ services, tenant }) => {
      requireTestClock(services);
      return { status: 200, body: body(await services.clock.now(tenant)) };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/clock',
    operation: 'admin_clock_set',
    description:
      'Only with `TEST_CLOCK=1`, and only forward. Does everything that is due by then. If that takes more than about 30 seconds, responds with 202 ' +
      'and the time that is reached: repeat the request.',
    responses: { 200: clockShape, 202: clockShape },
    summary: 'Move the test clock forward',
    body: z.object({
      now: z.iso
        .datetime({ offset: true, error: 'must be an ISO 8601 date-time such as 2026-01-31T12:00:00Z' })
        .refine((now) => !(Date.parse(now) >= limits.testClockEndMs), {
          error: `must be before ${new Date(limits.testClockEndMs).toISOString()}`,
        }),
    }),
    handle: async ({ services, body: { now } }) => {
      requireTestClock(services);
      const reached = await services.advance(Date.parse(now));
      return { status: reached < Date.parse(now) ? 202 : 200, body: body(reached) };
    },
  }),
];

export const readyRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/ready',
    operation: 'admin_ready',
    responses: { 200: z.object({ status: z.literal('ready') }).meta({ id: 'TenantReady' }) },
    summary: 'Check whether a tenant is served: 503 with the reason while its Redis is unavailable or out of sync, or its ledger is full',
    handle: async ({ services, tenant }) => {
      await services.engine.checkReady(tenant);
      return { status: 200, body: { status: 'ready' } };
    },
  }),
];
