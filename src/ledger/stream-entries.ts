import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, metaFields } from '../redis/contract.js';
import { isBelow, trimmedUpTo } from '../redis/partition.js';
import { limits } from '../shared/limits.js';
import { type Batch, type ParsedEntry, collectBatch, emptyBatch } from './batch.js';
import { type LedgerEntry, unpackEntry } from './entry.js';
import type { StreamId } from './offsets.js';
import { monthsOf } from './partitions.js';

/** An entry of the stream; `entry` is undefined when it can't be parsed, and `problem` is the reason. */
export interface StreamEntry {
  readonly id: StreamId;
  readonly fields: readonly Buffer[];
  readonly entry: LedgerEntry | undefined;
  readonly problem: string;
}

/** An entry that can't be parsed or made into rows. */
export class UnreadableEntry extends Error {
  constructor(problem: string, options: { cause?: unknown } = {}) {
    super(problem, options);
    this.name = 'UnreadableEntry';
  }
}

/** Parses an entry of the stream; one that can't be parsed must not block the others. */
export function readEntry(id: StreamId, fields: readonly Buffer[]): StreamEntry {
  try {
    return { id, fields, entry: unpackEntry(fields), problem: '' };
  } catch (error) {
    return { id, fields, entry: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The parsed entry. Throws an UnreadableEntry. */
export function parsedEntry({ entry, problem }: StreamEntry): LedgerEntry {
  if (!entry) throw new UnreadableEntry(problem);
  return entry;
}

/** The rows of entries, and the UTC months of the events and awards among them. */
export interface Rows {
  readonly batch: Batch;
  readonly months: ReadonlySet<string>;
  readonly parsed: readonly ParsedEntry[];
}

/** Turns any error of `work` into an UnreadableEntry. */
function asUnreadable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof UnreadableEntry) throw error;
    throw new UnreadableEntry(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The times of the rows that are partitioned by month. An invalid one is found here, before a partition is created for it. */
function* partitionedTimes({ events, awards }: Batch): Generator<number> {
  for (const { at } of events) yield at;
  for (const { award } of awards) yield award.at;
}

/**
 * The rows of entries, made in parts with a break after each, so that this process's requests and statements are not delayed. Throws an
 * UnreadableEntry when one of the entries can't be made into rows.
 */
export async function rowsOf(entries: readonly StreamEntry[]): Promise<Rows> {
  const batch = emptyBatch();
  const parsed: ParsedEntry[] = [];
  for (let first = 0; first < entries.length; first += limits.writeBehindPartEntries) {
    const part = asUnreadable(() =>
      entries.slice(first, first + limits.writeBehindPartEntries).map((entry) => ({ id: entry.id, entry: parsedEntry(entry) })),
    );
    asUnreadable(() => collectBatch(part, batch));
    parsed.push(...part);
    await nextTurn();
  }
  return { batch, months: asUnreadable(() => monthsOf(partitionedTimes(batch))), parsed };
}

/** Entries of a ledger after an id. */
export interface LedgerPages {
  readonly entries: readonly StreamEntry[];
  /** A configuration version at least as new as that of every entry: it is read after them. */
  readonly version: number;
  /** Whether there may be more entries. */
  readonly hasMore: boolean;
}

/** `replaced`: Redis has another epoch. `trimmed`: some entries after the id are gone. */
export type PagesRead = LedgerPages | 'replaced' | 'trimmed';

export interface PageQuery {
  readonly epoch: string;
  readonly after: StreamId;
  readonly maxEntries: number;
}

/** Whether an entry is committed in the same transaction as the next one (entry.ts, `handover`). */
const isWithNext = (entry: StreamEntry | undefined): boolean => entry?.entry?.kind === 'handover';

/** The number of entries in a first half, which does not end before an entry that is committed with its last one, unless all of them are. */
export function halfOf(entries: readonly StreamEntry[]): number {
  const half = entries.length >> 1;
  const isBoundary = (at: number): boolean => !isWithNext(entries[at - 1]);
  let [after, before] = [half, half];
  while (after < entries.length && !isBoundary(after)) after += 1;
  while (before > 0 && !isBoundary(before)) before -= 1;
  if (after < entries.length) return after;
  return before > 0 ? before : half;
}

/**
 * Reads up to `maxEntries` entries of a partition's ledger, and those that are committed with the last of them, page by page, so that no read blocks
 * Redis or this process for long.
 */
export async function readPages(redis: RedisConnection, partition: string, { epoch, after, maxEntries }: PageQuery): Promise<PagesRead> {
  const entries: StreamEntry[] = [];
  let last = after;
  while (true) {
    const count = Math.min(limits.writeBehindReadEntries, Math.max(maxEntries - entries.length, 1));
    const [found, trimmed, page, version] = await Promise.all([
      redis.hget(partition + keyNames.meta, metaFields.epoch),
      redis.hget(partition + keyNames.meta, metaFields.trimmed),
      redis.xrangeBuffer(partition + keyNames.ledger, `(${last}`, '+', 'COUNT', count),
      redis.hget(partition + keyNames.meta, metaFields.version),
    ]);
    if (found !== epoch) return 'replaced';
    // Neither this page nor Postgres has the entries in between.
    if (isBelow(last, trimmedUpTo(trimmed, epoch))) return 'trimmed';
    for (const [id, fields] of page) {
      entries.push(readEntry(id.toString(), fields));
      if (entries.length % limits.writeBehindPartEntries === 0) await nextTurn();
    }
    const isFull = page.length === count;
    if (!isFull || (entries.length >= maxEntries && !isWithNext(entries.at(-1))))
      return { entries, version: Number(version ?? 0), hasMore: isFull };
    last = entries.at(-1)?.id ?? last;
  }
}
