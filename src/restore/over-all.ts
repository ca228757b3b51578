import type pg from 'pg';
import { limits } from '../limits.js';

/**
 * Asks for something that takes in all users of a tenant, and so takes as long as it takes: with many millions of them, or a disk that has just
 * been started, longer than any other statement may.
 */
export async function overAll<Row extends pg.QueryResultRow>(pool: pg.Pool, text: string, values: unknown[]): Promise<Row[]> {
  const query: pg.QueryConfig & pg.ClientConfig = { text, values, query_timeout: limits.postgresOverAllTimeoutMs };
  return (await pool.query<Row>(query)).rows;
}

/** How many users Postgres has of a tenant. */
export async function countStoredUsers(pool: pg.Pool, tenant: number): Promise<number> {
  const [row] = await overAll<{ users: string }>(pool, 'select count(*) as users from users where tenant = $1', [tenant]);
  return Number(row?.users ?? 0);
}
