import Router from '@koa/router';
import FindMyWay from 'find-my-way';
import Koa from 'koa';
import type { Logger } from 'pino';
import { defaultTenant } from '../access/tenants.js';
import type { Refusals } from '../logging/refusals.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { version } from '../shared/version.js';
import { achievementRoutes } from './achievements.js';
import { achievementAdminRoutes } from './admin/achievements.js';
import { analyticsRoutes } from './admin/analytics.js';
import { clockRoutes, readyRoutes } from './admin/clock.js';
import { configurationRoutes } from './admin/configuration.js';
import { deadLetterRoutes } from './admin/dead-letters.js';
import { eventAdminRoutes } from './admin/events.js';
import { accessRoutes } from './admin/access.js';
import { adminKeyRoutes, applicationKeyRoutes } from './admin/keys.js';
import { leaderboardAdminRoutes } from './admin/leaderboards.js';
import { messageRoutes } from './admin/messages.js';
import { pointsAdminRoutes } from './admin/points.js';
import { statusRoutes } from './admin/status.js';
import { streakAdminRoutes } from './admin/streaks.js';
import { environmentRoutes, tenantRoutes } from './admin/tenants.js';
import { timelineRoutes } from './admin/timeline.js';
import { userAdminRoutes } from './admin/users.js';
import { suppressionRoutes } from './admin/suppressions.js';
import { deliveryRoutes } from './admin/webhooks.js';
import { errorResponse } from './errors.js';
import { exportRoutes } from './exports/routes.js';
import { metricRoutes } from './events.js';
import { leaderboardRoutes } from './leaderboards.js';
import { liveRoutes } from './live.js';
import { type ObservedOptions, commonHeaders, crossOrigin, observed, requestLog } from './middleware.js';
import { type BounceServices, bounceRoutes } from './messages/bounces.js';
import { isPagePath, sendErrorPage } from './messages/page.js';
import { type PageServices, messagePageRoutes } from './messages/pages.js';
import { pointsRoutes } from './points.js';
import { docsRoutes, generateDocuments } from './reference.js';
import type { Api, Route } from './route.js';
import { type Endpoint, type Serve, type ServeOptions, serveEndpoint } from './serve.js';
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
  ...liveRoutes,
  ...pointsRoutes,
  ...summaryRoutes,
];
/** The routes of the Admin API that concern one tenant. */
const ofTenants: readonly Route[] = [
  ...readyRoutes,
  ...streakAdminRoutes,
  ...achievementAdminRoutes,
  ...pointsAdminRoutes,
  // `/webhooks/totals` before `/webhooks/{id}`.
  ...deliveryRoutes,
  ...configurationRoutes,
  ...environmentRoutes,
  ...applicationKeyRoutes,
  ...accessRoutes,
  ...eventAdminRoutes,
  ...userAdminRoutes,
  ...timelineRoutes,
  ...leaderboardAdminRoutes,
  ...analyticsRoutes,
  ...deadLetterRoutes,
  ...messageRoutes,
  ...suppressionRoutes,
  ...exportRoutes,
];
/** The Admin API. */
export const adminRoutes: readonly Route[] = [
  ...ofTenants.map((route): Route => ({ ...route, scope: 'tenant' })),
  ...clockRoutes,
  ...tenantRoutes,
  ...adminKeyRoutes,
  ...statusRoutes,
];

export interface AppOptions extends ObservedOptions, ServeOptions {
  readonly health: Health;
  /** Where `/` leads. */
  readonly home: '/dashboard' | '/docs';
  /** The pages of links in messages, and the bounces of providers. */
  readonly messages: PageServices & BounceServices;
  /** CORS_ORIGINS. */
  readonly corsOrigins: readonly string[];
  /** Logs and counts responses with 503. */
  readonly refusals: Refusals;
  /** Adds what serves further addresses. */
  readonly more?: ((app: Koa) => void) | undefined;
}

type Middleware = Koa.Middleware;

/** Maps every error to a response. No other code does. */
function errors({ log, refusals }: AppOptions): Middleware {
  return async (context, next) => {
    try {
      await next();
      if (context.respond === false || context.body !== undefined) return;
      if (context.status === 404) throw new LaurelError('not_found', `No route matches ${context.method} ${context.path}.`);
      // The router has set Allow.
      if (context.status === 405) {
        const methods = context.response.get('Allow').replaceAll(', ', ' or ');
        throw new LaurelError('method_not_allowed', `Method not allowed: use ${methods}.`);
      }
      if (context.status === 501) throw new LaurelError('method_not_allowed', 'This method is not supported.');
    } catch (error) {
      const logOf = (): Logger => requestLog(log, context);
      const { status, body, headers } = errorResponse(error, logOf, (refusal) => {
        // While keys can't be looked up, the tenant that a header names can't be resolved.
        const implied = context.headers['tenant-id'] === undefined ? defaultTenant : undefined;
        refusals.record(refusal, logOf, (context.state['tenant'] as number | undefined) ?? implied);
      });
      context.status = status;
      context.set(commonHeaders(context));
      context.set(headers);
      if (isPagePath(context.url)) sendErrorPage(context, status, body.error);
      else context.body = body;
    }
  };
}

/** `{key}` as the contract writes it is `:key` for routers. */
const routerPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/** Both APIs, and the base paths of their routes. */
const mounts: readonly { readonly api: Api; readonly bases: readonly string[]; readonly routes: readonly Route[] }[] = [
  { api: 'application', bases: ['/v1', '/api'], routes: applicationRoutes },
  { api: 'admin', bases: ['/admin/v1'], routes: adminRoutes },
];

/** The endpoints of both APIs, each route under each of its base paths. */
export const endpoints: readonly Endpoint[] = mounts.flatMap(({ api, bases, routes }) =>
  bases.flatMap((base) => routes.map((route) => ({ api, route, pattern: base + routerPath(route.path) }))),
);

/** What serves each of the endpoints. */
export const servesOf = (all: readonly Endpoint[], options: ServeOptions): ReadonlyMap<Endpoint, Serve> =>
  new Map(all.map((endpoint) => [endpoint, serveEndpoint(endpoint, options)]));

/** Lets a router serve endpoints, however their paths are written. */
export function registerAll(router: Router, serves: ReadonlyMap<Endpoint, Serve>): void {
  for (const [{ route, pattern }, serve] of serves) {
    router.register(pattern, [route.method], (context) => serve(context, context.params));
  }
}

/** A path with an escape, or an empty segment, which the index would take for a parameter. */
const unusual = /%|\/\/|\/$/;

/**
 * Serves requests whose path is written as the reference has it, with one look-up. The router walks through all of its routes, and
 * serves what is left: health, the reference, HEAD, unusual paths, and what does not exist.
 */
export function lookUp(serves: ReadonlyMap<Endpoint, Serve>): Middleware {
  const index = FindMyWay({ maxParamLength: limits.maxHeaderBytes });
  for (const [{ route, pattern }, serve] of serves) {
    index.on(route.method.toUpperCase() as FindMyWay.HTTPMethod, pattern, () => undefined, serve);
  }
  return async (context, next) => {
    const { path } = context;
    const found = unusual.test(path) ? null : index.find(context.method as FindMyWay.HTTPMethod, path);
    await (found ? (found.store as Serve)(context, found.params as Record<string, string>) : next());
  };
}

const routes = { application: applicationRoutes, admin: adminRoutes };

/** Does what would take too long for the first request of a process. */
export const prepareApi = (): void => generateDocuments(routes);

/** The HTTP application: health, the reference, the Application API under both of its bases, the Admin API. */
export function createApp(options: AppOptions): Koa {
  // A rule of a proxy for `/admin` matches neither `/ADMIN` nor, if it is exact, a slash at the end.
  const router = new Router({ sensitive: true, strict: true });
  router.get('/', (context) => context.redirect(options.home));
  healthRoutes(router, options.health);
  messagePageRoutes(router, options.messages);
  bounceRoutes(router, options.messages);
  docsRoutes(router, routes);
  const serves = servesOf(endpoints, options);
  registerAll(router, serves);
  const app = new Koa();
  // Koa would print these to the console. The usual one is a client that disconnected before its response was sent.
  app.on('error', (error: unknown) => {
    options.log.debug({ err: error }, 'response not sent');
  });
  app.use(observed(options));
  if (options.corsOrigins.length > 0) app.use(crossOrigin(options.corsOrigins));
  app.use(errors(options));
  app.use(lookUp(serves));
  options.more?.(app);
  app.use(async (context, next) => {
    context.set(commonHeaders(context));
    await next();
  });
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}

/** Readiness, for the health checks and the metrics. */
interface Health {
  /** Why the service is not ready; undefined when it is. */
  problem(): Promise<LaurelError | undefined>;
}

/**
 * `GET /health/live`, and `GET /health`: the process responds, with its version. `GET /health/ready`: Redis accepts writes and is in sync with
 * Postgres, the ledger is below its limit, and the service is not stopping; 503 with the cause otherwise. Postgres may be unavailable, since
 * events are accepted until the ledger is full. None needs a key.
 */
function healthRoutes(router: Router, health: Health): void {
  router.get(['/health', '/health/live'], (context) => {
    context.body = { status: 'live', version };
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
