import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { loadStores } from '../sides/checkout.js';
import { ownRoot, sideRoots, type SideRoot } from '../sides/roots.js';
import { Processes, type RunningProcess } from './children.js';
import { startProcess, type LaurelOptions } from './laurel.js';

/** How long the write-behind may take to commit a round, and how often to look. */
const drainMs = 120_000;
const drainPollMs = 10;

/** A checkout of Laurel with a Redis and a Postgres of its own, which it has started itself and uses as its built-in stores. */
export interface Stack extends SideRoot {
  /** Temporary: its data folder. */
  readonly folder: string;
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly postgresPid: number;
  readonly postgresUrl: string;
  /** Starts the service on these stores. What is started here is stopped at the end. */
  readonly serve: (options?: Omit<LaurelOptions, 'dataDir'>) => Promise<RunningProcess>;
  /** Other processes for this stack, with the same life. */
  readonly processes: Processes;
}

/** Runs work with the stack of one checkout, and clears everything away, however it ends. */
async function withStack<T>(of: SideRoot, signal: AbortSignal, work: (stack: Stack) => Promise<T>): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    // Under root, Laurel's Postgres runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    const { startLocalRedis, startLocalPostgres } = await loadStores(of.root);
    const store = await startLocalRedis({ dataDir: folder, log: () => undefined });
    undo.push(() => store.stop());
    const postgres = await startLocalPostgres({ dataDir: folder, log: () => undefined });
    undo.push(() => postgres.stop());
    const redis = connect(store.url);
    undo.push(() => redis.disconnect());
    const processes = new Processes();
    undo.push(() => processes.stop());
    const program = join(of.root, 'bin', 'laurel.mjs');
    const serve: Stack['serve'] = (options) => startProcess({ dataDir: folder, program, ...options }, processes, signal);
    return await work({
      ...of,
      folder,
      redis,
      redisUrl: store.url,
      postgresPid: postgres.pid,
      postgresUrl: postgres.url,
      serve,
      processes,
    });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** A connection of the benchmark's own, with the options of ioredis. */
export function connect(url: string): Redis {
  const redis = new Redis(url.replace(/^unix:\/\//, ''));
  // The command that waits for it fails.
  redis.on('error', () => undefined);
  return redis;
}

/** Runs work with a stack of this checkout and, with `against`, one of the other. */
export function withStacks<T>(
  { against, signal }: { readonly against: string | undefined; readonly signal: AbortSignal },
  work: (stacks: readonly Stack[]) => Promise<T>,
): Promise<T> {
  const nest = ([root, ...others]: readonly SideRoot[], stacks: readonly Stack[]): Promise<T> =>
    root ? withStack(root, signal, (stack) => nest(others, [...stacks, stack])) : work(stacks);
  return nest(sideRoots(against), []);
}

/** Runs work with one stack of this checkout. */
export const withOwnStack = <T>(signal: AbortSignal, work: (stack: Stack) => Promise<T>): Promise<T> =>
  withStack({ side: 'ours', root: ownRoot }, signal, work);

/** Waits until the write-behind has committed everything, and returns how many ms that took. It trims what it has committed off the streams. */
export async function untilDrained(redis: Redis, signal: AbortSignal): Promise<number> {
  const startedMs = performance.now();
  const streams: string[] = [];
  for await (const keys of redis.scanStream({ type: 'stream', count: 1_000 })) streams.push(...(keys as string[]));
  for (const stream of streams) {
    while ((await redis.xlen(stream)) > 0) {
      if (performance.now() - startedMs > drainMs) throw new Error(`The write-behind did not drain within ${drainMs / 1_000} s.`);
      await delay(drainPollMs, undefined, { signal });
    }
  }
  return performance.now() - startedMs;
}
