import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { RowProblem, type Column } from './insert.js';

/** A table whose rows are only ever added. It takes no columns of the types `boolean` and `bytea`: none of those tables has any. */
export interface AppendedTable<T> {
  readonly name: string;
  readonly columns: readonly Exclude<Column<T>, { readonly type: 'boolean' | 'bytea' }>[];
}

/** What a binary COPY starts with: a signature, no flags, no extension. */
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const firstBytes = 64 * 1024;
/** UTF-8 takes at most this many bytes for a UTF-16 code unit. */
const maxBytesPerUnit = 3;
const nullLength = -1;
const jsonbVersion = 1;
const integerOid = 23;
const uuidBytes = 16;
const uuidShape = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

/** 2000-01-01, from which Postgres counts. */
const epochMs = Date.UTC(2000, 0, 1);
const epochDay = epochMs / 86_400_000;
const maxMomentMs = Number.MAX_SAFE_INTEGER / 1_000;

/** Binary COPY data, in one buffer that grows. A value that its type can't hold throws. */
class CopyData {
  private buffer = Buffer.allocUnsafe(firstBytes);
  private length = header.copy(this.buffer);

  startRow(fields: number): void {
    this.reserve(2);
    this.length = this.buffer.writeInt16BE(fields, this.length);
  }

  null(): void {
    this.int32(nullLength);
  }

  integer(value: number): void {
    this.int32(4);
    this.int32(value);
  }

  bigint(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no bigint`);
    this.int32(8);
    const high = Math.floor(value / 0x1_0000_0000);
    this.int32(high);
    this.int32((value - high * 0x1_0000_0000) | 0);
  }

  float8(value: number): void {
    if (typeof value !== 'number') throw new TypeError('a number was expected');
    this.int32(8);
    this.reserve(8);
    this.length = this.buffer.writeDoubleBE(value, this.length);
  }

  moment(ms: number): void {
    if (!(Math.abs(ms) < maxMomentMs)) throw new RangeError(`${ms} is no moment`);
    this.bigint(Math.round((ms - epochMs) * 1_000));
  }

  date(day: number): void {
    this.integer(day - epochDay);
  }

  text(value: string): void {
    if (typeof value !== 'string') throw new TypeError('a text was expected');
    this.reserve(4 + value.length * maxBytesPerUnit);
    const written = this.buffer.write(value, this.length + 4);
    this.length = this.buffer.writeInt32BE(written, this.length) + written;
  }

  jsonb(json: string): void {
    this.reserve(5 + json.length * maxBytesPerUnit);
    const written = this.buffer.write(json, this.length + 5);
    this.buffer.writeInt32BE(written + 1, this.length);
    this.buffer[this.length + 4] = jsonbVersion;
    this.length += 5 + written;
  }

  uuid(value: string): void {
    if (!uuidShape.test(value)) throw new TypeError('a UUID was expected');
    this.int32(uuidBytes);
    this.reserve(uuidBytes);
    this.length += this.buffer.write(value.replaceAll('-', ''), this.length, 'hex');
  }

  integers(values: readonly number[]): void {
    const dimensions = values.length === 0 ? 0 : 1;
    this.int32(12 + dimensions * 8 + values.length * 8);
    this.int32(dimensions);
    // No element is null.
    this.int32(0);
    this.int32(integerOid);
    if (dimensions > 0) {
      this.int32(values.length);
      // The subscript of the first.
      this.int32(1);
    }
    for (const value of values) this.integer(value);
  }

  end(): Buffer {
    this.startRow(-1);
    return this.buffer.subarray(0, this.length);
  }

  private int32(value: number): void {
    if ((value | 0) !== value) throw new RangeError(`${value} is no integer`);
    this.reserve(4);
    this.length = this.buffer.writeInt32BE(value, this.length);
  }

  private reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}

/** Adds a column of a row. */
function encode<T>(data: CopyData, column: AppendedTable<T>['columns'][number], row: T): void {
  switch (column.type) {
    case 'int[]': {
      const value = column.value(row);
      if (value !== null) data.integers(value);
      else data.null();
      return;
    }
    case 'text':
    case 'uuid':
    case 'jsonb': {
      const value = column.value(row);
      if (value !== null) data[column.type](value);
      else data.null();
      return;
    }
    default: {
      const value = column.value(row);
      if (value !== null) data[column.type](value);
      else data.null();
    }
  }
}

/** Rows in Postgres' binary format. Throws a RowProblem. */
function encodeRows<T>(table: AppendedTable<T>, tenant: number, rows: readonly T[]): Buffer {
  const data = new CopyData();
  try {
    for (const row of rows) {
      data.startRow(table.columns.length + 1);
      data.integer(tenant);
      for (const column of table.columns) encode(data, column, row);
    }
  } catch (error) {
    throw new RowProblem(table.name, { cause: error });
  }
  return data.end();
}

/**
 * Adds rows to a table with one COPY, which reads no text and plans nothing. What Postgres refuses is refused as by an INSERT: with the same
 * SQLSTATE, and the transaction is aborted. Throws a RowProblem before anything is sent when a row can't be made.
 */
export async function copyRows<T>(client: pg.ClientBase, tenant: number, table: AppendedTable<T>, rows: readonly T[]): Promise<void> {
  if (rows.length === 0) return;
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
