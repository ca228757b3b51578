import { onConnection } from '../../src/local-stores/postgres-cluster.js';

const statementMs = 10_000;
/** After how long a connection that does nothing has reported what it has written (PGSTAT_IDLE_INTERVAL, and a margin). */
export const reportedMs = 10_500;

/** What a Postgres has written since its start: rows that were inserted, updated or deleted, and bytes of its write-ahead log. */
interface Written {
  readonly rows: number;
  readonly walBytes: number;
}

/** Reads what a Postgres has written. Rows of connections that have done something in the last `reportedMs` may be missing. */
export function readWritten(url: string): Promise<Written> {
  return onConnection(url, statementMs, async (client) => {
    const { rows } = await client.query<Written>(
      `select sum(tup_inserted + tup_updated + tup_deleted)::float8 as rows, (pg_current_wal_insert_lsn() - '0/0')::float8 as "walBytes"
        from pg_stat_database`,
    );
    const [written] = rows;
    if (!written) throw new Error('Postgres has no statistics.');
    return written;
  });
}
