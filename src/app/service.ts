import { setTimeout as delay } from 'node:timers/promises';
import { expectFree, startServer, type HttpServer, type Listen } from '../api/server.js';
import { Sweeper } from '../jobs/sweeper.js';
import { Sweep } from '../jobs/sweep.js';
import type { ProcessRole } from '../ledger/active-redis-rules.js';
import type { Observation } from '../observe/observation.js';
import { metricsEndpoint, Observed } from '../observe/observed.js';
import { Listener } from '../redis/connection.js';
import type { Reconciler } from '../restore/reconcile.js';
import { limits } from '../shared/limits.js';
import { startApi } from './api.js';
import { watchChanges } from './changes.js';
import { Context, type ContextOptions } from './context.js';
import { startLive } from './live.js';
import { openChannels } from './messages.js';
import { refusedByStore } from './refused.js';
import { replicationOf, type Settings } from './settings.js';
import { activateNewest, applyAfterResync, applyAtStart, ensureKey, openDefaultTenant, refuseFenced, startAccount } from './startup.js';
import { drainAsLast, startDeliverer, startSweep, startWorker } from './worker.js';

/** What a process does: serves the API, runs the worker, or both. */
export interface Roles {
  readonly api: boolean;
  readonly worker: boolean;
}

/** What a supervisor decides for one of its processes. The supervisor has prepared the start, and serves the metrics. */
export interface SupervisedOptions {
  /** Whether this worker applies the configuration of the start, once Redis is in sync. */
  readonly appliesConfig: boolean;
  readonly onConfigApplied: () => void;
  readonly onMetrics: (metrics: Observation) => void;
}

export interface ServiceOptions extends ContextOptions {
  /** Undefined for a process on its own, which prepares the start itself. */
  readonly supervised?: SupervisedOptions;
}

export interface Service {
  readonly context: Context;
  /** `http://host:port`; undefined for a worker without the API. */
  readonly address: string | undefined;
  /** `http://host:port` of the metrics; undefined without METRICS_PORT. */
  readonly metricsAddress: string | undefined;
  /** The admin key that this start generated, for the only time that it can be shown. */
  readonly newAdminKey: string | undefined;
  /** Fails readiness and serves for another `delayMs`. Then it stops accepting requests, finishes those in flight, drains the ledger and stops every step. */
  stop(delayMs?: number): Promise<void>;
  /** Leaves the port to other processes: finishes the connections that this one has, for at most limits.retireIdleMs while they are idle, and stops. */
  retire(): Promise<void>;
}

const roleOf = ({ api, worker }: Roles): ProcessRole => (api ? (worker ? 'api and worker' : 'api') : 'worker');

const apiAddress = ({ host, port }: Settings): Listen => ({ host, port, variable: 'PORT' });

/** Where the metrics are served; undefined without METRICS_PORT. */
export const metricsListen = ({ metricsHost: host, metricsPort: port }: Settings): Listen | undefined =>
  port === null ? undefined : { host, port, variable: 'METRICS_PORT' };

/** Throws an OperatorError if a port of these roles is in use. */
export async function expectFreePorts(settings: Settings, roles: Roles): Promise<void> {
  const metrics = metricsListen(settings);
  await expectFree([...(roles.api ? [apiAddress(settings)] : []), ...(metrics ? [metrics] : [])]);
}

/**
 * Does what happens once at the start of an installation: the admin key, and refusing a Redis that is not the active one. Returns a key that was
 * generated.
 */
export async function prepare(context: Context): Promise<string | undefined> {
  const newAdminKey = await ensureKey(context);
  await context.engine.loadLibrary();
  await refuseFenced(context);
  return newAdminKey;
}

/**
 * Starts a process with everything that its roles need. The order below is the order in which steps start; they stop in reverse. Throws an
 * OperatorError for what the operator has to fix, after the steps that had started have stopped again.
 */
export async function startService(options: ServiceOptions, roles: Roles): Promise<Service> {
  const { settings, supervised } = options;
  if (!supervised) await expectFreePorts(settings, roles);
  const watch = await Observed.start(options, roles);
  const context = await Context.start({ ...options, createStores: true, aroundCall: watch.aroundCall, role: roleOf(roles) });
  const { lifecycle, engine } = context;
  try {
    lifecycle.onStop('metrics and traces', () => watch.stop());
    const metricsAddress = await startMetrics(context, watch, supervised);
    const newAdminKey = await (supervised ? engine.loadLibrary() : prepare(context));
    await startAccount(context);
    const listener = new Listener(await context.connectListener(), settings.redisPrefix);

    const deliverer = roles.worker ? startDeliverer(context, watch) : undefined;
    const wakeDeliverer = (): void => deliverer?.wake();
    const reconciler = roles.worker ? await startWorker({ context, listener, watch, wakeDeliverer }) : undefined;
    if (!roles.worker) drainAsLast(context);

    await startConfiguration(context, reconciler, supervised);
    const sweeper = new Sweeper(new Sweep(context, openChannels(settings), wakeDeliverer), () => context.account.tenants, context.log);
    const live = roles.api ? startLive(context, listener, watch) : undefined;
    await watchChanges(context, listener, { sweeper, onRefreshed: (tenant) => live?.views.touchTenant(tenant) });
    if (roles.worker) startSweep(context, sweeper);

    const server = live && (await startApi(context, { sweeper, watch, listen: apiAddress(settings), live }));
    if (!roles.api) watch.ready(() => context.problem(), { api: false });
    return { context, address: server?.address, metricsAddress, newAdminKey: newAdminKey ?? undefined, ...stops(context, server) };
  } catch (error) {
    await context.stop();
    throw refusedByStore(error);
  }
}

function stops(context: Context, server: HttpServer | undefined): Pick<Service, 'stop' | 'retire'> {
  return {
    stop: async (delayMs = 0) => {
      server?.leave();
      if (server && delayMs > 0) await delay(delayMs);
      await context.stop();
    },
    retire: async () => {
      await server?.retire(limits.retireIdleMs);
      await context.stop();
    },
  };
}

/**
 * Opens the default tenant and applies the configuration of the start, now or once a worker has restored Redis. With a supervisor, one process at most
 * applies it.
 */
async function startConfiguration(context: Context, reconciler: Reconciler | undefined, supervised?: SupervisedOptions): Promise<void> {
  const isOpen = await openDefaultTenant(context, { isQuiet: supervised !== undefined });
  const onApplied = supervised?.onConfigApplied ?? ((): void => undefined);
  if (supervised?.appliesConfig === false) {
    if (isOpen) await activateNewest(context);
  } else if (isOpen) {
    await applyAtStart(context);
    onApplied();
  } else if (reconciler) {
    applyAfterResync(context, reconciler, onApplied);
  }
}

/** Serves the metrics from the moment the stores are connected, so that operators can watch a long start. */
async function startMetrics(context: Context, watch: Observed, supervised?: SupervisedOptions): Promise<string | undefined> {
  const { settings, pool, engine, account, lifecycle } = context;
  const listen = metricsListen(settings);
  if (!watch.metrics || !listen) return undefined;
  watch.stores({
    redis: await context.connectAgain('Redis connection of the metrics'),
    pool,
    partition: (tenant) => engine.partition(tenant),
    tenants: () => account.tenants,
    requiredReplicas: replicationOf(settings)?.replicas,
  });
  if (supervised) {
    supervised.onMetrics(watch.metrics);
    return undefined;
  }
  const starting = startServer(metricsEndpoint(watch.metrics, settings.metricsToken), listen);
  return (await lifecycle.start('metrics endpoint', starting, (server) => server.stop(limits.stopIdleMs))).address;
}
