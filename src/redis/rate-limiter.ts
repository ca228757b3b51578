/** Counts what names do in windows of time, across all processes. */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisConnection } from './connection.js';
import { redisFailure } from './failure.js';

export interface RateLimiterOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** What is counted; unique in Laurel. Keys begin with it, and Redis' user may have only these (docs/operations/redis.md). */
  readonly counter: 'rate' | 'sign-in' | `rate-${string}`;
  /** How many a name may have in a window. */
  readonly max: number;
  readonly windowS: number;
  /** Whether each process counts by itself while Redis is away. */
  readonly countsWithoutRedis?: boolean;
}

/** The state of a name's window. */
export interface Count {
  readonly isOver: boolean;
  readonly left: number;
  /** Seconds until the limiter accepts the name again, at least 1: `Retry-After`. */
  readonly resetS: number;
}

/**
 * A limit in one window, which begins with the first count of a name. One round trip to Redis for a count; a name over the limit is counted in memory
 * until its window ends.
 */
export class RateLimiter {
  private readonly redis: RedisConnection;
  private readonly limiter: RateLimiterRedis;

  constructor({ redis, prefix, counter, max, windowS, countsWithoutRedis = false }: RateLimiterOptions) {
    this.redis = redis;
    // No hash tag: the counters are spread over a cluster.
    const common = { points: max, duration: windowS, keyPrefix: `${prefix}:${counter}` };
    this.limiter = new RateLimiterRedis({
      ...common,
      storeClient: redis,
      inMemoryBlockOnConsumed: max + 1,
      ...(countsWithoutRedis ? { insuranceLimiter: new RateLimiterMemory(common) } : {}),
    });
  }

  /** Counts one of a name, or more. Throws a 503 while Redis is away, unless the process counts by itself then. */
  async count(name: string, many = 1): Promise<Count> {
    try {
      return countOf(await this.limiter.consume(name, many), false);
    } catch (error) {
      if (error instanceof RateLimiterRes) return countOf(error, true);
      throw redisFailure(error, this.redis);
    }
  }

  /** The state of a name's window, without counting. Throws a 503 while Redis is away. */
  async look(name: string): Promise<Count> {
    try {
      const found = await this.limiter.get(name);
      return found ? countOf(found, found.consumedPoints >= this.limiter.points) : { isOver: false, left: this.limiter.points, resetS: 1 };
    } catch (error) {
      throw redisFailure(error, this.redis);
    }
  }

  /** Takes the newest count of a name back. Throws a 503 while Redis is away. */
  async uncount(name: string): Promise<void> {
    try {
      await (this.limiter.points === 1 ? this.limiter.delete(name) : this.limiter.reward(name));
    } catch (error) {
      throw redisFailure(error, this.redis);
    }
  }
}

const countOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes, isOver: boolean): Count => ({
  isOver,
  left: remainingPoints,
  resetS: Math.max(1, Math.ceil(msBeforeNext / 1000)),
});
