import { z } from 'zod';
import { defineRoute, type Route } from '../routing/route.js';

export const readyRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/ready',
    operation: 'admin_ready',
    answers: { 200: z.object({ status: z.literal('ready') }).meta({ id: 'TenantReady' }) },
    summary: 'Whether a tenant is served: 503 with the reason while its Redis is away or out of sync, or its ledger is full',
    params: z.object({}),
    query: z.object({}),
    body: null,
    handle: async ({ services, tenant }) => {
      await services.engine.checkReady(tenant);
      return { status: 200, body: { status: 'ready' } };
    },
  }),
];
