import { randomUUID } from 'node:crypto';
import cors from '@koa/cors';
import type Koa from 'koa';
import type { Logger } from 'pino';
import type { Observed } from '../observe/observed.js';
import type { HandledRequest } from '../observe/service-metrics.js';
import type { RedisConnection } from '../redis/connection.js';
import { RateLimiter } from '../redis/rate-limiter.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/** Response headers that pages of other origins may read. */
const exposed = ['Retry-After', 'X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'];

/**
 * Headers for browsers: a response is data, loads nothing, and may not be framed. `/docs` has its own policy. Strict-Transport-Security is up
 * to the proxy that holds the certificate.
 */
const securityHeaders = {
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
} as const;

/** The headers of every response. */
export const commonHeaders = (context: Koa.Context): Record<string, string> => ({
  ...securityHeaders,
  'X-Request-Id': context.state['requestId'] as string,
});

/** Request headers that pages of other origins may send; the last ones are those of the official JavaScript client. */
const allowed = [
  ...['Content-Type', 'X-API-KEY', 'Tenant-ID', 'Idempotency-Key', 'X-Request-Id', 'Last-Event-ID', 'X-SDK-VERSION'],
  ...['Language', 'SDK-Name', 'SDK-Version', 'Runtime', 'Runtime-Version'].map((name) => `X-Fern-${name}`),
];

/**
 * Allows pages of these origins (`*`: any) to call the Application API, and responds to their preflight requests. Keys are in a header, so no
 * credentials mode is needed. The Admin API, `/docs` and the health checks stay closed to other origins.
 */
export function crossOrigin(origins: readonly string[]): Koa.Middleware {
  const allowedOrigins = new Set(origins);
  const middleware = cors({
    origin: (context) => {
      const origin = context.get('Origin');
      if (allowedOrigins.has('*')) return '*';
      return allowedOrigins.has(origin) ? origin : '';
    },
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: allowed,
    exposeHeaders: exposed,
    maxAge: limits.corsMaxAgeS,
  });
  return async (context, next) => {
    // A preflight request gets its response here.
    if (context.method === 'OPTIONS') context.set(commonHeaders(context));
    await (/^\/(?:v1|api)(?:\/|$)/.test(context.path) ? middleware(context, next) : next());
  };
}

/** Measures and traces requests. `traceRequest` traces a request around `handle`; `outcome` is available once that resolves. */
type RequestWatch = Pick<Observed, 'onResponse' | 'traceRequest'>;

const wellFormedId = new RegExp(`^[A-Za-z0-9._-]{1,${limits.maxRequestIdChars}}$`);

/** The id of a request: the caller's X-Request-Id if it is well-formed, else a new one. An API key sent in this header by mistake is not used. */
function requestId({ headers }: Koa.Request): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && wellFormedId.test(sent) && sent !== headers['x-api-key'] ? sent : randomUUID();
}

/** The pattern of the matched route. */
function routeOf(context: Koa.Context): string {
  const route = context['_matchedRoute'] as unknown;
  return typeof route === 'string' ? route : 'none';
}

/** A logger with a request's fields. The path is not one of them, since it holds user ids and e-mail addresses. */
export const requestLog = (log: Logger, context: Koa.Context): Logger =>
  log.child({ requestId: context.state['requestId'] as string, method: context.method, route: routeOf(context) });

export interface ObservedOptions {
  readonly log: Logger;
  /** ACCESS_LOG: the level of each request's log line. */
  readonly accessLog: 'debug' | 'info';
  readonly watch: RequestWatch;
}

/** Assigns each request an id, which its response and log lines carry, and reports it when it completes. */
export function observed({ log, accessLog, watch }: ObservedOptions): Koa.Middleware {
  const isLogged = log.isLevelEnabled(accessLog);
  const { onResponse, traceRequest } = watch;
  return async (context, next) => {
    const begun = performance.now();
    const id = requestId(context.request);
    context.state['requestId'] = id;
    const { method } = context;
    const outcome = (): HandledRequest => ({
      method,
      route: routeOf(context),
      status: context.status,
      seconds: (performance.now() - begun) / 1000,
    });
    const handle = next as () => Promise<void>;
    await (traceRequest ? traceRequest({ id, method, headers: context.headers }, handle, outcome) : handle());
    if (!onResponse && !isLogged) return;
    const request = outcome();
    onResponse?.(request);
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
  /** What is counted: all requests, or those to costly routes. */
  readonly counter: 'rate' | 'rate-costly';
  /** Requests that one key may make in a window. */
  readonly requests: number;
  readonly windowS: number;
}

/** The headers that describe the limit. */
export type LimitHeaders = Readonly<Record<string, string>>;

/** Limits the requests of each key across all processes. */
export class RateLimit {
  private readonly limiter: RateLimiter;
  private readonly requests: number;
  private readonly windowS: number;
  /** What is limited, for the 429. */
  private readonly what: string;

  constructor({ requests, ...options }: RateLimitOptions) {
    this.limiter = new RateLimiter({ ...options, max: requests });
    this.requests = requests;
    this.windowS = options.windowS;
    this.what = options.counter === 'rate-costly' ? 'requests of this kind' : 'requests';
  }

  /** Counts a request of a key, and passes the headers to `setHeaders`. Throws a 429 if the key is over its limit. */
  async count(keyId: string, setHeaders: (headers: LimitHeaders) => void): Promise<void> {
    const { isOver, left, resetS } = await this.limiter.count(keyId);
    setHeaders({
      'RateLimit-Limit': String(this.requests),
      'RateLimit-Remaining': String(left),
      'RateLimit-Reset': String(resetS),
      'RateLimit-Policy': `${this.requests};w=${this.windowS}`,
    });
    if (isOver) {
      throw new LaurelError(
        'too_many_requests',
        `This key may make ${this.requests} ${this.what} in ${this.windowS} s: retry after the seconds in Retry-After.`,
        { retryAfterS: resetS },
      );
    }
  }
}
