import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { hasCommitted } from '../../src/ledger/offsets.js';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { wakeWriteBehind } from '../../src/redis/partition.js';
import { differences } from './differences.js';
import { stores } from './stores.js';
import { adminKey, freshDatabase, keysOf, sampleConfig, tenant, type Reply, type TestDatabase, type World } from './world.js';

const pollMs = 10;

/** Looks until `look` finds something (not undefined, not false), and returns it. Throws when it has not for `boundMs`. */
export async function until<T>(what: string, look: () => Promise<T> | T, boundMs = 60_000): Promise<Exclude<T, undefined | false>> {
  const giveUpAt = Date.now() + boundMs;
  while (true) {
    const found = await look();
    if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    if (Date.now() > giveUpAt) throw new Error(`${what}: not within ${boundMs} ms`);
    await delay(pollMs);
  }
}

/** Waits until a world's service says that it is ready. */
export async function untilReady(world: World): Promise<void> {
  let answer: Reply | undefined;
  const isReady = async (): Promise<boolean> => {
    answer = await world.get('/health/ready');
    return answer.status === 200;
  };
  await until('ready', isReady).catch((error: unknown) => {
    throw new Error(`the service does not get ready: ${JSON.stringify(answer?.body)}`, { cause: error });
  });
}

/** Waits until the leaderboards of the sample configuration are activated: an activation that an outage interrupts would go on during a comparison. */
export async function untilSampleActivated(pool: pg.Pool): Promise<void> {
  const activated = "select 1 from activations where kind = 'leaderboard' and completed is not null";
  await until('the leaderboards of the sample to be activated', async () => (await pool.query(activated)).rowCount === 2);
}

/** Stores for services that run as processes of their own: a partition of the run's Redis, and a database. */
export interface Stage {
  /** Settings by environment variable, without PORT. */
  readonly env: Readonly<Record<string, string>>;
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  readonly redis: Redis;
  readonly partition: string;
  /** Goes on under another REDIS_PREFIX. */
  moveTo(prefix: string): void;
  /** The id of the ledger's newest entry. */
  ledgerEnd(): Promise<string>;
  /** Waits until Postgres has everything that the ledger holds now. */
  drain(): Promise<void>;
  /** Where Redis and Postgres differ, a sentence each. */
  differences(): Promise<string[]>;
  stop(): Promise<void>;
}

export interface StageOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Another Redis than that of the run. */
  readonly redisUrl?: string;
  /** An empty, unshared database on another server. */
  readonly databaseUrl?: string;
  /** How long `drain` may take. */
  readonly drainMs?: number;
}

let stages = 0;
let files = 0;

/** A file of its own for a configuration, which is an object (JSON is YAML) or the text of a file. */
export async function configFile(config: object | string): Promise<string> {
  files += 1;
  const file = join((await stores()).folder, `config-${process.pid}_${files}.yaml`);
  await writeFile(file, typeof config === 'string' ? config : JSON.stringify(config, null, 1));
  return file;
}

function emptyDatabase(url: string): TestDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => undefined);
  return { pool, url, drop: () => pool.end() };
}

export async function setStage({ env = {}, redisUrl, databaseUrl, drainMs = 60_000 }: StageOptions = {}): Promise<Stage> {
  const database = databaseUrl === undefined ? await freshDatabase() : emptyDatabase(databaseUrl);
  const url = redisUrl ?? (await stores()).redisUrl;
  stages += 1;
  let prefix = `s${process.pid}_${stages}`;
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  const partition = (): string => partitionPrefix(prefix, tenant);
  const ledgerEnd = async (): Promise<string> => {
    const ledger = partition() + keyNames.ledger;
    if ((await redis.exists(ledger)) === 0) return '0-0';
    const info = (await redis.xinfo('STREAM', ledger)) as unknown[];
    return String(info[info.indexOf('last-generated-id') + 1]);
  };
  const more = { ADMIN_API_KEY: adminKey, API_PROCESSES: '1', LOG_LEVEL: 'error', SHUTDOWN_DELAY: '0', CONFIG: sampleConfig, ...env };
  return {
    get env() {
      return { REDIS_URL: url, REDIS_PREFIX: prefix, DATABASE_URL: database.url, ...more };
    },
    moveTo: (next) => {
      prefix = next;
    },
    pool: database.pool,
    databaseUrl: database.url,
    redis,
    get partition() {
      return partition();
    },
    ledgerEnd,
    drain: async () => {
      const end = await ledgerEnd();
      wakeWriteBehind(redis, partition());
      await until(`the ledger in Postgres up to ${end}`, () => hasCommitted(database.pool, tenant, end), drainMs);
    },
    differences: () => differences(redis, database.pool, partition()),
    stop: async () => {
      const keys = await keysOf(redis, partition()).catch(() => []);
      if (keys.length > 0) await redis.del(...keys);
      redis.disconnect();
      await database.drop();
    },
  };
}
