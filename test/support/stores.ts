import { chmod, mkdtemp, readFile, rm, statfs } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/postgres/migrate.js';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { findPostgresHome } from '../../src/local-stores/postgres-home.js';
import { administratorUrl } from '../../src/local-stores/postgres-cluster.js';
import { overTcp } from './tcp-redis.js';

/** The real stores of a test process: its own Redis, and the run's Postgres, in which it creates databases. */
export interface Stores {
  /** A temporary folder, removed at the end of the run. */
  readonly folder: string;
  readonly redisUrl: string;
  /** A database with superuser rights, for making others. */
  readonly postgresUrl: string;
  /** The name of a migrated database that others are copied from. */
  readonly template: string;
}

const template = 'laurel_template';
/** The address of the server that gives worker processes the stores of the mocha run. */
const addressVariable = 'LAUREL_TEST_STORES';
const quiet = (): undefined => undefined;

/**
 * world.ts names databases and partitions by a counter, which must exist once per process. A test with a top-level await in its imports is
 * loaded differently, with module instances of its own.
 */
const loaded = Symbol.for('laurel.test.stores');
if (Reflect.has(globalThis, loaded))
  throw new Error('test/support/stores.ts was loaded twice: a test imports a top-level await, or does not load (run it alone)');
Reflect.set(globalThis, loaded, true);

export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** Runs one statement outside a transaction. */
export async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

const memoryFolder = '/dev/shm';
const memoryBytes = 4 * 1024 ** 3;

/**
 * Where the folder of a run goes: in memory if Linux has room for it there, since copying and dropping a database takes less system time.
 * A container usually has 64 MB, and may run no program from it, which Postgres has to under root. TMPDIR names another place.
 */
async function parentFolder(): Promise<string> {
  if (process.platform !== 'linux' || process.env['TMPDIR'] !== undefined) return tmpdir();
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  const options = mounts.findLast(([, path]) => path === memoryFolder)?.[3]?.split(',');
  if (!options || options.includes('noexec')) return tmpdir();
  const { bavail, bsize } = await statfs(memoryFolder);
  return bavail * bsize >= memoryBytes ? memoryFolder : tmpdir();
}

/** The stores of one run. Each server starts with the first test that needs it, and belongs to the process with this object. */
export class RunStores {
  readonly folder: string;
  #postgres: Promise<Started> | undefined;
  readonly #redis = new Map<string, Promise<Started>>();
  #server: Server | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<RunStores> {
    const folder = await mkdtemp(join(await parentFolder(), 'laurel-test-'));
    // Under root, Postgres runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    return new RunStores(folder);
  }

  /** The stores of one worker process. */
  async of(worker: string): Promise<Stores> {
    const redis = this.#redis.get(worker) ?? this.#startRedis(worker);
    this.#redis.set(worker, redis);
    this.#postgres ??= this.#startPostgres();
    const [{ url: redisUrl }, { url: postgresUrl }] = await Promise.all([redis, this.#postgres]);
    return { folder: this.folder, redisUrl, postgresUrl, template };
  }

  /** Serves the stores to the worker processes, which inherit this environment. */
  async serve(): Promise<void> {
    const server = createServer((request, response) => {
      this.of(request.url ?? '').then(
        (stores) => response.end(JSON.stringify(stores)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    process.env[addressVariable] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server?.close();
    this.#server?.closeAllConnections();
    const started = [...this.#redis.values(), ...(this.#postgres ? [this.#postgres] : [])];
    for (const result of await Promise.allSettled(started)) {
      // A failed start was reported to the test that needed the server.
      if (result.status === 'fulfilled') await result.value.stop();
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #startRedis(worker: string): Promise<Started> {
    const dataDir = join(this.folder, `redis-${worker.replaceAll(/\W/g, '')}`);
    const redis = await startLocalRedis({ dataDir, log: quiet });
    return { url: await overTcp(redis.url), stop: () => redis.stop() };
  }

  async #startPostgres(): Promise<Started> {
    const dataDir = join(this.folder, 'postgres');
    const postgres = await startLocalPostgres({ dataDir, log: quiet });
    const { path } = await findPostgresHome(dataDir, quiet);
    const url = await administratorUrl(postgres.url, path);
    // Only a machine that loses power needs the first three, and almost every test copies a database, which none of them has to vacuum.
    for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'])
      await administer(url, `alter system set ${setting} = off`);
    await administer(url, 'select pg_reload_conf()');
    await administer(url, `create database ${template}`);
    await migrate(withDatabase(url, template), (line) => {
      throw new Error(line);
    });
    return { url, stop: () => postgres.stop() };
  }
}

/** Of a program that is no mocha run: its own. */
let own: Promise<RunStores> | undefined;
let mine: Promise<Stores> | undefined;

async function obtain(): Promise<Stores> {
  const address = process.env[addressVariable];
  if (address === undefined) {
    own ??= RunStores.open();
    return (await own).of('');
  }
  const response = await fetch(`${address}/${process.env['MOCHA_WORKER_ID'] ?? ''}`);
  if (!response.ok) throw new Error(`the stores of the run did not start: ${await response.text()}`);
  return (await response.json()) as Stores;
}

export function stores(): Promise<Stores> {
  mine ??= obtain();
  return mine;
}

/** Stops what `stores` has started in a program that is no mocha run. */
export async function stopStores(): Promise<void> {
  await (await own)?.stop();
}

/** Removes a data folder, after stopping servers that a failed test has left running in it: joining and leaving stops them. */
export async function removeStores(dataDir: string): Promise<void> {
  const options = { dataDir, log: quiet };
  for (const start of [startLocalRedis, startLocalPostgres]) await (await start(options)).stop();
  await rm(dataDir, { recursive: true, force: true });
}
