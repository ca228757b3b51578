import type pg from 'pg';
import { saveDiscarded } from '../ledger/dead-letters.js';
import { readEntry } from '../ledger/stream-entries.js';
import type { StreamId } from '../ledger/offsets.js';
import { limits } from '../shared/limits.js';
import { inTransaction } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, metaFields, restoringFields } from '../redis/contract.js';
import { isBelow, trimmedUpTo } from '../redis/partition.js';
import type { RestoreLock } from './lock.js';

interface PartitionOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly tenant: number;
  readonly partition: string;
  /** Whether an operator gives up what Postgres lacks (`laurel restore --discard`). */
  readonly isGivenUp?: boolean;
}

/**
 * Returns the epoch of a partition before its restore, a space, and the id up to which Postgres has its ledger: later entries are lost unless they
 * are saved. Empty where there is no epoch. `meta` keeps this until the restore ends, so that an interrupted restore saves them too.
 */
export async function findUncommitted(
  { redis, pool, tenant, partition }: PartitionOptions,
  { lease, lastId }: RestoreLock,
): Promise<string> {
  const [epoch, trimmed, left] = await redis.hmget(partition + keyNames.meta, metaFields.epoch, metaFields.trimmed, restoringFields.left);
  if (!epoch) return left ?? '';
  if (epoch === lease.epoch) return `${epoch} ${lastId}`;
  const { rows } = await pool.query<{ last: StreamId | null }>(
    `select last_ms || '-' || last_seq as last from past_epochs where tenant = $1 and epoch::text = $2`,
    [tenant, epoch],
  );
  const committed = rows[0]?.last ?? '0-0';
  const upTo = trimmedUpTo(trimmed, epoch);
  return `${epoch} ${isBelow(committed, upTo) ? upTo : committed}`;
}

/** Saves the uncommitted entries as dead letters, page by page; only once, even if the restore is interrupted and repeats it. Returns their number. */
export async function saveUncommitted(
  { redis, pool, tenant, partition, isGivenUp = false }: PartitionOptions,
  lock: RestoreLock,
  uncommitted: string,
): Promise<number> {
  const [epoch = '', committed = '0-0'] = uncommitted.split(' ');
  let saved = 0;
  let after = committed;
  while (true) {
    const page = await redis.xrangeBuffer(partition + keyNames.ledger, `(${after}`, '+', 'COUNT', limits.restoreSaveEntries);
    const entries = page.map(([id, fields]) => readEntry(id.toString(), fields));
    const last = entries.at(-1);
    if (!last) return saved;
    await inTransaction(pool, (client) => saveDiscarded(client, tenant, { epoch, letters: entries, isGivenUp }));
    await lock.renew();
    saved += entries.length;
    after = last.id;
  }
}
