import type pg from 'pg';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AroundCall } from '../engine/function-calls.js';
import type { LedgerProgress, WriteBehindProgress } from '../ledger/lag.js';
import { restoringTenants } from '../ledger/offsets.js';
import type { Refusals } from '../logging/refusals.js';
import type { RedisConnection } from '../redis/connection.js';
import { readRestoredUsers } from '../restore/restore.js';
import { countStoredUsers } from '../restore/stored-users.js';
import { countLetters } from '../ledger/dead-letters.js';
import { LaurelError, type NotReadyReason } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type Refresh, absentGauge } from './observation.js';

/**
 * The dead letters of all tenants (docs/operations/dead-letters.md): entries that Postgres refused, and those that a restore discarded. Counted up to a
 * limit, since their presence is what matters and a scrape must be cheap.
 */
export function deadLetterMetrics(registry: Registry, pool: pg.Pool): Refresh {
  const letters = absentGauge(
    registry,
    'laurel_dead_letters',
    `Ledger entries that Postgres refused, over all tenants; counted up to ${limits.countedDeadLetters}.`,
  );
  const discarded = absentGauge(
    registry,
    'laurel_discarded_entries',
    `Uncommitted ledger entries that a restore saved as dead letters, without those that an operator gave up; counted up to ${limits.countedDeadLetters}.`,
  );
  return async () => {
    for (const gauge of [letters, discarded]) gauge.remove();
    const { refused, lost } = await countLetters(pool);
    letters.set(refused);
    discarded.set(lost);
  };
}

/** Seconds: a call takes some 50 µs in Redis, plus the calls in front of it in the pipeline. */
const buckets = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5];

/** Times the calls of the function library, round trip included. */
export function timeFunctions(registry: Registry): AroundCall {
  const durations = new Histogram({
    name: 'laurel_function_duration_seconds',
    help: 'Round trip of function library calls, by function.',
    labelNames: ['function'],
    buckets,
    registers: [registry],
  });
  const failures = new Counter({
    name: 'laurel_function_failures_total',
    help: 'Function library calls without a reply or with an error reply, by function.',
    labelNames: ['function'],
    registers: [registry],
  });
  return async (name, call) => {
    const begun = performance.now();
    try {
      return await call();
    } catch (error) {
      failures.inc({ function: name });
      throw error;
    } finally {
      durations.observe({ function: name }, (performance.now() - begun) / 1000);
    }
  };
}

/** Seconds: from a request that Redis serves at once to one that waits for Postgres until its timeout. */
const durationBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** A request with a response, without personal data: `route` is the pattern, not the path. */
export interface HandledRequest {
  readonly method: string;
  /** `/v1/users/:id`; `none` for an unknown path. */
  readonly route: string;
  readonly status: number;
  /** From the request's head to its response. */
  readonly seconds: number;
}

/** Callers can send any method, so methods without a route share one label. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts requests by route and status and times them by route. Returns the function to call for each request. */
export function countRequests(registry: Registry): (request: HandledRequest) => void {
  const requests = new Counter({
    name: 'laurel_http_requests_total',
    help: 'Requests by method, route (its pattern) and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'laurel_http_request_duration_seconds',
    help: 'Time from the head of a request to its response, by method and route.',
    labelNames: ['method', 'route'],
    buckets: durationBuckets,
    registers: [registry],
  });
  return ({ method: sent, route, status, seconds }) => {
    const method = methods.has(sent) ? sent : 'other';
    requests.inc({ method, route, status });
    durations.observe({ method, route }, seconds);
  };
}

export interface RestoresOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** The key prefix of a tenant. */
  readonly partition: (tenant: number) => string;
}

/**
 * The running restores, by a worker or by `laurel restore`. Each holds the lease of its tenant's ledger in Postgres, and saves its progress in Redis.
 */
export function restoreMetrics(registry: Registry, { redis, pool, partition }: RestoresOptions): Refresh {
  const running = absentGauge(registry, 'laurel_restore_running', 'Tenants whose Redis is being restored.');
  const users = absentGauge(registry, 'laurel_restore_users', 'Restored users of those tenants.');
  const expected = absentGauge(registry, 'laurel_restore_users_expected', 'Users of those tenants in Postgres.');
  const repeated = absentGauge(
    registry,
    'laurel_restores_last_hour',
    'Restores of the tenant that was restored most often in the last hour.',
  );
  /** Cached: counting a million users takes too long for each scrape. */
  let totals = new Map<number, number>();
  return async () => {
    for (const gauge of [running, users, expected, repeated]) gauge.remove();
    const { rows } = await pool.query<{ most: number }>(
      `select coalesce(max(count), 0)::integer as most
         from (select count(*) as count from past_epochs where ended > now() - interval '1 hour' group by tenant) as counted`,
    );
    repeated.set(rows[0]?.most ?? 0);
    const tenants = await restoringTenants(pool);
    running.set(tenants.length);
    const counted = new Map<number, number>();
    for (const tenant of tenants) counted.set(tenant, totals.get(tenant) ?? (await countStoredUsers(pool, tenant)));
    totals = counted;
    const restored = await Promise.all(tenants.map((tenant) => readRestoredUsers(redis, partition(tenant))));
    users.set(restored.reduce((setTotal, count) => setTotal + count, 0));
    expected.set([...totals.values()].reduce((sum, count) => sum + count, 0));
  };
}

/** Why a check fails; undefined when it succeeds. */
async function reasonOf(check: Promise<unknown>): Promise<NotReadyReason | undefined> {
  return check.then(
    () => undefined,
    (error: unknown) => (error instanceof LaurelError ? error.reason : 'other'),
  );
}

/**
 * The tenants whose requests this process refuses. A scrape checks at most limits.metricsUnreadyTenants of them for readiness, and names five.
 */
export function unreadyMetrics(registry: Registry, refusals: Refusals, checkReady: (tenant: number) => Promise<void>): Refresh {
  const count = new Gauge({
    name: 'laurel_tenants_not_ready',
    help: 'Tenants whose requests a process refuses with 503, of the process with the most.',
    registers: [registry],
    aggregator: 'max' as const,
  });
  const named = new Gauge({
    name: 'laurel_tenant_not_ready',
    help: 'Why a tenant is not ready, for the five that a process has refused longest.',
    labelNames: ['tenant', 'reason'],
    registers: [registry],
    aggregator: 'max',
  });
  return async () => {
    named.reset();
    const refused = refusals.tenants.slice(0, limits.metricsUnreadyTenants);
    const reasons = await Promise.all(refused.map((tenant) => reasonOf(checkReady(tenant))));
    const unready = refused.flatMap((tenant, i) => {
      const reason = reasons[i];
      if (reason === undefined) refusals.served(tenant);
      return reason === undefined ? [] : [{ tenant, reason }];
    });
    count.set(refusals.tenants.length);
    for (const labels of unready.slice(0, limits.metricsWorstTenants)) named.set(labels, 1);
  };
}

/** The measured part of the Deliverer (deliveries/deliverer.ts). */
export interface WatchedDeliveries {
  backlog(): Promise<{ readonly switchedOff: number; readonly overdueMs: { readonly webhooks: number; readonly messages: number } }>;
}

/** The deliveries of this process to webhook endpoints. */
export interface WebhookCounts {
  readonly attempts: number;
  readonly delivered: number;
  readonly failed: number;
}

/** The attempts and webhook deliveries of this process, and the backlog of all deliveries in Postgres over all tenants. */
export function webhookMetrics(registry: Registry, deliverer: WatchedDeliveries, counts: WebhookCounts): Refresh {
  const registers = [registry];
  const attempts = new Counter({
    name: 'laurel_webhook_tries_total',
    help: 'Requests of this process to webhook endpoints, retries included.',
    registers,
  });
  const ended = new Counter({
    name: 'laurel_webhook_deliveries_total',
    help: 'Webhook deliveries completed by this process, by result: delivered, failed.',
    labelNames: ['result'] as const,
    registers,
  });
  const switchedOff = absentGauge(
    registry,
    'laurel_webhook_endpoints_switched_off',
    'Webhook endpoints switched off after failing for days.',
  );
  const overdue = absentGauge(
    registry,
    'laurel_webhook_overdue_seconds',
    'How long the oldest due webhook delivery has been due, without those of inactive endpoints.',
  );
  const overdueMessages = absentGauge(
    registry,
    'laurel_message_overdue_seconds',
    'How long the oldest due message to a user has been due, without those of channels that are off.',
  );
  return async () => {
    attempts.reset();
    attempts.inc(counts.attempts);
    ended.reset();
    ended.inc({ result: 'delivered' }, counts.delivered);
    ended.inc({ result: 'failed' }, counts.failed);
    for (const gauge of [switchedOff, overdue, overdueMessages]) gauge.remove();
    const backlog = await deliverer.backlog();
    switchedOff.set(backlog.switchedOff);
    overdue.set(backlog.overdueMs.webhooks / 1000);
    overdueMessages.set(backlog.overdueMs.messages / 1000);
  };
}

const sizeBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/** Seconds. */
const timeBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** The batches of this process's write-behind over all tenants: sizes, durations and failures. */
export function writeBehindMetrics(registry: Registry, progress: WriteBehindProgress): Refresh {
  const registers = [registry];
  const sizes = new Histogram({
    name: 'laurel_write_behind_batch_entries',
    help: 'Ledger entries of a write-behind batch.',
    buckets: sizeBuckets,
    registers,
  });
  const durations = new Histogram({
    name: 'laurel_write_behind_batch_duration_seconds',
    help: 'Time of a write-behind batch: read from Redis, commit and trim of the stream.',
    buckets: timeBuckets,
    registers,
  });
  const failures = new Counter({
    name: 'laurel_write_behind_failures_total',
    help: 'Failed write-behind batches; each is retried.',
    registers,
  });
  const deadLetters = new Counter({
    name: 'laurel_write_behind_dead_letters_total',
    help: 'Ledger entries that this process saved as dead letters.',
    registers,
  });
  progress.onBatch = (entries, ms) => {
    sizes.observe(entries);
    durations.observe(ms / 1000);
  };
  return () => {
    sum(failures, progress, (of) => of.failures);
    sum(deadLetters, progress, (of) => of.deadLetters);
    return Promise.resolve();
  };
}

/** Sets a counter to the sum of a count over all tenants. */
function sum(counter: Counter, progress: WriteBehindProgress, count: (of: LedgerProgress) => number): void {
  let total = 0;
  for (const of of progress.all.values()) total += count(of);
  counter.reset();
  counter.inc(total);
}
