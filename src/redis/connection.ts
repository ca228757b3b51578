import { Redis, type RedisOptions } from 'ioredis';
import { LaurelError, OperatorError } from '../errors.js';
import { limits } from '../limits.js';

/**
 * How every connection to Redis is made. Commands are never queued for a connection that is down and never sent twice: an event whose
 * answer was lost may have been counted, and only its caller, who has the idempotency key, may send it again.
 */
export const redisOptions = {
  enableAutoPipelining: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Half of it: a command waits for the pipeline in front of it before its own time begins.
  commandTimeout: limits.redisCallTimeoutMs / 2,
  connectTimeout: limits.redisCallTimeoutMs,
  lazyConnect: true,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000),
} as const satisfies RedisOptions;

/** Connects, or fails with a sentence for the operator. */
export async function connectRedis(url: string, onError: (error: Error) => void): Promise<Redis> {
  const redis = new Redis(url, redisOptions);
  redis.on('error', onError);
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new OperatorError(`Redis does not answer: ${messageOf(error)}. Start it, or set REDIS_URL to one that runs.`, { cause: error });
  }
  return redis;
}

function infoFields(info: string): Map<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );
}

/**
 * Refuses a server that Laurel must not run on: one too old for functions, or one that may evict keys, which would silently lose users'
 * progress. Throws an OperatorError.
 */
export async function checkRedisServer(redis: Redis): Promise<void> {
  const fields = infoFields(await redis.info());
  const version = fields.get('redis_version') ?? '0';
  if (Number(version.split('.')[0]) < 7) {
    throw new OperatorError(`This Redis is version ${version}; Laurel needs Redis 7.0 or Valkey 7.2 at least.`);
  }
  const policy = fields.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    throw new OperatorError(
      `This Redis evicts keys when memory runs out (maxmemory-policy is ${policy}), which would lose users' progress. ` +
        'Set maxmemory-policy to noeviction and start again.',
    );
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What Redis answers, as a prefix, when it can't serve for now. */
const unavailableReplies = [
  'LOADING',
  'OOM',
  'READONLY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'BUSY',
  'MISCONF',
  'TRYAGAIN',
  'NOREPLICAS',
  'NOAUTH',
];

/**
 * Turns a failed Redis call into what the caller is told: a 503 when Redis is away, full or starting. Anything else is returned as it
 * came.
 */
export function redisFailure(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'ReplyError') {
    if (!unavailableReplies.some((prefix) => error.message.startsWith(prefix))) return error;
    return new LaurelError('not_ready', 'The service is not ready: its Redis cannot take requests right now. Try again shortly.', {
      cause: error,
    });
  }
  return new LaurelError('not_ready', 'The service is not ready: its Redis is away. Try again shortly, with the same Idempotency-Key.', {
    cause: error,
  });
}

interface FunctionCaller {
  fcallBuffer(name: string, keyCount: 1, key: string, ...args: (string | number | Buffer)[]): Promise<unknown>;
}

/**
 * Calls a Redis function with one key; texts in the reply are buffers. (ioredis makes `fcallBuffer` from the server's command list and
 * its types leave it out. Its typed `callBuffer` loses the command's name when commands are pipelined automatically.)
 */
export function callFunction(redis: Redis, name: string, key: string, args: readonly (string | number | Buffer)[]): Promise<unknown> {
  return (redis as unknown as FunctionCaller).fcallBuffer(name, 1, key, ...args);
}
