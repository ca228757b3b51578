import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { RowProblem } from '../postgres/binary.js';
import { postgresFailure, withPostgresErrors } from '../postgres/failure.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type LedgerEntry, joinValues, splitValues } from './entry.js';
import { type StreamId, betweenBatches } from './offsets.js';
import { type StreamEntry, UnreadableEntry, parsedEntry, readEntry, rowsOf } from './stream-entries.js';
import { writeBatch } from './write-batch.js';

/** Whether newer state of the user is stored. */
async function isOutdated(client: pg.ClientBase, tenant: number, user: string, rev: number): Promise<boolean> {
  const { rows } = await client.query<{ newer: boolean }>(
    'select exists (select 1 from user_hashes where tenant = $1 and user_id = $2 and rev > $3) as newer',
    [tenant, user, rev],
  );
  return rows[0]?.newer === true;
}

/**
 * Removes the facts of a late entry that are only valid in order. Most state is only replaced by a higher revision, so an older fact has no
 * effect; pauses and given-up participations have no revision.
 */
async function withoutOutdatedFacts(client: pg.ClientBase, tenant: number, entry: LedgerEntry): Promise<LedgerEntry> {
  if (!('rev' in entry)) return entry;
  if (!(await isOutdated(client, tenant, entry.user, entry.rev))) return entry;
  const { pauses: _, ...rest } = entry;
  return { ...rest, boards: entry.boards.filter(({ seq }) => seq !== undefined) };
}

/** SQLSTATE classes of refused rows: data exceptions, violated constraints, exceeded limits. */
const refusingClasses = ['22', '23', '54'];
const checkViolation = '23514';

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;

/**
 * Whether an error is caused by an entry, so that a retry would fail as well. A Postgres that is unavailable, slow, full or busy, a lost lease, or a
 * missing permission or table is not; nor is a month without a partition, which has the code of a violated constraint but names none.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof UnreadableEntry || error instanceof RowProblem) return true;
  const code = codeOf(error);
  if (code === undefined || !refusingClasses.includes(code.slice(0, 2))) return false;
  return code !== checkViolation || (error instanceof Error && 'constraint' in error && error.constraint !== undefined);
}

/** Postgres accepts no NUL in a text. */
const storable = (text: string): string => text.replaceAll('\0', '');

/** An entry as JSON for operators, without the user's packed state. */
function asJson(entry: unknown): string | null {
  try {
    return JSON.stringify(entry, (key, value: unknown) => (key === 'state' ? undefined : value));
  } catch {
    return null;
  }
}

/** The log fields of a refusal: none of the entry's contents. */
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

const userIdOf = (entry: LedgerEntry | undefined): string | null =>
  entry && 'user' in entry && typeof entry.user === 'string' ? storable(entry.user) : null;

/** Saves a refused entry within the transaction of `client`. */
export async function saveDeadLetter(client: pg.ClientBase, tenant: number, letter: StreamEntry, error: unknown): Promise<void> {
  const { id, fields, entry } = letter;
  const reason = error instanceof Error ? error.message : String(error);
  await client.query(
    `insert into dead_letters (tenant, stream_id, kind, user_id, raw, raw_state, entry, sqlstate, reason)
     values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9)`,
    [
      ...[tenant, id, entry ? storable(entry.kind) : null, userIdOf(entry)],
      ...[fields[1] ?? Buffer.alloc(0), joinValues(fields.slice(2)), entry ? asJson(entry) : null, codeOf(error) ?? null, storable(reason)],
    ],
  );
}

/** The reason of dead letters that a restore saved because another epoch has taken over: users lost what was acknowledged. */
const endedReason =
  'Its epoch ended before Postgres had it: another Redis, or a restore, has taken over. It can only be discarded; send what it counted again as new events.';

/** The reason of dead letters that an operator gave up with `laurel restore --discard`. */
const givenUpReason =
  'An operator has given it up with laurel restore --discard. It can only be discarded; send what it counted again as new events.';

/** The dead letters of all tenants by what they mean, each counted up to a limit. */
export interface LetterCounts {
  /** Entries that Postgres refused, until they are retried or discarded. */
  readonly refused: number;
  /** Entries that another epoch ended before Postgres had them, until they are discarded. */
  readonly lost: number;
  /** Entries that an operator gave up, until they are discarded. */
  readonly givenUp: number;
}

/** Counts the dead letters of all tenants. */
export async function countLetters(pool: pg.Pool): Promise<LetterCounts> {
  const { rows } = await pool.query<LetterCounts>(
    `select (select count(*)::integer from (select 1 from dead_letters where epoch is null limit $1) as letters) as refused,
            (select count(*)::integer from (select 1 from dead_letters where epoch is not null and reason <> $2 limit $1) as letters) as lost,
            (select count(*)::integer from (select 1 from dead_letters where epoch is not null and reason = $2 limit $1) as letters) as "givenUp"`,
    [limits.countedDeadLetters, givenUpReason],
  );
  return rows[0] ?? { refused: 0, lost: 0, givenUp: 0 };
}

/** The entries of an epoch that is over. */
export interface EndedEntries {
  readonly epoch: string;
  readonly letters: readonly StreamEntry[];
  /** Whether an operator has given them up. */
  readonly isGivenUp: boolean;
}

/** Saves entries of an epoch that has ended, within the transaction of `client`. Those that are saved already are unchanged. */
export async function saveDiscarded(client: pg.ClientBase, tenant: number, { epoch, letters, isGivenUp }: EndedEntries): Promise<void> {
  await client.query(
    `insert into dead_letters (tenant, epoch, stream_id, kind, user_id, raw, raw_state, entry, reason)
     select $1, $2, stream_id, kind, user_id, raw, raw_state, entry::json, $3
       from unnest($4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::text[])
         as letter (stream_id, kind, user_id, raw, raw_state, entry)
     on conflict (tenant, epoch, stream_id) where epoch is not null do nothing`,
    [
      ...[tenant, epoch, isGivenUp ? givenUpReason : endedReason, textArray(letters.map(({ id }) => id))],
      ...[
        textArray(letters.map(({ entry }) => (entry ? storable(entry.kind) : null))),
        textArray(letters.map(({ entry }) => userIdOf(entry))),
      ],
      ...[letters.map(({ fields }) => fields[1] ?? Buffer.alloc(0)), letters.map(({ fields }) => joinValues(fields.slice(2)))],
      textArray(letters.map(({ entry }) => (entry ? asJson(entry) : null))),
    ],
  );
}

/** Deletes the unparsable dead letters that contain a user's id. (Parsable ones of the user are deleted with the user's other rows.) */
export async function deleteUnreadableOf(client: pg.ClientBase, tenant: number, user: string): Promise<void> {
  await client.query(`delete from dead_letters where tenant = $1 and kind is null and position(convert_to($2, 'UTF8') in raw) > 0`, [
    tenant,
    user,
  ]);
}

/** A dead letter, for operators. */
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
  readonly reason: string;
}

/** Lists, discards and retries the dead letters of tenants. */
export class DeadLetters {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Oldest first. */
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

  /** Deletes a dead letter. Returns whether it existed. */
  async discard(tenant: number, id: string): Promise<boolean> {
    const { rowCount } = await withPostgresErrors(this.pool.query('delete from dead_letters where tenant = $1 and id = $2', [tenant, id]));
    return rowCount === 1;
  }

  /**
   * Writes the entry again in one transaction, once the cause of its refusal is fixed. Newer state is unchanged. Returns whether the dead letter
   * exists. Throws a 422 with the reason when Postgres refuses it again.
   */
  async retry(tenant: number, id: string): Promise<boolean> {
    try {
      return await betweenBatches(this.pool, tenant, (client) => this.writeAgain(client, tenant, id));
    } catch (error) {
      if (isRefusal(error)) {
        throw new LaurelError('unprocessable', `The entry was refused again: ${(error as Error).message}`, { cause: error });
      }
      throw postgresFailure(error);
    }
  }

  private async writeAgain(client: pg.ClientBase, tenant: number, id: string): Promise<boolean> {
    const { rows } = await client.query<StoredLetter>(
      'delete from dead_letters where tenant = $1 and id = $2 returning stream_id as "streamId", raw, raw_state as "rawState", epoch, reason',
      [tenant, id],
    );
    const [letter] = rows;
    if (!letter) return false;
    // The entry was made from state that another epoch has replaced: written now, it would overwrite newer state.
    if (letter.epoch !== null) throw new LaurelError('unprocessable', letter.reason);
    const fields = [Buffer.from('e'), letter.raw, ...splitValues(letter.rawState)];
    const read = readEntry(letter.streamId, fields);
    // A check of the whole entry comes first: `withoutOutdatedFacts` relies on its shape.
    await rowsOf([read]);
    const entry = await withoutOutdatedFacts(client, tenant, parsedEntry(read));
    const { batch } = await rowsOf([{ ...read, entry }]);
    await writeBatch(client, tenant, batch, true);
    return true;
  }
}
