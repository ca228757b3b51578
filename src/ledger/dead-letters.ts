import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { RowProblem } from '../postgres/binary.js';
import { postgresFailure, withPostgresErrors } from '../postgres/pool.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type Batch, type Read, collectBatch, emptyBatch } from './batch.js';
import { type LedgerEntry, joinValues, splitValues, unpackEntry } from './entry.js';
import { type StreamId, betweenBatches } from './offsets.js';
import { monthsOf } from './partitions.js';
import { writeBatch } from './write-batch.js';

/** Whether something newer of the user is stored. */
async function isOutdated(client: pg.ClientBase, tenant: number, user: string, rev: number): Promise<boolean> {
  const { rows } = await client.query<{ newer: boolean }>(
    'select exists (select 1 from user_state where tenant = $1 and user_id = $2 and rev > $3) as newer',
    [tenant, user, rev],
  );
  return rows[0]?.newer === true;
}

/**
 * An entry that is written late, behind entries that came after it, without those of its facts that only hold in order: most state is
 * replaced by a higher revision alone, so an older fact does nothing, but pauses and places that were given up have none.
 */
export async function outOfOrder(client: pg.ClientBase, tenant: number, entry: LedgerEntry): Promise<LedgerEntry> {
  if (!('rev' in entry)) return entry;
  if (!(await isOutdated(client, tenant, entry.user, entry.rev))) return entry;
  const { pauses: _, ...rest } = entry;
  return { ...rest, boards: entry.boards.filter(({ seq }) => seq !== undefined) };
}

/** An entry as it stands in the stream; `entry` is undefined when it can't be read, and `problem` says why. */
export interface StreamEntry {
  readonly id: StreamId;
  readonly fields: readonly Buffer[];
  readonly entry: LedgerEntry | undefined;
  readonly problem: string;
}

/** An entry that can't be read, or not be made into rows. */
export class UnreadableEntry extends Error {
  constructor(problem: string, options: { cause?: unknown } = {}) {
    super(problem, options);
    this.name = 'UnreadableEntry';
  }
}

/** Reads an entry of the stream; one that can't be read does not keep the others from it. */
export function readEntry(id: StreamId, fields: readonly Buffer[]): StreamEntry {
  try {
    const entry: unknown = unpackEntry(fields);
    if (typeof entry === 'object' && entry !== null && 'kind' in entry && typeof entry.kind === 'string') {
      return { id, fields, entry: entry as LedgerEntry, problem: '' };
    }
    return { id, fields, entry: undefined, problem: 'It is no entry of a ledger.' };
  } catch (error) {
    return { id, fields, entry: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** What an entry tells. Throws an UnreadableEntry. */
function entryOf({ entry, problem }: StreamEntry): LedgerEntry {
  if (!entry) throw new UnreadableEntry(problem);
  return entry;
}

/** The rows of entries, and the UTC months of those that go by month. */
export interface Rows {
  readonly batch: Batch;
  readonly months: ReadonlySet<string>;
  readonly read: readonly Read[];
}

function asUnreadable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof UnreadableEntry) throw error;
    throw new UnreadableEntry(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

const readOf = (entries: readonly StreamEntry[]): Read[] => entries.map((one) => ({ id: one.id, entry: entryOf(one) }));

/** A moment that is none is found here, before a partition is made for it. */
function* momentsOf({ events, awards }: Batch): Generator<number> {
  for (const { at } of events) yield at;
  for (const { award } of awards) yield award.at;
}

/** The rows of entries. Throws an UnreadableEntry when one of them can't be made into rows. */
export function rowsOf(entries: readonly StreamEntry[]): Rows {
  return asUnreadable(() => {
    const read = readOf(entries);
    const batch = collectBatch(read);
    return { batch, months: monthsOf(momentsOf(batch)), read };
  });
}

/** The same, with a break after each part of the entries, in which requests and statements of this process get their turn. */
export async function rowsInParts(entries: readonly StreamEntry[]): Promise<Rows> {
  const batch = emptyBatch();
  const read: Read[] = [];
  for (let first = 0; first < entries.length; first += limits.writeBehindPartEntries) {
    const part = asUnreadable(() => readOf(entries.slice(first, first + limits.writeBehindPartEntries)));
    asUnreadable(() => collectBatch(part, batch));
    read.push(...part);
    await nextTurn();
  }
  return { batch, months: asUnreadable(() => monthsOf(momentsOf(batch))), read };
}

/** What Postgres says, by SQLSTATE class, when it refuses what a row holds: data exceptions, broken constraints, and what is too large for it. */
const refusingClasses = ['22', '23', '54'];
const checkViolation = '23514';

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;

/**
 * Whether an error is the fault of an entry, so that trying again would lead to the same. A Postgres that is away, slow, full or busy, a lost lease,
 * a missing right or table is not; nor is a month without a partition, which has the code of a broken constraint but names none.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof UnreadableEntry || error instanceof RowProblem) return true;
  const code = codeOf(error);
  if (code === undefined || !refusingClasses.includes(code.slice(0, 2))) return false;
  return code !== checkViolation || (error instanceof Error && 'constraint' in error && error.constraint !== undefined);
}

/** Postgres takes no NUL in a text. */
const storable = (text: string): string => text.replaceAll('\0', '');

/** An entry as operators read it: without the user's state, which is packed. */
function asJson(entry: unknown): string | null {
  try {
    return JSON.stringify(entry, (key, value: unknown) => (key === 'state' ? undefined : value));
  } catch {
    return null;
  }
}

/** What is told of a refusal: nothing of what the entry holds. */
export interface Refusal {
  readonly tenant: number;
  readonly streamId: StreamId;
  readonly kind: string | undefined;
  readonly sqlstate: string | undefined;
  readonly table: string | undefined;
  readonly constraint: string | undefined;
}

export function refusalOf(tenant: number, { id, entry }: StreamEntry, error: unknown): Refusal {
  const { table, constraint } = error as { table?: string; constraint?: string };
  return { tenant, streamId: id, kind: entry?.kind, sqlstate: codeOf(error), table, constraint };
}

/** Keeps an entry that was refused, within the transaction of `client`. */
export async function keepDeadLetter(client: pg.ClientBase, tenant: number, letter: StreamEntry, error: unknown): Promise<void> {
  const { id, fields, entry } = letter;
  const user = entry && 'user' in entry && typeof entry.user === 'string' ? storable(entry.user) : null;
  const reason = error instanceof Error ? error.message : String(error);
  await client.query(
    `insert into dead_letters (tenant, stream_id, kind, user_id, raw, raw_state, entry, sqlstate, reason)
     values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9)`,
    [
      ...[tenant, id, entry ? storable(entry.kind) : null, user],
      ...[fields[1] ?? Buffer.alloc(0), joinValues(fields.slice(2)), entry ? asJson(entry) : null, codeOf(error) ?? null, storable(reason)],
    ],
  );
}

/** Why an entry that a restore removed is a dead letter. */
const discardedReason =
  'Its epoch ended before Postgres had it: another Redis, or a restore, has taken over. It can only be discarded; send what it counted again as new events.';

/** Keeps entries of an epoch that has ended, within the transaction of `client`; those that are kept already stay as they are. */
export async function keepDiscarded(client: pg.ClientBase, tenant: number, epoch: string, letters: readonly StreamEntry[]): Promise<void> {
  const users = letters.map(({ entry }) => (entry && 'user' in entry && typeof entry.user === 'string' ? storable(entry.user) : null));
  await client.query(
    `insert into dead_letters (tenant, epoch, stream_id, kind, user_id, raw, raw_state, entry, reason)
     select $1, $2, stream_id, kind, user_id, raw, raw_state, entry::json, $3
       from unnest($4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::text[])
         as letter (stream_id, kind, user_id, raw, raw_state, entry)
     on conflict (tenant, epoch, stream_id) where epoch is not null do nothing`,
    [
      ...[tenant, epoch, discardedReason, textArray(letters.map(({ id }) => id))],
      ...[textArray(letters.map(({ entry }) => (entry ? storable(entry.kind) : null))), textArray(users)],
      ...[letters.map(({ fields }) => fields[1] ?? Buffer.alloc(0)), letters.map(({ fields }) => joinValues(fields.slice(2)))],
      textArray(letters.map(({ entry }) => (entry ? asJson(entry) : null))),
    ],
  );
}

/**
 * Deletes the dead letters that can't be read and hold the id of a user. (Those that are about the user go like all rows of the user.)
 */
export async function forgetInDeadLetters(client: pg.ClientBase, tenant: number, user: string): Promise<void> {
  await client.query(`delete from dead_letters where tenant = $1 and kind is null and position(convert_to($2, 'UTF8') in raw) > 0`, [
    tenant,
    user,
  ]);
}

/** A dead letter as operators see it. */
export interface DeadLetter {
  readonly id: string;
  readonly streamId: StreamId;
  readonly kind: string | null;
  readonly userId: string | null;
  readonly sqlstate: string | null;
  readonly reason: string;
  readonly entry: unknown;
  readonly at: Date;
}

interface StoredLetter {
  readonly streamId: StreamId;
  readonly raw: Buffer;
  /** The other fields of the stream entry and their values, joined. */
  readonly rawState: Buffer;
  /** Null for an entry that Postgres refused. */
  readonly epoch: string | null;
}

/** The dead letters of a tenant, for operators. */
export class DeadLetters {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** The oldest first. */
  async list(tenant: number, { limit, skip }: { readonly limit: number; readonly skip: number }): Promise<DeadLetter[]> {
    const { rows } = await withPostgresErrors(
      this.pool.query<DeadLetter>(
        `select id, stream_id as "streamId", kind, user_id as "userId", sqlstate, reason, entry, at from dead_letters
          where tenant = $1 order by at, id limit $2 offset $3`,
        [tenant, limit, skip],
      ),
    );
    return rows;
  }

  /** Forgets a dead letter. Returns whether there was one. */
  async discard(tenant: number, id: string): Promise<boolean> {
    const { rowCount } = await withPostgresErrors(this.pool.query('delete from dead_letters where tenant = $1 and id = $2', [tenant, id]));
    return rowCount === 1;
  }

  /**
   * Writes the entry again, now that what refused it has been mended: whole and once, or not at all. What has become newer since stays as it is.
   * Returns whether there is such a dead letter. Throws a 422 when it is refused again, with the reason.
   */
  async retry(tenant: number, id: string): Promise<boolean> {
    try {
      return await betweenBatches(this.pool, tenant, (client) => this.writeAgain(client, tenant, id));
    } catch (error) {
      if (isRefusal(error)) {
        throw new LaurelError('unprocessable', `The entry is refused again: ${(error as Error).message}`, { cause: error });
      }
      throw postgresFailure(error);
    }
  }

  private async writeAgain(client: pg.ClientBase, tenant: number, id: string): Promise<boolean> {
    const { rows } = await client.query<StoredLetter>(
      'delete from dead_letters where tenant = $1 and id = $2 returning stream_id as "streamId", raw, raw_state as "rawState", epoch',
      [tenant, id],
    );
    const [letter] = rows;
    if (!letter) return false;
    // It was made from a state that another epoch has replaced: written now, it would overwrite what has come since.
    if (letter.epoch !== null) throw new LaurelError('unprocessable', discardedReason);
    const fields = [Buffer.from('e'), letter.raw, ...splitValues(letter.rawState)];
    const read = readEntry(letter.streamId, fields);
    const entry = entryOf(read);
    // It is looked through first, so that what reads it below finds what is to be there.
    rowsOf([read]);
    const { batch } = rowsOf([{ ...read, entry: await outOfOrder(client, tenant, entry) }]);
    await writeBatch(client, tenant, batch, true);
    return true;
  }
}
