import { LRUCache } from 'lru-cache';

/** Lists of rows in memory, by key: the most recently used ones, at most `maxRows` rows. A list counts as one row more than it has. */
export const recentRows = (maxRows: number): LRUCache<string, readonly unknown[]> =>
  new LRUCache({ maxSize: maxRows, sizeCalculation: (rows) => rows.length + 1 });
