import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { connectRedis } from '../src/redis/connection.js';
import { startLocalRedis } from '../src/local-stores/local-redis.js';
import { Processes } from './processes.js';

/** What a benchmark over HTTP has to itself. */
export interface Workshop {
  /** Temporary: the data folder of the Laurel that is measured. */
  readonly folder: string;
  /** The address of the Redis in it: Laurel finds that one running and uses it, so it is the one that Laurel would have started itself. */
  readonly redisUrl: string;
  readonly redis: Redis;
  /** Those that are started here are stopped at the end. */
  readonly processes: Processes;
}

/** Runs a benchmark in a workshop, and clears everything away, however it ends. */
export async function inWorkshop<T>(print: (line: string) => void, work: (workshop: Workshop) => Promise<T>): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    // Under root, Laurel's Postgres runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    const store = await startLocalRedis({ dataDir: folder, log: print });
    undo.push(() => store.stop());
    const redis = (await connectRedis({ url: store.url }, (error) => print(error.message))) as Redis;
    undo.push(() => redis.disconnect());
    const processes = new Processes();
    undo.push(() => processes.stop());
    return await work({ folder, redisUrl: store.url, redis, processes });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}
