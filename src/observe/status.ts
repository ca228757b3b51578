import { statfs } from 'node:fs/promises';
import type pg from 'pg';
import { defaultTenant, listTenants, savedTestClock } from '../access/tenants.js';
import { countLetters } from '../ledger/dead-letters.js';
import { readLag } from '../ledger/lag.js';
import { loadOffsets } from '../ledger/offsets.js';
import { mastersOf } from '../redis/cluster.js';
import { callFunction, messageOf, type RedisConnection } from '../redis/connection.js';
import {
  accountKeyNames,
  accountPrefix,
  contextArgument,
  keyNames,
  metaFields,
  orderArguments,
  partitionPrefix,
  restoringFields,
} from '../redis/contract.js';
import { redisSentence } from '../redis/failure.js';
import { bundleLibrary } from '../redis/library.js';
import { isBelow, lastLedgerId, trimmedUpTo } from '../redis/partition.js';
import { postgresError, postgresSentence } from '../postgres/failure.js';
import { infoFields, onlineReplicas, replicaLags } from '../redis/server.js';
import { counted } from '../shared/counted.js';
import { limits } from '../shared/limits.js';
import { redisProblems, sentenceOf } from '../shared/store-problems.js';
import { deliveryProblems, minuteOf } from './delivery-problems.js';

interface RedisStatus {
  readonly version: string;
  readonly memoryBytes: number;
  readonly replicas: number;
  readonly appendOnlyFile: boolean;
}

interface PostgresStatus {
  readonly version: string;
  readonly schema: string;
  readonly databaseBytes: number;
  /** Entries that Postgres refused. */
  readonly deadLetters: number;
  /** Entries that restores saved as dead letters: `lost` when another Redis took over, `givenUp` by `laurel restore --discard`. */
  readonly discarded: { readonly lost: number; readonly givenUp: number };
  /** The workers and restores that may commit ledgers now. */
  readonly leases: readonly { readonly holder: string; readonly tenants: number }[];
}

/** A process that uses this database and has reached it in the last seconds. */
interface ProcessStatus {
  readonly host: string;
  readonly pid: number;
  /** `api`, `worker`, `api and worker` or `command`. */
  readonly role: string;
  readonly redis: string;
  readonly prefix: string;
  /** Whether it has confirmed in the last seconds that its Redis holds the current epoch. Without, it runs and serves no tenant. */
  readonly confirmed: boolean;
}

interface TenantStatus {
  readonly id: string;
  readonly name: string;
  readonly epoch: string;
  readonly redisEpoch: string | null;
  readonly committed: string;
  readonly newest: string;
  readonly state: 'in sync' | 'out of sync' | 'restoring';
  /** Whether Postgres lacks ledger entries that it had committed: it was put back to an older state. */
  readonly postgresIsOlder: boolean;
  /** Users restored so far. */
  readonly restored: number | null;
  readonly lagEntries: number;
  readonly lagSeconds: number;
}

/** Null is what could not be read; `problems` says why. */
export interface Status {
  readonly redis: RedisStatus | null;
  readonly postgres: PostgresStatus | null;
  readonly processes: readonly ProcessStatus[] | null;
  readonly tenants: number | null;
  /** Of all tenants; while Postgres is away, of those that are known without it. */
  readonly lagEntries: number | null;
  readonly lagSeconds: number | null;
  /** The default tenant, and others that are out of sync or more than limits.statusLagS behind. */
  readonly listed: readonly TenantStatus[] | null;

  readonly problems: readonly string[];
}

type ServerFields = ReadonlyMap<string, string>;

function redisStatus(servers: readonly ServerFields[]): RedisStatus {
  const sum = (field: string): number => servers.reduce((total, fields) => total + Number(fields.get(field) ?? 0), 0);
  return {
    version: servers[0]?.get('valkey_version') ?? servers[0]?.get('redis_version') ?? 'unknown',
    memoryBytes: sum('used_memory'),
    replicas: sum('connected_slaves'),
    appendOnlyFile: servers.every((fields) => !keepsNoFile(fields) && !failsToWrite(fields)),
  };
}

const keepsNoFile = (fields: ServerFields): boolean => fields.get('aof_enabled') !== '1';
const failsToWrite = (fields: ServerFields): boolean => fields.get('aof_last_write_status') === 'err';

/** The name of a function that may write; put together once. */
let clockFunction: string | undefined;

/** The sentence of what Redis replies to a call that may write, if it refuses it; undefined when it doesn't. The call has no epoch, and changes nothing. */
async function refusedCall(redis: RedisConnection, prefix: string): Promise<string | undefined> {
  const context = contextArgument({ epoch: 'unknown', version: 0, plan: 'none', zones: 'none', testClock: false, maxLedger: 0 });
  const key = partitionPrefix(prefix, defaultTenant) + keyNames.meta;
  const args = orderArguments('clock', { context, to: '' });
  try {
    clockFunction ??= bundleLibrary().functionName('clock');
    await callFunction(redis, clockFunction, { key, args });
    return undefined;
  } catch (error) {
    // A Redis that no service of this version has used lacks the function.
    return redisSentence(error, redis);
  }
}

async function postgresStatus(pool: pg.Pool): Promise<PostgresStatus> {
  const { rows: tables } = await pool.query<{ found: string | null }>("select to_regclass('migrations') as found");
  if (tables[0]?.found === null) throw postgresError('unused');
  const { rows } = await pool.query<Pick<PostgresStatus, 'version' | 'schema' | 'databaseBytes'>>(
    `select current_setting('server_version') as version, (select name from migrations order by id desc limit 1) as schema,
            pg_database_size(current_database())::float8 as "databaseBytes"`,
  );
  const { rows: leases } = await pool.query<PostgresStatus['leases'][number]>(
    'select holder, count(*)::int as tenants from stream_offsets where lease_until > clock_timestamp() group by holder order by holder',
  );
  const [row] = rows;
  if (!row) throw new Error('Postgres returned no status');
  const { refused, lost, givenUp } = await countLetters(pool);
  return { ...row, deadLetters: refused, discarded: { lost, givenUp }, leases };
}

/** The templates of messages that are switched off, as of the newest configuration of each tenant: `welcome of the tenant 5f…`. */
async function switchedOffTemplates(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ key: string; tenant: string }>(
    `select found ->> 'key' as key, case when off.tenant = $1 then 'default' else tenants.id::text end as tenant
       from switched_off_templates as off
       join tenants on tenants.no = off.tenant
      cross join lateral (select document from config_versions where tenant = off.tenant order by version desc limit 1) as newest
      cross join jsonb_array_elements(newest.document -> 'templates') as found
      where found ->> 'id' = off.template and found ->> 'updated' = off.template_updated and not (found ->> 'archived')::boolean
      order by off.at limit $2`,
    [defaultTenant, limits.maxComplaints],
  );
  return rows.map(({ key, tenant }) => `${JSON.stringify(key)} of the tenant ${tenant}`);
}

async function processesOf(pool: pg.Pool): Promise<ProcessStatus[]> {
  const { rows } = await pool.query<ProcessStatus>(
    `select host, pid, role, address as redis, prefix, coalesce(confirmed_at > since, false) as confirmed
       from redis_confirmations, lateral (select clock_timestamp() - $1 * interval '1 second' as since) as recent
      where not is_stopped and greatest(confirmed_at, asked_at) > since order by host, pid`,
    [limits.statusConfirmedS],
  );
  return rows;
}

/** Processes that have lost their Redis, or that a newer epoch has ended: they run and serve nothing. One that has just started is none. */
async function countLost(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ lost: number }>(
    `select count(*)::integer as lost
       from redis_confirmations, lateral (select clock_timestamp() - $1 * interval '1 second' as since) as recent
      where not is_stopped and confirmed_at <= since and asked_at > since`,
    [limits.statusConfirmedS],
  );
  return rows[0]?.lost ?? 0;
}

/** Where the test clock stands, if the services run on one that is far from the present. */
async function movedClock(redis: RedisConnection, pool: pg.Pool, prefix: string): Promise<Date | null> {
  if ((await savedTestClock(pool)).isOn !== true) return null;
  const set = await redis.get(partitionPrefix(prefix, defaultTenant) + keyNames.clock);
  return set !== null && Math.abs(Number(set) - Date.now()) > limits.statusTestClockMs ? new Date(Number(set)) : null;
}

async function freePercent(folder: string): Promise<number> {
  const { bavail, blocks } = await statfs(folder);
  return (bavail / blocks) * 100;
}

type Named = Pick<TenantStatus, 'id' | 'name'> & { readonly no: number };

interface Committed {
  readonly epoch: string;
  readonly lastId: string;
}

/** The rule of `open` (lua/modules/partition.lua), without opening the partition. */
function isInSync({ epoch, lastId }: Committed, redisEpoch: string | null, newest: string): boolean {
  if (redisEpoch === null) return lastId === '0-0';
  return redisEpoch === epoch && !isBelow(newest, lastId);
}

async function tenantStatus(redis: RedisConnection, partition: string, named: Named, committed: Committed): Promise<TenantStatus> {
  const { restore, count } = restoringFields;
  const [{ lagEntries, lagSeconds }, newest, [redisEpoch = null, trimmed = null, restoring = null, restored = null]] = await Promise.all([
    readLag(redis, partition, named.no),
    lastLedgerId(redis, partition),
    redis.hmget(partition + keyNames.meta, metaFields.epoch, metaFields.trimmed, restore, count),
  ]);
  const postgresIsOlder = redisEpoch === committed.epoch && isBelow(committed.lastId, trimmedUpTo(trimmed, committed.epoch));
  const inSync = !postgresIsOlder && isInSync(committed, redisEpoch, newest);
  return {
    id: named.id,
    name: named.name,
    epoch: committed.epoch,
    redisEpoch,
    committed: committed.lastId,
    newest,
    state: restoring !== null ? 'restoring' : inSync ? 'in sync' : 'out of sync',
    postgresIsOlder,
    restored: restoring === null ? null : Number(restored ?? 0),
    lagEntries,
    lagSeconds,
  };
}

async function tenantStatuses(redis: RedisConnection, pool: pg.Pool, prefix: string): Promise<TenantStatus[]> {
  const others = await listTenants(pool, { limit: limits.maxTenants, skip: 0 });
  const all: Named[] = [{ no: defaultTenant, id: 'default', name: 'Default' }, ...others];
  const statuses: TenantStatus[] = [];
  for (let first = 0; first < all.length; first += limits.metricsTenants) {
    const some = all.slice(first, first + limits.metricsTenants);
    const numbers = some.map(({ no }) => no);
    const offsets = new Map((await loadOffsets(pool, numbers)).map((offset) => [offset.tenant, offset]));
    const reads = some.flatMap((named) => {
      const committed = offsets.get(named.no);
      return committed ? [tenantStatus(redis, partitionPrefix(prefix, named.no), named, committed)] : [];
    });
    statuses.push(...(await Promise.all(reads)));
  }
  return statuses;
}

/** The number of active tenants, with the default one. */
async function countTenants(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(`select count(*)::int from tenants where status = 'active'`);
  return rows[0]?.count ?? 0;
}

/** The lag of ledgers together: all entries, and the age of the oldest. */
interface Lag {
  readonly lagEntries: number;
  readonly lagSeconds: number;
}

const lagOf = (lags: readonly Lag[]): Lag => ({
  lagEntries: lags.reduce((sum, one) => sum + one.lagEntries, 0),
  lagSeconds: lags.reduce((max, one) => Math.max(max, one.lagSeconds), 0),
});

/** The lag as far as it is known without Postgres. */
async function lagInRedis(redis: RedisConnection, prefix: string, tenants: readonly number[]): Promise<Lag> {
  const lags: Lag[] = [];
  for (let first = 0; first < tenants.length; first += limits.metricsTenants) {
    const some = tenants.slice(first, first + limits.metricsTenants);
    lags.push(...(await Promise.all(some.map((tenant) => readLag(redis, partitionPrefix(prefix, tenant), tenant)))));
  }
  return lagOf(lags);
}

/** The stores, and the problems that are known already. Redis is undefined while unavailable. */
export interface StatusStores {
  readonly redis: RedisConnection | undefined;
  readonly pool: pg.Pool;
  readonly prefix: string;
  /** The tenants that this process knows without Postgres; absent: the default one. */
  readonly knownTenants?: readonly number[];
  /** The folder of the built-in stores; null where both stores are elsewhere. */
  readonly dataDir: string | null;
  /** The replicas that each master must have, with DURABILITY=replicated; absent: none. */
  readonly requiredReplicas?: number | undefined;
  readonly problems: string[];
}

/** What a failed read says, before the message of its error; or the whole sentence, from the error. */
type Failed = string | ((error: unknown) => string);

/** Reads from a store. A failure becomes a problem, and the result null. */
type Reader = <T>(read: Promise<T>, failed: Failed) => Promise<T | null>;

const failedSentence = (failed: string, error: unknown): string => `${failed}: ${messageOf(error).replace(/\.$/, '')}.`;

export const readerOf =
  (problems: string[]): Reader =>
  async (read, failed) =>
    read.catch((error: unknown) => {
      const problem = typeof failed === 'string' ? failedSentence(failed, error) : failed(error);
      if (!problems.includes(problem)) problems.push(problem);
      return null;
    });

/** Reads the status from the stores, and changes nothing. A failed read is a problem in the result. */
export async function readStatus(stores: StatusStores): Promise<Status> {
  const { redis, pool, prefix, problems: known, knownTenants, dataDir, requiredReplicas = 0 } = stores;
  const problems = [...known];
  const orProblem = readerOf(problems);
  const servers = redis && Promise.all(mastersOf(redis).map(async (server) => infoFields(await server.info())));
  const fields =
    redis && servers ? await orProblem(servers, (error) => redisSentence(error, redis) ?? failedSentence(fromRedis, error)) : null;
  const redisState = fields && redisStatus(fields);
  const refused = redis && fields ? await refusedCall(redis, prefix) : undefined;
  if (refused !== undefined) problems.push(refused);
  if (fields?.some(keepsNoFile)) problems.push(sentenceOf(redisProblems.noFile));
  else if (fields?.some(failsToWrite) && refused === undefined) problems.push(sentenceOf(redisProblems.disk));
  const online = Math.min(...(fields ?? []).map(onlineReplicas));
  if (online < requiredReplicas) problems.push(sentenceOf(redisProblems.noReplicas, `${online} of ${requiredReplicas}`));
  const postgres = await orProblem(postgresStatus(pool), fromPostgres);
  if (!redisState) problems.push(unknownWithoutRedis);
  if (!postgres) problems.push(unknownWithoutPostgres + (knownTenants ? '.' : otherLedgers));
  const processes = postgres && (await orProblem(processesOf(pool), fromPostgres));
  const conditions: Conditions = {
    lostProcesses: (postgres && (await orProblem(countLost(pool), fromPostgres))) ?? 0,
    lateReplicas: fields?.flatMap(replicaLags).filter((lagS) => lagS > limits.statusReplicaLagS).length ?? 0,
    movedClock: redis && redisState && postgres ? await orProblem(movedClock(redis, pool, prefix), 'Reading the test clock failed') : null,
    freePercent: dataDir === null ? null : await orProblem(freePercent(dataDir), 'Reading the disk of the data folder failed'),
  };
  const deliveries = (postgres && (await orProblem(deliveryProblems(pool), fromPostgres))) ?? [];
  const templates = (postgres && (await orProblem(switchedOffTemplates(pool), fromPostgres))) ?? [];
  const isProxied =
    redis && redisState && (await orProblem(redis.exists(accountPrefix(prefix) + accountKeyNames.untrustedProxy), fromRedis));
  if (isProxied) problems.push(untrustedProxy);
  const all =
    redis && redisState && postgres
      ? await orProblem(tenantStatuses(redis, pool, prefix), 'Reading the state of the tenants failed')
      : null;
  const inRedis = async (): Promise<Lag | null> =>
    redis && redisState ? orProblem(lagInRedis(redis, prefix, knownTenants ?? [defaultTenant]), fromRedis) : null;
  const lag = all ? lagOf(all) : postgres ? null : await inRedis();
  const status = {
    redis: redisState,
    postgres,
    processes,
    tenants: all?.length ?? (postgres && (await orProblem(countTenants(pool), fromPostgres))),
    lagEntries: lag?.lagEntries ?? null,
    lagSeconds: lag?.lagSeconds ?? null,
    listed: all?.filter((one, at) => at === 0 || one.state !== 'in sync' || one.lagSeconds > limits.statusLagS) ?? null,
  };
  const off = templates.map((template) => `The template ${template} is switched off: it is too expensive to render. Change it.`);
  return { ...status, problems: [...problems, ...problemsOf(status, conditions), ...deliveries, ...off] };
}

const untrustedProxy =
  'Sign-ins to the dashboard came with X-Forwarded-For in the last hour while TRUSTED_PROXIES is 0: if a proxy is in front, set it to the number of proxies.';
const fromRedis = 'Reading the status from Redis failed';
const fromPostgres = (error: unknown): string =>
  postgresSentence(error) ?? failedSentence('Reading the status from Postgres failed', error);
const unknownWithoutRedis = 'Unknown without Redis: the lag of the ledgers, and whether Redis and Postgres are in sync.';
const unknownWithoutPostgres =
  'Unknown without Postgres: the processes, the leases, the dead letters, the deliveries, the restores, and whether Redis and Postgres are in sync';
const otherLedgers = '. The lag of the ledgers is that of the default tenant: the others are unknown too.';

const unreached = `has reached this Postgres in the last ${limits.statusConfirmedS} seconds: none is running, or none can connect.`;

/** What else can be a problem. */
interface Conditions {
  readonly lostProcesses: number;
  readonly lateReplicas: number;
  readonly movedClock: Date | null;
  /** Of the disk of the data folder; null where it is not known. */
  readonly freePercent: number | null;
}

/** What is a problem, besides stores that do not respond, deliveries and templates (docs/operations/status.md). */
function problemsOf({ processes, listed, lagSeconds, postgres }: Omit<Status, 'problems'>, conditions: Conditions): string[] {
  const { lostProcesses, lateReplicas, movedClock: movedTo, freePercent: free } = conditions;
  const misses = (role: string): boolean => processes !== null && !processes.some((one) => one.role.includes(role));
  const count = (is: (tenant: TenantStatus) => boolean): number => (listed ?? []).filter(is).length;
  const outOfSync = count(({ state }) => state === 'out of sync');
  const restoring = count(({ state }) => state === 'restoring');
  const older = count(({ postgresIsOlder }) => postgresIsOlder);
  const deadLetters = postgres?.deadLetters ?? 0;
  const lost = postgres?.discarded.lost ?? 0;
  const found: readonly (readonly [boolean, string])[] = [
    [misses('worker'), `No worker ${unreached}`],
    [misses('api'), `No process of the API ${unreached}`],
    [lostProcesses > 0, `${counted(lostProcesses, 'process', 'processes')} cannot serve requests: Redis is unavailable or out of sync.`],
    [outOfSync > 0, `Redis is out of sync for ${counted(outOfSync, 'tenant')}.`],
    [older > 0, `Postgres is older than Redis for ${counted(older, 'tenant')}: docs/operations/backup.md.`],
    [restoring > 0, `The Redis of ${counted(restoring, 'tenant')} is being restored, or its restore was interrupted.`],
    [(lagSeconds ?? 0) > limits.statusLagS, `Postgres is ${Math.round(lagSeconds ?? 0)} s behind Redis.`],
    [deadLetters > 0, `There ${deadLetters === 1 ? 'is' : 'are'} ${counted(deadLetters, 'dead letter')}.`],
    [
      lost > 0,
      `A restore removed ${counted(lost, 'ledger entry', 'ledger entries')} from Redis that Postgres did not have: docs/operations/dead-letters.md.`,
    ],
    [
      lateReplicas > 0,
      `Redis has ${counted(lateReplicas, 'replica')} more than ${limits.statusReplicaLagS} s behind: a failover now could lose events.`,
    ],
    [free !== null && free < limits.statusFreeDiskPercent, `The disk of the data folder has ${Math.floor(free ?? 0)} % left.`],
    [
      movedTo !== null,
      `The test clock is at ${minuteOf(movedTo ?? new Date(0))} for all users. Run a service with real users without TEST_CLOCK.`,
    ],
  ];
  return found.flatMap(([isSo, sentence]) => (isSo ? [sentence] : []));
}
