import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { BinaryWriter, inStatements, RowProblem, type Column } from './binary.js';

/** A table whose rows are never updated. */
export interface AppendedTable<T> {
  readonly name: string;
  readonly columns: readonly Column<T>[];
}

/** The header of a binary COPY: a signature, no flags, no extension. */
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const firstBytes = 64 * 1024;
const end = -1;

/** Rows in Postgres' binary format. Throws a RowProblem. */
function encodeRows<T>(table: AppendedTable<T>, tenant: number, rows: readonly T[]): Buffer {
  const data = new BinaryWriter(firstBytes);
  data.raw(header);
  try {
    for (const row of rows) {
      data.startRow(table.columns.length + 1);
      data.integer(tenant);
      for (const column of table.columns) data.column(column, row);
    }
  } catch (error) {
    throw new RowProblem(table.name, { cause: error });
  }
  data.startRow(end);
  return data.end();
}

/**
 * Adds rows to a table with COPY, which parses no text and plans no statement. Postgres refuses what an INSERT refuses, with the same SQLSTATE, and
 * aborts the transaction. Throws a RowProblem before it sends anything if a row can't be encoded.
 */
export async function copyRows<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): Promise<void> {
  for (const copy of copiesOf(client, tenant, table, rows)) await copy();
}

/** The statements of `copyRows`, not started, for a caller that runs them together with others. */
export function copiesOf<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): (() => Promise<void>)[] {
  return Array.from(inStatements(rows), (some) => () => copySome(client, tenant, table, some));
}

async function copySome<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): Promise<void> {
  const data = encodeRows(table, tenant, rows);
  const names = ['tenant', ...table.columns.map(({ name }) => `"${name}"`)];
  const stream = client.query(copyFrom(`copy ${table.name} (${names.join(', ')}) from stdin (format binary)`));
  await new Promise<void>((resolve, reject) => {
    stream.on('finish', resolve);
    // The listener stays: if Postgres refuses while data is being sent, a second error follows when the stream finds its query ended.
    stream.on('error', reject);
    stream.end(data);
  });
}
