import type pg from 'pg';
import { LaurelError } from '../errors.js';
import { postgresFailure } from '../postgres/pool.js';
import { textArray } from '../postgres/arrays.js';
import { RowProblem } from '../postgres/insert.js';
import { collectBatch, type Batch, type Read } from './batch.js';
import { unpackEntry, type LedgerEntry } from './entry.js';
import { outOfOrder } from './out-of-order.js';
import { betweenBatches, type StreamId } from './offsets.js';
import { writeBatch } from './write-batch.js';

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

/** The rows of entries, and the moments of those that go by month. Throws an UnreadableEntry when one of them can't be made into rows. */
export function rowsOf(entries: readonly StreamEntry[]): {
  readonly batch: Batch;
  readonly moments: readonly number[];
  readonly read: readonly Read[];
} {
  const read = entries.map((one) => ({ id: one.id, entry: entryOf(one) }));
  try {
    const batch = collectBatch(read);
    const moments = [...batch.events.map(({ at }) => at), ...batch.awards.map(({ award }) => award.at)];
    // A moment that is none would be found while a partition is made for it.
    for (const moment of moments) new Date(moment).toISOString();
    return { batch, moments, read };
  } catch (error) {
    throw new UnreadableEntry(error instanceof Error ? error.message : String(error), { cause: error });
  }
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

/** The users whom an entry names besides its own: who had to leave a board for its user, or was taken off one. */
function othersIn(entry: unknown): string[] {
  const { boards } = entry as { boards?: unknown };
  const named = (Array.isArray(boards) ? boards : []).flatMap((board: unknown) => {
    const { left, pushed, users } = (board ?? {}) as { left?: unknown; pushed?: unknown; users?: unknown };
    return [left, pushed, ...(Array.isArray(users) ? (users as unknown[]) : [])];
  });
  return named.filter((name): name is string => typeof name === 'string').map(storable);
}

function asJson(entry: unknown): string | null {
  try {
    return JSON.stringify(entry);
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
    `insert into dead_letters (tenant, stream_id, kind, user_id, others, raw, raw_streaks, entry, sqlstate, reason)
     values ($1, $2, $3, $4, $5::text[], $6, $7, $8::json, $9, $10)`,
    [
      ...[tenant, id, entry ? storable(entry.kind) : null, user, textArray(entry ? othersIn(entry) : [])],
      ...[fields[1] ?? Buffer.alloc(0), fields[3] ?? null, entry ? asJson(entry) : null, codeOf(error) ?? null, storable(reason)],
    ],
  );
}

/**
 * Deletes the dead letters that name a user beside others, and those that can't be read and hold the id. (Those that are about the user go like
 * all rows of the user.)
 */
export async function forgetInDeadLetters(client: pg.ClientBase, tenant: number, user: string): Promise<void> {
  await client.query(
    `delete from dead_letters
      where tenant = $1 and ($2 = any(others) or (kind is null and position(convert_to($2, 'UTF8') in raw) > 0))`,
    [tenant, user],
  );
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
  readonly rawStreaks: Buffer | null;
}

/** Kinds whose entries take others' places away, who may have come back since. */
const inOrderOnly: readonly string[] = ['trim', 'empty'];

/** The dead letters of a tenant, for operators. */
export class DeadLetters {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** The oldest first. */
  async list(tenant: number, { limit, skip }: { readonly limit: number; readonly skip: number }): Promise<DeadLetter[]> {
    const { rows } = await asked(
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
    const { rowCount } = await asked(this.pool.query('delete from dead_letters where tenant = $1 and id = $2', [tenant, id]));
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
      'delete from dead_letters where tenant = $1 and id = $2 returning stream_id as "streamId", raw, raw_streaks as "rawStreaks"',
      [tenant, id],
    );
    const [letter] = rows;
    if (!letter) return false;
    const fields = [Buffer.from('e'), letter.raw, ...(letter.rawStreaks ? [Buffer.from('s'), letter.rawStreaks] : [])];
    const read = readEntry(letter.streamId, fields);
    const entry = entryOf(read);
    if (inOrderOnly.includes(entry.kind)) {
      throw new LaurelError(
        'unprocessable',
        'This entry took users off a leaderboard, who may have come back since: it can only be discarded.',
      );
    }
    // It is looked through first, so that what reads it below finds what is to be there.
    rowsOf([read]);
    const { batch } = rowsOf([{ ...read, entry: await outOfOrder(client, tenant, entry) }]);
    await writeBatch(client, tenant, batch, true);
    return true;
  }
}

function asked<T>(asking: Promise<T>): Promise<T> {
  return asking.catch((error: unknown) => {
    throw postgresFailure(error);
  });
}
