import { AccessRetention } from '../jobs/access-retention.js';
import { eachSecond } from '../jobs/job.js';
import type { Sweeper } from '../jobs/sweeper.js';
import { WriteBehind } from '../ledger/write-behind.js';
import { Announcer } from '../live/announcer.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { Observed } from '../observe/observed.js';
import type { Listener } from '../redis/connection.js';
import { Reconciler } from '../restore/reconcile.js';
import { limits } from '../shared/limits.js';
import { Deliverer } from '../deliveries/deliverer.js';
import { WebhookTargets } from '../webhooks/target.js';
import { createPublisher } from '../webhooks/publisher.js';
import { Transport } from '../webhooks/transport.js';
import { type Context, serviceClock } from './context.js';
import { openChannels, startMessages } from './messages.js';
import { webhookReceivers } from './settings.js';

interface WorkerOptions {
  readonly context: Context;
  readonly listener: Listener;
  readonly watch: Observed;
  /** Called when messages have been added to the outbox. */
  readonly wakeDeliverer: () => void;
}

/** Starts the write-behind, and the reconciler that restores a Redis out of sync. Returns the latter. */
export async function startWorker({ context, listener, watch, wakeDeliverer }: WorkerOptions): Promise<Reconciler> {
  const { engine, pool, active, settings, lifecycle, log } = context;
  const reconciler = new Reconciler({
    engine,
    pool,
    active,
    log,
    autoRestore: settings.autoRestore,
    redis: await context.connectAgain('Redis connection of the reconciler'),
  });
  const announcer = new Announcer(context.redis, (tenant) => engine.partition(tenant));
  const renewed = (tenant: string, interest: string): void => {
    announcer.watched(Number(tenant), interest);
  };
  await listener.on('watched', renewed, () => undefined);
  const writeBehind = new WriteBehind({
    ...writeBehindOptions(context, wakeDeliverer),
    announce: (tenant, after, entries) => {
      announcer.announce(tenant, after, entries);
    },
    redis: await context.connectAgain('Redis connection of the write-behind'),
    onReplaced: async (tenant) => {
      await reconciler.resync(tenant);
      announcer.announceAll(tenant);
    },
    traceBatch: watch.traceBatch,
  });
  watch.writeBehind(writeBehind);
  const scanAll = (): void => {
    writeBehind.scanAll().catch((error: unknown) => {
      log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error }, 'ledger scan failed, will retry');
    });
  };
  await listener.on('written', (tenant) => writeBehind.wake(Number(tenant)), scanAll);
  writeBehind.start();
  lifecycle.onStop('write-behind', async () => {
    const isLast = await active.beginShutdown().catch(() => true);
    await writeBehind.stop(isLast ? limits.stopDrainMs : limits.stopHandOverMs);
  });
  // It stops first, because the write-behind waits for it.
  lifecycle.onStop('reconciler', () => reconciler.stop());
  return reconciler;
}

const writeBehindOptions = ({ account, engine, pool, log, settings }: Context, wakeDeliverer: () => void) => ({
  pool,
  log,
  tenants: () => account.tenants,
  partition: (tenant: number) => engine.partition(tenant),
  awaitEntries: (tenant: number, epoch: string, lastId: string) => engine.awaitEntries(tenant, epoch, lastId),
  publisher: createPublisher(engine, openChannels(settings), wakeDeliverer),
});

/** Where no worker runs, the last process on a Redis drains the ledgers when it stops, since another Redis may become active after it. */
export function drainAsLast(context: Context): void {
  context.lifecycle.onStop('ledgers', async () => {
    // Unavailable stores can't be drained.
    if (!(await context.active.beginShutdown().catch(() => false))) return;
    const onReplaced = (): Promise<void> => Promise.resolve();
    const options = { ...writeBehindOptions(context, () => undefined), redis: context.redis, onReplaced };
    await new WriteBehind(options).stop(limits.stopDrainMs);
  });
}

/** Delivers the outbox. It stops after the write-behind, so that it delivers the last messages too. */
export function startDeliverer(context: Context, watch: Observed): Deliverer {
  const { engine, pool, settings, lifecycle, log } = context;
  const { deliveryAheadMs: aheadMs } = context.overrides;
  const transport = new Transport({ receivers: webhookReceivers(settings) });
  const webhooks = new WebhookTargets({ transport, log, configuration: async (tenant) => (await engine.config(tenant)).document });
  const messages = startMessages(context, watch);
  const deliverer = new Deliverer({
    pool,
    log,
    targetOf: async (queue) => messages.targets.targetOf(queue) ?? webhooks.targetOf(queue),
    abort: async () => {
      await Promise.all([transport.stop(), messages.abort()]);
    },
    ...(aheadMs ? { aheadMs } : {}),
  });
  watch.deliveries(deliverer, webhooks.counts);
  deliverer.start();
  lifecycle.onStop('deliveries', () => deliverer.stop(limits.stopDrainMs));
  return deliverer;
}

/** Sweeps once a second, and prunes sessions and the audit log when that is due. */
export function startSweep({ pool, clock, lifecycle, log, overrides }: Context, sweeper: Sweeper): void {
  const access = new AccessRetention({ pool, log, auditClock: serviceClock(clock), aheadMs: overrides.sessionAheadMs });
  const seconds = eachSecond(() => {
    sweeper.sweepNext();
    access.runIfDue();
  }, log);
  lifecycle.onStop('sweep', async () => {
    await seconds.stop();
    await Promise.all([sweeper.stop(), access.stop()]);
  });
}
