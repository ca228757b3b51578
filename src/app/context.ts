import type { Agent } from 'node:https';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { Logger } from 'pino';
import { Account, type StoreWatches } from '../access/account.js';
import { AuditLog, type ServiceClock } from '../access/audit.js';
import { defaultTenant, savedTestClock } from '../access/tenants.js';
import { loadConfig, mustLoadVersion } from '../config/store/store.js';
import { Clock } from '../engine/clock.js';
import { ConfigEditor } from '../engine/configuration.js';
import { Engine } from '../engine/engine.js';
import type { AroundCall } from '../engine/function-calls.js';
import { eachSecond, repeatEachSecond } from '../jobs/job.js';
import { ActiveRedis } from '../ledger/active-redis.js';
import type { ProcessRole } from '../ledger/active-redis-rules.js';
import { AggregateReader } from '../history/aggregates.js';
import { AnalyticsReader } from '../history/analytics.js';
import { isPastEpoch, loadOffset } from '../ledger/offsets.js';
import { HistoryReader } from '../history/reader.js';
import { startLocalPostgres } from '../local-stores/local-postgres.js';
import { startLocalRedis } from '../local-stores/local-redis.js';
import type { LocalStore } from '../local-stores/local-store.js';
import { findPostgresPackage } from '../local-stores/postgres-programs.js';
import { StoreWatch } from '../logging/store-watch.js';
import { postgresFailure, withPostgresErrors } from '../postgres/failure.js';
import { migrate } from '../postgres/migrate.js';
import { createPool } from '../postgres/pool.js';
import { redisDatabaseOf, redisPlaceName } from '../redis/address.js';
import { connectListener, connectRedis, messageOf, type RedisConnection, type RedisTarget } from '../redis/connection.js';
import { bundleLibrary } from '../redis/library.js';
import { wakeWriteBehind } from '../redis/partition.js';
import { checkRedisServers, keepDurable, watchAppendOnlyFile } from '../redis/server.js';
import { LaurelError } from '../shared/errors.js';
import { Lifecycle } from './lifecycle.js';
import { refusedByStore } from './refused.js';
import { replicationOf, type Settings, webhookReceivers } from './settings.js';

export interface ContextOptions {
  readonly settings: Settings;
  readonly log: Logger;
  /** Prints one plain line for the operator. */
  readonly print: (line: string) => void;
  /** Whether an empty data folder gets a new Redis and Postgres. Otherwise an empty folder is an error. */
  readonly createStores?: boolean;
  /** Measures each call of the function library. */
  readonly aroundCall?: AroundCall | undefined;
  /** The stores to use; without them, the settings name them or they are started. */
  readonly stores?: StoreAddresses;
  /** The role that other processes see in this one's confirmations; `command` without it. */
  readonly role?: ProcessRole;
  readonly overrides?: Overrides;
}

/** What only tests set. */
export interface Overrides {
  /** How far the clock of webhook deliveries is ahead of Postgres' clock. */
  readonly deliveryAheadMs?: () => number;
  /** How far the clock of confirmations is ahead of Postgres' clock (ledger/active-redis.ts). */
  readonly confirmationAheadMs?: () => number;
  /** How far the clock of the dashboard's sessions is ahead. */
  readonly sessionAheadMs?: () => number;
  /** The built page of the dashboard; without it, that of the build. */
  readonly pageFolder?: string;
  /** Connects to Amazon SNS. */
  readonly snsAgent?: Agent;
}

/** The configured addresses, or those of the built-in stores. */
export interface StoreAddresses {
  readonly redisUrl: string;
  readonly databaseUrl: string;
}

/** Opens further connections to Postgres, `size` at most, whose statements may take `timeoutMs`. The caller ends them. */
type OpenPool = (size: number, timeoutMs?: number) => pg.Pool;

/** Connections to the stores, checked. */
interface Connections {
  readonly redis: RedisConnection;
  /** For large replies, which must not delay events. */
  readonly bulkRedis: RedisConnection;
  /** With DURABILITY=replicated: for calls whose replies wait for replicas. */
  readonly keptRedis: RedisConnection | undefined;
  readonly target: RedisTarget;
  readonly pool: pg.Pool;
  readonly openPool: OpenPool;
  readonly testClock: boolean;
  readonly watches: StoreWatches;
  readonly lifecycle: Lifecycle;
}

/** The stores and what every process builds on them: `serve`, `worker` and all commands. Whatever a process starts is stopped with its context. */
export class Context {
  readonly settings: Settings;
  readonly log: Logger;
  readonly print: (line: string) => void;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly openPool: OpenPool;
  readonly engine: Engine;
  readonly active: ActiveRedis;
  readonly history: HistoryReader;
  readonly aggregates: AggregateReader;
  readonly analytics: AnalyticsReader;
  readonly clock: Clock;
  readonly configuration: ConfigEditor;
  readonly account: Account;
  readonly audit: AuditLog;
  readonly lifecycle: Lifecycle;
  readonly overrides: Overrides;
  private readonly target: RedisTarget;

  private constructor(options: ContextOptions, connections: Connections) {
    const { redis, bulkRedis, keptRedis, target, pool, openPool, testClock, watches, lifecycle } = connections;
    const { settings, log, print, overrides = {} } = options;
    this.settings = settings;
    this.log = log;
    this.print = print;
    this.redis = redis;
    this.target = target;
    this.pool = pool;
    this.openPool = openPool;
    this.overrides = overrides;
    this.lifecycle = lifecycle;
    this.active = new ActiveRedis({
      redis,
      pool,
      prefix: settings.redisPrefix,
      role: options.role ?? 'command',
      aheadMs: overrides.confirmationAheadMs,
      address: redisPlaceName(settings.redisUrl, settings.dataDir),
      db: redisDatabaseOf(settings.redisUrl),
      partition: (tenant) => this.engine.partition(tenant),
      opened: () => this.engine.openedTenants(),
      // The processes of the API would all log the same.
      onServers: options.role?.includes('worker') === true ? watchAppendOnlyFile(log) : undefined,
    });
    this.engine = new Engine({
      redis,
      bulkRedis,
      keptRedis,
      prefix: settings.redisPrefix,
      library: bundleLibrary(),
      testClock,
      maxLedgerEntries: settings.maxLedgerEntries,
      loadConfig: (tenant) => withPostgresErrors(loadConfig(pool, tenant)),
      loadVersion: (tenant, version) => withPostgresErrors(mustLoadVersion(pool, tenant, version)),
      loadOffset: (tenant, isFinal) => withPostgresErrors(loadOffset(pool, tenant, isFinal)),
      isPastEpoch: (tenant, epoch) => withPostgresErrors(isPastEpoch(pool, tenant, epoch)),
      autoRestore: settings.autoRestore,
      fence: {
        claim: (need) => withPostgresErrors(this.active.claim(need)),
        look: (need) => withPostgresErrors(this.active.check(need)),
      },
      aroundCall: options.aroundCall,
    });
    this.history = new HistoryReader(pool, (tenant) => {
      wakeWriteBehind(redis, this.engine.partition(tenant));
    });
    this.aggregates = new AggregateReader(pool);
    this.analytics = new AnalyticsReader(pool);
    this.clock = new Clock(this.engine, testClock);
    this.configuration = new ConfigEditor({
      pool,
      engine: this.engine,
      clock: this.clock,
      failure: postgresFailure,
      webhookReceivers: webhookReceivers(settings),
    });
    this.account = new Account({ redis, prefix: settings.redisPrefix, pool, log, watches, aheadMs: overrides.sessionAheadMs });
    this.audit = new AuditLog(this.account, log, serviceClock(this.clock));
  }

  /** Starts the built-in stores if none are configured, migrates Postgres and connects. When a step fails, the earlier ones stop again. */
  static async start(options: ContextOptions): Promise<Context> {
    const lifecycle = new Lifecycle(options.log);
    try {
      const context = new Context(options, await connectStores(options, lifecycle));
      confirmEachSecond(context);
      return context;
    } catch (error) {
      await lifecycle.stop();
      throw refusedByStore(error);
    }
  }

  /** Opens another connection to Redis, closed with the context. */
  connectAgain(name: string): Promise<RedisConnection> {
    return connect(this.lifecycle, name, connectRedis(this.target, logDown(this.log)));
  }

  /** Opens a connection that subscribes to channels, closed with the context. */
  connectListener(): Promise<Redis> {
    return connect(this.lifecycle, 'Redis subscriber', connectListener(this.target, this.redis, logDown(this.log)));
  }

  /** Why the default tenant is not served; undefined when it is. */
  async problem(): Promise<LaurelError | undefined> {
    try {
      await this.engine.checkReady(defaultTenant);
      return undefined;
    } catch (error) {
      return error instanceof LaurelError ? error : new LaurelError('not_ready', messageOf(error), { cause: error });
    }
  }

  /** Stops whatever the process has started, the newest first. */
  async stop(): Promise<void> {
    await this.lifecycle.stop();
  }
}

/** The test clock, if the service runs on it; otherwise that of the process, which does not depend on Redis. */
export const serviceClock = (clock: Clock): ServiceClock =>
  clock.settable ? () => clock.now(defaultTenant) : () => Promise.resolve(Date.now());

/** Starts the built-in stores if none are configured, or joins them if they run. */
export async function startStores(
  { settings, print, log, createStores: create = false }: Pick<ContextOptions, 'settings' | 'print' | 'log' | 'createStores'>,
  lifecycle: Lifecycle,
): Promise<StoreAddresses> {
  const { dataDir } = settings;
  const durability = settings.durability === 'always' ? 'always' : 'everysec';
  const start = async (name: string, starting: Promise<LocalStore>): Promise<string> => {
    const store = await lifecycle.start(`built-in ${name}`, starting, (started) => started.stop());
    if (create) lifecycle.onStop(`watch of the built-in ${name}`, keepRunning(name, store, log));
    return store.url;
  };
  // First, since Redis may have to be installed on the machine.
  if (settings.databaseUrl === null) await findPostgresPackage();
  const redisUrl = settings.redisUrl ?? (await start('Redis', startLocalRedis({ dataDir, log: print, create, durability })));
  const databaseUrl = settings.databaseUrl ?? (await start('Postgres', startLocalPostgres({ dataDir, log: print, create })));
  return { redisUrl, databaseUrl };
}

/** Starts a built-in store again within a second whenever its process ends. Returns what stops this. */
function keepRunning(name: string, store: LocalStore, log: Logger): () => Promise<void> {
  const revive = async (): Promise<void> => {
    if (await store.revive()) log.error({ store: name }, 'built-in store exited, restarted');
  };
  const messages = {
    failed: 'restart of built-in store failed, will retry',
    recovered: 'built-in store recovered',
    level: 'error',
  } as const;
  return repeatEachSecond(revive, { log, messages, fields: { store: name } });
}

/** Starts, migrates and connects the stores, in the order in which they depend on each other. */
async function connectStores(options: ContextOptions, lifecycle: Lifecycle): Promise<Connections> {
  const { settings, log, createStores: create = false } = options;
  const { durability } = settings;
  const replication = replicationOf(settings);
  const warn = (line: string): void => {
    log.warn(line);
  };
  const { redisUrl, databaseUrl } = options.stores ?? (await startStores(options, lifecycle));
  await migrate(databaseUrl, warn);

  const watches = { redis: new StoreWatch(log, 'redis'), postgres: new StoreWatch(log, 'postgres') };
  const openPool: OpenPool = (size, timeoutMs) => {
    const opened = createPool(
      databaseUrl,
      size,
      (error) => {
        // A connection that breaks during shutdown is expected.
        if (!opened.ending) watches.postgres.failed(error);
      },
      timeoutMs,
    );
    return opened;
  };
  const pool = openPool(settings.postgresPoolSize);
  lifecycle.onStop('Postgres pool', () => pool.end());

  const target: RedisTarget = {
    url: redisUrl,
    caFile: settings.redisCaFile,
    certFile: settings.redisCertFile,
    keyFile: settings.redisKeyFile,
    sentinelPassword: settings.redisSentinelPassword,
  };
  const redis = await connect(lifecycle, 'Redis connection', connectRedis(target, logDown(log)));
  watchRedis(redis, watches.redis, lifecycle);
  await checkRedisServers(redis, { durability, replication }, warn);
  const again = (name: string): Promise<RedisConnection> =>
    connect(lifecycle, name, connectRedis({ ...target, replication }, logDown(log)));
  const bulkRedis = await again('Redis connection for large replies');
  const keptRedis = replication && (await again('Redis connection for calls that wait for replicas'));
  if (durability === 'always') {
    for (const connection of [redis, bulkRedis]) {
      keepDurable(connection, (problem) => {
        log.error({ err: problem }, 'Redis refused: it is not durable enough');
      });
    }
  }
  // A command stamps its changes with the services' clock, whatever its own environment says.
  const testClock = create ? settings.testClock : ((await savedTestClock(pool)).isOn ?? settings.testClock);
  return { redis, bulkRedis, keptRedis, target, pool, openPool, testClock, watches, lifecycle };
}

const logDown =
  (log: Logger) =>
  (error: Error): void => {
    log.debug({ err: error }, 'Redis connection failed');
  };

function connect<C extends RedisConnection>(lifecycle: Lifecycle, name: string, connecting: Promise<C>): Promise<C> {
  return lifecycle.start(name, connecting, async (redis) => {
    await redis.quit().catch(() => {
      redis.disconnect();
    });
  });
}

/** Reports the first connection's failures and recoveries. The other connections fail and recover with it. */
function watchRedis(redis: RedisConnection, watch: StoreWatch, lifecycle: Lifecycle): void {
  let isStopping = false;
  for (const event of ['error', 'node error']) {
    redis.on(event, (error: Error) => {
      watch.failed(error);
    });
  }
  // A connection that breaks and reconnects at the first attempt emits no error.
  redis.on('close', () => {
    if (!isStopping) watch.failed(new Error('The connection is closed.'));
  });
  redis.on('ready', () => {
    watch.succeeded();
  });
  lifecycle.onStop('Redis watch', () => {
    isStopping = true;
  });
}

/** Confirms once a second, until every later step has stopped, that this process' Redis is the active one (ledger/active-redis.ts). */
function confirmEachSecond({ active, redis, lifecycle, log }: Context): void {
  let confirming: Promise<void> | undefined;
  const confirm = (): void => {
    confirming ??= active
      .confirm()
      .catch((error: unknown) => {
        log.debug({ err: error }, 'Redis confirmation failed, will retry');
      })
      .finally(() => (confirming = undefined));
  };
  const seconds = eachSecond(confirm, log);
  // A process that confirms the server before a restart keeps the others from serving.
  redis.on('ready', confirm);
  lifecycle.onStop('confirmation of the active Redis', async () => {
    redis.off('ready', confirm);
    await seconds.stop();
    await confirming;
    await active.finishShutdown().catch(() => undefined);
  });
}
