import type { Redis } from 'ioredis';
import { zoneDataVersion, zoneOffsets } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import type { ClaimPurpose, Objection } from '../ledger/active-redis-rules.js';
import type { CommittedOffset } from '../ledger/offsets.js';
import { limits } from '../shared/limits.js';
import { ActiveConfig } from '../plan/active-config.js';
import type { ConfigVersion } from '../config/model.js';
import { followMoved, mastersOf, prepareServers } from '../redis/cluster.js';
import { callFunction, messageOf, type RedisConnection } from '../redis/connection.js';
import {
  channelNames,
  contextArgument,
  keyNames,
  metaFields,
  orderArguments,
  outcomes,
  partitionPrefix,
  type FunctionArguments,
  type FunctionName,
  type PlainFunction,
} from '../redis/contract.js';
import { redisFailure } from '../redis/failure.js';
import type { FunctionLibrary } from '../redis/library.js';
import { packMessage } from '../redis/message.js';
import { trimLedger } from '../redis/stream.js';
import { outOfSync, type Comparison } from './failures.js';

type ContextualFunction = Exclude<FunctionName, PlainFunction>;
type OwnArguments<F extends ContextualFunction> = Omit<FunctionArguments<F>, 'context'>;

/** What a caller wants of the function library, made from the configuration that the call will run under. */
export interface Call<F extends ContextualFunction> {
  readonly args: OwnArguments<F>;
  readonly pairs?: readonly (string | Buffer)[];
}

/** An outcome from contract.ts, and what came with it. Texts and MessagePack come as buffers. */
export interface Reply {
  readonly outcome: number;
  readonly values: readonly unknown[];
}

/** Does a call of a function, and something before and after it: measures it. */
export type AroundCall = <T>(name: FunctionName, call: () => Promise<T>) => Promise<T>;

/** Sees to it that only one Redis is served from for a database (ledger/active-redis.ts). */
export interface Fence {
  claim(need: ClaimPurpose): Promise<Objection | undefined>;
  look(need: ClaimPurpose): Promise<Objection | undefined>;
}

export interface EngineOptions {
  readonly redis: RedisConnection;
  /** A connection of its own for pipelines of long calls, behind which nobody else's reply is to wait; `redis` without it. */
  readonly bulkRedis?: RedisConnection;
  readonly prefix: string;
  readonly library: FunctionLibrary;
  readonly testClock: boolean;
  /** MAX_LEDGER_ENTRIES; limits.maxLedgerEntries without it. */
  readonly maxLedgerEntries?: number;
  /** The newest configuration of a tenant, from Postgres. */
  readonly loadConfig: (tenant: number) => Promise<ConfigVersion>;
  /** What Postgres has committed of a tenant's ledger (ledger/offsets.ts). */
  readonly loadOffset: (tenant: number, isFinal: boolean) => Promise<CommittedOffset>;
  /** Whether an epoch is of a life of Redis that a restore has ended. */
  readonly isPastEpoch: (tenant: number, epoch: string) => Promise<boolean>;
  /** Undefined where no other process can be (benchmarks). */
  readonly fence?: Fence;
  /** Whether workers restore a Redis that lacks something by themselves. */
  readonly autoRestore: boolean;
  /** Undefined: calls are not measured. */
  readonly aroundCall?: AroundCall | undefined;
}

/**
 * Calls the function library, and does what it asks for before it can answer: loading the library, comparing Redis with Postgres,
 * storing a plan or a time zone, switching the configuration. All of these happen once; an event in steady state is one call.
 */
export class Engine {
  private readonly options: EngineOptions;
  private readonly configs = new Map<number, Promise<ActiveConfig>>();
  private readonly contexts = new WeakMap<ActiveConfig, string>();
  /** The life of Redis that Postgres goes with, by tenant: known as soon as the two have been compared. */
  private readonly epochs = new Map<number, string>();
  private readonly opening = new Map<number, Promise<void>>();

  constructor(options: EngineOptions) {
    this.options = options;
    const { redis, bulkRedis = redis } = options;
    for (const connection of new Set([redis, bulkRedis])) prepareServers(connection, (server) => this.renewLibrary(server));
  }

  /** The start of all keys of a tenant. */
  partition(tenant: number): string {
    return partitionPrefix(this.options.prefix, tenant);
  }

  /** The channel on which every process is told of a new configuration of a tenant. */
  channel(tenant: number): string {
    return this.partition(tenant) + channelNames.changes;
  }

  /** The tenants whose partitions this process has compared with Postgres. */
  openedTenants(): Iterable<number> {
    return this.epochs.keys();
  }

  /** The configurations that this process holds: tenant → version. Those that are being loaded for the first time are not among them. */
  async heldConfigs(): Promise<ReadonlyMap<number, number>> {
    const held = new Map<number, number>();
    for (const [tenant, config] of this.configs) {
      const version = await config.then(
        (known) => known.version,
        () => undefined,
      );
      if (version !== undefined) held.set(tenant, version);
    }
    return held;
  }

  /** Whether this process works with a tenant's configuration. */
  holdsConfig(tenant: number): boolean {
    return this.configs.has(tenant);
  }

  /** The configuration that this process works with. */
  config(tenant: number): Promise<ActiveConfig> {
    return this.configs.get(tenant) ?? this.refreshConfig(tenant);
  }

  /**
   * Loads the newest configuration; requests that are under way keep the one they began with until Redis sends them back. While Postgres
   * can't be asked, a process goes on with the one that it has.
   */
  refreshConfig(tenant: number): Promise<ActiveConfig> {
    const before = this.configs.get(tenant);
    const loading = this.options.loadConfig(tenant).then((version) => new ActiveConfig(version));
    if (!before) this.configs.set(tenant, loading);
    loading.then(
      () => this.configs.set(tenant, loading),
      () => this.configs.get(tenant) === loading && this.configs.delete(tenant),
    );
    return loading;
  }

  /**
   * Runs one function of the library for a tenant. `build` is called again when the configuration has been switched meanwhile.
   * Throws a LaurelError `not_ready` when Redis is away, or out of sync with Postgres.
   */
  async call<F extends ContextualFunction>(
    tenant: number,
    name: F,
    build: (config: ActiveConfig) => Call<F>,
  ): Promise<Reply & { config: ActiveConfig }> {
    let lastZone = '';
    for (let attempt = 0; attempt < limits.maxEngineAttempts; attempt += 1) {
      const config = await this.config(tenant);
      const { args, pairs } = build(config);
      const context = this.context(config);
      const reply = await this.run(tenant, name, orderArguments(name, { ...args, context } as FunctionArguments<F>, pairs));
      // A call about many users may ask for many zones: another one is progress.
      const zone = reply.outcome === outcomes.unknownZone ? reply.values.map(text).join(' ') : lastZone;
      if (reply.outcome === outcomes.again || zone !== lastZone) attempt -= 1;
      lastZone = zone;
      if (reply.outcome === outcomes.again) continue;
      if (!(await this.remedy(tenant, config, reply))) return { ...reply, config };
    }
    throw new LaurelError('not_ready', 'The service is switching its configuration. Try again shortly.');
  }

  /**
   * Sends calls of one function in one pipeline, in this order, under a configuration. The replies are as they came: what they ask for is
   * the caller's to do, with `remedy`, and so is to see that the calls stand their order, since each is done by itself.
   */
  pipeline<F extends ContextualFunction>(config: ActiveConfig, name: F, calls: readonly Call<F>[]): Promise<Reply[]> {
    const context = this.context(config);
    // Commands of one turn of the event loop leave as one pipeline (redis/connection.ts).
    return Promise.all(
      calls.map(({ args, pairs }) =>
        this.run(config.tenant, name, orderArguments(name, { ...args, context } as FunctionArguments<F>, pairs), this.options.bulkRedis),
      ),
    );
  }

  /** Forgets the part of a tenant's ledger up to an id, which Postgres must have committed. */
  async trimLedger(tenant: number, upTo: string): Promise<void> {
    await this.command((redis) => trimLedger(redis, this.partition(tenant), this.epochs.get(tenant) ?? '', upTo));
  }

  /** Forgets plans that are not in force, by their hashes. Processes that are still at one are told so before they need it. */
  async deletePlans(tenant: number, hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) await this.command((redis) => redis.unlink(this.partition(tenant) + keyNames.plan + hash));
  }

  /** Puts a configuration version into force in Redis, for every process. */
  async activate(config: ActiveConfig): Promise<void> {
    const reply = await this.run(
      config.tenant,
      'activate',
      orderArguments('activate', {
        context: this.context(config),
        blob: config.plan.blob,
        planTtlS: limits.supersededPlanTtlS,
        channel: this.channel(config.tenant),
      }),
    );
    if (reply.outcome === outcomes.notOpen) {
      await this.open(config.tenant);
      await this.activate(config);
    }
  }

  /**
   * Compares a partition with what Postgres has committed and opens it if they are in sync (ARCHITECTURE.md, invariant 5). Concurrent callers
   * share one comparison. Throws `not_ready` if Redis lacks something.
   */
  open(tenant: number): Promise<void> {
    const running = this.opening.get(tenant);
    if (running) return running;
    const opening = this.compareAndOpen(tenant).finally(() => this.opening.delete(tenant));
    this.opening.set(tenant, opening);
    return opening;
  }

  /** Throws a LaurelError `not_ready` that says why, while a tenant's events are refused. */
  async checkReady(tenant: number): Promise<void> {
    // A call that may write, which Redis refuses when it can't.
    await this.call(tenant, 'clock', () => ({ args: { to: '' } }));
    const entries = await this.command((redis) => redis.xlen(this.partition(tenant) + keyNames.ledger));
    if (entries >= (this.options.maxLedgerEntries ?? limits.maxLedgerEntries)) throw ledgerFull();
  }

  /** Looks whether a ledger has entries, and lacks nothing; if it has none, its next one will be told of. */
  async awaitEntries(tenant: number, epoch: string, lastId: string): Promise<'written' | 'awaited' | 'replaced'> {
    const { outcome, values } = await this.run(tenant, 'awaitEntries', orderArguments('awaitEntries', { epoch, lastId }));
    if (outcome !== outcomes.ok) return 'replaced';
    return Number(values[0]) === 1 ? 'written' : 'awaited';
  }

  /** Compares a partition with what Postgres has committed, and opens it if they are in sync. */
  async compare(tenant: number): Promise<Comparison> {
    for (;;) {
      const compared = await this.compareOnce(tenant);
      if (compared.found !== 'ahead') return compared;
      // The write-behind may have committed and trimmed between the two looks: then Postgres has it now.
      const { epoch, lastId } = await this.options.loadOffset(tenant, false);
      if (epoch !== compared.offset.epoch || lastId !== compared.offset.lastId) continue;
      // Whoever works with the same Postgres is to find out too; with another one, it opens the partition again.
      await this.command((redis) => redis.hdel(this.partition(tenant) + keyNames.meta, metaFields.server));
      return compared;
    }
  }

  private async compareOnce(tenant: number): Promise<Comparison> {
    const { fence } = this.options;
    const asOfNow = await this.tryOpen(tenant, false);
    const isNotOpen = asOfNow.outcome === outcomes.notOpen;
    if (isNotOpen || asOfNow.outcome === outcomes.ok) {
      // An empty partition of which nothing is committed is given the epoch, which another Redis may hold.
      const objection = await fence?.claim({ epoch: isNotOpen && Number(asOfNow.values[0]) === 0 ? 'none' : 'current' });
      if (objection) return { found: 'fenced', epoch: '', newest: '', workers: 0, offset: asOfNow.offset, objection };
    }
    const { outcome, values, offset } = isNotOpen ? await this.tryOpen(tenant, true) : asOfNow;
    const [of, workers] = [text(values[0]), Number(values[1] ?? 0)];
    switch (outcome) {
      case outcomes.ok:
        return { found: 'in_sync', epoch: '', newest: '', workers: 0, offset };
      case outcomes.behind:
        return { found: 'behind', epoch: '', newest: of, workers, offset, objection: await fence?.look({ epoch: 'none' }) };
      case outcomes.ahead:
        return { found: 'ahead', ...(/^\d+-\d+$/.test(of) ? { epoch: '', newest: of } : { epoch: of, newest: '' }), workers: 0, offset };
      case outcomes.foreign:
        if (!(await this.options.isPastEpoch(tenant, of))) return { found: 'foreign', epoch: of, newest: '', workers, offset };
        return { found: 'past', epoch: of, newest: '', workers, offset, objection: await fence?.look({ epoch: 'past' }) };
      default:
        throw new Error(`open answered ${outcome}`);
    }
  }

  private async tryOpen(tenant: number, isFinal: boolean): Promise<Reply & { offset: CommittedOffset }> {
    const offset = await this.options.loadOffset(tenant, isFinal);
    const { epoch, lastId, isRestoring } = offset;
    this.epochs.set(tenant, epoch);
    // A restore that is at work replaces what is there.
    if (isFinal && isRestoring) return { outcome: outcomes.behind, values: [], offset };
    return { ...(await this.run(tenant, 'open', orderArguments('open', { epoch, lastId, isFinal: Number(isFinal) }))), offset };
  }

  /** Why a tenant is not served from its Redis, when that is out of sync with Postgres. Throws `not_ready` when either can't be asked. */
  async outOfSync(tenant: number): Promise<LaurelError | undefined> {
    const compared = await this.compare(tenant);
    return compared.found === 'in_sync' ? undefined : outOfSync(compared, this.options.autoRestore);
  }

  private async compareAndOpen(tenant: number): Promise<void> {
    const problem = await this.outOfSync(tenant);
    if (problem) throw problem;
  }

  private context(config: ActiveConfig): string {
    const { tenant, version, plan } = config;
    const epoch = this.epochs.get(tenant) ?? 'unknown';
    let context = this.contexts.get(config);
    if (context?.startsWith(epoch) !== true) {
      const { testClock, maxLedgerEntries: maxLedger = limits.maxLedgerEntries } = this.options;
      context = contextArgument({ epoch, version, plan: plan.hash, zones: zoneDataVersion, testClock, maxLedger });
      this.contexts.set(config, context);
    }
    return context;
  }

  /** Does what an outcome asks for; whether the call is to be made again. Throws a 503 for what only time mends. */
  async remedy(tenant: number, config: ActiveConfig, { outcome, values }: Reply): Promise<boolean> {
    switch (outcome) {
      case outcomes.notOpen:
        await this.open(tenant);
        return true;
      case outcomes.unknownPlan:
        await this.command((redis) =>
          redis.set(this.partition(tenant) + keyNames.plan + config.plan.hash, config.plan.blob, 'EX', limits.supersededPlanTtlS),
        );
        return true;
      case outcomes.unknownZone:
        await this.storeZone(tenant, text(values[0]), Number(text(values[1])));
        return true;
      case outcomes.staleConfig:
        await this.refreshConfig(tenant);
        return true;
      case outcomes.newerConfig:
        await this.activate(config);
        return true;
      case outcomes.ledgerFull:
        throw ledgerFull();
      default:
        return false;
    }
  }

  private async storeZone(tenant: number, zone: string, aroundMs: number): Promise<void> {
    const key = this.partition(tenant) + keyNames.zones + zoneDataVersion;
    const offsets = packMessage(zoneOffsets(zone, aroundMs));
    await this.command(async (redis) => {
      if ((await redis.hlen(key)) >= limits.maxCachedZones) await redis.del(key);
      await redis.hset(key, zone, offsets);
    });
  }

  private async run(
    tenant: number,
    name: FunctionName,
    args: readonly (string | number | Buffer)[],
    connection: RedisConnection = this.options.redis,
  ): Promise<Reply> {
    const { library, aroundCall } = this.options;
    const key = this.partition(tenant) + keyNames.meta;
    const call = (): Promise<unknown> => callFunction(connection, library.functionName(name), key, args);
    const fcall = (): Promise<unknown> => this.command(() => (aroundCall ? aroundCall(name, call) : call()), connection);
    const reply = await this.withLibrary(name, fcall);
    if (!Array.isArray(reply)) throw new Error(`${name} answered something that is not a list`);
    const [outcome, ...values] = reply as unknown[];
    return { outcome: Number(outcome), values };
  }

  /** Makes a call, and loads the library when it is missing. It may be gone again before the call comes. */
  private async withLibrary(name: string, fcall: () => Promise<unknown>): Promise<unknown> {
    for (let attempt = 0; attempt < limits.maxEngineAttempts; attempt += 1) {
      try {
        return await fcall();
      } catch (error) {
        if (!messageOf(error).includes('Function not found')) throw this.located(name, error);
      }
      await this.loadLibrary();
    }
    throw new LaurelError('not_ready', 'The service is not ready: its Redis does not keep the function library. Try again shortly.');
  }

  /**
   * Loads the function library on every master; one that has it is left as it is, with what it remembers. One that is away gets it when it is
   * back. Throws when none can take it.
   */
  async loadLibrary(): Promise<void> {
    const { library, redis } = this.options;
    const loading = mastersOf(redis).map((server) => server.function('LOAD', library.source));
    const failures = (await Promise.allSettled(loading)).flatMap((load) =>
      load.status === 'rejected' && !messageOf(load.reason).includes('already exists') ? [load.reason as unknown] : [],
    );
    if (failures.length < loading.length) return;
    throw this.located('library', redisFailure(failures[0] ?? new Error('no master of the cluster is known'), redis));
  }

  /**
   * Makes a server forget what the library remembers of its partitions, so that each is compared with Postgres anew: a server that the
   * connection comes to may have been a replica meanwhile, and lack what another master has told Postgres.
   */
  private async renewLibrary(server: Redis): Promise<void> {
    await server.function('LOAD', 'REPLACE', this.options.library.source).catch(() => undefined);
  }

  private located(what: string, error: unknown): unknown {
    if (error instanceof LaurelError) return error;
    return new Error(`${what}: ${this.options.library.locate(messageOf(error))}`, { cause: error });
  }

  private async command<T>(use: (redis: RedisConnection) => Promise<T>, connection: RedisConnection = this.options.redis): Promise<T> {
    try {
      return await followMoved(connection, () => use(connection));
    } catch (error) {
      throw redisFailure(error, connection);
    }
  }
}

function ledgerFull(): LaurelError {
  return new LaurelError(
    'not_ready',
    'Nothing can be stored for now: Postgres is away or slow, and the ledger is as long as it may be. Try again later.',
    { retryAfterS: limits.ledgerFullRetryS, reason: 'ledger_full' },
  );
}

/** A buffer of a reply as text. */
export function text(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  return '';
}
