import { setTimeout as delay } from 'node:timers/promises';
import { expectFree, startServer, type Listen } from '../api/server.js';
import { Sweeper } from '../jobs/sweeper.js';
import { Sweep } from '../jobs/sweep.js';
import type { ProcessRole } from '../ledger/active-redis-rules.js';
import { metricsEndpoint, Observed } from '../observe/observed.js';
import { refusedStart } from '../redis/failure.js';
import { Listener } from '../redis/connection.js';
import { limits } from '../shared/limits.js';
import { startApi } from './api.js';
import { watchChanges } from './changes.js';
import { Context, type ContextOptions } from './context.js';
import type { Settings } from './settings.js';
import { applyAfterResync, applyAtStart, openDefaultTenant, refuseFenced, startAccount } from './startup.js';
import { drainAsLast, startDeliverer, startSweep, startWorker } from './worker.js';

/** What a process does: serves the API, runs the worker, or both. */
export interface Roles {
  readonly api: boolean;
  readonly worker: boolean;
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
}

const roleOf = ({ api, worker }: Roles): ProcessRole => (api ? (worker ? 'api and worker' : 'api') : 'worker');

const apiAddress = ({ host, port }: Settings): Listen => ({ host, port, variable: 'PORT' });
const metricsAddressOf = ({ metricsHost: host }: Settings, port: number): Listen => ({ host, port, variable: 'METRICS_PORT' });

/**
 * Starts a process with everything that its roles need. The order below is the order in which steps start; they stop in reverse. Throws an
 * OperatorError for what the operator has to fix, after the steps that had started have stopped again.
 */
export async function startService(options: ContextOptions, roles: Roles): Promise<Service> {
  const { settings } = options;
  await expectFree([
    ...(roles.api ? [apiAddress(settings)] : []),
    ...(settings.metricsPort === null ? [] : [metricsAddressOf(settings, settings.metricsPort)]),
  ]);
  const watch = await Observed.start(options, roles);
  const context = await Context.start({ ...options, createStores: true, aroundCall: watch.aroundCall, role: roleOf(roles) });
  const { lifecycle, engine } = context;
  try {
    lifecycle.onStop('metrics and traces', () => watch.stop());
    const metricsAddress = await startMetrics(context, watch);
    const newAdminKey = await startAccount(context);
    await engine.loadLibrary();
    await refuseFenced(context);
    const listener = new Listener(await context.connectListener(), settings.redisPrefix);

    const deliverer = roles.worker ? startDeliverer(context, watch, options.deliveryAheadMs) : undefined;
    const wakeDeliverer = (): void => deliverer?.wake();
    const reconciler = roles.worker ? await startWorker({ context, listener, watch, wakeDeliverer }) : undefined;
    if (!roles.worker) drainAsLast(context);

    if (await openDefaultTenant(context)) await applyAtStart(context);
    else if (reconciler) applyAfterResync(context, reconciler);
    const sweeper = new Sweeper(new Sweep(context, wakeDeliverer), () => context.account.tenants, context.log);
    await watchChanges(context, listener, sweeper);
    if (roles.worker) startSweep(context, sweeper);

    const server = roles.api ? await startApi(context, { sweeper, watch, listen: apiAddress(settings) }) : undefined;
    if (!roles.api) watch.ready(() => context.problem(), { api: false });
    const stop = async (delayMs = 0): Promise<void> => {
      server?.leave();
      if (server && delayMs > 0) await delay(delayMs);
      await context.stop();
    };
    return { context, address: server?.address, metricsAddress, newAdminKey, stop };
  } catch (error) {
    await context.stop();
    throw refusedStart(error);
  }
}

/** Serves the metrics from the moment the stores are connected, so that operators can watch a long start. */
async function startMetrics(context: Context, watch: Observed): Promise<string | undefined> {
  const { settings, pool, engine, account, lifecycle } = context;
  if (!watch.metrics || settings.metricsPort === null) return undefined;
  watch.stores({
    ...{ redis: await context.connectAgain('Redis connection of the metrics'), pool },
    partition: (tenant) => engine.partition(tenant),
    tenants: () => account.tenants,
  });
  const starting = startServer(metricsEndpoint(watch.metrics, settings.metricsToken), metricsAddressOf(settings, settings.metricsPort));
  return (await lifecycle.start('metrics endpoint', starting, (server) => server.stop(limits.stopIdleMs))).address;
}
