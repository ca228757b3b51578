import { Gauge, type Registry } from 'prom-client';
import { readLag, type LedgerLag } from '../ledger/lag.js';
import { limits } from '../shared/limits.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames } from '../redis/contract.js';
import { hasUnfinishedRestore } from '../restore/restore.js';
import { absentGauge } from './observation.js';
import type { Refresh } from './observation.js';

/** Seconds of lag from which a tenant is named. */
const namedLagS = 10;

export interface PartitionsOptions {
  /** A dedicated connection, so that no event waits behind these reads. */
  readonly redis: RedisConnection;
  /** The key prefix of a tenant. */
  readonly partition: (tenant: number) => string;
  /** The current tenants. */
  readonly tenants: () => readonly number[];
  /** The tenants whose ledgers this process knows to have uncommitted entries. */
  readonly busy: () => readonly number[];
  /** MAX_LEDGER_ENTRIES. */
  readonly maxLedgerEntries: number;
  /** Whether the test clock is on. */
  readonly testClock: boolean;
}

/** The pending work of a tenant. */
interface Backlog extends LedgerLag {
  /** Due users. */
  readonly dueUsers: number;
  /** How long the first of them has been due, if known: after a restore all users are due without a time. */
  readonly lateSeconds: number;
  readonly hasUnfinishedRestore: boolean;
}

const isIdle = ({ lagEntries, dueUsers, hasUnfinishedRestore: isHalf }: Backlog): boolean => lagEntries === 0 && dueUsers === 0 && !isHalf;

/**
 * The backlogs of tenants: their ledgers and sweeps. There may be 100,000 tenants, so a scrape reads those known to have a backlog and some others
 * round-robin; an idle tenant costs a few cheap commands in some hundred scrapes. The metrics are sums over those tenants, and the worst ones.
 */
export function partitionMetrics(registry: Registry, options: PartitionsOptions): Refresh {
  const gauges = makeGauges(registry);
  const limit = 'The most entries in the stream of one tenant; above, its events are refused.';
  absentGauge(registry, 'laurel_ledger_limit_entries', limit).set(options.maxLedgerEntries);
  const known = new Map<number, Backlog>();
  let next = 0;
  const nextTenants = (tenants: readonly number[]): readonly number[] => {
    const first = next < tenants.length ? next : 0;
    next = first + limits.metricsTenants;
    return tenants.slice(first, next);
  };
  return async () => {
    gauges.clear();
    const tenants = options.tenants();
    const busy = [...new Set([...options.busy(), ...known.keys()])].slice(0, limits.metricsBusyTenants);
    const scraped = [...new Set([...busy, ...nextTenants(tenants)])];
    const nowMs = redisMs(await options.redis.time());
    for (const backlog of await Promise.all(scraped.map((tenant) => readBacklog(options, tenant, nowMs)))) {
      if (isIdle(backlog)) known.delete(backlog.tenant);
      else known.set(backlog.tenant, backlog);
    }
    gauges.set([...known.values()], tenants.length);
  };
}

const redisMs = ([seconds, micros]: readonly (number | string)[]): number => Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);

/** Reads a tenant's backlog: for an idle tenant, the usual case, in one round trip. */
async function readBacklog({ redis, partition, testClock }: PartitionsOptions, tenant: number, nowMs: number): Promise<Backlog> {
  const keys = partition(tenant);
  const set = testClock ? await redis.get(keys + keyNames.clock) : null;
  const now = set === null ? nowMs : Number(set);
  const due = keys + keyNames.due;
  const [lag, dueUsers, isHalf] = await Promise.all([
    readLag(redis, keys, tenant),
    redis.zcount(due, '-inf', now),
    hasUnfinishedRestore(redis, keys),
  ]);
  const [, first] = dueUsers === 0 ? [] : await redis.zrangebyscore(due, '(0', now, 'WITHSCORES', 'LIMIT', 0, 1);
  return { ...lag, dueUsers, hasUnfinishedRestore: isHalf, lateSeconds: first === undefined ? 0 : Math.max(now - Number(first), 0) / 1000 };
}

interface PartitionGauges {
  /** Removes the values until they are set again. */
  clear(): void;
  set(backlogs: readonly Backlog[], tenants: number): void;
}

function makeGauges(registry: Registry): PartitionGauges {
  const gauge = (name: string, help: string): Gauge => absentGauge(registry, name, help);
  const entries = gauge('laurel_ledger_entries', 'Uncommitted ledger entries, over all tenants.');
  const longest = gauge('laurel_ledger_entries_max', 'Uncommitted ledger entries of the tenant with the most.');
  const lag = gauge('laurel_ledger_lag_seconds', 'Age of the oldest uncommitted ledger entry.');
  const behind = gauge('laurel_ledger_tenants_behind', 'Tenants with uncommitted ledger entries.');
  const due = gauge('laurel_sweep_due_users', 'Due users, over all tenants.');
  const late = gauge('laurel_sweep_late_seconds', 'How long the longest-waiting user has been due.');
  const half = gauge('laurel_restore_unfinished', 'Tenants whose restore is running or was interrupted.');
  const known = gauge('laurel_tenants', 'The number of tenants.');
  const worst = new Gauge({
    name: 'laurel_tenant_lag_seconds',
    help: `Lag of the ${limits.metricsWorstTenants} ledgers furthest behind, by the tenant's no, if more than ${namedLagS} s.`,
    labelNames: ['tenant'],
    registers: [registry],
  });
  const total = (backlogs: readonly Backlog[], of: (backlog: Backlog) => number): number => backlogs.reduce((sum, one) => sum + of(one), 0);
  const most = (backlogs: readonly Backlog[], of: (backlog: Backlog) => number): number =>
    backlogs.reduce((max, one) => Math.max(max, of(one)), 0);
  return {
    clear: () => {
      for (const one of [entries, longest, lag, behind, due, late, half]) one.remove();
      worst.reset();
    },
    set: (backlogs, tenants) => {
      entries.set(total(backlogs, ({ lagEntries }) => lagEntries));
      longest.set(most(backlogs, ({ lagEntries }) => lagEntries));
      lag.set(most(backlogs, ({ lagSeconds }) => lagSeconds));
      behind.set(backlogs.filter(({ lagEntries }) => lagEntries > 0).length);
      due.set(total(backlogs, ({ dueUsers }) => dueUsers));
      late.set(most(backlogs, ({ lateSeconds }) => lateSeconds));
      half.set(backlogs.filter(({ hasUnfinishedRestore: isHalf }) => isHalf).length);
      known.set(tenants);
      const named = backlogs.filter(({ lagSeconds }) => lagSeconds > namedLagS).sort((a, b) => b.lagSeconds - a.lagSeconds);
      for (const { tenant, lagSeconds } of named.slice(0, limits.metricsWorstTenants)) worst.set({ tenant }, lagSeconds);
    },
  };
}
