import type pg from 'pg';
import type { Registry } from 'prom-client';
import { limits } from '../limits.js';
import { absentGauge } from './absent.js';
import type { Refresh } from './observation.js';

/**
 * The ledger entries that Postgres has refused, and those that a restore has removed, as long as they are kept (docs/operations/dead-letters.md), of
 * all tenants and whichever process put them aside. They are counted up to a limit: that there are any is what matters, and a scrape stays cheap.
 */
export function deadLetterMetrics(registry: Registry, pool: pg.Pool): Refresh {
  const letters = absentGauge(
    registry,
    'laurel_dead_letters',
    `Dead letters in Postgres, of all tenants together; at most ${limits.metricsDeadLetters} are counted.`,
  );
  const discarded = absentGauge(
    registry,
    'laurel_discarded_entries',
    `Ledger entries that a restore removed from Redis before Postgres had them, and saved as dead letters; at most ${limits.metricsDeadLetters} are counted.`,
  );
  return async () => {
    for (const gauge of [letters, discarded]) gauge.remove();
    const { rows } = await pool.query<{ letters: number; discarded: number }>(
      `select (select count(*)::integer from (select 1 from dead_letters where epoch is null limit $1) as refused) as letters,
              (select count(*)::integer from (select 1 from dead_letters where epoch is not null limit $1) as saved) as discarded`,
      [limits.metricsDeadLetters],
    );
    letters.set(rows[0]?.letters ?? 0);
    discarded.set(rows[0]?.discarded ?? 0);
  };
}
