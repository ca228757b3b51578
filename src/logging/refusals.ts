import type { Logger } from 'pino';
import type { LaurelError, NotReadyReason } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/**
 * Logs requests that are answered with 503: the first of each reason as a line, the others as a sum each `limits.refusalsLogMs`. Remembers for
 * which tenants there were some.
 */
export class Refusals {
  private readonly log: Logger;
  /** Requests of a reason that are not logged yet. */
  private readonly unlogged = new Map<NotReadyReason, number>();
  private readonly refused = new Set<number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(log: Logger) {
    this.log = log;
  }

  /** A request has been refused; `logOf` makes the log of the request, and `tenant` is undefined where it is not known. */
  note({ reason, message }: LaurelError, logOf: () => Logger, tenant: number | undefined): void {
    const unlogged = this.unlogged.get(reason);
    if (unlogged === undefined) logOf().warn({ reason, error: message }, 'request answered with 503');
    this.unlogged.set(reason, unlogged === undefined ? 0 : unlogged + 1);
    if (tenant !== undefined && this.refused.size < limits.metricsBusyTenants) this.refused.add(tenant);
    this.timer ??= setInterval(() => {
      this.flush();
    }, limits.refusalsLogMs).unref();
  }

  /** The tenants with refused requests, those that have been refused for the longest time first. */
  get tenants(): readonly number[] {
    return [...this.refused];
  }

  /** A tenant is served again. */
  served(tenant: number): void {
    this.refused.delete(tenant);
  }

  /** Logs the sums. A reason that has not come up since the last time is over. */
  flush(): void {
    for (const [reason, requests] of this.unlogged) {
      if (requests === 0) this.unlogged.delete(reason);
      else {
        this.log.warn({ reason, requests }, 'more requests answered with 503');
        this.unlogged.set(reason, 0);
      }
    }
    if (this.unlogged.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
