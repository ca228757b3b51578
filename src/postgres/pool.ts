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
 * A pool of connections. `onError` hears of idle connections that broke; the pool replaces them by itself. Nothing waits for ever: a
 * statement that Postgres does not answer fails here, and a transaction whose process stands still is ended by Postgres, so that a worker that
 * froze in the middle of a batch does not keep its lease's row from the others. Postgres itself gives up a statement after the same time: it would
 * go on with one that nobody waits for any more, or wait for its lock, while those who try again pile up behind it.
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

/** Brings the tables to the newest version. Services that start together wait for each other. */
export async function migrate(url: string, log: (line: string) => void): Promise<void> {
  let client: pg.Client;
  try {
    // Which reads the files that the address names.
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

/** Refuses a schema that a newer version of Laurel has made: this one does not know what its tables mean by now. */
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
  // The pool hears of idle connections only. One that breaks while it is lent out would, with nobody listening, end the process.
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

/** Reads in one snapshot of the database: what is committed meanwhile is not seen. */
export function inSnapshot<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, work, 'begin isolation level repeatable read read only');
}

/**
 * Asks, in the transaction of `client`, for something that takes in all users of a tenant, and so takes as long as it takes: with many millions of
 * them, or a disk that has just been started, longer than any other statement may.
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

/** The same, in a transaction of its own. Returns the rows. */
export async function readAllUsers<Row extends pg.QueryResultRow>(pool: pg.Pool, text: string, values: unknown[]): Promise<Row[]> {
  return inTransaction(pool, async (client) => (await queryAllUsers<Row>(client, text, values)).rows);
}

/** What Postgres says, by SQLSTATE class, when it is away or overloaded rather than refusing what it was asked. */
const unavailableClasses = ['08', '53', '57'];

const diskFull = '53100';

/** Turns a failed query into a 503 when Postgres is away; anything else is returned as it came. */
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
