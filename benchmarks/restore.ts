import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import cliProgress from 'cli-progress';
import type { Redis } from 'ioredis';
import pg from 'pg';
import pino from 'pino';
import { defaultTenant } from '../src/access/tenants.js';
import { Context } from '../src/app/context.js';
import { limits } from '../src/shared/limits.js';
import { connectRedis } from '../src/redis/connection.js';
import { keyNames, partitionPrefix } from '../src/redis/contract.js';
import { restoreTenant } from '../src/restore/restore.js';
import { prefetchUsers } from '../src/restore/stored-users.js';
import { verifyTenant } from '../src/restore/verify.js';
import { startService } from '../src/app/service.js';
import { parseSettings, type Settings } from '../src/app/settings.js';
import { startLocalPostgres } from '../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../src/local-stores/local-redis.js';
import { redisCpuS } from './command-stats.js';
import { sampleConfig } from './laurel.js';
import { copyPlainly } from './restore-plain.js';
import { fillPostgres } from './restore-users.js';
import { percentile } from './stats.js';

const tenant = defaultTenant;
const apiKey = 'benchmark.0123456789abcdef';
const shownDifferences = 10;
/** Users read from Postgres without restoring them. */
const readUsers = 50_000;
/** Commands that the restore makes for a user: the hash, the idempotency keys and the newest awards. */
const commandsPerUser = 3;
const betweenEventsMs = 10;

export interface RestoreBenchOptions {
  readonly users: number;
  readonly events: number;
  /** A folder that is kept: the users that it was filled with are used again. */
  readonly folder?: string;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

interface Run {
  readonly options: RestoreBenchOptions;
  readonly settings: Settings;
  /** The empty Redis that takes the plain commands. */
  readonly plainRedis: Redis;
  readonly partition: string;
  readonly users: number;
}

/** What something took: seconds on the clock, and of CPU in this process and in a Redis. */
interface Taken<T> {
  readonly result: T;
  readonly seconds: number;
  readonly cpuS: number;
  readonly redisCpuS: number;
}

const whole = (value: number): string => Math.round(value).toLocaleString('en');

/** Restores many users, and writes the same keys plainly. Returns whether Redis and Postgres agree afterwards. */
export async function restore(options: RestoreBenchOptions): Promise<boolean> {
  const undo: (() => unknown)[] = [];
  try {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'laurel-bench-')));
    if (options.folder === undefined) undo.push(() => rm(folder, { recursive: true, force: true }));
    const plainFolder = join(folder, 'plain');
    await mkdir(plainFolder, { recursive: true });
    // Under root, Laurel's Postgres runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    const log = (): void => undefined;
    const redis = await startLocalRedis({ dataDir: folder, log });
    undo.push(() => redis.stop());
    const plainStore = await startLocalRedis({ dataDir: plainFolder, log });
    undo.push(() => plainStore.stop());
    const postgres = await startLocalPostgres({ dataDir: folder, log });
    undo.push(() => postgres.stop());
    const plainRedis = (await connectRedis({ url: plainStore.url }, (error) => options.print(error.message))) as Redis;
    undo.push(() => plainRedis.disconnect());
    const settings = parseSettings({
      ...{ REDIS_URL: redis.url, DATABASE_URL: postgres.url, CONFIG: sampleConfig },
      ...{ TEST_CLOCK: '1', ADMIN_API_KEY: apiKey, PORT: '0' },
    });
    const users = await fill(options, settings, postgres.url);
    return await measure({ options, settings, plainRedis, partition: partitionPrefix(settings.redisPrefix, tenant), users });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function fill(options: RestoreBenchOptions, settings: Settings, url: string): Promise<number> {
  // Not the service's pool: these statements take longer than one of the service may.
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const startedMs = performance.now();
  try {
    const users =
      (await countUsers(pool)) ||
      (await withBar('Filling Postgres', options.users, (onProgress) =>
        fillPostgres({ ...options, settings, log: pino({ level: 'warn' }), pool, onProgress }),
      ));
    const { rows } = await pool.query<{ size: string }>('select pg_database_size(current_database()) as size');
    const seconds = (performance.now() - startedMs) / 1_000;
    options.print(
      `${whole(users)} users with ${options.events} events each in ${seconds.toFixed(0)} s; Postgres holds ${whole(Number(rows[0]?.size) / 2 ** 20)} MiB`,
    );
    return users;
  } finally {
    await pool.end();
  }
}

/** Those of a folder that was filled before. */
async function countUsers(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ filled: boolean }>(`select to_regclass('users') is not null as filled`);
  if (rows[0]?.filled !== true) return 0;
  const counted = await pool.query<{ users: string }>('select count(*) as users from users where tenant = $1', [tenant]);
  return Number(counted.rows[0]?.users ?? 0);
}

async function measure(run: Run): Promise<boolean> {
  const { settings, options } = run;
  const context = await Context.start({ settings, log: pino({ level: 'warn' }), print: options.print });
  try {
    // Leftovers of the users with real events.
    await context.redis.flushall();
    await run.plainRedis.flushall();
    await readAlone(run, context);
    const restored = await restoreAll(run, context);
    const ofPlain = await writePlainly(run, context.redis as Redis);
    options.print(`Restore / plain pipelined commands, users/s: ${(ofPlain / restored).toFixed(2)}`);
    const isRight = await verifyAll(run, context);
    await sweepAll(run);
    return isRight;
  } finally {
    await context.stop();
  }
}

/** How fast Postgres is read by itself, from some of the users. */
async function readAlone({ options: { print, signal }, users }: Run, context: Context): Promise<void> {
  const most = Math.min(users, readUsers);
  const { result, seconds, cpuS } = await taken(context.redis as Redis, () =>
    withBar('Reading Postgres', most, async (onProgress) => {
      let read = 0;
      for await (const some of prefetchUsers({ pool: context.pool, tenant }, '')) {
        signal.throwIfAborted();
        onProgress((read += some.length));
        if (read >= most) break;
      }
      return read;
    }),
  );
  print(
    `Reading Postgres by itself:  ${seconds.toFixed(1)} s for ${whole(result)} users, ${whole(result / seconds)} users/s; CPU here ${cpuS.toFixed(1)} s`,
  );
}

/** Returns the seconds that it took. */
async function restoreAll({ options: { print, signal }, partition, users }: Run, context: Context): Promise<number> {
  await context.engine.loadLibrary();
  const { pool, active } = context;
  const redis = context.redis as Redis;
  const { seconds, cpuS, redisCpuS } = await taken(redis, () =>
    withBar('Restoring', users, (onProgress) =>
      restoreTenant({ tenant, partition, redis, pool, active, purpose: { epoch: 'none' }, testClock: true, signal, onProgress }),
    ),
  );
  const memory = /^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1];
  print(
    `Restore:                     ${seconds.toFixed(1)} s, ${whole(users / seconds)} users/s; CPU here ${cpuS.toFixed(1)} s, Redis ${redisCpuS.toFixed(1)} s`,
  );
  print(`Redis memory: ${whole(Number(memory) / users)} bytes a user; this process: ${whole(process.memoryUsage().rss / 2 ** 20)} MiB`);
  return seconds;
}

/** Returns the seconds that the writing took. */
async function writePlainly({ options: { print, signal }, plainRedis, partition, users }: Run, from: Redis): Promise<number> {
  const { result, redisCpuS } = await taken(plainRedis, () =>
    withBar('Plain commands (keys)', commandsPerUser * users, (onProgress) =>
      copyPlainly({ from, to: plainRedis, partition, commandsPerPipeline: commandsPerUser * limits.restoreUsers, signal, onProgress }),
    ),
  );
  const { seconds, cpuS, keys, commands } = result;
  print(
    `Plain pipelined commands:    ${seconds.toFixed(1)} s, ${whole(users / seconds)} users/s; CPU here ${cpuS.toFixed(1)} s, Redis ${redisCpuS.toFixed(1)} s; ${whole(keys)} keys, ${whole(commands)} commands`,
  );
  await plainRedis.flushall('ASYNC');
  return seconds;
}

async function verifyAll({ options: { print, signal }, partition, users }: Run, context: Context): Promise<boolean> {
  const { pool, engine, clock, history } = context;
  const redis = context.redis as Redis;
  await engine.open(tenant);
  const waitForLedger = async (): Promise<void> => history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  const { result, seconds } = await taken(redis, () =>
    withBar('Comparing', users, (show) => {
      const onProgress = (compared: number): void => {
        signal.throwIfAborted();
        show(compared);
      };
      return verifyTenant({ tenant, partition, redis, pool, waitForLedger, onProgress });
    }),
  );
  const { differences } = result;
  print(`Verify:                      ${seconds.toFixed(1)} s, ${whole(users / seconds)} users/s; ${differences.length} differences`);
  for (const difference of differences.slice(0, shownDifferences)) print(`  ${JSON.stringify(difference)}`);
  return differences.length === 0;
}

/** The service loads the restored Redis and computes the next due moment of all users, while events are sent to it. */
async function sweepAll({ options: { print, signal }, settings, partition, users, plainRedis }: Run): Promise<void> {
  const service = await startService({ settings, log: pino({ level: 'warn' }), print }, { api: true, worker: true });
  try {
    const { redis } = service.context;
    const open = (): Promise<number> => redis.zcount(partition + keyNames.due, 0, 0);
    const latencies: number[] = [];
    let failed = 0;
    const { seconds } = await taken(plainRedis, () =>
      withBar('Working out what is due', users, async (onProgress) => {
        for (let left = await open(); left > 0; left = await open()) {
          onProgress(users - left);
          const startedMs = performance.now();
          const response = await fetch(`${service.address ?? ''}/v1/metrics/flashcards-viewed/event`, {
            method: 'POST',
            headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
            body: JSON.stringify({ user: { id: `user-0000-${String(latencies.length % 1_000).padStart(4, '0')}` }, value: 1 }),
          });
          await response.arrayBuffer();
          latencies.push(performance.now() - startedMs);
          if (!response.ok) failed += 1;
          await delay(betweenEventsMs, undefined, { signal });
        }
      }),
    );
    const sorted = Float64Array.from(latencies).sort();
    print(
      `Due moments computed:        ${seconds.toFixed(1)} s, ${whole(users / seconds)} users/s; during it ${sorted.length} events, ${failed} failed, p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms, longest ${percentile(sorted, 1).toFixed(1)} ms`,
    );
  } finally {
    await service.stop();
  }
}

async function taken<T>(redis: Redis, work: () => Promise<T>): Promise<Taken<T>> {
  const [startedMs, cpu, redisCpu] = [performance.now(), process.cpuUsage(), await redisCpuS(redis)];
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { result, seconds, cpuS: (user + system) / 1e6, redisCpuS: (await redisCpuS(redis)) - redisCpu };
}

/** Shows how far something is; silent where there is no terminal. */
async function withBar<T>(what: string, all: number, work: (onProgress: (done: number) => void) => Promise<T>): Promise<T> {
  const bar = new cliProgress.SingleBar(
    { format: `${what} {bar} {percentage}% | {value} of {total} | {eta_formatted} left`, clearOnComplete: true, stream: process.stderr },
    cliProgress.Presets.shades_classic,
  );
  bar.start(all, 0);
  try {
    return await work((done) => bar.update(done));
  } finally {
    bar.stop();
  }
}
