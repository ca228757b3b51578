import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { LaurelError } from '../errors.js';
import type { RedisConnection } from '../redis/connection.js';
import { redisFailure } from '../redis/failure.js';

export interface RateLimitOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** Requests that one key may make in a window. */
  readonly requests: number;
  readonly windowS: number;
}

/** What the headers of an answer say about the limit. */
export type LimitHeaders = Readonly<Record<string, string>>;

/**
 * Limits how many requests a key may make, all processes together: one round trip to Redis for each request. A key that is over its limit is
 * remembered in memory until its window is over, so that refusing costs nothing.
 */
export class RateLimit {
  private readonly limiter: RateLimiterRedis;
  private readonly redis: RedisConnection;
  private readonly requests: number;
  private readonly windowS: number;

  constructor({ redis, prefix, requests, windowS }: RateLimitOptions) {
    this.redis = redis;
    this.requests = requests;
    this.windowS = windowS;
    this.limiter = new RateLimiterRedis({
      storeClient: redis,
      // No hash tag: the counters of keys are spread over a cluster.
      keyPrefix: `${prefix}:rate`,
      points: requests,
      duration: windowS,
      inMemoryBlockOnConsumed: requests + 1,
    });
  }

  /** Counts a request of a key. Throws a 429 when it is one too many; `tell` is given the headers in both cases. */
  async count(keyId: string, tell: (headers: LimitHeaders) => void): Promise<void> {
    try {
      tell(this.headers(await this.limiter.consume(keyId)));
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw redisFailure(error, this.redis);
      tell(this.headers(error));
      throw new LaurelError(
        'too_many_requests',
        `This key may make ${this.requests} requests in ${this.windowS} s: wait until the time in Retry-After is over.`,
        { retryAfterS: secondsOf(error) },
      );
    }
  }

  private headers(result: RateLimiterRes): LimitHeaders {
    return {
      'RateLimit-Limit': String(this.requests),
      'RateLimit-Remaining': String(result.remainingPoints),
      'RateLimit-Reset': String(secondsOf(result)),
      'RateLimit-Policy': `${this.requests};w=${this.windowS}`,
    };
  }
}

const secondsOf = ({ msBeforeNext }: RateLimiterRes): number => Math.max(1, Math.ceil(msBeforeNext / 1000));
