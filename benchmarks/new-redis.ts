import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisOptions } from '../src/redis/connection.js';
import { startLocalRedis } from '../src/local-stores/local-redis.js';

/** Runs work on an empty Redis of its own, and clears it away, however the work ends. `log` takes what the start has to say. */
export async function inNewRedis<T>(
  work: (redis: Redis, url: string) => Promise<T>,
  log: (line: string) => void = () => undefined,
): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const store = await startLocalRedis({ dataDir: folder, log });
    undo.push(() => store.stop());
    const redis = new Redis(store.url, { ...redisOptions, enableOfflineQueue: true, lazyConnect: false });
    undo.push(() => redis.disconnect());
    return await work(redis, store.url);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}
