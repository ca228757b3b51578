import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { LaurelError, OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

const migrationsFolder = fileURLToPath(new URL('../../migrations/', import.meta.url));
const connectTimeoutMs = 5_000;
const minimumServerVersion = 140_000;

/**
 * A pool of connections. `onError` receives the errors of idle connections; the pool replaces these by itself. Every wait is bounded: a statement
 * without a response fails here, and Postgres ends a transaction whose process is frozen, so that a worker that freezes in the middle of a batch
 * does not lock its lease's row for the others. Postgres cancels a statement after the same time; otherwise it would continue one whose caller has
 * given up, or wait for its lock, while retries pile up behind it.
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
    statement_timeout: timeoutMs,
    idle_in_transaction_session_timeout: limits.leaseMs,
    application_name: 'laurel',
  });
  pool.on('error', onError);
  return pool;
}

/** Creates the schema. Services that start together wait for each other. Throws an OperatorError. */
export async function migrate(url: string, log: (line: string) => void): Promise<void> {
  let client: pg.Client;
  try {
    // The constructor reads the certificate files that the address names, and throws if one is missing.
    client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs, application_name: 'laurel migrate' });
    await client.connect();
  } catch (error) {
    throw new OperatorError(`Postgres does not answer: ${(error as Error).message}. Start it, or set DATABASE_URL to one that runs.`, {
      cause: error,
    });
  }
  try {
    await checkServer(client);
    await checkSchema(client);
    await runner({
      dbClient: client,
      dir: migrationsFolder,
      migrationsTable: 'migrations',
      direction: 'up',
      advisoryLockMode: 'wait',
      logger: { info: () => undefined, warn: log, error: log },
    });
  } finally {
    await client.end();
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string; server_version: string }>(
    `select current_setting('server_version_num') as server_version_num, current_setting('server_version') as server_version`,
  );
  const server = rows[0];
  if (!server || Number(server.server_version_num) < minimumServerVersion) {
    throw new OperatorError(`This Postgres is version ${server?.server_version ?? 'unknown'}; Laurel needs Postgres 14 at least.`);
  }
}

/** Refuses a schema that a newer version of Laurel has migrated: this one does not know the meaning of its tables. */
async function checkSchema(client: pg.Client): Promise<void> {
  const { rows: tables } = await client.query<{ found: string | null }>("select to_regclass('migrations') as found");
  if (tables[0]?.found === null) return;
  const known = readdirSync(migrationsFolder).map((file) => basename(file, '.sql'));
  const { rows } = await client.query<{ name: string }>(
    'select name from migrations where name <> all($1::text[]) order by name desc limit 1',
    [known],
  );
  if (rows[0]) {
    throw new OperatorError(
      `A newer version of Laurel has migrated this database (${rows[0].name}): this version knows ${known.sort().at(-1) ?? 'none'} at most. ` +
        'Nothing was changed. Start the newer version, or use another database.',
    );
  }
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

/** The SQLSTATE classes of a Postgres that is away or overloaded, and does not refuse the statement itself. */
const unavailableClasses = ['08', '53', '57'];

const diskFull = '53100';

/** Turns a failed query into a 503 if Postgres is away; returns any other error unchanged. */
export function postgresFailure(error: unknown): unknown {
  if (error instanceof LaurelError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const refusedByServer = /^[0-9A-Z]{5}$/.test(code);
  if (refusedByServer && !unavailableClasses.includes(code.slice(0, 2))) return error;
  const [what, reason] =
    code === diskFull ? (['has no room left on its disk', 'postgres_disk'] as const) : (['is away', 'postgres_away'] as const);
  return new LaurelError('not_ready', `The service is not ready: its Postgres ${what}. Try again shortly.`, { cause: error, reason });
}

/** Runs a query on behalf of a request. A query that fails because Postgres is unavailable throws a 503 (`postgresFailure`). */
export async function withPostgresErrors<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw postgresFailure(error);
  }
}
