import type pg from 'pg';
import { saveDiscarded } from '../ledger/dead-letters.js';
import { readEntry } from '../ledger/stream-entries.js';
import type { StreamId } from '../ledger/offsets.js';
import { limits } from '../shared/limits.js';
import { inTransaction } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, metaFields, restoringFields } from '../redis/contract.js';
import { isBelow, trimmedUpTo } from '../redis/stream.js';
import type { RestoreLock } from './lock.js';

interface Of {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly tenant: number;
  readonly partition: string;
}

/**
 * The epoch that a partition holds before it is restored, a space, and up to which id of its ledger Postgres has the entries: those behind it are lost
 * unless they are saved. Empty where there is no epoch. `meta` keeps it until the restore ends, so that one that was cut off saves them.
 */
export async function leftBehind({ redis, pool, tenant, partition }: Of, committedEpoch: string, lastId: StreamId): Promise<string> {
  const [epoch, trimmed, left] = await redis.hmget(partition + keyNames.meta, 'epoch', metaFields.trimmed, restoringFields.left);
  if (!epoch) return left ?? '';
  if (epoch === committedEpoch) return `${epoch} ${lastId}`;
  const { rows } = await pool.query<{ last: StreamId | null }>(
    `select last_ms || '-' || last_seq as last from past_epochs where tenant = $1 and epoch::text = $2`,
    [tenant, epoch],
  );
  const committed = rows[0]?.last ?? '0-0';
  const upTo = trimmedUpTo(trimmed, epoch);
  return `${epoch} ${isBelow(committed, upTo) ? upTo : committed}`;
}

/** Saves the entries as dead letters, page by page; once, also when a restore was cut off after it. Returns how many there are. */
export async function saveLeftBehind({ redis, pool, tenant, partition }: Of, hold: RestoreLock, left: string): Promise<number> {
  const [epoch = '', committed = '0-0'] = left.split(' ');
  let saved = 0;
  for (let after = committed; ;) {
    const page = await redis.xrangeBuffer(partition + keyNames.ledger, `(${after}`, '+', 'COUNT', limits.restoreSaveEntries);
    const entries = page.map(([id, fields]) => readEntry(id.toString(), fields));
    const last = entries.at(-1);
    if (!last) return saved;
    await inTransaction(pool, (client) => saveDiscarded(client, tenant, epoch, entries));
    await hold.renew();
    saved += entries.length;
    after = last.id;
  }
}
