import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import cors from '@koa/cors';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisConnection } from '../redis/connection.js';
import { redisFailure } from '../redis/failure.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/** What a page of another origin may read of an answer, besides what browsers show anyway. */
const exposed = ['Retry-After', 'X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'];

/**
 * Lets pages of these origins (`*`: of any) call the Application API, and answers their preflights. Keys are sent in a header, so there are no
 * credentials for browsers to add. The Admin API, `/docs` and the health checks stay closed to other origins.
 */
export function crossOrigin(origins: readonly string[]): Koa.Middleware {
  const allowed = new Set(origins);
  const middleware = cors({
    origin: (context) => {
      const origin = context.get('Origin');
      if (allowed.has('*')) return '*';
      return allowed.has(origin) ? origin : '';
    },
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: ['Content-Type', 'X-API-KEY', 'Tenant-ID', 'Idempotency-Key', 'X-Request-Id'],
    exposeHeaders: exposed,
    maxAge: limits.corsMaxAgeS,
  });
  return async (context, next) => {
    await (/^\/(?:v1|api)(?:\/|$)/.test(context.path) ? middleware(context, next) : next());
  };
}

/** A request that has been answered. It tells nothing of whom it was about: `route` is the pattern, and not the address. */
export interface Answered {
  readonly method: string;
  /** `/v1/users/:id`; `none` for an address that there is not. */
  readonly route: string;
  readonly status: number;
  /** From the head of the request to its answer. */
  readonly seconds: number;
}

/** A request that is to be answered. */
export interface Asked {
  readonly id: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Who watches requests. */
export interface RequestWatch {
  /** Counts a request. */
  readonly answered?: ((request: Answered) => void) | undefined;
  /** Answers a request, and traces it. `outcome` is known when `answer` is through. */
  readonly around?: ((request: Asked, answer: () => Promise<void>, outcome: () => Answered) => Promise<void>) | undefined;
}

const wellFormedId = new RegExp(`^[A-Za-z0-9._-]{1,${limits.maxRequestIdChars}}$`);

/** The id of a request: the caller's X-Request-Id if it is well-formed, else a new one. A key that was sent in the wrong header is none. */
export function requestId({ headers }: Koa.Request): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && wellFormedId.test(sent) && sent !== headers['x-api-key'] ? sent : randomUUID();
}

/** The pattern that the router found for a request. */
function routeOf(context: Koa.Context): string {
  const route = context['_matchedRoute'] as unknown;
  return typeof route === 'string' ? route : 'none';
}

/** What a request's log lines begin with. The address stays out of them, as ids and e-mail addresses are in it. */
export const requestLog = (log: Logger, context: Koa.Context): Logger =>
  log.child({ requestId: context.state['requestId'] as string, method: context.method, route: routeOf(context) });

export interface ObservedOptions {
  readonly log: Logger;
  /** ACCESS_LOG: the level of the line that is logged of each request. */
  readonly accessLog: 'debug' | 'info';
  readonly watch: RequestWatch;
}

/** Gives each request an id, which its answer and its log lines carry, and tells of it when it has been answered. */
export function observed({ log, accessLog, watch }: ObservedOptions): Koa.Middleware {
  const isLogged = log.isLevelEnabled(accessLog);
  const { answered, around } = watch;
  return async (context, next) => {
    const begun = performance.now();
    const id = requestId(context.request);
    context.state['requestId'] = id;
    context.set('X-Request-Id', id);
    const { method } = context;
    const outcome = (): Answered => ({
      method,
      route: routeOf(context),
      status: context.status,
      seconds: (performance.now() - begun) / 1000,
    });
    const answer = next as () => Promise<void>;
    await (around ? around({ id, method, headers: context.headers }, answer, outcome) : answer());
    if (!answered && !isLogged) return;
    const request = outcome();
    answered?.(request);
    if (isLogged) {
      const { route, status, seconds } = request;
      log[accessLog]({ requestId: id, method, route, status, ms: Math.round(seconds * 1e4) / 10 }, 'request');
    }
  };
}

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
