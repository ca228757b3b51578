import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { administratorUrl, onConnection } from '../../src/local-stores/postgres-cluster.js';
import { findPostgresHome } from '../../src/local-stores/postgres-home.js';

/** Copying a database takes as long as its disk does. */
const statementMs = 120_000;

/** A Postgres of the benchmark's own, for databases of several sides. */
export interface BenchPostgres {
  readonly pid: number;
  /** The address of a database, for the superuser. */
  readonly url: (database: string) => string;
  readonly administer: (sql: string) => Promise<void>;
  /** How many rows a table of a database has. */
  readonly count: (database: string, table: string) => Promise<number>;
}

/** Runs work with an empty Postgres, and clears it away, however the work ends. */
export async function inPostgres<T>(work: (server: BenchPostgres) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
  const log = (): void => undefined;
  try {
    // Under root, Postgres runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    const store = await startLocalPostgres({ dataDir: folder, log });
    try {
      const admin = await administratorUrl(store.url, (await findPostgresHome(folder, log)).path);
      const url = (database: string): string => Object.assign(new URL(admin), { pathname: `/${database}` }).href;
      const administer = async (sql: string): Promise<void> => {
        await onConnection(admin, statementMs, (client) => client.query(sql));
      };
      const count = (database: string, table: string): Promise<number> =>
        onConnection(url(database), statementMs, async (client) => {
          const { rows } = await client.query<{ rows: string }>(`select count(*) as rows from ${table}`);
          return Number(rows[0]?.rows);
        });
      return await work({ pid: store.pid, url, administer, count });
    } finally {
      await store.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
