import { fileURLToPath } from 'node:url';
import cron from 'node-cron';
import { Base, defaultTenant, describeApplied, readConfigText, type BaseOptions } from './base.js';
import { Activations } from './jobs/activations.js';
import { Deletion } from './jobs/deletion.js';
import { Sweep } from './jobs/sweep.js';
import { LaurelError } from './errors.js';
import { createApp } from './http/app.js';
import { startServer, type HttpServer } from './http/server.js';
import { KeyRing } from './keys/key-ring.js';
import { ensureAdminKey, loadKeys } from './keys/store.js';
import { UserDirectory } from './ledger/user-directory.js';
import { WriteBehind } from './ledger/write-behind.js';
import { limits } from './limits.js';
import { messageOf } from './redis/connection.js';

const everySecond = '* * * * * *';
const sampleConfig = fileURLToPath(new URL('../examples/study-app.yaml', import.meta.url));

export interface Roles {
  readonly api: boolean;
  readonly worker: boolean;
}

export interface Service {
  readonly base: Base;
  /** `http://host:port`; undefined for a worker without the API. */
  readonly address: string | undefined;
  /** The admin key that was made at this start, the only time that it can be shown. */
  readonly newAdminKey: string | undefined;
  /** Stops taking requests, answers what has come, drains the ledger, and stops what was started, in this order. */
  stop(): Promise<void>;
}

/** Starts the service with everything that it needs. Throws an OperatorError for what the operator has to mend. */
export async function startService(options: BaseOptions, roles: Roles): Promise<Service> {
  const base = await Base.start(options);
  try {
    const newAdminKey = await ensureAdminKey(base.pool, options.settings.adminApiKey);
    const problem = await openPartition(base, options);
    if (roles.worker) await startWorker(base, options);
    if (problem === undefined) await applyAtStart(base, options);
    await watchConfig(base, options);
    const activations = new Activations(base.engine, base.pool, base.clock, base.history, options.log);
    const sweep = new Sweep(base.engine, base.pool, base.clock, base.history, activations, options.log);
    if (roles.worker) startSweep(base, sweep, options);
    const server = roles.api ? await startApi(base, options, sweep) : undefined;
    return { base, address: server?.address, newAdminKey, stop: () => base.stop() };
  } catch (error) {
    await base.stop();
    throw error;
  }
}

/**
 * Compares Redis with Postgres. A Redis that is not level is no reason not to start: the service says what is wrong, answers 503, and
 * works as soon as the right Redis is there.
 */
async function openPartition(base: Base, { log, print }: BaseOptions): Promise<string | undefined> {
  await base.engine.loadLibrary();
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

/** CONFIG if it is set; the sample configuration for an account that has none. */
async function applyAtStart(base: Base, { settings, print }: BaseOptions): Promise<void> {
  const { version } = await base.engine.refreshConfig(defaultTenant);
  const file = settings.config ?? (version === 0 ? sampleConfig : undefined);
  if (file === undefined) {
    await base.engine.activate(await base.engine.config(defaultTenant));
    return;
  }
  const applied = await base.apply(readConfigText(file), { prune: false, dryRun: false });
  if (applied.saved) for (const line of describeApplied(file, applied)) print(line);
}

async function startWorker(base: Base, { log }: BaseOptions): Promise<void> {
  const writeBehind = new WriteBehind({
    tenant: defaultTenant,
    partition: base.engine.partition(defaultTenant),
    redis: await base.connectAgain(),
    pool: base.pool,
    log,
    onBehind: () => base.engine.shut(defaultTenant),
  });
  writeBehind.start();
  base.onStop(() => writeBehind.stop(limits.stopDrainMs));
}

/** Switches to a new configuration as soon as Redis tells of it. (The sweep fills what it has made active.) */
async function watchConfig(base: Base, { log }: BaseOptions): Promise<void> {
  let work = Promise.resolve();
  let retry: NodeJS.Timeout | undefined;
  let stopped = false;
  const refresh = (): void => {
    work = work
      .then(async () => {
        await base.engine.refreshConfig(defaultTenant);
      })
      .catch((error: unknown) => {
        log.warn({ err: error }, 'a new configuration could not be taken over yet, and will be tried again');
        if (!stopped) retry = setTimeout(refresh, limits.configRetryMs);
      });
  };
  const subscriber = await base.connectAgain();
  subscriber.on('message', refresh);
  // Messages of the time without a connection are lost, so everything is looked at again after it.
  subscriber.on('ready', refresh);
  await subscriber.subscribe(base.engine.channel(defaultTenant));
  base.onStop(() => {
    stopped = true;
    clearTimeout(retry);
    return work;
  });
  refresh();
}

/** Runs the sweep every second, one run at a time. */
function startSweep(base: Base, sweep: Sweep, { log }: BaseOptions): void {
  let running: Promise<void> = Promise.resolve();
  const task = cron.schedule(
    everySecond,
    () => {
      running = sweep.run(defaultTenant).catch((error: unknown) => {
        log.warn({ err: error }, 'what is due could not be done yet');
      });
      return running;
    },
    { noOverlap: true },
  );
  base.onStop(async () => {
    await task.stop();
    await running;
  });
}

async function startApi(base: Base, { settings, log }: BaseOptions, sweep: Sweep): Promise<HttpServer> {
  const keys = new KeyRing();
  keys.replace(await loadKeys(base.pool));
  let stopping = false;
  const health = {
    problem: async () => {
      if (stopping) return 'The service is stopping.';
      try {
        await base.clock.now(defaultTenant);
        return undefined;
      } catch (error) {
        return messageOf(error);
      }
    },
  };
  const deletion = new Deletion(base.engine, base.pool, base.clock, base.history);
  const app = createApp({
    services: {
      engine: base.engine,
      clock: base.clock,
      history: base.history,
      aggregates: base.aggregates,
      configuration: base.configuration,
      advance: (tenant, toMs) => sweep.advance(tenant, toMs),
      directory: new UserDirectory(base.pool),
      forget: (tenant, user) => deletion.run(tenant, user),
    },
    keys,
    health,
    log,
  });
  const handle = app.callback();
  const server = await startServer((request, response) => void handle(request, response), settings.host, settings.port);
  base.onStop(async () => {
    stopping = true;
    await server.stop(limits.stopRequestsMs);
  });
  return server;
}
