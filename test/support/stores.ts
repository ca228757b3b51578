import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/postgres/pool.js';
import { startLocalPostgres } from '../../src/stores/local-postgres.js';
import { findPostgresHome } from '../../src/stores/postgres-home.js';
import { administratorUrl } from '../../src/stores/postgres-role.js';
import { startLocalRedis } from '../../src/stores/local-redis.js';
import { overTcp } from './tcp-redis.js';

/** The real stores of a test run: one Redis and one Postgres, started when the first test asks for them. */
export interface Stores {
  /** A temporary folder, removed at the end. */
  readonly folder: string;
  readonly redisUrl: string;
  /** A database with superuser rights, for making others. */
  readonly postgresUrl: string;
  /** The name of a migrated database that others are copied from. */
  readonly template: string;
}

const template = 'laurel_template';

/**
 * There must be one of this module in a run, or the stores of another are started beside it and never stopped. A test that imports something with
 * a top-level await is loaded in another way than the rest, with modules of its own.
 */
const loaded = Symbol.for('laurel.test.stores');
if (Reflect.has(globalThis, loaded)) throw new Error('test/support/stores.ts was loaded twice: does a test import a top-level await?');
Reflect.set(globalThis, loaded, true);

let starting: Promise<Stores & { stop(): Promise<void> }> | undefined;

export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** Runs one statement that can't be in a transaction. */
export async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function start(): Promise<Stores & { stop(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'laurel-test-'));
  const options = { dataDir, log: () => undefined };
  const [redis, postgres] = await Promise.all([startLocalRedis(options), startLocalPostgres(options)]);
  const { path } = await findPostgresHome(dataDir, options.log);
  const postgresUrl = await administratorUrl(postgres.url, path);
  await administer(postgresUrl, `create database ${template}`);
  await migrate(withDatabase(postgresUrl, template), (line) => {
    throw new Error(line);
  });
  return {
    folder: dataDir,
    redisUrl: await overTcp(redis.url),
    postgresUrl,
    template,
    stop: async () => {
      await Promise.all([redis.stop(), postgres.stop()]);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export function stores(): Promise<Stores> {
  return (starting ??= start());
}

/** Removes a data folder; servers that a failed test has left running in it are stopped before, since whoever leaves last stops them. */
export async function removeStores(dataDir: string): Promise<void> {
  const options = { dataDir, log: () => undefined };
  for (const start of [startLocalRedis, startLocalPostgres]) await (await start(options)).stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** Stops what `stores` has started. */
export async function stopStores(): Promise<void> {
  if (starting) await (await starting).stop();
}

const endsWithinMs = 30_000;

/** Fails a run that is over and does not end, because a test has left something open, with a line that says what. */
function endSoon(): void {
  const late = setTimeout(() => {
    console.error(`A test has left something open, so the run does not end by itself: ${process.getActiveResourcesInfo().join(', ')}`);
    // Mocha sets its own code, the number of failures, when the process exits.
    process.once('exit', () => {
      process.exitCode = 1;
    });
    process.exit(1);
  }, endsWithinMs);
  late.unref();
}

/** Mocha takes these for the whole run. */
export const mochaHooks = {
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(60_000);
    await stopStores();
    endSoon();
  },
};
