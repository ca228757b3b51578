import { applyConfig } from '../../src/app/apply.js';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import pino, { type Logger } from 'pino';
import type { Engine } from '../../src/engine/engine.js';
import { hasCommitted } from '../../src/ledger/offsets.js';
import { mastersOf } from '../../src/redis/cluster.js';
import { connectRedis, redisOptions } from '../../src/redis/connection.js';
import { keyNames, metaFields, partitionPrefix } from '../../src/redis/contract.js';
import { wakeWriteBehind } from '../../src/redis/partition.js';
import { Sweep } from '../../src/jobs/sweep.js';
import type { Overrides } from '../../src/app/context.js';
import { openChannels } from '../../src/app/messages.js';
import { startService, type Roles } from '../../src/app/service.js';
import { parseSettings, type Settings } from '../../src/app/settings.js';
import { holdToReference } from './reference.js';
import { administer, stores, withDatabase } from './stores.js';

/** Whether a problem of the status is one that the services of tests have: no append-only file, and a clock that was moved. */
export const isTestProblem = (problem: string): boolean =>
  /^(?:The append-only file of this Redis is off|The test clock is at )/.test(problem);

export const adminKey = 'test.0123456789abcdef';
export const tenant = 1;
const drainPollMs = 3;
const drainTimeoutMs = 60_000;

/** A Monday in the future: the test clock only moves forward. */
export const defaultNow = '2040-01-02T12:00:00.000Z';

/** The configuration that a service on Laurel's own stores starts with. */
export const sampleConfig = fileURLToPath(new URL('../../examples/study-app.yaml', import.meta.url));

let names = 0;
/** A name that is unique in this run. */
function uniqueName(): string {
  names += 1;
  return `t${process.pid}_${names}`;
}

export interface TestDatabase {
  readonly pool: pg.Pool;
  readonly url: string;
  drop(): Promise<void>;
}

/** A database that its test creates and drops. */
function givenDatabase(url: string): TestDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => undefined);
  return { pool, url, drop: () => pool.end() };
}

/** An empty, migrated database of its own. */
export async function freshDatabase({ connections = 4 } = {}): Promise<TestDatabase> {
  const { postgresUrl, template } = await stores();
  const name = uniqueName();
  // Copying files costs half as much as logging each page.
  await administer(postgresUrl, `create database ${name} template ${template} strategy file_copy`);
  const url = withDatabase(postgresUrl, name);
  const pool = new pg.Pool({ connectionString: url, max: connections });
  pool.on('error', () => undefined);
  return {
    pool,
    url,
    drop: async () => {
      await pool.end();
      await administer(postgresUrl, `drop database ${name} with (force)`);
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body, a text if it is not JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

export interface RequestOptions {
  readonly body?: unknown;
  /** A body sent verbatim. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null sends none. */
  readonly key?: string | null;
}

export interface WorldOptions {
  /** A configuration file that replaces the sample one. */
  readonly config?: string;
  /** The test clock at the start, as an ISO 8601 instant; null runs on Redis' own clock. */
  readonly now?: string | null;
  readonly roles?: Roles;
  /** Another Redis than that of the run. */
  readonly redisUrl?: string;
  /** Silent without one. */
  readonly log?: Logger;
  /** An empty database on another Postgres than that of the run. */
  readonly databaseUrl?: string;
  readonly overrides?: Overrides;
  /** Settings besides those of a world. */
  readonly settings?: Partial<Settings>;
}

/** A whole service on real stores, in a partition and a database of its own. */
export interface World {
  readonly address: string;
  /** Of the metrics; empty without them. */
  readonly metricsAddress: string;
  readonly settings: Settings;
  readonly pool: pg.Pool;
  readonly redis: Redis;
  /** That of the service. */
  readonly engine: Engine;
  /** The `no` of the tenant that requests mean. */
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  get(path: string): Promise<Reply>;
  event(metric: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  setClock(iso: string): Promise<void>;
  /** Moves the test clock of one tenant, by its no, and does what is due by then. */
  advance(no: number, iso: string): Promise<void>;
  /** Applies a configuration file, to the default tenant if none is named, and returns once this service uses it. */
  configure(text: string, how?: { prune?: boolean; tenant?: string }): Promise<void>;
  /** Waits until the write-behind has committed the current ledger of a tenant, by its no. */
  drain(no?: number): Promise<void>;
  /** The id of the newest entry of the ledger: nothing changes in Redis without one. */
  ledgerEnd(): Promise<string>;
  /** All keys of the tenant in Redis, and every row in Postgres, as text to compare. */
  snapshot(): Promise<string>;
  stopService(): Promise<void>;
  stop(): Promise<void>;
}

/** A file of its own for a configuration text, below the folder of this run. */
async function configFile(text: string): Promise<string> {
  const { folder } = await stores();
  const file = join(folder, `${uniqueName()}.yaml`);
  await writeFile(file, text);
  return file;
}

async function settingsOf(databaseUrl: string, options: WorldOptions): Promise<Settings> {
  return {
    ...parseSettings({}),
    port: 0,
    apiProcesses: 1,
    redisUrl: options.redisUrl ?? (await stores()).redisUrl,
    redisPrefix: uniqueName(),
    databaseUrl,
    dataDir: '/nowhere',
    adminApiKey: adminKey,
    config: options.config === undefined ? sampleConfig : await configFile(options.config),
    testClock: options.now !== null,
    logLevel: 'silent',
    postgresPoolSize: 6,
    rateLimitCostly: 0,
    rateLimitCostlyS: 0,
    webhookAllowPrivate: true,
    shutdownDelayS: 0,
    messages: 'off',
    ...options.settings,
  };
}

/** The last errors that services of this process have logged, for the message of a test that gets a 500. */
const faults: string[] = [];
const faultsKept = 3;

function noteFault(line: string): void {
  faults.push(line);
  faults.splice(0, faults.length - faultsKept);
}

/** The first part of a stream, which would not end by itself. */
async function firstPart({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const part = await reader?.read();
  await reader?.cancel();
  return Buffer.from((part?.value as Uint8Array | undefined) ?? []).toString();
}

async function send(address: string, method: string, path: string, { body, raw, headers, key }: RequestOptions): Promise<Reply> {
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(address + path, {
    method,
    headers: { ...(key === null ? {} : { 'x-api-key': key ?? adminKey }), 'content-type': 'application/json', ...headers },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = await (isStream ? firstPart(response) : response.text());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  const answered = text === '' ? undefined : isJson ? (JSON.parse(text) as unknown) : text;
  try {
    holdToReference(method, path, response.status, answered);
  } catch (error) {
    throw response.status === 500 ? new Error(`${(error as Error).message}\n${faults.join('')}`, { cause: error }) : error;
  }
  return { status: response.status, headers: response.headers, body: answered };
}

async function lastLedgerId(redis: Redis, ledger: string): Promise<string> {
  if ((await redis.exists(ledger)) === 0) return '0-0';
  const info = (await redis.xinfo('STREAM', ledger)) as unknown[];
  return String(info[info.indexOf('last-generated-id') + 1]);
}

/**
 * The tables that requests may change: all but the progress of the write-behind and the jobs. Partitions are read with their table.
 */
const tablesQuery = `
  select relname as name from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
     and relname not in ('migrations', 'migration_files', 'stream_offsets', 'key_retention', 'activations', 'active_redis', 'redis_confirmations',
       'audit_log', 'dashboard_sessions')
   order by relname`;

/** Every request, also a refused one, updates when its key was last used. */
const rowsQuery = (table: string): string =>
  `select to_jsonb(t) - array['last_used', 'last_used_at'] as row from ${table} as t order by t::text`;

async function dumpKey(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return Object.entries(await redis.hgetall(key))
        .filter(([field]) => field !== metaFields.trimmed)
        .sort(([a], [b]) => (a < b ? -1 : 1));
    case 'zset':
      return (await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES')).map((item) => item.toString('base64'));
    case 'list':
      return (await redis.lrangeBuffer(key, 0, -1)).map((item) => item.toString('base64'));
    case 'stream':
      return lastLedgerId(redis, key);
    case 'string':
      return (await redis.getBuffer(key))?.toString('base64');
    default:
      return null;
  }
}

/** All keys that start with a prefix. */
export async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for (const server of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, found] = await server.scan(cursor, 'MATCH', `${prefix.replace(/[[\]*?\\]/g, '\\$&')}*`, 'COUNT', 1000);
      cursor = next;
      keys.push(...found);
    } while (cursor !== '0');
  }
  return [...new Set(keys)].sort();
}

async function snapshot(redis: Redis, pool: pg.Pool, partition: string): Promise<string> {
  const dump: Record<string, unknown> = {};
  for (const key of await keysOf(redis, partition)) dump[key] = await dumpKey(redis, key);
  const { rows: tables } = await pool.query<{ name: string }>(tablesQuery);
  for (const { name } of tables) dump[name] = (await pool.query<{ row: unknown }>(rowsQuery(name))).rows;
  return JSON.stringify(dump, null, 1);
}

async function deleteKeys(redis: Redis, prefix: string): Promise<void> {
  await Promise.all((await keysOf(redis, prefix)).map((key) => redis.del(key)));
}

/** The test's own connection. One to a cluster takes the same commands. */
async function ownConnection(url: string): Promise<Redis> {
  if (url.includes('+')) return (await connectRedis({ url }, () => undefined)) as Redis;
  const redis = new Redis(url, { ...redisOptions, enableOfflineQueue: true, lazyConnect: false });
  redis.on('error', () => undefined);
  return redis;
}

/** Starts a world. Stop it in an `after` hook. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const database = options.databaseUrl === undefined ? await freshDatabase() : givenDatabase(options.databaseUrl);
  const started = await settingsOf(database.url, options);
  // Another service on these stores uses the active configuration.
  const settings = { ...started, config: options.config === undefined ? null : started.config };
  const log = options.log ?? pino({ level: 'error' }, { write: noteFault });
  const service = await startService(
    { settings: started, log, print: () => undefined, overrides: options.overrides ?? {} },
    options.roles ?? { api: true, worker: true },
  );
  const { engine, clock, history } = service.context;
  const sweep = new Sweep({ engine, clock, history, pool: service.context.pool, log }, openChannels(settings));
  const redis = await ownConnection(settings.redisUrl ?? '');
  const partition = partitionPrefix(settings.redisPrefix, tenant);
  const address = service.address ?? '';
  let serving = true;
  const world: World = {
    address,
    metricsAddress: service.metricsAddress ?? '',
    settings,
    pool: database.pool,
    redis,
    engine,
    tenant,
    partition,
    request: (method, path, request = {}) => send(address, method, path, request),
    get: (path) => send(address, 'GET', path, {}),
    event: (metric, body, headers = {}) => send(address, 'POST', `/v1/metrics/${metric}/event`, { body, headers }),
    setClock: async (iso) => {
      let reply: Reply;
      do reply = await world.request('PUT', '/admin/v1/clock', { body: { now: iso } });
      while (reply.status === 202);
      if (reply.status !== 200) throw new Error(`the clock refused ${iso}: ${JSON.stringify(reply.body)}`);
    },
    advance: async (no, iso) => {
      await sweep.advance(no, Date.parse(iso));
    },
    configure: async (text, how = {}) => {
      await applyConfig(service.context, { name: 'test.yaml', text }, { prune: how.prune === true, dryRun: false, tenant: how.tenant });
    },
    drain: async (no = tenant) => {
      const newest = await lastLedgerId(redis, partitionPrefix(settings.redisPrefix, no) + keyNames.ledger);
      const giveUpAt = Date.now() + drainTimeoutMs;
      wakeWriteBehind(redis, partitionPrefix(settings.redisPrefix, no));
      while (!(await hasCommitted(database.pool, no, newest))) {
        if (Date.now() > giveUpAt) throw new Error(`the ledger was not committed up to ${newest} in time`);
        await delay(drainPollMs);
      }
    },
    ledgerEnd: () => lastLedgerId(redis, partition + keyNames.ledger),
    snapshot: () => snapshot(redis, database.pool, partition),
    stopService: async () => {
      if (serving) await service.stop();
      serving = false;
    },
    stop: async () => {
      await world.stopService();
      // Of all tenants, and of the account.
      await deleteKeys(redis, `{${settings.redisPrefix}:`);
      redis.disconnect();
      await database.drop();
    },
  };
  if (options.now !== null) await world.setClock(options.now ?? defaultNow);
  return world;
}

/** A world for `startTenant`: the test clock of its default tenant stays unset, so that each tenant has a clock of its own. */
export const startHost = (settings: Partial<Settings> = {}): Promise<World> =>
  startWorld({ now: null, settings: { testClock: true, ...settings } });

/**
 * A new tenant of a host, as a world. It costs a tenth of a service with a database: files whose tests each need an empty state share
 * one host. `snapshot` covers the tables of all tenants, and `stopService` stops the host.
 */
export async function startTenant(host: World, options: Pick<WorldOptions, 'config'> & { readonly now?: string } = {}): Promise<World> {
  const customerId = uniqueName();
  await host.request('POST', '/admin/v1/tenants', { body: [{ customerId, name: customerId }] });
  const { rows } = await host.pool.query<{ no: number; id: string }>('select no, id from tenants where customer_id = $1', [customerId]);
  const [own] = rows;
  if (!own) throw new Error('the host refused a new tenant');
  const { no, id } = own;
  const partition = partitionPrefix(host.settings.redisPrefix, no);
  const request: World['request'] = (method, path, { headers, ...rest } = {}) =>
    host.request(method, path, { ...rest, headers: { 'tenant-id': customerId, ...headers } });
  const world: World = {
    ...host,
    tenant: no,
    partition,
    request,
    get: (path) => request('GET', path),
    event: (metric, event, headers = {}) => request('POST', `/v1/metrics/${metric}/event`, { body: event, headers }),
    setClock: (iso) => host.advance(no, iso),
    configure: (text, how = {}) => host.configure(text, { ...how, tenant: customerId }),
    drain: (of = no) => host.drain(of),
    ledgerEnd: () => lastLedgerId(host.redis, partition + keyNames.ledger),
    snapshot: () => snapshot(host.redis, host.pool, partition),
    // An archived tenant leaves the worker nothing to do. Its keys stay until the host stops: a worker that still has the tenant would restore
    // them, and what it writes then would be in the snapshots of later tests.
    stop: async () => {
      await host.request('DELETE', `/admin/v1/tenants?ids=${id}`);
    },
  };
  if (options.config !== undefined) await world.configure(options.config);
  await world.setClock(options.now ?? defaultNow);
  return world;
}
