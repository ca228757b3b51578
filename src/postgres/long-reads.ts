import type pg from 'pg';
import type { Logger } from 'pino';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { OpenRows, Span } from '../shared/open-rows.js';
import { withPostgresErrors } from './failure.js';

/** The first number of the advisory locks of long reads, whose second one is the tenant; no other code uses it. */
const readLock = 4_816_203;

/** A whole select. It can be long: it is read through a cursor. */
interface LongQuery {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What a row stands for. */
type Shown<Row, T> = (row: Row) => T;

interface LongReadsOptions {
  /** Has limits.exportsAtOnce connections, whose statements may take limits.exportStatementMs. */
  readonly pool: pg.Pool;
  /** Cancels statements of the others. */
  readonly cancelPool: pg.Pool;
  readonly log: Logger;
}

const refused = (sentence: string): LaurelError =>
  new LaurelError('too_many_requests', sentence, { retryAfterS: limits.exportRetryAfterS });

/** The bounds of a span, as parameters of the type timestamptz. */
export const boundsOf = ({ fromMs, untilMs }: Span): readonly [from: string, until: string] => [
  fromMs === undefined ? '-infinity' : new Date(fromMs).toISOString(),
  untilMs === undefined ? 'infinity' : new Date(untilMs).toISOString(),
];

/**
 * Reads more rows than memory holds, from one snapshot of the database: through a cursor, and no faster than the caller asks for rows. One read at a
 * time of each tenant, across all processes.
 */
export class LongReads {
  private readonly options: LongReadsOptions;
  private running = 0;

  constructor(options: LongReadsOptions) {
    this.options = options;
  }

  /**
   * Begins a read, which the caller has to close. Throws a 429 while the tenant has another read, or this process
   * has limits.exportsAtOnce.
   */
  async open<Row extends pg.QueryResultRow, T>(tenant: number, query: LongQuery, shown: Shown<Row, T>): Promise<OpenRows<T>> {
    if (this.running >= limits.exportsAtOnce) throw refused('Too many exports are running: retry when one of them has ended.');
    this.running += 1;
    const onClose = (): void => {
      this.running -= 1;
    };
    const { pool, cancelPool, log } = this.options;
    const connecting = pool.connect();
    connecting.catch(onClose);
    const read = new LongRead({ client: await withPostgresErrors(connecting), cancelPool, log: log.child({ tenant }), shown, onClose });
    try {
      await withPostgresErrors(read.begin(tenant, query));
    } catch (error) {
      await read.close();
      throw error;
    }
    return read;
  }
}

interface LongReadOptions<Row, T> {
  readonly client: pg.PoolClient;
  readonly cancelPool: pg.Pool;
  readonly log: Logger;
  readonly shown: Shown<Row, T>;
  readonly onClose: () => void;
}

class LongRead<Row extends pg.QueryResultRow, T> implements OpenRows<T> {
  private readonly options: LongReadOptions<Row, T>;
  private readonly endAtMs = Date.now() + limits.exportMs;
  private backend: number | undefined;
  private isFetching = false;
  /** Why the connection can't be used again. */
  private broken: Error | undefined;
  private closing: Promise<void> | undefined;
  // The pool listens to idle connections only. The error of one in use would be an unhandled event and end the process.
  private readonly breaks = (error: Error): void => {
    this.broken = error;
  };

  constructor(options: LongReadOptions<Row, T>) {
    this.options = options;
    options.client.on('error', this.breaks);
  }

  async begin(tenant: number, { text, values }: LongQuery): Promise<void> {
    const { client } = this.options;
    await client.query('begin isolation level repeatable read read only');
    // The transaction is idle while the client receives rows.
    await client.query(`set local idle_in_transaction_session_timeout = ${limits.exportIdleMs}`);
    const { rows } = await client.query<{ isFree: boolean; backend: number }>(
      'select pg_try_advisory_xact_lock($1, $2) as "isFree", pg_backend_pid() as backend',
      [readLock, tenant],
    );
    const [found] = rows;
    if (found?.isFree !== true) throw refused('Another export of this tenant is running: retry when it has ended.');
    this.backend = found.backend;
    await client.query(`declare exported no scroll cursor for ${text}`, [...values]);
  }

  async next(): Promise<readonly T[]> {
    const { client, log, shown } = this.options;
    this.isFetching = true;
    try {
      if (Date.now() > this.endAtMs) throw new Error(`the export was not received within ${limits.exportMs / 60_000} minutes`);
      const { rows } = await withPostgresErrors(client.query<Row>(`fetch ${limits.exportPageRows} from exported`));
      return rows.map(shown);
    } catch (error) {
      if (!this.closing) log.warn({ err: error }, 'export failed');
      throw error;
    } finally {
      this.isFetching = false;
    }
  }

  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async end(): Promise<void> {
    const { client, cancelPool, onClose } = this.options;
    if (this.isFetching) {
      // Postgres notices the end of a connection only when it sends rows. If it can't be told, the timeout of the statement ends it.
      await cancelPool.query('select pg_cancel_backend($1)', [this.backend]).catch(() => undefined);
      this.broken ??= new Error('the read was given up');
    } else {
      await client.query('rollback').catch(this.breaks);
    }
    // The pool closes a broken connection, which may still report an error.
    if (!this.broken) client.off('error', this.breaks);
    client.release(this.broken);
    onClose();
  }
}
