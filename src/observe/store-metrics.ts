import { statfs } from 'node:fs/promises';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { mastersOf } from '../redis/cluster.js';
import type { RedisConnection } from '../redis/connection.js';
import { infoFields, replicaLags } from '../redis/server.js';
import { absentGauge } from './observation.js';
import type { Refresh } from './observation.js';

/** How long the size of the database is cached: Postgres stats every file for it. */
const databaseSizeMs = 60_000;

/** The availability, memory, persistence, replication and function calls of Redis. */
export function redisMetrics(registry: Registry, redis: RedisConnection, requiredReplicas: number | undefined): Refresh {
  const up = new Gauge({ name: 'laurel_redis_up', help: 'Whether Redis answered when the metrics were read.', registers: [registry] });
  const memory = absentGauge(registry, 'laurel_redis_memory_bytes', 'Memory used by Redis; in a cluster, by the fullest master.');
  const allowed = absentGauge(
    registry,
    'laurel_redis_memory_limit_bytes',
    'Memory available to Redis: maxmemory, or else the memory of the machine.',
  );
  const saves = absentGauge(
    registry,
    'laurel_redis_persistence_ok',
    'Whether Redis has an append-only file and its last writes to disk succeeded.',
  );
  const replicas = absentGauge(
    registry,
    'laurel_redis_replicas',
    'Replicas connected to Redis; in a cluster, to the master with the fewest.',
  );
  const required = absentGauge(
    registry,
    'laurel_redis_replicas_required',
    'Replicas that must have a change before the response, with DURABILITY=replicated.',
  );
  if (requiredReplicas !== undefined) required.set(requiredReplicas);
  const replicaLag = absentGauge(
    registry,
    'laurel_redis_replica_lag_seconds',
    'Time since the last acknowledgement of the replica furthest behind.',
  );
  const calls = absentGauge(registry, 'laurel_redis_function_calls', 'Function calls since Redis started, of all processes.');
  const seconds = absentGauge(registry, 'laurel_redis_function_seconds', 'Time spent in functions since Redis started.');
  return async () => {
    up.set(0);
    for (const gauge of [memory, allowed, saves, replicas, replicaLag, calls, seconds]) gauge.remove();
    const infos = mastersOf(redis).map((server) => server.info('memory', 'persistence', 'replication', 'commandstats'));
    const servers = (await Promise.all(infos)).map(infoFields);
    if (servers.length === 0) return;
    up.set(1);
    // In a cluster, the fullest master: the free memory of the others is no use to its tenants.
    const [fullest] = servers.map(memoryOf).sort((one, other) => other.used / other.limit - one.used / one.limit);
    memory.set(fullest?.used ?? 0);
    allowed.set(fullest?.limit ?? 0);
    saves.set(servers.every(keepsData) ? 1 : 0);
    replicas.set(Math.min(...servers.map((fields) => Number(fields.get('connected_slaves') ?? 0))));
    const lags = servers.flatMap(replicaLags);
    if (lags.length > 0) replicaLag.set(Math.max(...lags));
    const sum = (of: (fields: Fields) => number): number => servers.reduce((total, fields) => total + of(fields), 0);
    calls.set(sum((fields) => functionStat(fields, 'calls')));
    seconds.set(sum((fields) => functionStat(fields, 'usec')) / 1e6);
  };
}

type Fields = ReadonlyMap<string, string>;

/** Bytes; the limit is maxmemory, or else the memory of the machine. */
function memoryOf(fields: Fields): { used: number; limit: number } {
  const limit = Number(fields.get('maxmemory') ?? 0) || Number(fields.get('total_system_memory') ?? 0);
  return { used: Number(fields.get('used_memory') ?? 0), limit };
}

/** Whether a server has an append-only file and its last writes succeeded. */
function keepsData(fields: Fields): boolean {
  const writes = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'];
  return fields.get('aof_enabled') === '1' && writes.every((field) => fields.get(field) !== 'err');
}

/** The number of function calls, or their microseconds, since the server started. */
function functionStat(fields: Fields, name: 'calls' | 'usec'): number {
  const stat = new RegExp(`(?:^|,)${name}=(\\d+)`).exec(fields.get('cmdstat_fcall') ?? '');
  return Number(stat?.[1] ?? 0);
}

/** The connections of the processes to Postgres. */
export function connectionMetrics(registry: Registry, pool: pg.Pool): Refresh {
  const connections = new Gauge({
    name: 'laurel_postgres_connections',
    help: 'Connections of the processes to Postgres by state; `waiting` counts the queries that wait for one.',
    labelNames: ['state'],
    registers: [registry],
  });
  return () => {
    connections.set({ state: 'used' }, pool.totalCount - pool.idleCount);
    connections.set({ state: 'idle' }, pool.idleCount);
    connections.set({ state: 'waiting' }, pool.waitingCount);
    return Promise.resolve();
  };
}

/** The availability of Postgres, the ledger leases, and the size of the database. */
export function postgresMetrics(registry: Registry, pool: pg.Pool): Refresh {
  const up = new Gauge({
    name: 'laurel_postgres_up',
    help: 'Whether Postgres answered when the metrics were read.',
    registers: [registry],
  });
  const leases = absentGauge(registry, 'laurel_ledger_leases', 'Ledgers leased by a worker or a restore. Idle ledgers need no lease.');
  const size = absentGauge(registry, 'laurel_postgres_database_bytes', 'Size of the database.');
  let sizedAt = -Infinity;
  return async () => {
    up.set(0);
    leases.remove();
    const sizes = performance.now() - sizedAt > databaseSizeMs;
    const { rows } = await pool.query<{ leases: string; bytes: string | null }>(
      `select (select count(*) from stream_offsets where lease_until > clock_timestamp()) as leases,
              case when $1::boolean then pg_database_size(current_database()) end as bytes`,
      [sizes],
    );
    up.set(1);
    const [row] = rows;
    leases.set(Number(row?.leases ?? 0));
    if (typeof row?.bytes !== 'string') return;
    size.set(Number(row.bytes));
    sizedAt = performance.now();
  };
}

/** The disk of the data folder, for a Laurel that runs its own stores. */
export function diskMetrics(registry: Registry, dataDir: string): Refresh {
  const free = absentGauge(registry, 'laurel_data_folder_free_bytes', 'Free space on the disk of the data folder.');
  const size = absentGauge(registry, 'laurel_data_folder_size_bytes', 'Size of the disk of the data folder.');
  return async () => {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    free.set(bavail * bsize);
    size.set(blocks * bsize);
  };
}
