import { limits } from '../shared/limits.js';
import type { RedisConnection } from './connection.js';
import { channelNames, keyNames, metaFields } from './contract.js';

/** A moment of a tenant. */
export interface TenantMoment {
  readonly atMs: number;
  /** The ledger id of the newest deletion of a user. */
  readonly deleted: string;
}

/** Whether a stream id precedes another. */
export function isBelow(id: string, other: string): boolean {
  const [ms = '0', seq = '0'] = id.split('-');
  const [otherMs = '0', otherSeq = '0'] = other.split('-');
  return ms === otherMs ? BigInt(seq) < BigInt(otherSeq) : BigInt(ms) < BigInt(otherMs);
}

/**
 * Trims the ledger of a partition up to an id that Postgres has committed in `epoch`, and records the id in the same step: a Postgres that later
 * lacks it has been restored to an older state (`open` in lua/modules/partition.lua).
 */
export async function trimLedger(redis: RedisConnection, partition: string, epoch: string, upTo: string): Promise<void> {
  const results = await redis
    .multi()
    .hset(partition + keyNames.meta, metaFields.trimmed, `${epoch} ${upTo}`)
    .xtrim(partition + keyNames.ledger, 'MINID', idAfter(upTo))
    .exec()
    .catch((error: unknown) => {
      throw causeOfAbort(error);
    });
  if (!results) throw new Error('Redis aborted the trim of a ledger');
  for (const [error] of results) if (error) throw error;
}

/** The reply for which Redis has discarded a transaction (EXECABORT), such as MISCONF: only that says why. */
function causeOfAbort(error: unknown): unknown {
  const { previousErrors } = error as { readonly previousErrors?: readonly Error[] };
  return previousErrors?.[0] ?? error;
}

/** The id up to which a ledger was trimmed in an epoch, from the last trim in `meta`; `0-0` for none. */
export function trimmedUpTo(trimmed: string | null | undefined, epoch: string): string {
  const [of, upTo = '0-0'] = (trimmed ?? '').split(' ');
  return of === epoch ? upTo : '0-0';
}

/** Makes the worker of a partition's ledger commit its entries at once. When the message is lost, it does so within limits.writeBehindCollectMs. */
export function wakeWriteBehind(redis: RedisConnection, partition: string): void {
  redis.publish(partition + channelNames.written, '').catch(() => undefined);
}

/** The id of the newest entry in a partition's ledger, `0-0` for none. */
export async function newestId(redis: RedisConnection, partition: string): Promise<string> {
  const [newest] = await redis.xrevrange(partition + keyNames.ledger, '+', '-', 'COUNT', 1);
  return newest?.[0] ?? '0-0';
}

/** The id of the newest entry that a partition's ledger has ever contained, `0-0` for none. */
export async function lastLedgerId(redis: RedisConnection, partition: string): Promise<string> {
  const ledger = partition + keyNames.ledger;
  if ((await redis.exists(ledger)) === 0) return '0-0';
  const info = (await redis.xinfo('STREAM', ledger)) as unknown[];
  return String(info[info.indexOf('last-generated-id') + 1]);
}

/** The lowest id after a stream id, `milliseconds-number`. */
function idAfter(id: string): string {
  const [ms = '0', seq = '0'] = id.split('-');
  return `${ms}-${BigInt(seq) + 1n}`;
}

/** The fields and values of a hash, in steps: a user may have used any number of idempotency keys. Those that change meanwhile may be missing. */
export async function readHash(redis: RedisConnection, key: string): Promise<Map<string, Buffer>> {
  const fields = new Map<string, Buffer>();
  let cursor = '0';
  do {
    const [next, items] = await redis.hscanBuffer(key, cursor, 'COUNT', limits.hashFieldsRead);
    for (let at = 0; at + 1 < items.length; at += 2) fields.set(String(items[at]), items[at + 1] as Buffer);
    cursor = String(next);
  } while (cursor !== '0');
  return fields;
}

/**
 * The keys of a partition that start with `start`, in pages; a page may be empty, and a key may occur twice. In a cluster only the partition's
 * server is scanned: SCAN names no key, so it goes to the server of the command before it in the pipeline.
 */
export async function* partitionKeys(redis: RedisConnection, partition: string, start = partition): AsyncGenerator<string[]> {
  const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`;
  let cursor = '0';
  do {
    const replies = await redis
      .pipeline()
      .exists(partition + keyNames.meta)
      .scan(cursor, 'MATCH', pattern, 'COUNT', limits.restoreScanKeys)
      .exec();
    for (const [error] of replies ?? []) if (error) throw error;
    const [next, keys] = replies?.[1]?.[1] as [string, string[]];
    yield keys;
    cursor = next;
  } while (cursor !== '0');
}
