import cors from '@koa/cors';
import type Koa from 'koa';
import { limits } from '../limits.js';

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
