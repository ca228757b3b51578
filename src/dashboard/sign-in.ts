import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Account } from '../access/account.js';
import type { Principal } from '../access/key-ring.js';
import { secondsOf } from '../api/middleware.js';
import type { RedisConnection } from '../redis/connection.js';
import { redisFailure } from '../redis/failure.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

export interface SignInOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** TRUSTED_PROXIES. */
  readonly trustedProxies: number;
}

const refused = 'This key can’t sign in: check it, or use another admin key.';
const everyone = 'all';

/** The address of the client: that of the connection, or what the outermost trusted proxy has added to X-Forwarded-For. */
function clientAddress({ req }: Koa.Context, trustedProxies: number): string {
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',');
  const named = trustedProxies > 0 ? forwarded.at(-trustedProxies)?.trim() : undefined;
  return named === undefined || named === '' ? (req.socket.remoteAddress ?? '') : named;
}

/** A name for an address in Redis, of one length. */
const nameOf = (address: string): string => createHash('sha256').update(address).digest('base64url');

/** Checks the keys of those who sign in. Failures are limited across all processes: for each address, and for all of them together. */
export class SignIn {
  private readonly options: SignInOptions;
  private readonly account: Account;
  private readonly byAddress: RateLimiterRedis;
  private readonly all: RateLimiterRedis;

  constructor(account: Account, options: SignInOptions) {
    this.options = options;
    this.account = account;
    const { redis: storeClient, prefix } = options;
    const limiter = (points: number): RateLimiterRedis =>
      new RateLimiterRedis({
        ...{ storeClient, points, duration: limits.signInWindowS, inMemoryBlockOnConsumed: points + 1 },
        // No hash tag: the counters are spread over a cluster.
        keyPrefix: `${prefix}:sign-in`,
      });
    this.byAddress = limiter(limits.signInAttempts);
    this.all = limiter(limits.allSignInAttempts);
  }

  /**
   * The caller with an admin key. Throws a 401 for every other text after limits.signInFailureMs, so that neither the answer nor its time says
   * whether a key was ever valid, and a 429 after too many failures.
   */
  async check(context: Koa.Context, key: string): Promise<Principal> {
    const begunMs = performance.now();
    const address = nameOf(clientAddress(context, this.options.trustedProxies));
    await this.count(this.byAddress, address);
    await this.count(this.all, everyone);
    try {
      const caller = await this.account.authenticate(key);
      if (caller.kind !== 'admin') throw new LaurelError('unauthorized', refused);
      await this.uncount(address);
      return caller;
    } catch (error) {
      if (!(error instanceof LaurelError) || error.code !== 'unauthorized') throw error;
      await delay(limits.signInFailureMs - (performance.now() - begunMs));
      throw new LaurelError('unauthorized', refused, { cause: error });
    }
  }

  private async count(limiter: RateLimiterRedis, name: string): Promise<void> {
    try {
      await limiter.consume(name);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw redisFailure(error, this.options.redis);
      throw new LaurelError('too_many_requests', 'Too many attempts to sign in have failed: retry after the seconds in Retry-After.', {
        retryAfterS: secondsOf(error),
      });
    }
  }

  /** A success is no failure. */
  private async uncount(address: string): Promise<void> {
    try {
      await Promise.all([this.byAddress.reward(address), this.all.reward(everyone)]);
    } catch (error) {
      throw redisFailure(error, this.options.redis);
    }
  }
}
