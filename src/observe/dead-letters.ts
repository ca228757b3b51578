import type pg from 'pg';
import type { Registry } from 'prom-client';
import { limits } from '../limits.js';
import { absentGauge } from './absent.js';
import type { Refresh } from './observation.js';

/**
 * The ledger entries that Postgres has refused and that nobody has dealt with yet (docs/operations/dead-letters.md), of all tenants and
 * whichever worker put them aside. They are counted up to a limit: that there are any is what matters, and a scrape stays cheap.
 */
export function deadLetterMetrics(registry: Registry, pool: pg.Pool): Refresh {
  const letters = absentGauge(
    registry,
    'laurel_dead_letters',
    `Dead letters in Postgres, of all tenants together; at most ${limits.metricsDeadLetters} are counted.`,
  );
  return async () => {
    letters.remove();
    const { rows } = await pool.query<{ count: number }>(
      'select count(*)::integer as count from (select 1 from dead_letters limit $1) as counted',
      [limits.metricsDeadLetters],
    );
    letters.set(rows[0]?.count ?? 0);
  };
}
