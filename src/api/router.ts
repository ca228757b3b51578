import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import helmet from 'koa-helmet';
import type { Logger } from 'pino';
import type { Principal } from '../access/key-ring.js';
import { defaultTenant } from '../access/tenants.js';
import { idProblem } from '../engine/user-properties.js';
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
import { errorResponse, parsePart } from './errors.js';
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
/** The routes of the Admin API that concern one tenant. */
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
  /** Undefined: requests are not limited. */
  readonly rateLimit: RateLimit | undefined;
  readonly health: Health;
  /** CORS_ORIGINS. */
  readonly corsOrigins: readonly string[];
  /** Logs and counts responses with 503. */
  readonly refusals: Refusals;
}

type Middleware = Koa.Middleware;

/**
 * Headers for browsers: a response is data, loads nothing, and may not be framed. `/docs` has its own policy. Strict-Transport-Security is up
 * to the proxy that holds the certificate.
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

/** Maps every error to a response. No other code does. */
function errors({ log, refusals }: AppOptions): Middleware {
  return async (context, next) => {
    try {
      await next();
      if (context.body !== undefined) return;
      if (context.status === 404) throw new LaurelError('not_found', `There is nothing at ${context.method} ${context.path}.`);
      // The router has set Allow.
      if (context.status === 405) throw new LaurelError('method_not_allowed', 'This address exists, but not with this method.');
      if (context.status === 501) throw new LaurelError('method_not_allowed', 'This method is not supported.');
    } catch (error) {
      const logOf = (): Logger => requestLog(log, context);
      const { status, body, headers } = errorResponse(error, logOf, (refusal) => {
        // While keys can't be looked up, the tenant that a header names can't be resolved.
        const implied = context.headers['tenant-id'] === undefined ? defaultTenant : undefined;
        refusals.record(refusal, logOf, (context.state['tenant'] as number | undefined) ?? implied);
      });
      context.status = status;
      context.set(headers);
      context.body = body;
    }
  };
}

/** Parses the body as JSON whatever its Content-Type, since no route accepts anything else. The route's schema requires an object. */
const readBody = (maxBytes: number): Middleware =>
  bodyParser({ enableTypes: ['json'], detectJSON: () => true, strict: false, jsonLimit: String(maxBytes) });

/** Throws a 400 for an invalid percent-encoding, which the router would pass on undecoded, as a wrong id. */
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

/** Decodes a header as UTF-8, which clients send and Node reads as Latin-1. Bytes that are not UTF-8 stay as they are. */
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

async function tenantOf(context: Koa.Context, principal: Principal, route: Route, { account }: Services): Promise<number> {
  const header = context.req.headers['tenant-id'];
  const named = header === undefined ? undefined : decodeHeader(String(header));
  if (named !== undefined && principal.tenant === null) await account.learnTenant(named);
  return tenantFor(principal, named, account, route);
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

/** Authenticates and authorises before the body is read: 401 and 403 take precedence over every other error. */
function admit(api: Api, route: Route, { services, rateLimit }: AppOptions): Middleware {
  return async (context, next) => {
    const principal = await services.account.authenticate(keyOf(context));
    if (rateLimit) await rateLimit.count(principal.keyId, (headers) => context.set(headers));
    const tenant = await tenantOf(context, principal, route, services);
    checkCaller(principal, api, route);
    context.state['principal'] = principal;
    context.state['tenant'] = tenant;
    await next();
  };
}

function handler(route: Route, { services }: AppOptions): Middleware {
  return async (context) => {
    const principal = context.state['principal'] as Principal;
    const tenant = context.state['tenant'] as number;
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

interface Mount {
  readonly api: Api;
  readonly bases: readonly string[];
  readonly routes: readonly Route[];
}

/** Both APIs, and the base paths of their routes. */
const mounts: readonly Mount[] = [
  { api: 'application', bases: ['/v1', '/api'], routes: applicationRoutes },
  { api: 'admin', bases: ['/admin/v1'], routes: adminRoutes },
];

function mount(router: Router, { api, routes }: Mount, base: string, options: AppOptions): void {
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
  for (const each of mounts) for (const base of each.bases) mount(router, each, base, options);
  const app = new Koa();
  // Koa would print these to the console. The usual one is a client that disconnected before its response was sent.
  app.on('error', (error: unknown) => {
    options.log.debug({ err: error }, 'response not sent');
  });
  app.use(observed(options));
  app.use(securityHeaders);
  if (options.corsOrigins.length > 0) app.use(crossOrigin(options.corsOrigins));
  app.use(errors(options));
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}

/** Readiness, for the health checks and the metrics. */
export interface Health {
  /** Why the service is not ready; undefined when it is. */
  problem(): Promise<LaurelError | undefined>;
}

/**
 * `GET /health/live`: the process responds. `GET /health/ready`: Redis accepts writes and is in sync with Postgres, the ledger is below its
 * limit, and the service is not stopping; 503 with the cause otherwise. Postgres may be unavailable, since events are accepted until the ledger
 * is full. Neither needs a key.
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
