import { zoneDataVersion } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { zoneOffsets } from '../shared/zones.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { ConfigVersion } from '../config/schema/model.js';
import {
  channelNames,
  contextArgument,
  keyNames,
  orderArguments,
  outcomes,
  type FunctionArguments,
  type FunctionName,
  type PlainFunction,
} from '../redis/contract.js';
import type { RedisConnection } from '../redis/connection.js';
import { packMessage } from '../redis/encoding.js';
import { trimLedger } from '../redis/partition.js';
import { activeConfig, ActiveConfigs } from './active-configs.js';
import { FunctionCalls, text, type FunctionCallsOptions, type Reply } from './function-calls.js';
import { ledgerFull } from './refusals.js';
import { PartitionSync, type Comparison, type PartitionSyncOptions } from './sync.js';

type ContextualFunction = Exclude<FunctionName, PlainFunction>;
type OwnArguments<F extends ContextualFunction> = Omit<FunctionArguments<F>, 'context'>;

/** The arguments of a call, built from the configuration that the call will run under. */
export interface Call<F extends ContextualFunction> {
  readonly args: OwnArguments<F>;
  readonly pairs?: readonly (string | Buffer)[];
}

export interface EngineOptions extends FunctionCallsOptions, PartitionSyncOptions {
  /** MAX_LEDGER_ENTRIES; limits.maxLedgerEntries without it. */
  readonly maxLedgerEntries?: number;
  /** The newest configuration of a tenant, from Postgres. */
  readonly loadConfig: (tenant: number) => Promise<ConfigVersion>;
  /** An earlier version of it. Throws when there has never been one. */
  readonly loadVersion: (tenant: number, version: number) => Promise<ConfigVersion>;
}

/**
 * Calls the function library, and does what a call needs first: loads the library, compares Redis with Postgres, stores a plan or a time
 * zone, switches the configuration. All of these happen once; an event in steady state is one call.
 */
export class Engine {
  private readonly options: EngineOptions;
  private readonly calls: FunctionCalls;
  private readonly sync: PartitionSync;
  private readonly configs: ActiveConfigs;
  private readonly contexts = new WeakMap<ActiveConfig, string>();

  constructor(options: EngineOptions) {
    this.options = options;
    this.configs = new ActiveConfigs(options.loadConfig);
    this.calls = new FunctionCalls(options);
    this.sync = new PartitionSync(this.calls, options);
  }

  /** The start of all keys of a tenant. */
  partition(tenant: number): string {
    return this.calls.partition(tenant);
  }

  /** The channel on which a new configuration of a tenant is published to every process. */
  channel(tenant: number): string {
    return this.partition(tenant) + channelNames.changes;
  }

  /** The tenants whose partitions this process has compared with Postgres. */
  openedTenants(): Iterable<number> {
    return this.sync.tenants();
  }

  /** See FunctionCalls.loadLibrary. */
  loadLibrary(): Promise<void> {
    return this.calls.loadLibrary();
  }

  /** See PartitionSync.open. */
  open(tenant: number): Promise<void> {
    return this.sync.open(tenant);
  }

  /** See PartitionSync.compare. */
  compare(tenant: number): Promise<Comparison> {
    return this.sync.compare(tenant);
  }

  /** See PartitionSync.outOfSync. */
  outOfSync(tenant: number): Promise<LaurelError | undefined> {
    return this.sync.outOfSync(tenant);
  }

  /** See ActiveConfigs.held. */
  heldConfigs(): Promise<ReadonlyMap<number, number>> {
    return this.configs.held();
  }

  /** See ActiveConfigs.holds. */
  holdsConfig(tenant: number): boolean {
    return this.configs.holds(tenant);
  }

  /** See ActiveConfigs.get. */
  config(tenant: number): Promise<ActiveConfig> {
    return this.configs.get(tenant);
  }

  /** See ActiveConfigs.refresh. */
  refreshConfig(tenant: number): Promise<ActiveConfig> {
    return this.configs.refresh(tenant);
  }

  /**
   * Runs one function of the library for a tenant. `build` is called again when the configuration has been switched in between.
   * Throws a LaurelError `not_ready` when Redis is away, or out of sync with Postgres.
   */
  async call<F extends ContextualFunction>(
    tenant: number,
    name: F,
    build: (config: ActiveConfig) => Call<F>,
    connection?: RedisConnection,
  ): Promise<Reply & { config: ActiveConfig }> {
    let attempts = 0;
    let lastZone = '';
    while (attempts < limits.maxEngineAttempts) {
      const config = await this.config(tenant);
      const { args, pairs } = build(config);
      const context = this.context(config);
      const list = orderArguments(name, { ...args, context } as FunctionArguments<F>, pairs);
      const reply = await this.calls.run(tenant, name, list, connection);
      // A call about many users may need many zones: another one is progress.
      const zone = reply.outcome === outcomes.unknownZone ? reply.values.map(text).join(' ') : lastZone;
      const isProgress = reply.outcome === outcomes.again || zone !== lastZone;
      if (!isProgress) attempts += 1;
      lastZone = zone;
      if (reply.outcome === outcomes.again) continue;
      if (!(await this.remedy(tenant, config, reply))) return { ...reply, config };
    }
    throw new LaurelError('not_ready', 'The service is switching its configuration. Try again shortly.');
  }

  /**
   * Sends calls of one function in one pipeline, in this order, under a configuration. The caller remedies
   * the replies (`remedy`), and ensures that the calls keep their order, since each runs by itself.
   */
  pipeline<F extends ContextualFunction>(config: ActiveConfig, name: F, calls: readonly Call<F>[]): Promise<Reply[]> {
    const context = this.context(config);
    // Commands of one tick of the event loop leave as one pipeline (redis/connection.ts).
    return Promise.all(
      calls.map(({ args, pairs }) =>
        this.calls.run(
          config.tenant,
          name,
          orderArguments(name, { ...args, context } as FunctionArguments<F>, pairs),
          this.options.bulkRedis,
        ),
      ),
    );
  }

  /**
   * Sends commands that read much, on a connection of their own. They read whatever Redis holds: a call of a function comes first, since that fails
   * when Redis is out of sync.
   */
  readBulk<T>(use: (redis: RedisConnection) => Promise<T>): Promise<T> {
    return this.calls.command(use, this.options.bulkRedis);
  }

  /** Trims a tenant's ledger up to an id that Postgres has committed. */
  async trimLedger(tenant: number, upTo: string): Promise<void> {
    await this.calls.command((redis) => trimLedger(redis, this.partition(tenant), this.sync.epochOf(tenant) ?? '', upTo));
  }

  /**
   * Deletes plans that are not active, by their hashes. A process that still uses one gets `staleConfig` before it needs the plan, and one that users
   * are still settled under is compiled anew.
   */
  async deletePlans(tenant: number, hashes: readonly string[]): Promise<void> {
    for (const name of hashes.flatMap((hash) => [hash, this.calls.earlierPlan(hash)]))
      await this.calls.command((redis) => redis.unlink(this.partition(tenant) + keyNames.plan + name));
  }

  /**
   * Throws a LaurelError `not_ready` while too many changes of the configuration wait for the worker to settle all users up to them: another one could
   * not be kept (lua/modules/segments.lua).
   */
  async checkCanChange(tenant: number): Promise<void> {
    const { values } = await this.call(tenant, 'readSegments', () => ({ args: {} }));
    if (Number(values[2]) < limits.maxEndedSegments) return;
    throw new LaurelError(
      'not_ready',
      `Too many recent configuration changes: the worker has not yet settled all users up to the last ${limits.maxEndedSegments}. Try again shortly.`,
    );
  }

  /** Activates a configuration version in Redis, for every process. */
  async activate(config: ActiveConfig): Promise<void> {
    const reply = await this.calls.run(
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

  /** Throws a LaurelError `not_ready` with the reason while a tenant's events are refused. */
  async checkReady(tenant: number): Promise<void> {
    // A call that may write, which Redis refuses when it can't, and that waits for replicas as an event does.
    await this.call(tenant, 'clock', () => ({ args: { to: '' } }), this.options.keptRedis);
    const entries = await this.calls.command((redis) => redis.xlen(this.partition(tenant) + keyNames.ledger));
    if (entries >= (this.options.maxLedgerEntries ?? limits.maxLedgerEntries)) throw ledgerFull();
  }

  /** Checks that a ledger is in sync, and whether it has entries; if it has none, the next one is published. */
  async awaitEntries(tenant: number, epoch: string, lastId: string): Promise<'written' | 'awaited' | 'replaced'> {
    const { outcome, values } = await this.calls.run(tenant, 'awaitEntries', orderArguments('awaitEntries', { epoch, lastId }));
    if (outcome !== outcomes.ok) return 'replaced';
    return Number(values[0]) === 1 ? 'written' : 'awaited';
  }

  private context(config: ActiveConfig): string {
    const { tenant, version, plan } = config;
    const epoch = this.sync.epochOf(tenant) ?? 'unknown';
    let context = this.contexts.get(config);
    if (context?.startsWith(epoch) !== true) {
      const { testClock, maxLedgerEntries: maxLedger = limits.maxLedgerEntries } = this.options;
      context = contextArgument({ epoch, version, plan: plan.hash, zones: zoneDataVersion, testClock, maxLedger });
      this.contexts.set(config, context);
    }
    return context;
  }

  /** Does what an outcome requires; returns whether to make the call again. Throws a 503 for what only time fixes. */
  async remedy(tenant: number, config: ActiveConfig, { outcome, values }: Reply): Promise<boolean> {
    switch (outcome) {
      case outcomes.notOpen:
        await this.open(tenant);
        return true;
      case outcomes.unknownPlan:
        if (values.length > 0) await this.storeEarlierPlan(tenant, Number(values[0]), text(values[1]));
        else await this.storePlan(tenant, config.plan.hash, config.plan.blob);
        return true;
      case outcomes.unknownZone:
        await this.storeZone(tenant, text(values[0]), Number(text(values[1])));
        return true;
      case outcomes.staleConfig:
        await this.configs.replace(config);
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

  private async storePlan(tenant: number, name: string, blob: Buffer): Promise<void> {
    await this.calls.command((redis) => redis.set(this.partition(tenant) + keyNames.plan + name, blob, 'EX', limits.supersededPlanTtlS));
  }

  /** Stores the plan of a version that is no longer active, which users are still settled under (lua/modules/segments.lua). */
  private async storeEarlierPlan(tenant: number, version: number, name: string): Promise<void> {
    const { plan } = await activeConfig(await this.options.loadVersion(tenant, version));
    await this.storePlan(tenant, name, plan.blob);
  }

  private async storeZone(tenant: number, zone: string, aroundMs: number): Promise<void> {
    const key = this.partition(tenant) + keyNames.zones + zoneDataVersion;
    const offsets = packMessage(zoneOffsets(zone, aroundMs));
    await this.calls.command(async (redis) => {
      if ((await redis.hlen(key)) >= limits.maxCachedZones) await redis.del(key);
      await redis.hset(key, zone, offsets);
    });
  }
}
