import type { Cluster, Redis } from 'ioredis';
import { LaurelError, OperatorError, type NotReadyReason } from '../shared/errors.js';
import { slotIsMoving } from './cluster.js';

type RedisConnection = Redis | Cluster;

interface Refusal {
  readonly reason: NotReadyReason;
  /** What is wrong and what to do, for responses, readiness, the start and the log. */
  readonly sentence: string;
}

const access = 'docs/operations/redis.md has what Laurel needs.';

/** Replies with which Redis refuses to serve, by their start. */
const refusals: Readonly<Record<string, Refusal>> = {
  WRONGPASS: { reason: 'redis_login', sentence: `Redis refuses the user name or the password of REDIS_URL (WRONGPASS). ${access}` },
  NOAUTH: { reason: 'redis_login', sentence: `Redis asks for a login, and REDIS_URL has none that it accepts (NOAUTH). ${access}` },
  NOPERM: { reason: 'redis_permission', sentence: `Redis denies its user a command, a key or a channel (NOPERM). ${access}` },
  MISCONF: { reason: 'redis_disk', sentence: 'Redis cannot write to its disk, which is full or failing (MISCONF). Free disk space.' },
  OOM: { reason: 'redis_memory', sentence: 'Redis has used all of its memory (OOM). Give it more memory.' },
  LOADING: { reason: 'redis_loading', sentence: 'Redis is loading its data (LOADING). Try again shortly.' },
  ...Object.fromEntries(
    ['READONLY', 'MASTERDOWN', 'MOVED', slotIsMoving, 'CLUSTERDOWN', 'BUSY', 'TRYAGAIN', 'NOREPLICAS'].map((reply) => [
      reply,
      { reason: 'redis_refuses', sentence: `its Redis cannot take requests right now (${reply}). Try again shortly.` },
    ]),
  ),
};

/** The reply to a function that finds its tenant's keys on two masters (lua/modules/partition.lua): it has changed nothing. */
const partlyMoved = 'access a non local key';
/** The replies of Redis 7.0 and newer versions to a function whose caller lacks a permission. */
const deniedInFunction = /The user executing the script can't|ACL failure in script/;

/** The meaning of a reply that refuses to serve; undefined for any other. */
function refusalOf(error: Error): Refusal | undefined {
  const { message } = error;
  if (message.includes(partlyMoved)) return refusals['TRYAGAIN'];
  if (deniedInFunction.test(message)) return refusals['NOPERM'];
  return refusals[/^[A-Z]+/.exec(message)?.[0] ?? ''];
}

/** Why a connection's last attempt failed, until it is ready again. */
const troubles = new WeakMap<RedisConnection, Error>();

/** Records why a connection is down, since the errors of its commands don't contain it. */
export function noteTrouble(redis: RedisConnection): void {
  const note = (error: Error): void => {
    // After a refused login, the readiness check fails too, with a less specific error.
    const isLogin = error.message.startsWith('NOAUTH') && troubles.get(redis)?.message.startsWith('WRONGPASS') === true;
    if (!isLogin) troubles.set(redis, error);
  };
  redis.on('error', note);
  redis.on('node error', note);
  redis.on('ready', () => troubles.delete(redis));
}

/**
 * Turns a failed call into the error for the caller: a 503 with the reason why Redis does not serve. Other errors are returned unchanged. `redis` is
 * the connection of the call.
 */
export function redisFailure(error: unknown, redis?: RedisConnection): unknown {
  if (!(error instanceof Error) || error instanceof LaurelError) return error;
  const isReply = error.name === 'ReplyError';
  const refusal = refusalOf(error) ?? (isReply || !redis ? undefined : troubleOf(redis));
  if (refusal)
    return new LaurelError('not_ready', `The service is not ready: ${refusal.sentence}`, { cause: error, reason: refusal.reason });
  if (isReply) return error;
  return new LaurelError('not_ready', 'The service is not ready: its Redis is away. Try again shortly, with the same Idempotency-Key.', {
    ...{ cause: error, reason: 'redis_away' },
  });
}

function troubleOf(redis: RedisConnection): Refusal | undefined {
  const trouble = troubles.get(redis);
  return trouble && refusalOf(trouble);
}

/** Why a connection could not be made, for the operator; undefined when Redis has not refused it. */
export function startRefusal(redis: RedisConnection): string | undefined {
  return troubleOf(redis)?.sentence;
}

/** Turns a refusal by Redis into an OperatorError, with Redis' reply, for a start or a command. Other errors are returned unchanged. */
export function refusedStart(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const reply = error instanceof LaurelError && error.cause instanceof Error ? error.cause : error;
  const refusal = reply.name === 'ReplyError' ? refusalOf(reply) : undefined;
  return refusal ? new OperatorError(`${refusal.sentence} Redis says: ${reply.message}`, { cause: error }) : error;
}
