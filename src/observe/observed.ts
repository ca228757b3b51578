import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type pg from 'pg';
import type { Logger } from 'pino';
import { Gauge } from 'prom-client';
import type { AroundCall } from '../engine/engine.js';
import type { TraceBatch, WriteBehind } from '../ledger/write-behind.js';
import type { Refusals } from '../logging/refusals.js';
import type { RedisConnection } from '../redis/connection.js';
import type { LaurelError } from '../shared/errors.js';
import { Observation } from './observation.js';
import { partitionMetrics } from './partition-metrics.js';
import {
  type HandledRequest,
  type WatchedDeliveries,
  countRequests,
  deadLetterMetrics,
  restoreMetrics,
  timeFunctions,
  unreadyMetrics,
  webhookMetrics,
  writeBehindMetrics,
} from './service-metrics.js';
import { diskMetrics, postgresMetrics, redisMetrics } from './store-metrics.js';
import type { Tracing } from './tracing.js';

/** The settings that decide what is measured, as `Settings` has them. */
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
    let answered: Observed['onResponse'];
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
    this.onResponse = answered;
    this.traceRequest = tracing?.request;
    this.aroundCall = tracing && timed ? nested(timed, tracing.call) : (timed ?? tracing?.call);
    this.traceBatch = tracing?.batch;
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

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a request carries the token. Digests are compared, so that the time it takes tells nothing of either text or its length. */
function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const [scheme = '', sent = ''] = (headers.authorization ?? '').split(' ');
  return scheme.toLowerCase() === 'bearer' && timingSafeEqual(digest(sent), digest(token));
}

function respond(response: ServerResponse, status: number, type: string, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), 'Cache-Control': 'no-store', ...headers });
  response.end(body);
}

const respondError = (response: ServerResponse, status: number, sentence: string, headers?: Record<string, string>): void => {
  respond(response, status, 'application/json', JSON.stringify({ error: sentence }), headers);
};

/** Answers `GET /metrics`, for a token if there is one (docs/operations/monitoring.md), and nothing else. */
export function metricsEndpoint(
  observation: Observation,
  token: string | null,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics') {
      respondError(response, 404, 'There is only /metrics here.');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      respondError(response, 405, 'The metrics are read with GET.', { Allow: 'GET, HEAD' });
    } else if (token !== null && !hasToken(request, token)) {
      respondError(response, 401, 'Send METRICS_TOKEN as `Authorization: Bearer …`.', { 'WWW-Authenticate': 'Bearer' });
    } else {
      observation.read().then(
        (text) => {
          respond(response, 200, observation.contentType, text);
        },
        () => {
          respondError(response, 500, 'The metrics could not be put together.');
        },
      );
    }
  };
}
