import { Gauge, type Registry } from 'prom-client';
import { LaurelError, type NotReadyReason } from '../errors.js';
import { limits } from '../limits.js';
import type { Refresh } from './observation.js';
import type { Refusals } from '../logging/refusals.js';

/** Why a tenant, or the process, can't serve now; undefined when it can. */
async function reasonOf(check: Promise<unknown>): Promise<NotReadyReason | undefined> {
  return check.then(
    () => undefined,
    (error: unknown) => (error instanceof LaurelError ? error.reason : 'other'),
  );
}

/**
 * The tenants whose requests this process refuses. A scrape looks at those of which it has refused some, at most limits.metricsUnreadyTenants of
 * them, whether they are ready again; five of them are named.
 */
export function unreadyMetrics(registry: Registry, refusals: Refusals, checkReady: (tenant: number) => Promise<void>): Refresh {
  const count = new Gauge({
    ...{ name: 'laurel_tenants_not_ready', help: 'Tenants whose requests this process answers with 503.' },
    registers: [registry],
  });
  const named = new Gauge({
    name: 'laurel_tenant_not_ready',
    help: 'Why a tenant is not ready: the five that this process has refused for the longest time.',
    labelNames: ['tenant', 'reason'],
    registers: [registry],
  });
  return async () => {
    named.reset();
    const looked = refusals.tenants.slice(0, limits.metricsUnreadyTenants);
    const reasons = await Promise.all(looked.map((tenant) => reasonOf(checkReady(tenant))));
    const unready = looked.flatMap((tenant, i) => {
      const reason = reasons[i];
      if (reason === undefined) refusals.served(tenant);
      return reason === undefined ? [] : [{ tenant, reason }];
    });
    count.set(refusals.tenants.length);
    for (const labels of unready.slice(0, limits.metricsWorstTenants)) named.set(labels, 1);
  };
}
