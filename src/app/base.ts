import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { Logger } from 'pino';
import { Account, type StoreWatches } from '../access/account.js';
import { defaultTenant, findTenant } from '../access/tenants.js';
import { notedTestClock } from '../access/tenants.js';
import { Clock } from '../engine/clock.js';
import { describeChanges } from '../config/changes.js';
import { applyConfigText, loadConfig, type AppliedConfig } from '../config/store.js';
import { ConfigEditor } from '../engine/configuration.js';
import { Engine, type AroundCall } from '../engine/engine.js';
import { OperatorError } from '../shared/errors.js';
import { eachSecond } from '../jobs/job.js';
import { AggregateReader } from '../ledger/aggregates.js';
import type { ProcessRole } from '../ledger/active-redis-rules.js';
import { ActiveRedis } from '../ledger/active-redis.js';
import { isPastEpoch, loadOffset } from '../ledger/offsets.js';
import { HistoryReader } from '../ledger/reader.js';
import { createPool, migrate, postgresFailure, withPostgresErrors } from '../postgres/pool.js';
import { redisDatabaseOf, redisPlaceName } from '../redis/address.js';
import { connectListener, connectRedis, messageOf, type RedisConnection, type RedisTarget } from '../redis/connection.js';
import { refusedStart } from '../redis/failure.js';
import { bundleLibrary } from '../redis/library.js';
import { checkRedisServers, keepDurable } from '../redis/server.js';
import { StoreWatch } from '../logging/store-watch.js';
import type { Settings } from './settings.js';
import { startLocalPostgres } from '../local-stores/local-postgres.js';
import { startLocalRedis } from '../local-stores/local-redis.js';

/** Something that has been started, and how it is stopped. */
type Stop = () => Promise<void>;

export interface BaseOptions {
  readonly settings: Settings;
  readonly log: Logger;
  /** Takes one plain line for the operator. */
  readonly print: (line: string) => void;
  /** Whether a Redis and a Postgres are created in an empty data folder. Otherwise that is an error. */
  readonly createStores?: boolean;
  /** Measures the calls of the function library. */
  readonly aroundCall?: AroundCall | undefined;
  /** How far the clock of webhook deliveries is ahead of Postgres': tests move it, and nobody else. */
  readonly deliveryAheadMs?: () => number;
  /** How far the clock of confirmations is ahead of Postgres' (ledger/active-redis.ts): only tests move it. */
  readonly confirmationAheadMs?: () => number;
  /** `command` without it. Others know from its confirmations. */
  readonly role?: ProcessRole;
}

/** The stores, connected and checked. */
interface Connected {
  readonly redis: RedisConnection;
  readonly bulkRedis: RedisConnection;
  readonly target: RedisTarget;
  readonly pool: pg.Pool;
  readonly testClock: boolean;
  readonly watches: StoreWatches;
  readonly stops: Stop[];
}

/** The stores, connected and checked, and what works on them in every process: what `serve`, `worker` and `apply` have in common. */
export class Base {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly active: ActiveRedis;
  readonly history: HistoryReader;
  readonly aggregates: AggregateReader;
  readonly clock: Clock;
  readonly configuration: ConfigEditor;
  readonly account: Account;
  private readonly options: BaseOptions;
  private readonly target: RedisTarget;
  private readonly stops: Stop[];

  private constructor(options: BaseOptions, { redis, bulkRedis, target, pool, testClock, watches, stops }: Connected) {
    const { settings } = options;
    this.options = options;
    this.redis = redis;
    this.target = target;
    this.pool = pool;
    this.stops = stops;
    this.active = new ActiveRedis({
      ...{ redis, pool, prefix: settings.redisPrefix, role: options.role ?? 'command', aheadMs: options.confirmationAheadMs },
      address: redisPlaceName(settings.redisUrl, settings.dataDir),
      db: redisDatabaseOf(settings.redisUrl),
      partition: (tenant) => this.engine.partition(tenant),
      opened: () => this.engine.openedTenants(),
    });
    this.engine = new Engine({
      redis,
      bulkRedis,
      prefix: settings.redisPrefix,
      library: bundleLibrary(),
      testClock,
      maxLedgerEntries: settings.maxLedgerEntries,
      loadConfig: (tenant) => withPostgresErrors(loadConfig(pool, tenant)),
      loadOffset: (tenant, isFinal) => withPostgresErrors(loadOffset(pool, tenant, isFinal)),
      isPastEpoch: (tenant, epoch) => withPostgresErrors(isPastEpoch(pool, tenant, epoch)),
      autoRestore: settings.autoRestore,
      fence: { claim: (need) => withPostgresErrors(this.active.claim(need)), look: (need) => withPostgresErrors(this.active.look(need)) },
      aroundCall: options.aroundCall,
    });
    this.history = new HistoryReader(pool);
    this.aggregates = new AggregateReader(pool);
    this.clock = new Clock(this.engine, testClock);
    this.configuration = new ConfigEditor({
      ...{ pool, engine: this.engine, clock: this.clock, failure: postgresFailure },
      allowPrivateWebhooks: settings.webhookAllowPrivate,
    });
    this.account = new Account({ redis, prefix: settings.redisPrefix, pool, log: options.log, watches });
  }

  /** Starts or finds the stores and connects to them. What has been started is stopped again when a later step fails. */
  static async start(options: BaseOptions): Promise<Base> {
    const { settings, log, print, createStores: create = false } = options;
    const { dataDir, durability } = settings;
    const stops: Stop[] = [];
    try {
      const redisUrl = settings.redisUrl ?? (await Base.local(stops, startLocalRedis({ dataDir, log: print, create, durability })));
      const databaseUrl = settings.databaseUrl ?? (await Base.local(stops, startLocalPostgres({ dataDir, log: print, create })));
      await migrate(databaseUrl, (line) => {
        log.warn(line);
      });
      const watches = { redis: new StoreWatch(log, 'redis'), postgres: new StoreWatch(log, 'postgres') };
      const pool = createPool(databaseUrl, settings.postgresPoolSize, (error) => {
        // One that breaks because everything stops is no news.
        if (!pool.ending) watches.postgres.failed(error);
      });
      stops.push(() => pool.end());
      const target: RedisTarget = {
        url: redisUrl,
        caFile: settings.redisCaFile,
        certFile: settings.redisCertFile,
        keyFile: settings.redisKeyFile,
        sentinelPassword: settings.redisSentinelPassword,
      };
      const redis = await Base.connect(log, stops, (onError) => connectRedis(target, onError));
      // The other connections are made and broken with this one.
      for (const event of ['error', 'node error']) {
        redis.on(event, (error: Error) => {
          watches.redis.failed(error);
        });
      }
      // One that breaks and is back at the first attempt has no error.
      let isStopping = false;
      redis.on('close', () => {
        if (!isStopping) watches.redis.failed(new Error('The connection is closed.'));
      });
      stops.push(() => {
        isStopping = true;
        return Promise.resolve();
      });
      redis.on('ready', () => {
        watches.redis.answered();
      });
      await checkRedisServers(redis, durability, (line) => {
        log.warn(line);
      });
      const bulkRedis = await Base.connect(log, stops, (onError) => connectRedis(target, onError));
      if (durability === 'always') {
        for (const connection of [redis, bulkRedis]) {
          keepDurable(connection, (problem) => {
            log.error({ err: problem }, 'this Redis is not served from');
          });
        }
      }
      // A command stamps what it changes by the clock of the services, whatever its own environment says.
      const testClock = create ? settings.testClock : ((await notedTestClock(pool)) ?? settings.testClock);
      const base = new Base(options, { redis, bulkRedis, target, pool, testClock, watches, stops });
      base.startConfirming();
      return base;
    } catch (error) {
      await stopAll(stops, log);
      throw refusedStart(error);
    }
  }

  /** Confirms once a second that this process' Redis is the active one, until everything else has been stopped. */
  private startConfirming(): void {
    const { log } = this.options;
    let confirming = Promise.resolve();
    let isBusy = false;
    const seconds = eachSecond(() => {
      if (isBusy) return;
      isBusy = true;
      confirming = this.active
        .confirm()
        .catch((error: unknown) => {
          log.debug({ err: error }, 'Redis could not be confirmed, will retry');
        })
        .finally(() => (isBusy = false));
    }, log);
    this.stops.push(async () => {
      await seconds.stop();
      await confirming;
      await this.active.leave().catch(() => undefined);
    });
  }

  private static async local(stops: Stop[], starting: Promise<{ url: string; stop: Stop }>): Promise<string> {
    const store = await starting;
    stops.push(() => store.stop());
    return store.url;
  }

  private static async connect<C extends RedisConnection>(
    log: Logger,
    stops: Stop[],
    connecting: (onError: (error: Error) => void) => Promise<C>,
  ): Promise<C> {
    const redis = await connecting((error) => {
      log.debug({ err: error }, 'a connection to Redis is down');
    });
    stops.push(async () => {
      await redis.quit().catch(() => {
        redis.disconnect();
      });
    });
    return redis;
  }

  /** One more connection, closed with the others. */
  connectAgain(): Promise<RedisConnection> {
    return Base.connect(this.options.log, this.stops, (onError) => connectRedis(this.target, onError));
  }

  /** A connection that listens to channels, closed with the others. */
  connectListener(): Promise<Redis> {
    return Base.connect(this.options.log, this.stops, (onError) => connectListener(this.target, this.redis, onError));
  }

  /** Something else to stop, before everything that has been started until now. */
  onStop(stop: Stop): void {
    this.stops.push(stop);
  }

  /** Stops everything, the newest first. */
  async stop(): Promise<void> {
    await stopAll(this.stops, this.options.log);
  }

  /**
   * Applies a configuration file to a tenant, the default one if none is named, and puts the newest version into force, whether or not the
   * file changed anything. Throws an OperatorError that names every problem of the file, or the tenant that does not exist.
   */
  async apply({ name, text }: ConfigText, { tenant: named, prune, dryRun }: ApplyHow): Promise<AppliedConfig> {
    const tenant = named === undefined ? defaultTenant : (await findTenant(this.pool, named))?.no;
    if (tenant === undefined) {
      throw new OperatorError(`There is no tenant ${JSON.stringify(named)}: name one by its id or its customerId.`);
    }
    const now = new Date(await this.clock.now(tenant)).toISOString();
    const { webhookAllowPrivate: allowPrivateWebhooks } = this.options.settings;
    const applied = await applyConfigText({ pool: this.pool, tenant, text, fileName: name, now, prune, dryRun, allowPrivateWebhooks });
    if (!dryRun) await this.engine.activate(await this.engine.refreshConfig(tenant));
    return applied;
  }
}

export interface ApplyHow {
  /** Archive what the file does not mention. */
  readonly prune: boolean;
  /** Say what would change, and change nothing. */
  readonly dryRun: boolean;
  /** A tenant's id, or its customer's. */
  readonly tenant?: string | undefined;
}

/** A configuration file that has been read. */
export interface ConfigText {
  /** What messages call it. */
  readonly name: string;
  readonly text: string;
}

async function stopAll(stops: Stop[], log: Logger): Promise<void> {
  for (let stop = stops.pop(); stop; stop = stops.pop()) {
    try {
      await stop();
    } catch (error) {
      log.error({ err: error }, 'something did not stop in order');
    }
  }
}

/** Throws an OperatorError when the file can't be read. */
export function readConfigText(file: string): ConfigText {
  try {
    return { name: file, text: readFileSync(file, 'utf8') };
  } catch (error) {
    throw new OperatorError(`The configuration file ${file} can't be read: ${messageOf(error)}.`, { cause: error });
  }
}

/** What `apply` did, in lines for the operator. */
export function describeApplied(file: string, { changes, kept, config, saved }: AppliedConfig): string[] {
  const lines = describeChanges(changes).map((line) => `  ${line}`);
  const summary = lines.length === 0 ? `${file} changes nothing.` : `${file}:`;
  const keeping = kept.map((name) => `  not in the file, kept: ${name}`);
  return [summary, ...lines, ...keeping, ...(saved ? [`  Configuration version ${config.version} is in force.`] : [])];
}
