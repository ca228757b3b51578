import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisOptions } from '../../src/redis/connection.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { measureLargest, wallClock, type Longest } from './largest-calls.js';
import { largestPlans } from './largest-plans.js';

export interface LargestOptions {
  readonly rounds: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/** A busy machine may be long in answering; what counts is measured inside Redis. */
const callTimeoutMs = 60_000;

const columns = ['first', 'event', 'move', 'batch', 'settle', 'other'] as const;
const header = ['plan bytes', ...columns].map((name) => name.padStart(10)).join(' ');

/** Measures the longest calls under the largest legal configurations, in µs inside Redis. */
export async function largest({ rounds, signal, print }: LargestOptions): Promise<boolean> {
  const undo: (() => unknown)[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const store = await startLocalRedis({ dataDir: folder, log: print });
    undo.push(() => store.stop());
    const redis = new Redis(store.url, { ...redisOptions, commandTimeout: callTimeoutMs, enableOfflineQueue: true, lazyConnect: false });
    undo.push(() => redis.disconnect());
    print(`${' '.repeat(78)}${header}`);
    let longest = 0;
    for (const { what, objects, config } of largestPlans()) {
      signal.throwIfAborted();
      const calls = await measureLargest(redis, config, rounds, wallClock(redis));
      longest = Math.max(longest, ...columns.map((column) => calls[column]));
      print(`${`${objects} ${what}`.padEnd(78)}${line(calls)}`);
    }
    print(`The longest call took Redis ${longest} µs.`);
    return longest <= 50_000;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

const line = (calls: Longest): string =>
  [calls.planBytes, ...columns.map((column) => calls[column])].map((value) => String(value).padStart(10)).join(' ');
