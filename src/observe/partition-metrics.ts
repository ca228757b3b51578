import { Gauge, type Registry } from 'prom-client';
import { readLag, type LedgerLag } from '../ledger/lag.js';
import { limits } from '../shared/limits.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames } from '../redis/contract.js';
import { hasUnfinishedRestore } from '../restore/restore.js';
import { absentGauge } from './observation.js';
import type { Refresh } from './observation.js';

/** Seconds of lag from which a tenant is worth a name. */
const namedLagS = 10;

export interface PartitionsOptions {
  /** A connection of its own: nobody's event waits behind these questions. */
  readonly redis: RedisConnection;
  /** The start of a tenant's keys. */
  readonly partition: (tenant: number) => string;
  /** The tenants that there are now. */
  readonly tenants: () => readonly number[];
  /** Those whose ledgers this process knows to have something to write down. */
  readonly busy: () => readonly number[];
  /** MAX_LEDGER_ENTRIES. */
  readonly maxLedgerEntries: number;
  /** Whether time is that of the test clock. */
  readonly testClock: boolean;
}

/** What is to be done for a tenant. */
interface Backlog extends LedgerLag {
  /** Users to whom something is due. */
  readonly dueUsers: number;
  /** How long it has been due to the first of them, as far as that is known: after a restore everybody is due at no certain moment. */
  readonly lateSeconds: number;
  readonly hasUnfinishedRestore: boolean;
}

const isIdle = ({ lagEntries, dueUsers, hasUnfinishedRestore: isHalf }: Backlog): boolean => lagEntries === 0 && dueUsers === 0 && !isHalf;

/**
 * The backlogs of tenants: their ledgers and their sweeps. There may be 100,000 tenants, so a scrape looks at those that are known to have
 * something to do and at some others in turn; an idle one costs a few cheap commands in some hundred scrapes. What is told is of those
 * together: sums, and the worst.
 */
export function partitionMetrics(registry: Registry, options: PartitionsOptions): Refresh {
  const gauges = makeGauges(registry);
  const limit = 'Entries that the stream of one tenant may have before its events are refused.';
  absentGauge(registry, 'laurel_ledger_limit_entries', limit).set(options.maxLedgerEntries);
  const known = new Map<number, Backlog>();
  let next = 0;
  const inTurn = (tenants: readonly number[]): readonly number[] => {
    const first = next < tenants.length ? next : 0;
    next = first + limits.metricsTenants;
    return tenants.slice(first, next);
  };
  return async () => {
    gauges.clear();
    const tenants = options.tenants();
    const busy = [...new Set([...options.busy(), ...known.keys()])].slice(0, limits.metricsBusyTenants);
    const looked = [...new Set([...busy, ...inTurn(tenants)])];
    const nowMs = redisMs(await options.redis.time());
    for (const backlog of await Promise.all(looked.map((tenant) => readBacklog(options, tenant, nowMs)))) {
      if (isIdle(backlog)) known.delete(backlog.tenant);
      else known.set(backlog.tenant, backlog);
    }
    gauges.set([...known.values()], tenants.length);
  };
}

const redisMs = ([seconds, micros]: readonly (number | string)[]): number => Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);

/** What there is to do for one tenant: in one round trip with the others if there is nothing, which is the rule. */
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
  /** After which nothing is told until it has been looked up. */
  clear(): void;
  set(backlogs: readonly Backlog[], tenants: number): void;
}

function makeGauges(registry: Registry): PartitionGauges {
  const gauge = (name: string, help: string): Gauge => absentGauge(registry, name, help);
  const entries = gauge('laurel_ledger_entries', 'Ledger entries in the streams that Postgres does not have yet, of all tenants together.');
  const longest = gauge('laurel_ledger_entries_max', 'Ledger entries in the longest stream of a tenant.');
  const lag = gauge('laurel_ledger_lag_seconds', 'How long the oldest ledger entry has been waiting for Postgres.');
  const behind = gauge('laurel_ledger_tenants_behind', 'Tenants whose ledgers have entries that Postgres does not have yet.');
  const due = gauge('laurel_sweep_due_users', 'Users to whom something is due, of all tenants together.');
  const late = gauge('laurel_sweep_late_seconds', 'How long something has been due to the user who has waited longest.');
  const half = gauge('laurel_restore_unfinished', 'Tenants whose restore has begun and not come to its end.');
  const known = gauge('laurel_tenants', 'Tenants that there are.');
  const worst = new Gauge({
    name: 'laurel_tenant_lag_seconds',
    help: `Lag of the ${limits.metricsWorstTenants} ledgers furthest behind, by the tenant's no, of those that are more than ${namedLagS} s behind.`,
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
