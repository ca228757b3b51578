import Router from '@koa/router';
import type Koa from 'koa';
import type { CostlyRequests } from '../api/costly.js';
import type { RateLimit } from '../api/middleware.js';
import type { Services } from '../api/route.js';
import { endpoints, lookUp, registerAll, servesOf } from '../api/router.js';
import { commonHeaders } from '../api/middleware.js';
import { PageFiles, pageRoutes, servePage } from './page-files.js';
import { previewFrame } from './preview-frame.js';
import { callerOf, sessionRoutes } from './session-routes.js';
import type { SignInOptions } from './sign-in.js';

export interface DashboardOptions {
  readonly services: Services;
  /** Undefined: requests are not limited. */
  readonly rateLimit: RateLimit | undefined;
  readonly costly: CostlyRequests;
  readonly signIn: SignInOptions;
  /** The built page; that of the build without it. */
  readonly folder: string | undefined;
}

/** The endpoints that the page calls: those of both APIs but live streams, under `/dashboard/api`. */
export const dashboardEndpoints = endpoints
  .filter(({ pattern, route }) => !pattern.startsWith('/api/') && route.live === undefined)
  .map((endpoint) => ({ ...endpoint, pattern: `/dashboard/api${endpoint.pattern}` }));

/**
 * What is served under `/dashboard`: the page and its assets, which hold no data and need no session; signing in and out; the frame for previews; and
 * both APIs, by session in place of an API key.
 */
export function dashboard({ services, rateLimit, costly, signIn, folder }: DashboardOptions): (app: Koa) => void {
  const serves = servesOf(dashboardEndpoints, { services, rateLimit, costly, authenticate: callerOf(services) });
  const router = new Router({ sensitive: true, strict: true });
  sessionRoutes(router, services, signIn);
  previewFrame(router);
  registerAll(router, serves);
  const files = new PageFiles(folder);
  pageRoutes(router, files);
  return (app) => {
    app.use(lookUp(serves));
    app.use(withCommonHeaders);
    app.use(router.routes());
    app.use(router.allowedMethods());
    app.use(servePage(files));
  };
}

const withCommonHeaders: Koa.Middleware = async (context, next) => {
  context.set(commonHeaders(context));
  await next();
};
