import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import helmet from 'koa-helmet';
import type { Logger } from 'pino';
import type { Principal } from '../access/key-ring.js';
import { defaultTenant } from '../access/tenants.js';
import { idProblem } from '../engine/identify.js';
import type { Refusals } from '../logging/refusals.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { achievementRoutes } from './achievements.js';
import { clockRoutes, readyRoutes } from './admin/clock.js';
import { configurationRoutes } from './admin/configuration.js';
import { deadLetterRoutes } from './admin/dead-letters.js';
import { eventAdminRoutes } from './admin/events.js';
import { adminKeyRoutes, applicationKeyRoutes } from './admin/keys.js';
import { streakAdminRoutes } from './admin/streaks.js';
import { tenantRoutes } from './admin/tenants.js';
import { userAdminRoutes } from './admin/users.js';
import { deliveryRoutes } from './admin/webhooks.js';
import { checkCaller, checkUsers, tenantFor } from './auth.js';
import { errorAnswer, parsePart } from './errors.js';
import { metricRoutes } from './events.js';
import { leaderboardRoutes } from './leaderboards.js';
import { type ObservedOptions, type RateLimit, crossOrigin, observed, requestLog } from './middleware.js';
import { pointsRoutes } from './points.js';
import { docsRoutes } from './reference.js';
import type { Api, Route, Services } from './route.js';
import { streakRoutes } from './streaks.js';
import { summaryRoutes } from './summaries.js';
import { preferenceRoutes, userRoutes } from './users.js';

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
/** What the Admin API has of each tenant. */
const ofTenants: readonly Route[] = [
  ...readyRoutes,
  ...streakAdminRoutes,
  ...configurationRoutes,
  ...applicationKeyRoutes,
  ...eventAdminRoutes,
  ...userAdminRoutes,
  ...deadLetterRoutes,
  ...deliveryRoutes,
];
/** The Admin API. */
export const adminRoutes: readonly Route[] = [
  ...ofTenants.map((route): Route => ({ ...route, scope: 'tenant' })),
  ...clockRoutes,
  ...tenantRoutes,
  ...adminKeyRoutes,
];

export interface AppOptions extends ObservedOptions {
  readonly services: Services;
  /** Undefined: keys may make as many requests as they like. */
  readonly rateLimit: RateLimit | undefined;
  readonly health: Health;
  /** CORS_ORIGINS. */
  readonly corsOrigins: readonly string[];
  /** Hears of requests that are answered with 503. */
  readonly refusals: Refusals;
}

type Middleware = Koa.Middleware;

/**
 * What browsers are told: an answer is data, loads nothing, and may not be shown in a frame. (`/docs` has a policy of its own. That a browser
 * must come by TLS is for the proxy to say that has the certificate.)
 */
const securityHeaders = helmet({
  contentSecurityPolicy: { useDefaults: false, directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] } },
  strictTransportSecurity: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  originAgentCluster: false,
  crossOriginOpenerPolicy: false,
});

/** Every failure becomes an answer here, and nowhere else. */
function errors({ log, refusals }: AppOptions): Middleware {
  return async (context, next) => {
    try {
      await next();
      if (context.body !== undefined) return;
      if (context.status === 404) throw new LaurelError('not_found', `There is nothing at ${context.method} ${context.path}.`);
      // The router has said with Allow which methods there are.
      if (context.status === 405) throw new LaurelError('method_not_allowed', 'This address exists, but not with this method.');
      if (context.status === 501) throw new LaurelError('method_not_allowed', 'This method is not supported.');
    } catch (error) {
      const logOf = (): Logger => requestLog(log, context);
      const { status, body, headers } = errorAnswer(error, logOf, (refusal) => {
        // The tenant of a request whose key could not be looked up is not known, if it names one.
        const implied = context.headers['tenant-id'] === undefined ? defaultTenant : undefined;
        refusals.note(refusal, logOf, (context.state['tenant'] as number | undefined) ?? implied);
      });
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

function tenantOf(context: Koa.Context, principal: Principal, route: Route, { account }: Services): number {
  const header = context.req.headers['tenant-id'];
  return tenantFor(principal, header === undefined ? undefined : decodeHeader(String(header)), account, route);
}

function bodyOf(context: Koa.Context, route: Route): unknown {
  if (!route.body) return undefined;
  if (context.request.rawBody === undefined || context.request.rawBody === '') {
    if (route.bodyOptional) return parsePart(route.body, {}, 'The body');
    throw new LaurelError('invalid_json', 'Send a JSON body.');
  }
  return parsePart(route.body, context.request.body, 'The body');
}

const keyOf = (context: Koa.Context): string => context.get('x-api-key');

/** Comes before the body is read: a caller who may not call at all is told so, whatever else is wrong. */
function admit(api: Api, route: Route, { services, rateLimit }: AppOptions): Middleware {
  return async (context, next) => {
    const principal = await services.account.authenticate(keyOf(context));
    if (rateLimit) await rateLimit.count(principal.keyId, (headers) => context.set(headers));
    const tenant = tenantOf(context, principal, route, services);
    checkCaller(principal, api, route);
    context.state['principal'] = principal;
    context.state['tenant'] = tenant;
    await next();
  };
}

function handler(route: Route, { services }: AppOptions): Middleware {
  return async (context) => {
    const admitted = context.state['principal'] as Principal;
    // The body may have been on its way for long: what was admitted is looked at again.
    const principal = await services.account.confirm(admitted, keyOf(context));
    const tenant = context.state['tenant'] as number;
    if (tenant !== tenantOf(context, principal, route, services))
      throw new LaurelError('not_found', 'This tenant was changed while the request came in.');
    checkAddress(context);
    const params = parsePart(route.params, context['params'] as unknown, 'The path');
    const query = parsePart(route.query, context.query, 'The query');
    const body = bodyOf(context, route);
    checkUsers(principal, route, { params, query, body });
    const answer = await route.handle({
      services,
      principal,
      tenant,
      params,
      query,
      body,
      idempotencyKey: route.idempotent ? idempotencyKey(context) : undefined,
    });
    context.status = answer.status;
    context.set('Cache-Control', 'no-store');
    context.body = answer.body;
    if (route.produces !== undefined) context.type = route.produces;
  };
}

/** `{key}` as the contract writes it is `:key` for the router. */
const routerPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

function mount(router: Router, base: string, api: Api, routes: readonly Route[], options: AppOptions): void {
  for (const route of routes)
    router.register(
      base + routerPath(route.path),
      [route.method],
      [admit(api, route, options), readBody(route.maxBodyBytes ?? limits.maxBodyBytes), handler(route, options)],
    );
}

/** The HTTP application: health, the reference, the Application API under both of its bases, the Admin API. */
export function createApp(options: AppOptions): Koa {
  const router = new Router();
  healthRoutes(router, options.health);
  docsRoutes(router, { application: applicationRoutes, admin: adminRoutes });
  mount(router, '/v1', 'application', applicationRoutes, options);
  mount(router, '/api', 'application', applicationRoutes, options);
  mount(router, '/admin/v1', 'admin', adminRoutes, options);
  const app = new Koa();
  // A client that left before its answer was through is no news; what else breaks then is not for the console, where nobody would find it.
  app.on('error', (error: unknown) => {
    options.log.debug({ err: error }, 'an answer could not be sent');
  });
  app.use(observed(options));
  app.use(securityHeaders);
  if (options.corsOrigins.length > 0) app.use(crossOrigin(options.corsOrigins));
  app.use(errors(options));
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}

/** Whether the service can do its work; the sentence says why not. */
export interface Health {
  /** Undefined when ready. */
  problem(): Promise<LaurelError | undefined>;
}

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: Redis accepts writes and is in sync with Postgres, the ledger has room, and the
 * service is not stopping; 503 with the cause otherwise. Postgres being away alone does not count, since events go on until the ledger is full.
 * Neither needs a key.
 */
export function healthRoutes(router: Router, health: Health): void {
  router.get('/health/live', (context) => {
    context.body = { status: 'live' };
  });
  router.get('/health/ready', async (context) => {
    const problem = await health.problem();
    if (problem === undefined) {
      context.body = { status: 'ready' };
      return;
    }
    context.status = 503;
    context.set('Retry-After', '1');
    context.body = { status: 'not ready', error: problem.message };
  });
}
