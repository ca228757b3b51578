import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultTenant } from '../access/tenants.js';
import { noteTestClock } from '../access/tenants.js';
import { Base, describeApplied, readConfigText, type BaseOptions } from './base.js';
import { newestVersions } from '../config/store.js';
import { Deletion } from '../jobs/deletion.js';
import { Rounds } from '../jobs/rounds.js';
import { eachSecond } from '../jobs/job.js';
import { Sweep } from '../jobs/sweep.js';
import { LaurelError, OperatorError } from '../shared/errors.js';
import { createApp } from '../api/router.js';
import { RateLimit } from '../api/middleware.js';
import { expectFree, startServer, type HttpServer, type Listen } from '../api/server.js';
import { ensureAdminKey, eraseUserKeys } from '../access/key-store.js';
import { objectionSentence, type Objection, type ProcessRole } from '../ledger/active-redis-rules.js';
import { DeadLetters } from '../ledger/dead-letters.js';
import { UserDirectory } from '../ledger/user-directory.js';
import { WriteBehind } from '../ledger/write-behind.js';
import { limits } from '../shared/limits.js';
import { Deliverer } from '../webhooks/deliverer.js';
import { WebhookAdmin } from '../webhooks/admin.js';
import { createPublisher } from '../webhooks/publisher.js';
import { Transport } from '../webhooks/transport.js';
import { messageOf } from '../redis/connection.js';
import { metricsEndpoint } from '../observe/observed.js';
import { Observed } from '../observe/observed.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import { Refusals } from '../logging/refusals.js';
import { refusedStart } from '../redis/failure.js';
import { Listener } from '../redis/listener.js';
import { Reconciler } from '../restore/reconcile.js';
import type { Settings } from './settings.js';

const sampleConfig = fileURLToPath(new URL('../../examples/study-app.yaml', import.meta.url));

export interface Roles {
  readonly api: boolean;
  readonly worker: boolean;
}

const roleOf = ({ api, worker }: Roles): ProcessRole => (api ? (worker ? 'api and worker' : 'api') : 'worker');

export interface Service {
  readonly base: Base;
  /** `http://host:port`; undefined for a worker without the API. */
  readonly address: string | undefined;
  /** Where the metrics are; undefined when there are none. */
  readonly metricsAddress: string | undefined;
  /** The admin key that was made at this start, the only time that it can be shown. */
  readonly newAdminKey: string | undefined;
  /**
   * Fails readiness and goes on serving for `delayMs`. Then it stops taking requests, answers what has come, drains the ledger, and stops what
   * was started, in this order.
   */
  stop(delayMs?: number): Promise<void>;
}

const apiOf = ({ host, port }: Settings): Listen => ({ host, port, variable: 'PORT' });
const metricsOf = ({ metricsHost: host }: Settings, port: number): Listen => ({ host, port, variable: 'METRICS_PORT' });

/** Starts the service with everything that it needs. Throws an OperatorError for what the operator has to mend. */
export async function startService(options: BaseOptions, roles: Roles): Promise<Service> {
  const { settings } = options;
  await expectFree([
    ...(roles.api ? [apiOf(settings)] : []),
    ...(settings.metricsPort === null ? [] : [metricsOf(settings, settings.metricsPort)]),
  ]);
  const watch = await Observed.start(options, roles);
  const base = await Base.start({ ...options, createStores: true, aroundCall: watch.aroundCall, role: roleOf(roles) });
  try {
    base.onStop(() => watch.stop());
    const metricsAddress = await startMetrics(base, options, watch);
    const newAdminKey = await startAccount(base, options);
    await base.engine.loadLibrary();
    await refuseFenced(base);
    const listener = new Listener(await base.connectListener(), options.settings.redisPrefix);
    const deliverer = roles.worker ? startDeliverer(base, watch, options) : undefined;
    const onMessages = (): void => deliverer?.wake();
    const worker = roles.worker ? await startWorker(base, listener, watch, { ...options, onMessages }) : undefined;
    if (!worker) drainAsLast(base, options);
    const problem = await openPartition(base, options);
    if (problem === undefined) await applyAtStart(base, options);
    else if (worker) applyAfterResync(base, worker.reconciler, options);
    const { engine, pool, clock, history } = base;
    const sweep = new Sweep({ engine, pool, clock, history, log: options.log }, onMessages);
    const rounds = new Rounds(sweep, () => base.account.tenants, options.log);
    await watchChanges(base, listener, rounds, options);
    if (roles.worker) startSweep(base, rounds, options);
    const server = roles.api ? await startApi(base, options, rounds, watch) : undefined;
    if (!roles.api) watch.ready(() => problemOf(base), { api: false });
    const stop = async (delayMs = 0): Promise<void> => {
      server?.leave();
      if (server && delayMs > 0) await delay(delayMs);
      await base.stop();
    };
    return { base, address: server?.address, metricsAddress, newAdminKey, stop };
  } catch (error) {
    await base.stop();
    throw refusedStart(error);
  }
}

/** Lets the metrics be read from as early as there are stores to look at, so that a start that takes long can be watched. */
async function startMetrics(base: Base, { settings }: BaseOptions, watch: Observed): Promise<string | undefined> {
  if (!watch.metrics || settings.metricsPort === null) return undefined;
  watch.stores({
    ...{ redis: await base.connectAgain(), pool: base.pool },
    partition: (tenant) => base.engine.partition(tenant),
    tenants: () => base.account.tenants,
  });
  const server = await startServer(metricsEndpoint(watch.metrics, settings.metricsToken), metricsOf(settings, settings.metricsPort));
  base.onStop(() => server.stop(limits.stopIdleMs));
  return server.address;
}

/** Takes up who may call, and for which tenants. Returns the admin key that was made. */
async function startAccount(base: Base, { settings, log, print }: BaseOptions): Promise<string | undefined> {
  await noteTestClock(base.pool, settings.testClock);
  const { made, isChanged, isRevoked, others } = await ensureAdminKey(base.pool, settings.adminApiKey);
  if (isRevoked) print('ADMIN_API_KEY has been revoked: requests with it are refused.');
  if (others.length > 0) {
    print(`ADMIN_API_KEY is new. Earlier admin keys are still valid: ${others.join(', ')}. To revoke one: laurel keys revoke PREFIX.`);
  }
  await base.account.start();
  base.onStop(() => base.account.stop());
  if (isChanged) {
    await base.account.announce().catch((error: unknown) => {
      log.warn({ err: error }, 'other processes could not be told of the admin key, and will see it within seconds');
    });
  }
  return made;
}

/**
 * Refuses to start where another Redis is active for this Postgres. One that is silent, or was replaced at the same address, is given the time that
 * it takes to be sure of that.
 */
async function refuseFenced({ engine }: Base): Promise<void> {
  const giveUpMs = performance.now() + limits.redisStartWaitMs;
  let first: Objection | undefined;
  for (;;) {
    const objection = await engine.compare(defaultTenant).then(
      (compared) => compared.objection,
      () => undefined,
    );
    if (!objection) return;
    first ??= objection;
    if (performance.now() > giveUpMs || isCertain(first, objection)) throw new OperatorError(objectionSentence(objection));
    await delay(limits.redisStartLookMs);
  }
}

/** Whether waiting does not help: the data has moved, or a process at another address goes on to confirm it. */
function isCertain(first: Objection, { why, by, mine, other }: Objection): boolean {
  if (why === 'superseded') return true;
  const isElsewhere = other.address !== mine.address || other.prefix !== mine.prefix;
  return isElsewhere && by !== undefined && first.by !== undefined && by.confirmedAt > first.by.confirmedAt;
}

/**
 * Compares Redis with Postgres. A Redis out of sync does not prevent the start: the service reports it, responds 503, and
 * works as soon as the right Redis is there, or a worker has restored it. (Other tenants' partitions are compared when they are first used.)
 */
async function openPartition(base: Base, { log, print }: BaseOptions): Promise<string | undefined> {
  try {
    await base.engine.open(defaultTenant);
    return undefined;
  } catch (error) {
    if (!(error instanceof LaurelError)) throw error;
    log.error(error.message);
    print(error.message);
    return error.message;
  }
}

/** CONFIG if it is set; the sample configuration for an account without one, in the built-in Postgres. Both are for the default tenant. */
async function applyAtStart(base: Base, { settings, print }: BaseOptions): Promise<void> {
  const { version } = await base.engine.refreshConfig(defaultTenant);
  // The sample is for those who try Laurel out, never for an operator's own database.
  const file = settings.config ?? (version === 0 && settings.databaseUrl === null ? sampleConfig : undefined);
  if (file === undefined) {
    await base.engine.activate(await base.engine.config(defaultTenant));
    return;
  }
  const applied = await base.apply(readConfigText(file), { prune: false, dryRun: false });
  if (applied.saved) for (const line of describeApplied(file, applied)) print(line);
}

/** Applies the configuration file that the start skipped because Redis was out of sync. */
function applyAfterResync(base: Base, reconciler: Reconciler, options: BaseOptions): void {
  const applying = reconciler
    .resync(defaultTenant)
    .then(() => base.engine.open(defaultTenant))
    .then(() => applyAtStart(base, options))
    .catch((error: unknown) => {
      options.log.error({ err: error }, 'configuration file of the start not applied, Redis is out of sync: run laurel apply');
    });
  base.onStop(async () => {
    await reconciler.stop();
    await applying;
  });
}

/** What a process with the role of the worker runs. */
interface Worker {
  readonly writeBehind: WriteBehind;
  readonly reconciler: Reconciler;
}

interface WorkerOptions extends BaseOptions {
  /** Hears that there are messages to deliver. */
  readonly onMessages: () => void;
}

async function startWorker(base: Base, listener: Listener, watch: Observed, options: WorkerOptions): Promise<Worker> {
  const { settings, log, onMessages } = options;
  const { engine, pool, active } = base;
  const { testClock, autoRestore } = settings;
  const reconciler = new Reconciler({ engine, redis: await base.connectAgain(), pool, active, testClock, autoRestore, log });
  const writeBehind = new WriteBehind({
    ...writeBehindOf(base, onMessages),
    redis: await base.connectAgain(),
    log,
    onReplaced: (tenant) => reconciler.resync(tenant),
    aroundBatch: watch.aroundBatch,
  });
  watch.writeBehind(writeBehind);
  const lookAtAll = (): void => {
    writeBehind.scanAll().catch((error: unknown) => {
      log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error }, 'the write-behind could not look at all ledgers and will try again');
    });
  };
  await listener.on('written', (of) => writeBehind.wake(Number(of)), lookAtAll);
  writeBehind.start();
  base.onStop(async () => {
    const isLast = await base.active.beginLeaving().catch(() => true);
    await writeBehind.stop(isLast ? limits.stopDrainMs : limits.stopHandOverMs);
  });
  // Before that: the write-behind waits for it.
  base.onStop(() => reconciler.stop());
  return { writeBehind, reconciler };
}

const writeBehindOf = (base: Base, onMessages: () => void) => ({
  tenants: () => base.account.tenants,
  partition: (tenant: number) => base.engine.partition(tenant),
  awaitEntries: (tenant: number, epoch: string, lastId: string) => base.engine.awaitEntries(tenant, epoch, lastId),
  teller: createPublisher(base.engine, onMessages),
  pool: base.pool,
});

/** Where no worker is left, the last process on a Redis drains the ledgers when it stops: another Redis may become active after it. */
function drainAsLast(base: Base, { log }: BaseOptions): void {
  base.onStop(async () => {
    // Stores that are away can't be drained.
    if (!(await base.active.beginLeaving().catch(() => false))) return;
    const onReplaced = (): Promise<void> => Promise.resolve();
    await new WriteBehind({ ...writeBehindOf(base, () => undefined), redis: base.redis, log, onReplaced }).stop(limits.stopDrainMs);
  });
}

/** Sends what the write-behind puts into the outbox. It stops after that, so that it hears of the last of it. */
function startDeliverer(base: Base, watch: Observed, { settings, log, deliveryAheadMs: aheadMs }: BaseOptions): Deliverer {
  const deliverer = new Deliverer({
    ...{ pool: base.pool, log, transport: new Transport({ allowPrivate: settings.webhookAllowPrivate }) },
    configuration: async (tenant) => (await base.engine.config(tenant)).document,
    ...(aheadMs ? { aheadMs } : {}),
  });
  watch.deliverer(deliverer);
  deliverer.start();
  base.onStop(() => deliverer.stop(limits.stopDrainMs));
  return deliverer;
}

/**
 * Switches to a new configuration, and takes up new tenants and revoked keys, as soon as Redis tells of them. Correctness hangs on neither:
 * Redis refuses calls under an older configuration, and lease.ts sees to the rest.
 */
async function watchChanges(base: Base, listener: Listener, rounds: Rounds, { log }: BaseOptions): Promise<void> {
  const { engine, account } = base;
  let work = Promise.resolve();
  const retries = new Set<NodeJS.Timeout>();
  let stopped = false;
  const inOrder = (what: () => Promise<unknown>): void => {
    work = work
      .then(async () => {
        await what();
      })
      .catch((error: unknown) => {
        log[isStoreTrouble(error) ? 'debug' : 'warn'](
          { err: error },
          'a new configuration could not be taken over yet, and will be tried again',
        );
        if (stopped) return;
        const retry = setTimeout(() => {
          retries.delete(retry);
          inOrder(what);
        }, limits.configRetryMs);
        retries.add(retry);
      });
  };
  const refresh = (tenant: number): void => {
    rounds.soon(tenant);
    // A tenant that this process has not worked for is loaded when it first does.
    if (engine.holdsConfig(tenant)) inOrder(() => engine.refreshConfig(tenant));
  };
  const refreshChanged = async (): Promise<void> => {
    const held = await engine.heldConfigs();
    const newest = await newestVersions(base.pool, [...held.keys()]);
    for (const [tenant, version] of newest) if (version !== held.get(tenant)) await engine.refreshConfig(tenant);
  };
  const heard = (of: string): void => {
    if (of === 'account') account.heard();
    else refresh(Number(of));
  };
  // Messages of the time without a connection are lost, so everything is looked at again after it.
  await listener.on('changes', heard, () => {
    account.heard();
    inOrder(refreshChanged);
  });
  base.onStop(() => {
    stopped = true;
    for (const retry of retries) clearTimeout(retry);
    return work;
  });
  inOrder(refreshChanged);
}

/** Begins a round of the sweep every second. */
function startSweep(base: Base, rounds: Rounds, { log }: BaseOptions): void {
  const seconds = eachSecond(() => {
    rounds.begin();
  }, log);
  base.onStop(async () => {
    await seconds.stop();
    await rounds.stop();
  });
}

/** Why the default tenant is not served; undefined when it is. */
async function problemOf(base: Base): Promise<LaurelError | undefined> {
  try {
    await base.engine.checkReady(defaultTenant);
    return undefined;
  } catch (error) {
    return error instanceof LaurelError ? error : new LaurelError('not_ready', messageOf(error), { cause: error });
  }
}

async function startApi(base: Base, { settings, log }: BaseOptions, rounds: Rounds, watch: Observed): Promise<HttpServer> {
  let stopping = false;
  const problem = async (): Promise<LaurelError | undefined> =>
    stopping ? new LaurelError('not_ready', 'The service is stopping.', { reason: 'stopping' }) : problemOf(base);
  const refusals = new Refusals(log);
  base.onStop(() => {
    refusals.flush();
    return Promise.resolve();
  });
  watch.ready(problem, { api: true });
  watch.refusals(refusals, (tenant) => base.engine.checkReady(tenant));
  const { engine, pool, clock, history, aggregates, configuration, account, redis } = base;
  const deletion = new Deletion({ engine, pool, clock, history, log }, async (tenant, user) => {
    await account.store((keys) => eraseUserKeys(keys, tenant, user));
    // Even if there is none: it may be the second time, after others could not be told the first.
    await account.announce();
  });
  const transport = new Transport({ allowPrivate: settings.webhookAllowPrivate });
  base.onStop(() => transport.stop());
  const app = createApp({
    services: {
      ...{ engine, clock, history, aggregates, configuration, account },
      advance: (toMs) => rounds.advance(defaultTenant, toMs),
      directory: new UserDirectory(pool),
      deadLetters: new DeadLetters(pool),
      webhooks: new WebhookAdmin(pool, transport),
      forget: (tenant, user) => deletion.run(tenant, user),
    },
    rateLimit:
      settings.rateLimit === 0
        ? undefined
        : new RateLimit({ redis, prefix: settings.redisPrefix, requests: settings.rateLimit, windowS: settings.rateLimitWindowS }),
    health: { problem },
    corsOrigins: settings.corsOrigins,
    refusals,
    log,
    accessLog: settings.accessLog,
    watch,
  });
  const handle = app.callback();
  const server = await startServer((request, response) => void handle(request, response), apiOf(settings));
  const leave = (): void => {
    stopping = true;
    server.leave();
  };
  base.onStop(() => {
    leave();
    return server.stop(limits.stopRequestsMs);
  });
  return { ...server, leave };
}
