import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type pg from 'pg';
import type { Logger } from 'pino';
import { Gauge } from 'prom-client';
import type { AroundCall } from '../engine/function-calls.js';
import type { TraceBatch, WriteBehind } from '../ledger/write-behind.js';
import type { Refusals } from '../logging/refusals.js';
import type { RedisConnection } from '../redis/connection.js';
import type { LaurelError } from '../shared/errors.js';
import { version } from '../shared/version.js';
import { Observation, type MetricsSource } from './observation.js';
import { liveMetrics, type WatchedLive } from './live-metrics.js';
import { messageMetrics, type WatchedMessages, type WatchedProviders } from './message-metrics.js';
import { partitionMetrics } from './partition-metrics.js';
import {
  type HandledRequest,
  type WatchedDeliveries,
  type WebhookCounts,
  countRequests,
  deadLetterMetrics,
  restoreMetrics,
  timeFunctions,
  unreadyMetrics,
  webhookMetrics,
  writeBehindMetrics,
} from './service-metrics.js';
import { connectionMetrics, diskMetrics, postgresMetrics, redisMetrics } from './store-metrics.js';
import type { Tracing } from './tracing.js';

/** The `Settings` that decide what is measured. */
interface ObservedSettings {
  readonly metricsPort: number | null;
  readonly otlpEndpoint: string | null;
  readonly testClock: boolean;
  readonly maxLedgerEntries: number;
  readonly redisUrl: string | null;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
}

export interface ObservedOptions {
  readonly settings: ObservedSettings;
  readonly log: Logger;
}

/** The sources of the stores' metrics. */
export interface ObservedStores {
  /** A dedicated connection. */
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly partition: (tenant: number) => string;
  readonly tenants: () => readonly number[];
  /** REPLICAS, with DURABILITY=replicated. */
  readonly requiredReplicas: number | undefined;
}

/** The metrics and traces of a service. What is switched off is undefined, and costs nothing. */
export class Observed {
  /** Undefined without METRICS_PORT. */
  readonly metrics: Observation | undefined;
  readonly onResponse: ((request: HandledRequest) => void) | undefined;
  readonly traceRequest: Tracing['request'] | undefined;
  readonly aroundCall: AroundCall | undefined;
  readonly traceBatch: TraceBatch | undefined;
  private readonly settings: ObservedSettings;
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
    let onResponse: Observed['onResponse'];
    let timed: AroundCall | undefined;
    this.metrics?.add((registry) => {
      const build = new Gauge({
        name: 'laurel_build_info',
        help: 'The version of Laurel, as a label; always 1.',
        aggregator: 'max' as const,
        labelNames: ['version'],
        registers: [registry],
      });
      build.set({ version }, 1);
      const role = new Gauge({
        name: 'laurel_role',
        help: 'Processes by role: api, worker.',
        labelNames: ['role'],
        registers: [registry],
      });
      role.set({ role: 'api' }, Number(roles.api));
      role.set({ role: 'worker' }, Number(roles.worker));
      if (roles.api) onResponse = countRequests(registry);
      timed = timeFunctions(registry);
      return undefined;
    });
    this.onResponse = onResponse;
    this.traceRequest = tracing?.request;
    this.aroundCall = tracing && timed ? nested(timed, tracing.call) : (timed ?? tracing?.call);
    this.traceBatch = tracing?.batch;
  }

  static async start(options: ObservedOptions, roles: { readonly api: boolean; readonly worker: boolean }): Promise<Observed> {
    const { otlpEndpoint } = options.settings;
    if (otlpEndpoint === null) return new Observed(options, roles, undefined);
    // Imported only here: OpenTelemetry costs nothing when it is off.
    const { startTracing } = await import('./tracing.js');
    return new Observed(options, roles, startTracing(otlpEndpoint, options.log));
  }

  /** Adds the metrics of the stores. */
  stores({ redis, pool, partition, tenants, requiredReplicas }: ObservedStores): void {
    const { metrics, settings } = this;
    if (!metrics) return;
    metrics.add((registry) => connectionMetrics(registry, pool));
    metrics.addShared((registry) => redisMetrics(registry, redis, requiredReplicas));
    metrics.addShared((registry) => postgresMetrics(registry, pool));
    const { testClock, maxLedgerEntries } = settings;
    const busy = (): readonly number[] => this.writer?.busy ?? [];
    metrics.addShared((registry) => partitionMetrics(registry, { redis, partition, tenants, busy, testClock, maxLedgerEntries }));
    metrics.addShared((registry) => deadLetterMetrics(registry, pool));
    metrics.addShared((registry) => restoreMetrics(registry, { redis, pool, partition }));
    if (settings.redisUrl === null || settings.databaseUrl === null)
      metrics.addShared((registry) => diskMetrics(registry, settings.dataDir));
  }

  /** Adds the readiness of this process: `problem` returns why it is not ready. */
  ready(problem: () => Promise<LaurelError | undefined>, { api }: { readonly api: boolean }): void {
    this.metrics?.add((registry) => {
      const help = 'Whether all processes of the API are ready (/health/ready).';
      const ready = api ? new Gauge({ name: 'laurel_ready', help, registers: [registry], aggregator: 'min' }) : undefined;
      const reasons = new Gauge({
        name: 'laurel_not_ready',
        help: 'Why a process is not ready; no sample when all are.',
        aggregator: 'max' as const,
        labelNames: ['reason'],
        registers: [registry],
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

  /** Adds the tenants whose requests this process refuses. */
  refusals(refusals: Refusals, checkReady: (tenant: number) => Promise<void>): void {
    this.metrics?.add((registry) => unreadyMetrics(registry, refusals, checkReady));
  }

  /** Adds the write-behind of this process. */
  writeBehind(writer: WriteBehind): void {
    this.writer = writer;
    this.metrics?.add((registry) => writeBehindMetrics(registry, writer.progress));
  }

  /** Adds the deliveries of this process to webhook endpoints, and the backlog. */
  deliveries(deliverer: WatchedDeliveries, webhooks: WebhookCounts): void {
    this.metrics?.add((registry) => webhookMetrics(registry, deliverer, webhooks));
  }

  /** Adds the deliveries of this process to users. */
  messages(providers: WatchedProviders, counts: WatchedMessages): void {
    this.metrics?.add((registry) => messageMetrics(registry, providers, counts));
  }

  /** Adds the live streams of this process. */
  live(live: WatchedLive): void {
    this.metrics?.add((registry) => liveMetrics(registry, live));
  }

  /** Sends the remaining traces. */
  async stop(): Promise<void> {
    await this.tracing?.stop();
  }
}

const nested =
  (outer: AroundCall, inner: AroundCall): AroundCall =>
  (name, call) =>
    outer(name, () => inner(name, call));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a request has the token. Compares digests, so that the time reveals neither text nor its length. */
function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const [scheme = '', sent = ''] = (headers.authorization ?? '').split(' ');
  return scheme.toLowerCase() === 'bearer' && timingSafeEqual(digest(sent), digest(token));
}

function respond(response: ServerResponse, status: number, body: string, headers: Record<string, string>): void {
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), 'Cache-Control': 'no-store', ...headers });
  response.end(body);
}

const respondError = (response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void => {
  respond(response, status, JSON.stringify({ error: message }), { 'Content-Type': 'application/json', ...headers });
};

/** Handles `GET /metrics`, which requires `token` unless it is null (docs/operations/monitoring.md). Other requests get an error. */
export function metricsEndpoint(
  metrics: MetricsSource,
  token: string | null,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics') {
      respondError(response, 404, 'This port serves only /metrics.');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      respondError(response, 405, 'Read the metrics with GET.', { Allow: 'GET, HEAD' });
    } else if (token !== null && !hasToken(request, token)) {
      respondError(response, 401, 'Send METRICS_TOKEN as `Authorization: Bearer …`.', { 'WWW-Authenticate': 'Bearer' });
    } else {
      metrics.read().then(
        (text) => {
          respond(response, 200, text, { 'Content-Type': metrics.contentType });
        },
        () => {
          respondError(response, 500, 'The metrics could not be collected.');
        },
      );
    }
  };
}
