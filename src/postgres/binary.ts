import { limits } from '../shared/limits.js';

/**
 * Values in Postgres' binary format, for COPY and for array parameters: Postgres reads them several times as fast as texts, and encoding them
 * allocates no string for each.
 */
interface Types {
  readonly integer: number;
  readonly bigint: number;
  readonly float8: number;
  /** Milliseconds since 1970. */
  readonly moment: number;
  /** Days since 1970-01-01. */
  readonly date: number;
  readonly text: string;
  readonly uuid: string;
  /** The result of JSON.stringify. */
  readonly jsonb: string;
  readonly boolean: boolean;
  readonly bytea: Buffer;
  readonly 'int[]': readonly number[];
}

/** A column of the type `K`, and its value in a row; null is NULL. */
type ColumnOf<T, K extends keyof Types> = { readonly name: string; readonly type: K; readonly value: (row: T) => Types[K] | null };

export type Column<T> = { [K in keyof Types]: ColumnOf<T, K> }[keyof Types];

/** The types' names in SQL, and their numbers in the catalogue of Postgres. */
export const sqlTypes: Readonly<Record<Exclude<keyof Types, 'int[]'>, { readonly name: string; readonly oid: number }>> = {
  integer: { name: 'integer', oid: 23 },
  bigint: { name: 'bigint', oid: 20 },
  float8: { name: 'float8', oid: 701 },
  moment: { name: 'timestamptz', oid: 1184 },
  date: { name: 'date', oid: 1082 },
  text: { name: 'text', oid: 25 },
  uuid: { name: 'uuid', oid: 2950 },
  jsonb: { name: 'jsonb', oid: 3802 },
  boolean: { name: 'boolean', oid: 16 },
  bytea: { name: 'bytea', oid: 17 },
};

/** The rows in parts of at most limits.writeBehindStatementRows, one for each statement. */
export function* inStatements<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let first = 0; first < rows.length; first += limits.writeBehindStatementRows) {
    yield rows.slice(first, first + limits.writeBehindStatementRows);
  }
}

/** A row whose values its columns can't hold. */
export class RowProblem extends Error {
  constructor(table: string, options: { cause: unknown }) {
    super(`cannot encode a row of ${table}: ${options.cause instanceof Error ? options.cause.message : String(options.cause)}`, options);
    this.name = 'RowProblem';
  }
}

/** UTF-8 takes at most this many bytes for a UTF-16 code unit. */
const maxBytesPerUnit = 3;
const maxAscii = 0x7f;
const shortLength = 64;
const nullLength = -1;
const jsonbVersion = 1;

const uuidChars = 36;
const uuidDashes = [8, 13, 18, 23];
/** Where the two digits of each byte of a UUID begin. */
const uuidStarts = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** Code unit → the hexadecimal digit; -1 for others. */
const digits = new Int8Array(maxAscii + 1).fill(-1);
for (let digit = 0; digit < 16; digit += 1) {
  const character = digit.toString(16);
  digits[character.charCodeAt(0)] = digit;
  digits[character.toUpperCase().charCodeAt(0)] = digit;
}

const digitOf = (text: string, at: number): number => digits[text.charCodeAt(at)] ?? -1;

/** 2000-01-01, from which Postgres counts. */
const epochMs = Date.UTC(2000, 0, 1);
const epochDay = epochMs / 86_400_000;
const maxMomentMs = Number.MAX_SAFE_INTEGER / 1_000;

/** Writes a short ASCII text in half the time of `Buffer.write`. Returns the number of bytes; undefined for other texts. */
function writeShort(buffer: Buffer, start: number, value: string): number | undefined {
  const { length } = value;
  if (length > shortLength) return undefined;
  for (let i = 0; i < length; i += 1) {
    const unit = value.charCodeAt(i);
    if (unit > maxAscii) return undefined;
    buffer[start + i] = unit;
  }
  return length;
}

/** Writes values, each behind its length, into one growing buffer. Throws for a value that its type can't hold. */
export class BinaryWriter {
  private buffer: Buffer;
  private length = 0;

  /** `bytes`: the expected size. */
  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafe(bytes);
  }

  raw(bytes: Buffer): void {
    this.reserve(bytes.length);
    this.length += bytes.copy(this.buffer, this.length);
  }

  /** Precedes the columns of a row of COPY: their number; -1 after the last row. */
  startRow(columns: number): void {
    this.reserve(2);
    this.length = this.buffer.writeInt16BE(columns, this.length);
  }

  /** Precedes the elements of an array of one dimension. */
  startArray(oid: number, elements: number): void {
    const [dimensions, mayHoldNulls, firstSubscript] = [1, 1, 1];
    for (const number of [dimensions, mayHoldNulls, oid, elements, firstSubscript]) this.int32(number);
  }

  /** The value of a column. */
  column<T>({ type, value }: Column<T>, row: T): void {
    const of = value(row);
    if (of === null) this.int32(nullLength);
    else (this[type] as (of: Types[keyof Types]) => void).call(this, of);
  }

  integer(value: number): void {
    this.int32(4);
    this.int32(value);
  }

  bigint(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`);
    this.int32(8);
    const high = Math.floor(value / 0x1_0000_0000);
    this.int32(high);
    this.int32((value - high * 0x1_0000_0000) | 0);
  }

  float8(value: number): void {
    if (typeof value !== 'number') throw new TypeError('expected a number');
    this.int32(8);
    this.reserve(8);
    this.length = this.buffer.writeDoubleBE(value, this.length);
  }

  moment(ms: number): void {
    if (!(Math.abs(ms) < maxMomentMs)) throw new RangeError(`${ms} is not a valid timestamp`);
    this.bigint(Math.round((ms - epochMs) * 1_000));
  }

  date(day: number): void {
    this.integer(day - epochDay);
  }

  text(value: string): void {
    if (typeof value !== 'string') throw new TypeError('expected a string');
    this.reserve(4 + value.length * maxBytesPerUnit);
    const start = this.length + 4;
    const written = writeShort(this.buffer, start, value) ?? this.buffer.write(value, start);
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
    this.int32(uuidStarts.length);
    this.reserve(uuidStarts.length);
    let isWrong = value.length !== uuidChars;
    for (const start of uuidStarts) {
      const byte = (digitOf(value, start) << 4) | digitOf(value, start + 1);
      isWrong ||= byte < 0;
      this.buffer[this.length++] = byte;
    }
    for (const dash of uuidDashes) isWrong ||= value[dash] !== '-';
    if (isWrong) throw new TypeError('a UUID was expected');
  }

  boolean(value: boolean): void {
    this.int32(1);
    this.reserve(1);
    this.length = this.buffer.writeInt8(Number(value), this.length);
  }

  bytea(value: Buffer): void {
    this.int32(value.length);
    this.raw(value);
  }

  'int[]'(values: readonly number[]): void {
    const { oid } = sqlTypes.integer;
    if (values.length === 0) {
      const dimensions = 0;
      this.int32(12);
      for (const number of [dimensions, 0, oid]) this.int32(number);
      return;
    }
    this.int32(20 + values.length * 8);
    this.startArray(oid, values.length);
    for (const value of values) this.integer(value);
  }

  /** The bytes written so far. */
  end(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Byte by byte: `Buffer.writeInt32BE` checks its arguments, and writing takes a quarter longer with it. */
  private int32(value: number): void {
    if ((value | 0) !== value) throw new RangeError(`${value} is not an integer`);
    this.reserve(4);
    const { buffer, length } = this;
    buffer[length] = value >> 24;
    buffer[length + 1] = value >> 16;
    buffer[length + 2] = value >> 8;
    buffer[length + 3] = value;
    this.length = length + 4;
  }

  private reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}
