import type pg from 'pg';
import type { Registry } from 'prom-client';
import { runningRestores } from '../ledger/offsets.js';
import type { RedisConnection } from '../redis/connection.js';
import { readRestoredUsers } from '../restore/restore.js';
import { countStoredUsers } from '../restore/stored-users.js';
import { absentGauge } from './absent.js';
import type { Refresh } from './observation.js';

export interface RestoresOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** The start of a tenant's keys. */
  readonly partition: (tenant: number) => string;
}

/**
 * The restores that are under way, whoever does them: a worker, or `laurel restore` in another terminal. Each holds the lease of its tenant's
 * ledger in Postgres, and notes in Redis how far it is.
 */
export function restoreMetrics(registry: Registry, { redis, pool, partition }: RestoresOptions): Refresh {
  const running = absentGauge(registry, 'laurel_restore_running', 'Tenants whose Redis is being restored.');
  const users = absentGauge(registry, 'laurel_restore_users', 'Users of those tenants who are back.');
  const expected = absentGauge(registry, 'laurel_restore_users_expected', 'Users of those tenants in Postgres.');
  const repeated = absentGauge(
    registry,
    'laurel_restores_last_hour',
    'Restores of the tenant that was restored most often in the last hour.',
  );
  /** Counting a million users is not done for each scrape. */
  let totals = new Map<number, number>();
  return async () => {
    for (const gauge of [running, users, expected, repeated]) gauge.remove();
    const { rows } = await pool.query<{ most: number }>(
      `select coalesce(max(count), 0)::integer as most
         from (select count(*) as count from past_epochs where ended > now() - interval '1 hour' group by tenant) as counted`,
    );
    repeated.set(rows[0]?.most ?? 0);
    const tenants = await runningRestores(pool);
    running.set(tenants.length);
    const counted = new Map<number, number>();
    for (const tenant of tenants) counted.set(tenant, totals.get(tenant) ?? (await countStoredUsers(pool, tenant)));
    totals = counted;
    const back = await Promise.all(tenants.map((tenant) => readRestoredUsers(redis, partition(tenant))));
    users.set(back.reduce((sum, count) => sum + count, 0));
    expected.set([...totals.values()].reduce((sum, count) => sum + count, 0));
  };
}
