import type pg from 'pg';
import { BinaryWriter, inStatements, RowProblem, sqlTypes, type Column } from './binary.js';

/** What happens to existing rows: the columns of the primary key besides the tenant, and which rows are replaced. */
interface Conflict {
  readonly key: readonly string[];
  /** A condition on the old row (by the table's name) and the new one (`excluded`); absent: always. */
  readonly replaceWhen?: string;
  /** The columns that are replaced; absent: all that are not in the key. */
  readonly replace?: readonly string[];
  /** Columns that get an expression on the old row and the new one, and not the new row's value. */
  readonly assign?: Readonly<Record<string, string>>;
}

/** Each column is sent as an array, and an array of arrays would have two dimensions. */
export type InsertedColumn<T> = Exclude<Column<T>, { readonly type: 'int[]' }>;

export interface Table<T> {
  readonly name: string;
  readonly columns: readonly InsertedColumn<T>[];
  readonly computed?: Computed;
  readonly conflict?: Conflict;
  /** Another statement on the rows that this one writes, executed with it. */
  readonly then?: Then;
}

/** Columns of new rows that Postgres computes, each from an expression on `row`, the row that is sent, and on what `join` adds to it. */
interface Computed {
  readonly join: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** `columns` are the columns of the written rows; `statement` reads them from `written`. `$1` is the tenant. */
export interface Then {
  readonly columns: string;
  readonly statement: string;
}

const quote = (name: string): string => `"${name}"`;

function conflictClause<T>({ columns, conflict }: Table<T>): string {
  if (!conflict) return '';
  const target = `on conflict (${['tenant', ...conflict.key].map(quote).join(', ')})`;
  const replaced = conflict.replace ?? columns.map(({ name }) => name).filter((name) => !conflict.key.includes(name));
  const assignments = replaced.map((name) => `${quote(name)} = ${conflict.assign?.[name] ?? `excluded.${quote(name)}`}`).join(', ');
  return `${target} do update set ${assignments}${conflict.replaceWhen === undefined ? '' : ` where ${conflict.replaceWhen}`}`;
}

function statement<T>(table: Table<T>): string {
  const names = table.columns.map(({ name }) => quote(name));
  const arrays = table.columns.map(({ type }, i) => `$${i + 2}::${sqlTypes[type].name}[]`);
  const { join = '', columns = {} } = table.computed ?? {};
  const insert = `insert into ${table.name} (${['tenant', ...names, ...Object.keys(columns)].join(', ')})
    select ${['$1::integer', 'row.*', ...Object.values(columns)].join(', ')}
      from unnest(${arrays.join(', ')}) as row (${names.join(', ')}) ${join}
    ${conflictClause(table)}`;
  return table.then ? `with written as (${insert} returning ${table.then.columns}) ${table.then.statement}` : insert;
}

/** Most values with their lengths take less. */
const usualBytes = 24;

/** Statements by table. Connections prepare a statement once for each name. */
const statements = new Map<object, { readonly name: string; readonly text: string }>();

/**
 * Inserts rows into a table, as an array for each column, with a statement that is prepared once for each connection. (A prototype with batches of
 * 1,000 events wrote 22,700 events a second on one connection this way.)
 */
export async function insertRows<T>(client: pg.ClientBase, tenant: number, table: Table<T>, rows: readonly T[]): Promise<void> {
  let prepared = statements.get(table);
  if (!prepared) {
    prepared = { name: `insert-${statements.size}-${table.name}`, text: statement(table) };
    statements.set(table, prepared);
  }
  for (const some of inStatements(rows)) await client.query({ ...prepared, values: [tenant, ...columnArrays(table, some)] });
}

/** The statements of `insertRows`, not started, for a caller that runs them together with others. */
export function insertsOf<T>(client: pg.ClientBase, tenant: number, table: Table<T>, rows: readonly T[]): (() => Promise<void>)[] {
  return Array.from(inStatements(rows), (some) => () => insertRows(client, tenant, table, some));
}

/** An array for each column, in binary format. Throws a RowProblem. */
function columnArrays<T>(table: Table<T>, rows: readonly T[]): Buffer[] {
  try {
    return table.columns.map((column) => {
      const data = new BinaryWriter(rows.length * usualBytes);
      data.startArray(sqlTypes[column.type].oid, rows.length);
      for (const row of rows) data.column(column, row);
      return data.end();
    });
  } catch (error) {
    throw new RowProblem(table.name, { cause: error });
  }
}
