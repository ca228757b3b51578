import { Redis, type Cluster } from 'ioredis';
import { LaurelError, OperatorError } from '../shared/errors.js';
import { redisProblems, sentenceOf, StoreError, type StoreProblem } from '../shared/store-problems.js';
import { slotIsMoving } from './cluster.js';

type RedisConnection = Redis | Cluster;

/** Replies with which Redis refuses to serve, by their start. */
const refusals: Readonly<Record<string, StoreProblem>> = {
  WRONGPASS: redisProblems.wrongLogin,
  NOAUTH: redisProblems.noLogin,
  NOPERM: redisProblems.denied,
  MISCONF: redisProblems.disk,
  OOM: redisProblems.memory,
  LOADING: redisProblems.loading,
  READONLY: redisProblems.replica,
  // A wait for replicas ends with it when the server becomes one.
  UNBLOCKED: redisProblems.replica,
  MASTERDOWN: redisProblems.replica,
  MOVED: redisProblems.slotMoving,
  TRYAGAIN: redisProblems.slotMoving,
  [slotIsMoving]: redisProblems.slotMoving,
  BUSY: redisProblems.busy,
  NOREPLICAS: redisProblems.fewReplicas,
};

/** Other replies that refuse to serve. */
const refusalTexts: readonly (readonly [text: RegExp, problem: StoreProblem, code: string])[] = [
  // A function finds its tenant's keys on two masters (lua/modules/partition.lua): it has changed nothing.
  [/access a non local key/, redisProblems.slotMoving, 'TRYAGAIN'],
  // A function's caller lacks a permission (Redis 7.0 and newer).
  [/The user executing the script can't|ACL failure in script/, redisProblems.denied, 'NOPERM'],
  // After ioredis' own retries.
  [/\bCLUSTERDOWN\b/, redisProblems.clusterDown, 'CLUSTERDOWN'],
  [/^ERR max number of clients/, redisProblems.maxClients, 'maxclients'],
  [/^ERR WAIT(?:AOF)? cannot be used with replica/, redisProblems.replica, 'ERR'],
  [/^ERR WAITAOF cannot be used when numlocal/, redisProblems.noFileForReplicas, 'ERR'],
  [/^ERR This instance has cluster support disabled/, redisProblems.noCluster, 'ERR'],
];

interface Refusal {
  readonly problem: StoreProblem;
  /** The code of the reply, for callers: the rest may name users and keys. */
  readonly code: string;
  readonly reply: string;
}

/** The meaning of a reply that refuses to serve; undefined for any other. */
function refusalOf({ message: reply }: Error, redis?: RedisConnection): Refusal | undefined {
  for (const [text, problem, code] of refusalTexts) if (text.test(reply)) return { problem, code, reply };
  const code = /^[A-Z]+/.exec(reply)?.[0] ?? '';
  // Only a connection to a cluster follows slots.
  if (code === 'MOVED' && redis instanceof Redis) return { problem: redisProblems.clusterNode, code, reply };
  const problem = refusals[code];
  return problem && { problem, code, reply };
}

/** Why a connection's last attempt failed, until it is ready again. */
const troubles = new WeakMap<RedisConnection, Error>();

/** Records why a connection is down, since the errors of its commands don't contain it. */
export function noteTrouble(redis: RedisConnection): void {
  const note = (error: Error): void => {
    const known = troubles.get(redis);
    // What follows a refusal is less specific: after a refused login, the readiness check fails too; then the connection is closed.
    const isFollowed = known && refusalOf(known) && (error.message.startsWith('NOAUTH') || !refusalOf(error));
    if (!isFollowed) troubles.set(redis, error);
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
  const refusal = refusalOf(error, redis) ?? (isReply || !redis ? undefined : troubleOf(redis));
  if (refusal) return new StoreError(refusal.problem, refusal.code, error);
  return isReply ? error : new StoreError(redisProblems.away, undefined, error);
}

/** The sentence for the operator about a failed command; undefined for a defect. */
export function redisSentence(error: unknown, redis: RedisConnection): string | undefined {
  const failure = error instanceof StoreError ? error : redisFailure(error, redis);
  if (!(failure instanceof StoreError)) return undefined;
  if (failure.problem !== redisProblems.away) return sentenceOf(failure.problem, failure.detail);
  // What the connection has met says more than that it is closed.
  const met = troubles.get(redis) ?? error;
  return sentenceOf(redisProblems.noAnswer, met instanceof Error ? met.message : undefined);
}

function troubleOf(redis: RedisConnection): Refusal | undefined {
  const trouble = troubles.get(redis);
  return trouble && refusalOf(trouble, redis);
}

/** Why a connection could not be made, for the operator; undefined when Redis has not refused it. */
export function startRefusal(redis: RedisConnection): string | undefined {
  const refusal = troubleOf(redis);
  return refusal && sentenceOf(refusal.problem, refusal.reply);
}

/**
 * Turns a refusal by Redis, and what waiting does not solve, into an OperatorError for a start or a command, with Redis' reply. Other errors are
 * returned unchanged.
 */
export function refusedStart(error: unknown): unknown {
  const reply = error instanceof LaurelError ? error.cause : error;
  const text = reply instanceof Error && reply.name === 'ReplyError' ? reply.message : undefined;
  const known = error instanceof StoreError ? error.problem : undefined;
  const problem = known ?? (reply instanceof Error && text !== undefined ? refusalOf(reply)?.problem : undefined);
  if (!problem || (text === undefined && problem.endsStart !== true)) return error;
  return new OperatorError(sentenceOf(problem, text ?? (error as StoreError).detail), { cause: error });
}
