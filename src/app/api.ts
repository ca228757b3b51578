import type Koa from 'koa';
import { AuditExport } from '../access/audit.js';
import { eraseUserKeys } from '../access/key-store.js';
import { LiveTokens } from '../access/live-tokens.js';
import { Sessions } from '../access/sessions.js';
import { CostlyRequests } from '../api/costly.js';
import { RateLimit } from '../api/middleware.js';
import { RateLimiter } from '../redis/rate-limiter.js';
import type { ServeOptions } from '../api/serve.js';
import type { Services } from '../api/route.js';
import { createApp } from '../api/router.js';
import { startServer, type HttpServer, type Listen } from '../api/server.js';
import { dashboard } from '../dashboard/dashboard.js';
import { UntrustedProxy } from '../dashboard/untrusted-proxy.js';
import { Deletion } from '../jobs/deletion.js';
import type { Sweeper } from '../jobs/sweeper.js';
import { BoardReader } from '../history/boards.js';
import { Counts } from '../history/counts.js';
import { HistoryExports } from '../history/exports.js';
import { DeadLetters } from '../ledger/dead-letters.js';
import { TimelineReader } from '../history/timeline.js';
import type { Live } from '../live/live.js';
import { UserDirectory } from '../history/user-directory.js';
import { Refusals } from '../logging/refusals.js';
import { readAccountStatus } from '../observe/account-status.js';
import type { Observed } from '../observe/observed.js';
import { MessageExport } from '../messages/admin/message-admin.js';
import { LongReads } from '../postgres/long-reads.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { WebhookAdmin } from '../webhooks/admin.js';
import { Transport } from '../webhooks/transport.js';
import type { Context } from './context.js';
import { feedbackIntake, messageServices, publicServices } from './messages.js';
import { builtInFolder, replicationOf, webhookReceivers } from './settings.js';

interface ApiOptions {
  readonly sweeper: Sweeper;
  readonly watch: Observed;
  readonly listen: Listen;
  readonly live: Live;
}

/** Serves the API. `leave` on the result fails readiness and tells clients to close their connections. */
export async function startApi(context: Context, { sweeper, watch, listen, live }: ApiOptions): Promise<HttpServer> {
  const { settings, engine, pool, redis, clock, history, aggregates, analytics, configuration, account, audit, lifecycle, log } = context;
  let isStopping = false;
  const problem = async (): Promise<LaurelError | undefined> =>
    isStopping ? new LaurelError('not_ready', 'The service is stopping.', { reason: 'stopping' }) : context.problem();
  const refusals = new Refusals(log);
  lifecycle.onStop('log of refused requests', () => {
    refusals.flush();
  });
  watch.ready(problem, { api: true });
  watch.refusals(refusals, (tenant) => engine.checkReady(tenant));
  const transport = new Transport({ receivers: webhookReceivers(settings) });
  lifecycle.onStop('test webhooks', () => transport.stop());
  const deletion = deletionOf(context);
  const feedback = feedbackIntake(context);
  const services: Services = {
    engine,
    clock,
    history,
    aggregates,
    analytics,
    configuration,
    account,
    audit,
    sessions: new Sessions({ account, aheadMs: context.overrides.sessionAheadMs }),
    live,
    liveTokens: new LiveTokens(pool, account),
    advance: async (toMs) => {
      const now = await sweeper.advance(context, toMs);
      live.views.touchAll();
      return now;
    },
    counts: new Counts(pool),
    directory: new UserDirectory(pool),
    timeline: new TimelineReader(pool),
    boards: new BoardReader(pool),
    exports: exportsOf(context),
    deadLetters: new DeadLetters(pool),
    webhooks: new WebhookAdmin(pool, transport),
    ...messageServices(context),
    feedback,
    status: () =>
      readAccountStatus({
        ...{ redis, pool, engine, clock, prefix: settings.redisPrefix, knownTenants: account.tenants },
        dataDir: builtInFolder(settings),
        requiredReplicas: replicationOf(settings)?.replicas,
      }),
    forget: (tenant, user, author) => deletion.run(tenant, user, author),
  };
  const { redisPrefix: prefix, rateLimitWindowS: windowS } = settings;
  const limitTo = (counter: 'rate' | 'rate-costly', requests: number): RateLimit | undefined =>
    requests === 0 ? undefined : new RateLimit({ redis, prefix, counter, requests, windowS });
  const { rateLimitCostlyS: maxS } = settings;
  const work = { redis, prefix, counter: 'rate-costly-ms', max: maxS * 1_000, windowS } as const;
  const workLimit = maxS === 0 ? undefined : { limiter: new RateLimiter(work), maxS, windowS };
  const admission = {
    rateLimit: limitTo('rate', settings.rateLimit),
    costly: new CostlyRequests(limitTo('rate-costly', settings.rateLimitCostly), workLimit),
  };
  const app = createApp({
    services,
    ...admission,
    more: settings.dashboard ? dashboardOf(context, services, admission) : undefined,
    health: { problem },
    home: settings.dashboard ? '/dashboard' : '/docs',
    messages: { ...publicServices(context), feedback },
    corsOrigins: settings.corsOrigins,
    refusals,
    log,
    accessLog: settings.accessLog,
    watch,
  });
  const handle = app.callback();
  log.debug({ host: listen.host, port: listen.port }, 'starting to listen');
  const maxConnections = limits.maxConnections + settings.liveConnections;
  const server = await startServer((request, response) => void handle(request, response), listen, { ...limits, maxConnections });
  const leave = (): void => {
    isStopping = true;
    live.close();
    server.leave();
  };
  lifecycle.onStop('API', () => {
    leave();
    return server.stop(limits.stopRequestsMs);
  });
  const retire = (idleMs: number): Promise<void> => {
    live.close();
    return server.retire(idleMs);
  };
  return { ...server, leave, retire };
}

/** Exports have connections of their own, so that other requests don't wait for them. */
function exportsOf(context: Context): Services['exports'] {
  const pool = context.openPool(limits.exportsAtOnce, limits.exportStatementMs);
  context.lifecycle.onStop('Postgres pool of exports', () => pool.end());
  const reads = new LongReads({ pool, cancelPool: context.pool, log: context.log });
  return { history: new HistoryExports(reads), messages: new MessageExport(reads), audit: new AuditExport(reads) };
}

type Admission = Pick<ServeOptions, 'rateLimit' | 'costly'>;

function dashboardOf({ settings, redis, log, overrides }: Context, services: Services, admission: Admission): (app: Koa) => void {
  const { redisPrefix: prefix, trustedProxies } = settings;
  const untrustedProxy = new UntrustedProxy({ redis, prefix, log });
  return dashboard({ services, ...admission, signIn: { redis, prefix, trustedProxies, untrustedProxy }, folder: overrides.pageFolder });
}

function deletionOf(context: Context): Deletion {
  const { account } = context;
  return new Deletion(context, async (tenant, user) => {
    await account.store((keys) => eraseUserKeys(keys, tenant, user));
    await account.announce();
  });
}
