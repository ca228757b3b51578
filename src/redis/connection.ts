import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { parseRedisAddress, type HostAndPort, type RedisAddress } from './address.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { ClusterConnection, mastersOf } from './cluster.js';
import { channelNames } from './contract.js';
import { noteTrouble, startRefusal } from './failure.js';
import { expectNoTls, tlsOptions, tlsProblem, type TlsFiles } from './tls.js';

/** A connection that all commands can be given to: to one server (found by Sentinel or not), or to a cluster. */
export type RedisConnection = Redis | Cluster;

/**
 * How every connection to a server is made. Commands are never queued for a connection that is down and never sent twice: an event whose
 * answer was lost may have been counted, and only its caller, who has the idempotency key, may send it again.
 */
export const redisOptions = {
  enableAutoPipelining: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Half of it: a command waits for the pipeline in front of it before its own time begins.
  commandTimeout: limits.redisCallTimeoutMs / 2,
  // A server that says nothing at all is given up with its connection, so that what waits for it does not grow.
  socketTimeout: limits.redisCallTimeoutMs,
  connectTimeout: limits.redisCallTimeoutMs,
  lazyConnect: true,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000),
  // A master that has become a replica: the next connection finds the new one. What it refused was not executed, and is not sent again here.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
} as const satisfies RedisOptions;

/** The nodes of a cluster come and go with it, so they are not connected to again by themselves. */
const { enableAutoPipelining, retryStrategy, enableOfflineQueue: _, reconnectOnError: __, ...nodeOptions } = redisOptions;

/** How a cluster is spoken to. */
const clusterOptions = {
  enableAutoPipelining,
  lazyConnect: true,
  clusterRetryStrategy: retryStrategy,
  // A command waits for a node that is being connected to, for as long as a command may take (cluster.ts refuses it when there is none).
  enableOfflineQueue: true,
  // Zero is never: a connection that broke may have taken the answer of an event that was counted.
  retryDelayOnFailover: 0,
  maxRedirections: limits.maxRedisMoves,
} as const satisfies ClusterOptions;

/** What connections are made from. */
export interface RedisTarget extends TlsFiles {
  /** REDIS_URL, in a form that addresses.ts reads. */
  readonly url: string;
  /** What Sentinels want to hear, which is not what the server wants. */
  readonly sentinelPassword?: string | null;
}

interface Access {
  readonly address: RedisAddress;
  readonly login: Pick<RedisOptions, 'username' | 'password'>;
  readonly tls: Pick<RedisOptions, 'tls'>;
}

function accessOf(target: RedisTarget): Access {
  const address = parseRedisAddress(target.url);
  if (!address) throw new OperatorError('REDIS_URL is not an address of Redis: docs/settings.md has its forms.');
  const { username, password, nodes } = address;
  if (!address.tls) expectNoTls(target);
  return {
    address,
    login: { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) },
    tls: address.tls ? { tls: tlsOptions(target, address.kind === 'server' ? nodes[0]?.host : undefined) } : {},
  };
}

function openServer({ address, login, tls }: Access): Redis {
  const [node] = address.nodes;
  const where = address.path === undefined ? node : { path: address.path };
  return new Redis({ ...redisOptions, ...where, ...login, ...tls, db: address.db });
}

function openSentinel({ address, login, tls }: Access, sentinelPassword: string | null | undefined): Redis {
  const { nodes, masterName, db } = address;
  return new Redis({
    ...redisOptions,
    ...login,
    ...tls,
    db,
    sentinels: [...nodes],
    name: masterName,
    role: 'master',
    ...(sentinelPassword ? { sentinelPassword } : {}),
    ...(tls.tls ? { enableTLSForSentinelMode: true, sentinelTLS: tls.tls } : {}),
    sentinelCommandTimeout: limits.redisCallTimeoutMs / 2,
    sentinelRetryStrategy: retryStrategy,
  });
}

function openCluster({ address, login, tls }: Access): ClusterConnection {
  const cluster = new ClusterConnection([...address.nodes], {
    ...clusterOptions,
    redisOptions: { ...nodeOptions, ...login, ...tls },
    // Certificates are made out to names.
    ...(tls.tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
  });
  cluster.on('+node', (node: Redis) => {
    cluster.take(node);
  });
  // Which finds the new master, when one has died without a word. (ioredis' own option would look for ever, if it was looking when it was closed.)
  const looking = setInterval(() => {
    if (cluster.status === 'ready') cluster.refreshSlotsCache();
  }, limits.redisSlotsRefreshMs).unref();
  cluster.once('end', () => {
    clearInterval(looking);
  });
  return cluster;
}

function open(target: RedisTarget): RedisConnection {
  const access = accessOf(target);
  switch (access.address.kind) {
    case 'server':
      return openServer(access);
    case 'sentinel':
      return openSentinel(access, target.sentinelPassword);
    case 'cluster':
      return openCluster(access);
  }
}

/** Connects, or fails with a sentence for the operator. */
export async function connectRedis(target: RedisTarget, onError: (error: Error) => void): Promise<RedisConnection> {
  const redis = open(target);
  noteTrouble(redis);
  let last: Error | undefined;
  const told = (error: Error): void => {
    last = error;
    onError(error);
  };
  redis.on('error', told);
  redis.on('node error', told);
  const abort = new AbortController();
  try {
    // Where there are several servers to ask, connecting goes on for ever.
    const tooLate = delay(limits.redisCallTimeoutMs, undefined, { signal: abort.signal }).then(() => {
      throw last ?? new Error(`not within ${limits.redisCallTimeoutMs} ms`);
    });
    await Promise.race([redis.connect(), tooLate]);
    await Promise.race([Promise.all(mastersOf(redis).map(ready)), tooLate]);
  } catch (error) {
    redis.disconnect();
    const away = `Redis does not answer: ${messageOf(last ?? error)}. Start it, or set REDIS_URL to one that runs.`;
    throw new OperatorError(tlsProblem(last) ?? startRefusal(redis) ?? away, { cause: error });
  } finally {
    abort.abort();
  }
  return redis;
}

/**
 * Connects to listen to channels. In a cluster every node passes on what is published at any of them, so it is a connection to one node, and
 * to the next one whenever it breaks; `beside` knows which there are.
 */
export async function connectListener(target: RedisTarget, beside: RedisConnection, onError: (error: Error) => void): Promise<Redis> {
  const access = accessOf(target);
  const { kind, nodes: named } = access.address;
  if (kind !== 'cluster' || !(beside instanceof Cluster)) return (await connectRedis(target, onError)) as Redis;
  let turn = 0;
  const nextNode = (): HostAndPort => {
    const known = beside
      .nodes()
      .flatMap(({ options: { host, port } }) => (host === undefined || port === undefined ? [] : [{ host, port }]));
    const all = known.length > 0 ? known : named;
    turn += 1;
    return all[turn % all.length] ?? { host: '', port: 0 };
  };
  const { login, tls } = access;
  const redis = new Redis({
    ...redisOptions,
    ...login,
    ...tls,
    ...nextNode(),
    retryStrategy: (attempt) => {
      Object.assign(redis.options, nextNode());
      return retryStrategy(attempt);
    },
  });
  redis.on('error', onError);
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve);
    redis.connect().catch(() => undefined);
  });
  return redis;
}

export type ChannelName = keyof typeof channelNames;

/**
 * Receives the messages on the channels of an installation, of all its tenants and of the account, on one connection of its own. Messages
 * published while it is down are lost: `missed` is called after it, and the subscriber polls.
 */
export class Listener {
  private readonly subscriber: Redis;
  private readonly prefix: string;
  private readonly receivers = new Map<ChannelName, (of: string) => void>();

  constructor(subscriber: Redis, prefix: string) {
    this.subscriber = subscriber;
    this.prefix = prefix;
    subscriber.on('pmessage', (pattern: string, channel: string) => {
      this.dispatch(pattern, channel);
    });
  }

  /** Calls `receive` with a tenant's no, or `account`. One subscriber for each channel. */
  async on(name: ChannelName, receive: (of: string) => void, missed: () => void): Promise<void> {
    this.receivers.set(name, receive);
    this.subscriber.on('ready', missed);
    await this.subscriber.psubscribe(this.pattern(name));
  }

  /** The prefix has no character that means something in a pattern (settings.ts). */
  private pattern(name: ChannelName): string {
    return `{${this.prefix}:*}:${channelNames[name]}`;
  }

  private dispatch(pattern: string, channel: string): void {
    for (const [name, receive] of this.receivers) {
      if (pattern === this.pattern(name)) receive(channel.slice(this.prefix.length + 2, channel.indexOf('}')));
    }
  }
}

/** Resolves when a node of a cluster that is being connected to is ready; a node that can't be reached is left to the commands. */
function ready(node: Redis): Promise<void> {
  if (node.status === 'ready' || node.status === 'end') return Promise.resolve();
  return new Promise((resolve) => {
    for (const event of ['ready', 'end'] as const) node.once(event, resolve);
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface FunctionCaller {
  fcallBuffer(name: string, keyCount: 1, key: string, ...args: (string | number | Buffer)[]): Promise<unknown>;
}

/**
 * Calls a Redis function with one key; texts in the reply are buffers. (ioredis makes `fcallBuffer` from the server's command list and
 * its types leave it out. Its typed `callBuffer` loses the command's name when commands are pipelined automatically.)
 */
export function callFunction(
  redis: RedisConnection,
  name: string,
  key: string,
  args: readonly (string | number | Buffer)[],
): Promise<unknown> {
  return (redis as unknown as FunctionCaller).fcallBuffer(name, 1, key, ...args);
}
