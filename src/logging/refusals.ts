import type { Logger } from 'pino';
import type { LaurelError, NotReadyReason } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/**
 * Logs requests that get a 503: the first of each reason as a line, further ones as a count each `limits.refusalsLogMs`. Records the affected
 * tenants.
 */
export class Refusals {
  private readonly log: Logger;
  /** The number of requests by reason that are not logged yet. */
  private readonly unlogged = new Map<NotReadyReason, number>();
  private readonly refused = new Set<number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(log: Logger) {
    this.log = log;
  }

  /** Records a refused request. `logOf` returns the request's log; `tenant` is undefined if unknown. */
  record({ reason, message }: LaurelError, logOf: () => Logger, tenant: number | undefined): void {
    const unlogged = this.unlogged.get(reason);
    if (unlogged === undefined) logOf().warn({ reason, error: message }, 'request refused with 503');
    this.unlogged.set(reason, unlogged === undefined ? 0 : unlogged + 1);
    if (tenant !== undefined && this.refused.size < limits.metricsBusyTenants) this.refused.add(tenant);
    this.timer ??= setInterval(() => {
      this.flush();
    }, limits.refusalsLogMs).unref();
  }

  /** The tenants with refused requests, in the order of their first refusal. */
  get tenants(): readonly number[] {
    return [...this.refused];
  }

  /** Removes a tenant that is served again. */
  served(tenant: number): void {
    this.refused.delete(tenant);
  }

  /** Logs the counts. A reason without requests since the last call has ended. */
  flush(): void {
    for (const [reason, requests] of this.unlogged) {
      if (requests === 0) this.unlogged.delete(reason);
      else {
        this.log.warn({ reason, requests }, 'more requests refused with 503');
        this.unlogged.set(reason, 0);
      }
    }
    if (this.unlogged.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
