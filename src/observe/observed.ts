import { Gauge } from 'prom-client';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { AroundCall } from '../engine/engine.js';
import type { AroundBatch, WriteBehind } from '../ledger/write-behind.js';
import type { Settings } from '../settings.js';
import type { RedisConnection } from '../redis/connection.js';
import { deadLetterMetrics } from './dead-letters.js';
import { timeFunctions } from './functions.js';
import { Observation } from './observation.js';
import { partitionMetrics } from './partitions.js';
import { countRequests, type AnsweredRequest } from './requests.js';
import type { LaurelError } from '../errors.js';
import type { Refusals } from '../logging/refusals.js';
import { unreadyMetrics } from './unready.js';
import { restoreMetrics } from './restores.js';
import { diskMetrics, postgresMetrics, redisMetrics } from './stores.js';
import type { Tracing } from './tracing.js';
import { webhookMetrics, type WatchedDeliveries } from './webhooks.js';
import { writeBehindMetrics } from './write-behind.js';

export interface ObservedOptions {
  readonly settings: Settings;
  readonly log: Logger;
}

/** What the figures of the stores are taken from. */
export interface ObservedStores {
  /** A connection of its own. */
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly partition: (tenant: number) => string;
  readonly tenants: () => readonly number[];
}

/** How a service is watched: by metrics, by traces, by both or not at all. What is switched off is undefined here, and costs nothing. */
export class Observed {
  /** Undefined without METRICS_PORT. Others add their concerns to it. */
  readonly metrics: Observation | undefined;
  readonly answered: ((request: AnsweredRequest) => void) | undefined;
  readonly around: Tracing['request'] | undefined;
  readonly aroundCall: AroundCall | undefined;
  readonly aroundBatch: AroundBatch | undefined;
  private readonly settings: Settings;
  private readonly tracing: Tracing | undefined;
  private writer: WriteBehind | undefined;

  private constructor(
    { settings, log }: ObservedOptions,
    roles: { readonly api: boolean; readonly worker: boolean },
    tracing: Tracing | undefined,
  ) {
    this.settings = settings;
    this.tracing = tracing;
    this.metrics = settings.metricsPort === null ? undefined : new Observation(log);
    let answered: Observed['answered'];
    let timed: AroundCall | undefined;
    this.metrics?.add((registry) => {
      const role = new Gauge({
        ...{ name: 'laurel_role', help: 'What this process does: api, worker.' },
        ...{ labelNames: ['role'], registers: [registry] },
      });
      role.set({ role: 'api' }, Number(roles.api));
      role.set({ role: 'worker' }, Number(roles.worker));
      if (roles.api) answered = countRequests(registry);
      timed = timeFunctions(registry);
      return undefined;
    });
    this.answered = answered;
    this.around = tracing?.request;
    this.aroundCall = tracing && timed ? nested(timed, tracing.call) : (timed ?? tracing?.call);
    this.aroundBatch = tracing?.batch;
  }

  /** Loads what is switched on. */
  static async start(options: ObservedOptions, roles: { readonly api: boolean; readonly worker: boolean }): Promise<Observed> {
    const { otlpEndpoint } = options.settings;
    if (otlpEndpoint === null) return new Observed(options, roles, undefined);
    // Loaded only here: OpenTelemetry costs nothing where it is not wanted.
    const { startTracing } = await import('./tracing.js');
    return new Observed(options, roles, startTracing(otlpEndpoint, options.log));
  }

  /** Takes up the stores. */
  stores({ redis, pool, partition, tenants }: ObservedStores): void {
    const { metrics, settings } = this;
    if (!metrics) return;
    metrics.add((registry) => redisMetrics(registry, redis));
    metrics.add((registry) => postgresMetrics(registry, pool));
    const { testClock, maxLedgerEntries } = settings;
    const busy = (): readonly number[] => this.writer?.busy ?? [];
    metrics.add((registry) => partitionMetrics(registry, { redis, partition, tenants, busy, testClock, maxLedgerEntries }));
    metrics.add((registry) => deadLetterMetrics(registry, pool));
    metrics.add((registry) => restoreMetrics(registry, { redis, pool, partition }));
    if (settings.redisUrl === null || settings.databaseUrl === null) metrics.add((registry) => diskMetrics(registry, settings.dataDir));
  }

  /** Takes up whether this process can do its work: `problem` says why not. */
  ready(problem: () => Promise<LaurelError | undefined>, { api }: { readonly api: boolean }): void {
    this.metrics?.add((registry) => {
      const help = 'Whether this process is ready, as /health/ready says.';
      const ready = api ? new Gauge({ name: 'laurel_ready', help, registers: [registry] }) : undefined;
      const reasons = new Gauge({
        ...{ name: 'laurel_not_ready', help: 'Why this process is not ready; no sample when it is.' },
        ...{ labelNames: ['reason'], registers: [registry] },
      });
      return async () => {
        ready?.set(0);
        reasons.reset();
        const found = await problem();
        if (found) reasons.set({ reason: found.reason }, 1);
        else ready?.set(1);
      };
    });
  }

  /** Takes up the tenants whose requests this process refuses. */
  refusals(refusals: Refusals, checkReady: (tenant: number) => Promise<void>): void {
    this.metrics?.add((registry) => unreadyMetrics(registry, refusals, checkReady));
  }

  /** Takes up the write-behind of this process. */
  writeBehind(writer: WriteBehind): void {
    this.writer = writer;
    this.metrics?.add((registry) => writeBehindMetrics(registry, writer.progress));
  }

  /** Takes up the deliveries of webhooks by this process. */
  deliverer(deliverer: WatchedDeliveries): void {
    this.metrics?.add((registry) => webhookMetrics(registry, deliverer));
  }

  /** Sends the traces that are not sent yet. */
  async stop(): Promise<void> {
    await this.tracing?.stop();
  }
}

const nested =
  (outer: AroundCall, inner: AroundCall): AroundCall =>
  (name, call) =>
    outer(name, () => inner(name, call));
