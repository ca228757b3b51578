import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import type { Logger } from 'pino';
import { clockRoutes } from '../admin/clock.js';
import { configurationRoutes } from '../admin/configuration.js';
import { eventAdminRoutes } from '../admin/events.js';
import { streakAdminRoutes } from '../admin/streaks.js';
import { userAdminRoutes } from '../admin/users.js';
import { LaurelError } from '../errors.js';
import type { KeyRing, Principal } from '../keys/key-ring.js';
import { limits } from '../limits.js';
import { idProblem } from '../users/schema.js';
import { achievementRoutes } from './achievements.js';
import { docsRoutes } from './docs.js';
import { errorAnswer } from './errors.js';
import { healthRoutes, type Health } from './health.js';
import { leaderboardRoutes } from './leaderboards.js';
import { metricRoutes } from './metrics.js';
import { pointsRoutes } from './points.js';
import { preferenceRoutes } from './preferences.js';
import type { Route, Services } from '../routing/route.js';
import { streakRoutes } from './streaks.js';
import { summaryRoutes } from './summaries.js';
import { userRoutes } from './users.js';
import { parsePart } from '../routing/validation.js';

/** The Application API. */
export const applicationRoutes: readonly Route[] = [
  ...metricRoutes,
  ...userRoutes,
  ...achievementRoutes,
  ...streakRoutes,
  ...preferenceRoutes,
  ...leaderboardRoutes,
  ...pointsRoutes,
  ...summaryRoutes,
];
/** The Admin API. */
export const adminRoutes: readonly Route[] = [
  ...clockRoutes,
  ...streakAdminRoutes,
  ...configurationRoutes,
  ...eventAdminRoutes,
  ...userAdminRoutes,
];

/** The one tenant until tenants can be created. */
const defaultTenant = 1;

export interface AppOptions {
  readonly services: Services;
  readonly keys: KeyRing;
  readonly health: Health;
  readonly log: Logger;
}

type Middleware = Koa.Middleware;

/** Every failure becomes an answer here, and nowhere else. */
function errors(log: Logger): Middleware {
  return async (context, next) => {
    try {
      await next();
      if (context.status === 404 && context.body === undefined) {
        throw new LaurelError('not_found', `There is nothing at ${context.method} ${context.path}.`);
      }
    } catch (error) {
      const { status, body, headers } = errorAnswer(error, log);
      context.status = status;
      context.set(headers);
      context.body = body;
    }
  };
}

/** JSON whatever the Content-Type says: everything that is sent here is meant as JSON. That it is an object, its schema asks for. */
const readBody = (maxBytes: number): Middleware =>
  bodyParser({ enableTypes: ['json'], detectJSON: () => true, strict: false, jsonLimit: String(maxBytes) });

/** The router would leave as it came what it can't decode, and take it for an id that nobody meant. */
function checkAddress({ url }: Koa.Context): void {
  if (!url.includes('%')) return;
  try {
    decodeURIComponent(url);
  } catch (error) {
    throw new LaurelError(
      'invalid_request',
      'The address is not valid: what follows a percent sign must be the two hexadecimal digits of a byte of UTF-8.',
      {
        cause: error,
      },
    );
  }
}

/**
 * HTTP carries header values as bytes, which Node reads as Latin-1; clients send UTF-8. Bytes that are not UTF-8 are left as they are.
 */
function decodeHeader(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : value;
}

function idempotencyKey(context: Koa.Context): string | undefined {
  const header = context.req.headers['idempotency-key'];
  if (typeof header !== 'string') return undefined;
  const key = decodeHeader(header);
  const problem = idProblem(key);
  if (problem !== undefined) throw new LaurelError('unprocessable', `The Idempotency-Key header ${problem}.`);
  return key;
}

function tenantOf(context: Koa.Context): number {
  const header = context.req.headers['tenant-id'];
  if (header !== undefined)
    throw new LaurelError('not_found', `There is no tenant ${JSON.stringify(String(header))}: leave the Tenant-ID header out.`);
  return defaultTenant;
}

function bodyOf(context: Koa.Context, route: Route): unknown {
  if (!route.body) return undefined;
  if (context.request.rawBody === undefined || context.request.rawBody === '') {
    throw new LaurelError('invalid_json', 'Send a JSON body.');
  }
  return parsePart(route.body, context.request.body, 'The body');
}

/** Comes before the body is read: a caller without a key is told so, whatever else is wrong. */
function authenticate(keys: KeyRing): Middleware {
  return async (context, next) => {
    context.state['principal'] = keys.authenticate(context.get('x-api-key'));
    await next();
  };
}

function handler(route: Route, { services }: AppOptions): Middleware {
  return async (context) => {
    const principal = context.state['principal'] as Principal;
    const tenant = tenantOf(context);
    checkAddress(context);
    const params = parsePart(route.params, context['params'] as unknown, 'The path');
    const query = parsePart(route.query, context.query, 'The query');
    const answer = await route.handle({
      services,
      principal,
      tenant,
      params,
      query,
      body: bodyOf(context, route),
      idempotencyKey: route.idempotent ? idempotencyKey(context) : undefined,
    });
    context.status = answer.status;
    context.body = answer.body;
    if (route.produces !== undefined) context.type = route.produces;
  };
}

/** `{key}` as the contract writes it is `:key` for the router. */
const routerPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

function mount(router: Router, base: string, routes: readonly Route[], options: AppOptions): void {
  for (const route of routes)
    router.register(
      base + routerPath(route.path),
      [route.method],
      [authenticate(options.keys), readBody(route.maxBodyBytes ?? limits.maxBodyBytes), handler(route, options)],
    );
}

/** The HTTP application: health, the reference, the Application API under both of its bases, the Admin API. */
export function createApp(options: AppOptions): Koa {
  const router = new Router();
  healthRoutes(router, options.health);
  docsRoutes(router, { application: applicationRoutes, admin: adminRoutes });
  mount(router, '/v1', applicationRoutes, options);
  mount(router, '/api', applicationRoutes, options);
  mount(router, '/admin/v1', adminRoutes, options);
  const app = new Koa();
  app.use(errors(options.log));
  app.use(router.routes());
  app.use(
    router.allowedMethods({
      throw: true,
      methodNotAllowed: () => new LaurelError('method_not_allowed', 'This address exists, but not with this method.'),
      notImplemented: () => new LaurelError('method_not_allowed', 'This method is not supported.'),
    }),
  );
  return app;
}
