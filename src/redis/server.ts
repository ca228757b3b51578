import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { OperatorError } from '../shared/errors.js';
import { redisProblems, sentenceOf } from '../shared/store-problems.js';
import { mastersOf, prepareServers } from './cluster.js';
import type { RedisConnection } from './connection.js';
import type { Replication } from './turns.js';

/** The fields of INFO. */
export function infoFields(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );
}

/** Seconds since the last acknowledgement of each replica of a server, from its INFO. */
export function replicaLags(fields: ReadonlyMap<string, string>): number[] {
  return [...fields].flatMap(([field, value]) => (/^slave\d+$/.test(field) ? [Number(/\blag=(\d+)/.exec(value)?.[1] ?? 0)] : []));
}

/** The replicas of a server that have a copy of its data and receive its changes, from its INFO. */
export const onlineReplicas = (fields: ReadonlyMap<string, string>): number =>
  [...fields].filter(([field, value]) => /^slave\d+$/.test(field) && value.includes('state=online')).length;

/** What a response guarantees: that Redis has the event, has it on disk, or that replicas have it (docs/operations/durability.md). */
export interface Durability {
  readonly durability: 'everysec' | 'always' | 'replicated';
  /** With `replicated`. */
  readonly replication: Replication | undefined;
}

/**
 * Checks every server that accepts writes, and throws an OperatorError for one that Laurel must not run on. Calls `warn` for a setting that is
 * allowed but probably a mistake.
 */
export async function checkRedisServers(
  redis: RedisConnection,
  { durability, replication }: Durability,
  warn: (line: string) => void,
): Promise<void> {
  for (const server of mastersOf(redis)) {
    const fields = infoFields(await server.info());
    checkServer(fields, redis instanceof Redis);
    if (replication) checkReplication(fields, replication, warn);
    if (durability === 'always') await makeDurable(server);
    else if (!hasAppendOnlyFile(fields)) {
      warn(sentenceOf(redisProblems.noFile));
    }
  }
}

/**
 * Refuses a server that can't wait for disks when it has to. Too few replicas only warn: a service that starts while one is down serves reads, and
 * changes when the replica is back.
 */
export function checkReplication(
  fields: ReadonlyMap<string, string>,
  { replicas, toDisk }: Replication,
  warn: (line: string) => void,
): void {
  const version = fields.get('redis_version') ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (toDisk && (major < 7 || (major === 7 && minor < 2)))
    throw new OperatorError(sentenceOf(redisProblems.noWaitForDisk, `version ${version}`));
  if (toDisk && !hasAppendOnlyFile(fields)) throw new OperatorError(sentenceOf(redisProblems.noFileForReplicas));
  const online = onlineReplicas(fields);
  if (online < replicas) warn(sentenceOf(redisProblems.noReplicas, `${online} of ${replicas}`));
}

/**
 * Refuses a server that is too old for functions, that may evict keys, which would silently lose users' progress, or that is a node of a cluster
 * when Laurel speaks to it alone.
 */
export function checkServer(fields: ReadonlyMap<string, string>, isAlone: boolean): void {
  const version = fields.get('redis_version') ?? '0';
  if (Number(version.split('.')[0]) < 7) {
    throw new OperatorError(sentenceOf(redisProblems.tooOld, `version ${version}`));
  }
  if (isAlone && fields.get('cluster_enabled') === '1') throw new OperatorError(sentenceOf(redisProblems.clusterNode));
  const policy = fields.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    throw new OperatorError(sentenceOf(redisProblems.evicts, `maxmemory-policy is ${policy}`));
  }
}

const hasAppendOnlyFile = (fields: ReadonlyMap<string, string>): boolean => fields.get('aof_enabled') !== '0';

/**
 * Logs when a server switches its append-only file off, and when all have one again. Takes the INFO of all servers, again and again; the first one is
 * how they were at the start, when checkRedisServers has warned.
 */
export function watchAppendOnlyFile(log: Logger): (servers: readonly ReadonlyMap<string, string>[]) => void {
  let wasOn: boolean | undefined;
  return (servers) => {
    const isOn = servers.every(hasAppendOnlyFile);
    if (wasOn === true && !isOn) log.warn({ store: 'redis' }, 'append-only file of Redis is off');
    if (wasOn === false && isOn) log.info({ store: 'redis' }, 'append-only file of Redis is on again');
    wasOn = isOn;
  };
}

const durable = { appendfsync: 'always', 'no-appendfsync-on-rewrite': 'no' } as const;

/**
 * Makes a server write its append-only file to disk before it replies, once for all commands of one event loop iteration. Throws an OperatorError
 * if it does not and refuses the setting.
 */
async function makeDurable(server: Redis): Promise<void> {
  // Sent first: whatever follows is on disk when its reply arrives.
  const set = await server.config('SET', ...(Object.entries(durable).flat() as [string, string])).then(
    () => true,
    () => false,
  );
  if (infoFields(await server.info('persistence')).get('aof_enabled') !== '1') {
    throw new OperatorError(sentenceOf(redisProblems.noFileForAlways));
  }
  if (!set && !(await isDurable(server))) throw new OperatorError(sentenceOf(redisProblems.fixedSettings));
}

async function isDurable(server: Redis): Promise<boolean> {
  for (const [name, value] of Object.entries(durable)) {
    const [, is] = await server.config('GET', name).catch(() => []);
    if (is !== value) return false;
  }
  return true;
}

/**
 * Checks the durability of every server that the connection reaches later, since a restarted server uses its own configuration again. Disconnects
 * from one that is not durable, so that no request is served from it, and calls `onProblem`.
 */
export function keepDurable(redis: RedisConnection, onProblem: (problem: unknown) => void): void {
  prepareServers(redis, async (server) => {
    await makeDurable(server).catch((error: unknown) => {
      // Commands notice a server that does not reply, or has become a replica.
      if (!(error instanceof OperatorError)) return;
      onProblem(error);
      server.disconnect(true);
    });
  });
}
