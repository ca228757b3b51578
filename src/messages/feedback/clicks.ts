import type pg from 'pg';
import type { Logger } from 'pino';
import { FailureLog } from '../../logging/failure-log.js';
import { limits } from '../../shared/limits.js';
import type { ClickTarget } from '../addresses/links.js';

/** Counts clicks beside the redirects, which wait for nothing. A click that can't be stored is lost. */
export class ClickCounter {
  private readonly pool: pg.Pool;
  private readonly failures: FailureLog;
  private readonly inFlight = new Set<Promise<void>>();

  constructor(pool: pg.Pool, log: Logger) {
    this.pool = pool;
    this.failures = new FailureLog(log, { failed: 'click not counted', recovered: 'clicks are counted again', level: 'warn' });
  }

  /** Counts a click on a link of a delivery. */
  count({ tenant, delivery }: Pick<ClickTarget, 'tenant' | 'delivery'>): void {
    if (this.inFlight.size >= limits.maxClicksInFlight) {
      this.failures.failed(tenant, new Error(`${limits.maxClicksInFlight} clicks are waiting for Postgres`));
      return;
    }
    const counting = this.pool
      .query('update deliveries set clicks = clicks + 1 where id = $1 and tenant = $2', [delivery, tenant])
      .then(
        () => {
          this.failures.succeeded(tenant);
        },
        (error: unknown) => {
          this.failures.failed(tenant, error);
        },
      )
      .finally(() => this.inFlight.delete(counting));
    this.inFlight.add(counting);
  }

  /** Waits for the clicks that are being counted. */
  async stop(): Promise<void> {
    await Promise.all(this.inFlight);
  }
}
