import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { parseRedisAddress, type HostAndPort, type RedisAddress } from './address.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { redisProblems, sentenceOf } from '../shared/store-problems.js';
import { ClusterConnection, mastersOf } from './cluster.js';
import { channelNames, partitionPrefix } from './contract.js';
import { noteTrouble, startRefusal } from './failure.js';
import { FunctionCommand } from './function-command.js';
import { expectNoTls, tlsOptions, tlsProblem, type TlsFiles } from './tls.js';
import { sendByTurns, type Replication } from './turns.js';

/** A connection for all commands: to one server, with or without Sentinel, or to a cluster. */
export type RedisConnection = Redis | Cluster;

/**
 * The options of every connection to a server. Commands are never queued while it is down and never resent: an event whose reply was lost may have
 * been counted, and only its caller, who has the idempotency key, may send it again.
 */
export const redisOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Half of the timeout, because a call may take two commands: after a redirection, or to load the function library.
  commandTimeout: limits.redisCallTimeoutMs / 2,
  // A silent server is disconnected, so that the queue of waiting commands can't grow.
  socketTimeout: limits.redisCallTimeoutMs,
  connectTimeout: limits.redisCallTimeoutMs,
  lazyConnect: true,
  // Its CLIENT SETINFO, whose errors ioredis ignores, would get the reply that there are too many clients.
  disableClientInfo: true,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000),
  // The master has become a replica: reconnecting finds the new one. The refused command was not executed, and is not resent here.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
} as const satisfies RedisOptions;

/** Nodes of a cluster don't reconnect on their own, since they come and go with it. */
const { retryStrategy, enableOfflineQueue: _, reconnectOnError: __, ...nodeOptions } = redisOptions;

/** The options of a cluster. */
const clusterOptions = {
  lazyConnect: true,
  clusterRetryStrategy: retryStrategy,
  // A command waits for a connecting node within its own timeout (cluster.ts refuses it if there is no node).
  enableOfflineQueue: true,
  // Zero means never: a connection may have broken after an event was counted and before its reply arrived.
  retryDelayOnFailover: 0,
  // A reply that a part of the cluster is away is the answer: a command that is held back would only time out, without the reason.
  retryDelayOnClusterDown: 0,
  maxRedirections: limits.maxRedisMoves,
} as const satisfies ClusterOptions;

/** The settings of connections. */
export interface RedisTarget extends TlsFiles {
  /** REDIS_URL (redis/address.ts). */
  readonly url: string;
  /** The password of the Sentinels, which differs from the server's. */
  readonly sentinelPassword?: string | null;
  /** What the replies to calls with a fence wait for. */
  readonly replication?: Replication | undefined;
}

interface Access {
  readonly address: RedisAddress;
  readonly login: Pick<RedisOptions, 'username' | 'password'>;
  readonly tls: Pick<RedisOptions, 'tls'>;
}

function accessOf(target: RedisTarget): Access {
  const address = parseRedisAddress(target.url);
  if (!address) throw new OperatorError(sentenceOf(redisProblems.address));
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

function openCluster({ address, login, tls }: Access, replication: Replication | undefined): ClusterConnection {
  const cluster = new ClusterConnection([...address.nodes], {
    ...clusterOptions,
    redisOptions: { ...nodeOptions, ...login, ...tls },
    // Certificates contain host names.
    ...(tls.tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
  });
  cluster.on('+node', (node: Redis) => {
    sendByTurns(node, replication);
    cluster.take(node);
  });
  // Finds the new master when one has died silently. (ioredis' own option would search for ever if it was closed during a search.)
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
      return openCluster(access, target.replication);
  }
}

/** Connects. Throws an OperatorError. */
export async function connectRedis(target: RedisTarget, onError: (error: Error) => void): Promise<RedisConnection> {
  const redis = open(target);
  if (redis instanceof Redis) sendByTurns(redis, target.replication);
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
    // With several servers to try, ioredis never gives up.
    const tooLate = delay(limits.redisCallTimeoutMs, undefined, { signal: abort.signal }).then(async () => {
      await noticeLoading(redis);
      throw last ?? new Error(`no reply within ${limits.redisCallTimeoutMs} ms`);
    });
    await Promise.race([redis.connect(), tooLate]);
    await Promise.race([Promise.all(mastersOf(redis).map(ready)), tooLate]);
  } catch (error) {
    redis.disconnect();
    const away = sentenceOf(redisProblems.noAnswer, messageOf(last ?? error));
    throw new OperatorError(tlsProblem(last) ?? startRefusal(redis) ?? away, { cause: error });
  } finally {
    abort.abort();
  }
  return redis;
}

/** ioredis waits in silence while a server reads its data. Reports it as the server's reply to any other command. */
async function noticeLoading(redis: RedisConnection): Promise<void> {
  if (!(redis instanceof Redis) || redis.status !== 'connect') return;
  const persistence = await redis.info('persistence').catch(() => '');
  if (/^loading:1/m.test(persistence)) redis.emit('error', new Error('LOADING Redis is loading the dataset in memory'));
}

/**
 * Connects a subscriber. In a cluster every node forwards what is published on any of them, so it connects to one node of `beside`, and to another
 * one when that connection breaks.
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
 * published while it is down are lost, so `missed` is called after a reconnect.
 */
export class Listener {
  private readonly subscriber: Redis;
  private readonly prefix: string;
  private readonly receivers = new Map<ChannelName, (of: string, message: string) => void>();

  constructor(subscriber: Redis, prefix: string) {
    this.subscriber = subscriber;
    this.prefix = prefix;
    subscriber.on('pmessage', (pattern: string, channel: string, message: string) => {
      for (const [name, receive] of this.receivers) if (pattern === this.pattern(name)) receive(this.ownerOf(channel), message);
    });
  }

  /** Calls `receive` with a tenant's no, or `account`, and the message. One subscriber for each channel. */
  async on(name: ChannelName, receive: (of: string, message: string) => void, missed: () => void): Promise<void> {
    this.receivers.set(name, receive);
    this.subscriber.on('ready', missed);
    await this.subscriber.psubscribe(this.pattern(name));
  }

  /** Calls `receive` with the messages of the tenants that `follow` names. One subscriber for each channel. */
  onTenants(name: ChannelName, receive: (tenant: number, message: string) => void): void {
    this.subscriber.on('message', (channel: string, message: string) => {
      if (channel.endsWith(`}:${channelNames[name]}`)) receive(Number(this.ownerOf(channel)), message);
    });
  }

  /** Calls `missed` after a reconnect, once messages arrive again. */
  onReconnect(missed: () => void): void {
    this.subscriber.on('ready', () => {
      // Redis replies to it after it has subscribed this connection again. It may reply too late, and messages arrive all the same.
      this.subscriber.ping().then(missed, missed);
    });
  }

  /** Receives the messages of a tenant from now on. Throws while Redis is away. */
  async follow(name: ChannelName, tenant: number): Promise<void> {
    await this.subscriber.subscribe(partitionPrefix(this.prefix, tenant) + channelNames[name]);
  }

  unfollow(name: ChannelName, tenant: number): void {
    this.subscriber.unsubscribe(partitionPrefix(this.prefix, tenant) + channelNames[name]).catch(() => undefined);
  }

  /** A tenant's no, or `account`. */
  private ownerOf(channel: string): string {
    return channel.slice(this.prefix.length + 2, channel.indexOf('}'));
  }

  /** The prefix contains no special character of a pattern (app/settings.ts). */
  private pattern(name: ChannelName): string {
    return `{${this.prefix}:*}:${channelNames[name]}`;
  }
}

/** Resolves when a connecting node of a cluster is ready, or can't be reached, which commands will notice. */
function ready(node: Redis): Promise<void> {
  if (node.status === 'ready' || node.status === 'end') return Promise.resolve();
  return new Promise((resolve) => {
    for (const event of ['ready', 'end'] as const) node.once(event, resolve);
  });
}

export function messageOf(error: unknown): string {
  // Node's error for several refused addresses of one host has only a code.
  return error instanceof Error ? error.message || ((error as NodeJS.ErrnoException).code ?? error.name) : String(error);
}

/** What a call of a function sends. */
interface FunctionCall {
  readonly key: string;
  readonly args: readonly (string | number | Buffer)[];
  /** A key of the same slot: the reply waits for the replicas of the connection, if it has any to wait for. */
  readonly fence?: string | undefined;
}

/** Calls a Redis function with one key; texts in the reply are buffers. */
export function callFunction(redis: RedisConnection, name: string, { key, args, fence }: FunctionCall): Promise<unknown> {
  return redis.sendCommand(new FunctionCommand(name, key, args, fence)) as Promise<unknown>;
}
