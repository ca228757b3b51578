import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../shared/limits.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, metaFields } from '../redis/contract.js';
import { isBelow, trimmedUpTo } from '../redis/partition.js';
import { readEntry, type StreamEntry } from './dead-letters.js';
import type { StreamId } from './offsets.js';

/** What was read of a ledger behind an id. */
export interface LedgerPages {
  readonly entries: readonly StreamEntry[];
  /** The version of the configuration that none of the entries is later than: it was read after them. */
  readonly version: number;
  /** Whether there may be more behind these. */
  readonly isFull: boolean;
}

/** `replaced`: Redis is of another epoch. `trimmed`: some entries behind the id are gone. */
export type PagesRead = LedgerPages | 'replaced' | 'trimmed';

/** From where, and how much. */
export interface Span {
  readonly epoch: string;
  readonly after: StreamId;
  readonly most: number;
}

/** Reads up to `most` entries of the ledger of a partition, page by page, so that no read holds Redis or this process for long. */
export async function readPages(redis: RedisConnection, partition: string, { epoch, after, most }: Span): Promise<PagesRead> {
  const entries: StreamEntry[] = [];
  for (let last = after; ;) {
    const count = Math.min(limits.writeBehindReadEntries, most - entries.length);
    const [found, trimmed, page, version] = await Promise.all([
      redis.hget(partition + keyNames.meta, metaFields.epoch),
      redis.hget(partition + keyNames.meta, metaFields.trimmed),
      redis.xrangeBuffer(partition + keyNames.ledger, `(${last}`, '+', 'COUNT', count),
      redis.hget(partition + keyNames.meta, metaFields.version),
    ]);
    if (found !== epoch) return 'replaced';
    // What is missing in between is in neither.
    if (isBelow(last, trimmedUpTo(trimmed, epoch))) return 'trimmed';
    for (const [id, fields] of page) {
      entries.push(readEntry(id.toString(), fields));
      if (entries.length % limits.writeBehindPartEntries === 0) await nextTurn();
    }
    const isFull = page.length === count;
    if (!isFull || entries.length >= most) return { entries, version: Number(version ?? 0), isFull };
    last = entries.at(-1)?.id ?? last;
  }
}
