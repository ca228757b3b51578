import { cp, mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import type { LocalStore } from '../../src/local-stores/local-store.js';
import { ProcessHandle } from '../../src/local-stores/processes.js';
import { disown, own } from './owned.js';
import { until } from './stage.js';
import { overTcp } from './tcp-redis.js';

const goneMs = 30_000;

/**
 * Starts it so that everything that it has answered is in its file: with a sync each second, a disk that is busy makes it hold back up to
 * two seconds of writes, and what a kill then leaves is behind Postgres.
 */
async function startServer(dataDir: string, durable: boolean, known?: string): Promise<{ store: LocalStore; url: string }> {
  const store = await startLocalRedis({ dataDir, log: () => undefined });
  own(store.pid);
  const redis = new Redis(store.url);
  await (durable ? redis.config('SET', 'appendfsync', 'always') : redis.config('SET', 'appendonly', 'no'));
  redis.disconnect();
  return { store, url: await overTcp(store.url, known) };
}

/** A Redis of a test's own, which it may freeze, kill and start again. Its address stays the same. */
export class OwnRedis {
  /** Its data folder; `redis/` in it is the server's. */
  readonly folder: string;
  readonly url: string;
  private readonly durable: boolean;
  private store: LocalStore;

  private constructor(folder: string, durable: boolean, { store, url }: { store: LocalStore; url: string }) {
    this.folder = folder;
    this.durable = durable;
    this.url = url;
    this.store = store;
  }

  /** A server that is not durable loses its data when it stops. */
  static async start({ durable = true } = {}): Promise<OwnRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-redis-'));
    return new OwnRedis(folder, durable, await startServer(folder, durable));
  }

  /** `kill -9`; returns when it is gone. */
  async kill(): Promise<void> {
    const server = new ProcessHandle(this.store.pid);
    // A frozen process handles other signals only after SIGCONT.
    for (const signal of ['SIGKILL', 'SIGCONT'] as const) server.signal(signal);
    if (!(await server.isGoneWithin(goneMs))) throw new Error('Redis does not go');
    disown(this.store.pid);
    await this.store.stop();
  }

  private get files(): string {
    return join(this.folder, 'redis', 'appendonlydir');
  }

  /** Copies the current append-only file and returns the path of the copy. No rewrite runs during the copy, as Redis' manual requires. */
  async copy(): Promise<string> {
    const copy = await mkdtemp(join(this.folder, 'copy-'));
    const redis = new Redis(this.url);
    const [, share = '100'] = await redis.config('GET', 'auto-aof-rewrite-percentage');
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    await until('no rewriting', async () => !/aof_rewrite_in_progress:1/.test(await redis.info('persistence')));
    await cp(this.files, copy, { recursive: true });
    await redis.config('SET', 'auto-aof-rewrite-percentage', share);
    redis.disconnect();
    return copy;
  }

  /** While it is down: takes a copy of its append-only file for the file, or none, so that it comes back empty. */
  async putBack(copy: string | undefined): Promise<void> {
    await rm(this.files, { recursive: true });
    if (copy !== undefined) await cp(copy, this.files, { recursive: true });
  }

  /** While it is down: cuts its append-only file off in the middle of the last command of a name, as a machine does that dies while it writes. */
  async cutOffIn(command: string): Promise<void> {
    const newest = (await readdir(this.files)).find((name) => name.endsWith('.incr.aof')) ?? '';
    const file = join(this.files, newest);
    const at = (await readFile(file)).lastIndexOf(`\r\n${command}\r\n`);
    if (at < 0) throw new Error(`there is no ${command} in ${file}`);
    await truncate(file, at + command.length + 9);
  }

  async startAgain(): Promise<void> {
    const { store } = await startServer(this.folder, this.durable, this.url);
    this.store = store;
  }

  /** It stays connected and answers nothing, until `thaw`. */
  freeze(): void {
    process.kill(this.store.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.store.pid, 'SIGCONT');
  }

  /** Stops it for good and removes its folder. */
  async stop(): Promise<void> {
    await this.store.stop();
    disown(this.store.pid);
    await rm(this.folder, { recursive: true, force: true });
  }
}
