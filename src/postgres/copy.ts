import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { BinaryWriter, inStatements, RowProblem, type Column } from './binary.js';
import { insertRows, type Table } from './insert.js';

/** A table whose rows are only ever added. */
export interface AppendedTable<T> {
  readonly name: string;
  readonly columns: readonly Column<T>[];
}

/** What a binary COPY starts with: a signature, no flags, no extension. */
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
 * Adds rows to a table with one COPY, which reads no text and plans nothing. What Postgres refuses is refused as by an INSERT: with the same
 * SQLSTATE, and the transaction is aborted. Throws a RowProblem before anything is sent when a row can't be made.
 */
export async function copyRows<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): Promise<void> {
  for (const copy of copiesOf(client, tenant, table, rows)) await copy();
}

/** The same as a list of statements that have not begun, for a caller that runs them together with others. */
export function copiesOf<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): (() => Promise<void>)[] {
  return Array.from(inStatements(rows), (some) => () => copySome(client, tenant, table, some));
}

async function copySome<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): Promise<void> {
  const data = encodeRows(table, tenant, rows);
  const names = ['tenant', ...table.columns.map(({ name }) => `"${name}"`)];
  const stream = client.query(copyFrom(`copy ${table.name} (${names.join(', ')}) from stdin (format binary)`));
  await new Promise<void>((resolve, reject) => {
    stream.on('finish', resolve);
    // It stays: a refusal that comes while data is still being sent leads to a second error, when the stream finds that its query is over.
    stream.on('error', reject);
    stream.end(data);
  });
}

const uniqueViolation = '23505';

/** Adds rows of which hardly any is in the table already: with a COPY, and as `insertRows` does where one of them is. */
export async function copyNewRows<T>(client: pg.ClientBase, tenant: number, table: Table<T>, rows: readonly T[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query('savepoint before_copy');
  try {
    await copyRows(client, tenant, table, rows);
  } catch (error) {
    if ((error as { code?: unknown }).code !== uniqueViolation) throw error;
    await client.query('rollback to savepoint before_copy');
    await insertRows(client, tenant, table, rows);
  }
}
