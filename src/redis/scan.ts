import { limits } from '../shared/limits.js';
import type { RedisConnection } from './connection.js';
import { keyNames } from './contract.js';

/**
 * The keys of a partition that start with `start`, page by page; a page may be empty, and a key may come twice. In a cluster only the
 * server that has the partition is asked: SCAN names no key, and goes where the command in front of it goes.
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
