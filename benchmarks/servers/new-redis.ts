import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { connect } from './stack.js';

/** A Redis that this checkout has started, for one side alone. */
export interface NewRedis {
  readonly redis: Redis;
  readonly redisUrl: string;
}

/** Runs work on an empty Redis of its own, and clears it away, however the work ends. */
export async function inNewRedis<T>(work: (redis: Redis, url: string) => Promise<T>): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const store = await startLocalRedis({ dataDir: folder, log: () => undefined });
    undo.push(() => store.stop());
    const redis = connect(store.url);
    undo.push(() => redis.disconnect());
    return await work(redis, store.url);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Runs work with a number of empty Redises. */
export function inNewRedises<T>(number: number, work: (stores: readonly NewRedis[]) => Promise<T>): Promise<T> {
  if (number === 0) return work([]);
  return inNewRedis((redis, redisUrl) => inNewRedises(number - 1, (others) => work([{ redis, redisUrl }, ...others])));
}
