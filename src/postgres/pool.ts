import pg from 'pg';
import { limits } from '../shared/limits.js';

/** How long a connection may take to open. */
export const connectTimeoutMs = 5_000;

/** The bounds and the isolation that each connection sets for its session. */
const sessionSettings = (timeoutMs: number): Readonly<Record<string, string>> => ({
  // Postgres cancels a statement when this process gives it up; otherwise it would continue, or wait for its lock, while retries pile up behind it.
  statement_timeout: String(timeoutMs),
  // It ends a transaction whose process is frozen, so that a worker that freezes in the middle of a batch does not hold its lease's row.
  idle_in_transaction_session_timeout: String(limits.leaseMs),
  // Whatever the server's default is: every statement here is written for it, and `serializable` fails some.
  default_transaction_isolation: 'read committed',
});

/**
 * Sets them by a statement: a pooler such as PgBouncer refuses them as parameters of the connection. Throws when Postgres refuses one, since
 * without them a frozen process would lock the ledger.
 */
async function prepareSession(client: pg.ClientBase, timeoutMs: number): Promise<void> {
  const settings = Object.entries(sessionSettings(timeoutMs));
  const columns = settings.map((_, at) => `set_config($${at * 2 + 1}, $${at * 2 + 2}, false)`);
  await client.query(`select ${columns.join(', ')}`, settings.flat());
}

/**
 * A pool of connections. `onError` receives the errors of idle connections; the pool replaces these by itself. Every wait is bounded, here and in
 * Postgres.
 */
export function createPool(
  url: string,
  size: number,
  onError: (error: Error) => void,
  timeoutMs: number = limits.postgresQueryTimeoutMs,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: timeoutMs,
    application_name: 'laurel',
    // pg-pool waits for the promise; its types don't say so.
    // eslint-disable-next-line @typescript-eslint/no-misused-promises
    onConnect: (client) => prepareSession(client, timeoutMs),
  });
  pool.on('error', onError);
  return pool;
}

/** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>, begin = 'begin'): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const breaks = (error: Error): void => {
    broken = error;
  };
  // The pool listens to idle connections only. The error of one in use would be an unhandled event and end the process.
  client.on('error', breaks);
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(breaks);
    throw error;
  } finally {
    client.off('error', breaks);
    client.release(broken);
  }
}

/** Reads in one snapshot of the database: concurrent commits are invisible. */
export function inSnapshot<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, work, 'begin isolation level repeatable read read only');
}

/**
 * Runs a statement over all users of a tenant in the transaction of `client`, with the timeout limits.postgresOverAllTimeoutMs: with many millions
 * of users, or a cold disk, it takes longer than any other statement may.
 */
export async function queryAllUsers<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  text: string,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const query: pg.QueryConfig & pg.ClientConfig = { text, values, query_timeout: limits.postgresOverAllTimeoutMs };
  await client.query(`set local statement_timeout = ${limits.postgresOverAllTimeoutMs}`);
  const result = await client.query<Row>(query);
  await client.query('set local statement_timeout to default');
  return result;
}

/** Runs `queryAllUsers` in a transaction of its own. Returns the rows. */
export async function readAllUsers<Row extends pg.QueryResultRow>(pool: pg.Pool, text: string, values: unknown[]): Promise<Row[]> {
  return inTransaction(pool, async (client) => (await queryAllUsers<Row>(client, text, values)).rows);
}
