import { Counter, type Registry } from 'prom-client';
import { absentGauge } from './absent.js';
import type { Refresh } from './observation.js';

/** What is watched of the deliveries of webhooks (notify/deliverer.ts). */
export interface WatchedDeliveries {
  readonly counts: { readonly tried: number; readonly delivered: number; readonly failed: number };
  backlog(): Promise<{ readonly switchedOff: number; readonly overdueMs: number }>;
}

/** What this process' deliverer has done, and what waits in Postgres, of all tenants together. */
export function webhookMetrics(registry: Registry, deliverer: WatchedDeliveries): Refresh {
  const registers = [registry];
  const tries = new Counter({
    ...{
      name: 'laurel_webhook_tries_total',
      help: 'Requests that this process has made to webhook endpoints, retries included.',
      registers,
    },
  });
  const ended = new Counter({
    ...{ name: 'laurel_webhook_deliveries_total', help: 'Webhook deliveries that this process has ended, by result: delivered, failed.' },
    ...{ labelNames: ['result'] as const, registers },
  });
  const switchedOff = absentGauge(
    registry,
    'laurel_webhook_endpoints_switched_off',
    'Webhook endpoints that are switched off because they failed for days.',
  );
  const overdue = absentGauge(
    registry,
    'laurel_webhook_overdue_seconds',
    'For how long the webhook delivery that is due for the longest time has waited; what inactive endpoints keep is left out.',
  );
  return async () => {
    const { counts } = deliverer;
    tries.reset();
    tries.inc(counts.tried);
    ended.reset();
    ended.inc({ result: 'delivered' }, counts.delivered);
    ended.inc({ result: 'failed' }, counts.failed);
    for (const gauge of [switchedOff, overdue]) gauge.remove();
    const backlog = await deliverer.backlog();
    switchedOff.set(backlog.switchedOff);
    overdue.set(backlog.overdueMs / 1000);
  };
}
