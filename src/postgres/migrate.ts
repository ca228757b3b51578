import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import pg from 'pg';
import { limits } from '../shared/limits.js';
import { postgresError, refusedByPostgres } from './failure.js';
import { connectTimeoutMs } from './pool.js';
import { migrationsFolder, readMigrations, readSchema, recordMigrations } from './schema.js';

const minimumServerVersion = 140_000;
/** Each finds a pooler that changes connections between transactions with near certainty, also while others use it. */
const poolerProbes = 5;
/** A wait for the lock of the migrations that is not worth a line. */
const unnoticedWaitMs = 1_000;
/** SQLSTATE of a lock that was not had within lock_timeout. */
const lockNotAvailable = '55P03';
const quiet = (): void => undefined;

export interface MigrateOptions {
  /** How long it waits for the lock of the migrations. */
  readonly lockWaitMs?: number;
  /** The migrations of another version, for tests. */
  readonly folder?: string;
}

/**
 * Checks the server, the database and the role, and creates the schema. Services that start together wait for each other, which `log` is told, as it is
 * when a newer version has migrated the database and this one runs beside it. Throws an OperatorError that names the cause and the cure
 * (shared/store-problems.ts) when Laurel can't run on this Postgres, or when another connection holds the lock of the migrations for `lockWaitMs`.
 */
export async function migrate(
  url: string,
  log: (line: string) => void,
  { lockWaitMs = limits.migrationLockMs, folder = migrationsFolder }: MigrateOptions = {},
): Promise<void> {
  const known = readMigrations(folder);
  const clients: pg.Client[] = [];
  const open = async (): Promise<pg.Client> => {
    // The constructor reads the certificate files that the address names, and throws if one is missing.
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs, application_name: 'laurel migrate' });
    // A broken connection fails the statement that waits for it; without a listener, it would also end the process.
    client.on('error', quiet);
    await client.connect();
    clients.push(client);
    // A migration takes as long as it takes.
    await client.query('set statement_timeout = 0');
    return client;
  };
  try {
    const client = await open();
    await checkServer(client);
    const locking = await open();
    await checkPooler(client, locking);
    await lockMigrations(locking, log, lockWaitMs);
    const { schema, pending, newer, unrecorded } = await readSchema(client, known);
    if (newer.length > 0) log(`A newer version of Laurel has migrated this database (${newer.join(', ')}); this one runs beside it.`);
    if (pending.length > 0) {
      await runner({
        dbClient: client,
        dir: folder,
        migrationsTable: 'migrations',
        direction: 'up',
        schema,
        noLock: true,
        // What fails is thrown too; its line would have the whole migration.
        logger: { info: quiet, warn: quiet, error: quiet },
      });
    }
    await recordMigrations(client, schema, [...unrecorded, ...pending]);
    await locking.query('commit');
  } catch (error) {
    throw refusedByPostgres(error);
  } finally {
    for (const client of clients) await client.end().catch(quiet);
  }
}

interface ServerRow {
  readonly version: number;
  readonly versionText: string;
  readonly encoding: string;
  readonly isReadOnly: boolean;
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<ServerRow>(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as "versionText",
            current_setting('server_encoding') as encoding, current_setting('transaction_read_only')::boolean as "isReadOnly"`,
  );
  const [server] = rows;
  if (!server) throw postgresError('version');
  if (server.version < minimumServerVersion) throw postgresError('version', server.versionText);
  if (server.encoding !== 'UTF8') throw postgresError('encoding', server.encoding);
  if (server.isReadOnly) throw postgresError('readOnly');
}

/**
 * Refuses a pooler that changes the server's connection between transactions. Its sign: a client whose backend is not the one that answered it
 * when it connected, and that shares its backend with another client, or gets another one while that has a transaction open.
 */
async function checkPooler(client: pg.Client, other: pg.Client): Promise<void> {
  const backend = async (of: pg.Client): Promise<number> =>
    (await of.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;
  const own = await backend(client);
  // pg has it from the server's greeting, in which a pooler puts a number of its own.
  if ((client as unknown as { processID: number | null }).processID === own) return;
  for (let probe = 0; probe < poolerProbes; probe += 1) {
    await other.query('begin');
    // Asked twice: a pooler that takes its free connections in turn can give the same one once, but has another one next.
    const isShared = (await backend(other)) === own || (await backend(client)) !== own || (await backend(client)) !== own;
    await other.query('commit');
    if (isShared) throw postgresError('pooler');
  }
}

/**
 * Takes the lock of node-pg-migrate for a transaction: as one of the session it would stay behind with a pooler's connection. Throws an
 * OperatorError after `waitMs`.
 */
async function lockMigrations(client: pg.Client, log: (line: string) => void, waitMs: number): Promise<void> {
  const isLocked = async (timeoutMs: number): Promise<boolean> => {
    await client.query('begin');
    await client.query(`set local idle_in_transaction_session_timeout = 0; set local lock_timeout = ${timeoutMs}`);
    try {
      await client.query('select pg_advisory_xact_lock($1)', [PG_MIGRATE_LOCK_ID]);
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable) throw error;
      await client.query('rollback');
      return false;
    }
  };
  // The processes of one service wait for each other, for a moment.
  if (await isLocked(Math.min(unnoticedWaitMs, waitMs))) return;
  const holder = await lockHolder(client);
  log(`Waiting for the lock of the migrations, held by ${holder}.`);
  if (!(await isLocked(waitMs))) throw postgresError('migrationLock', holder);
}

/** The connection that holds the lock of the migrations, in words. */
async function lockHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `select concat_ws(', ', 'Postgres process ' || locks.pid, 'application ' || nullif(application_name, ''), 'client ' || host(client_addr)) as holder
       from pg_locks as locks left join pg_stat_activity as activity using (pid)
      where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = $1`,
    [PG_MIGRATE_LOCK_ID],
  );
  return rows[0]?.holder ?? 'a connection that has ended since';
}
