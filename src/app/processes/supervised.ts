import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { Observation } from '../../observe/observation.js';
import { failureText, logNodeEvents, openLog } from '../output.js';
import { prepareApi } from '../../api/router.js';
import { startService, type Service, type SupervisedOptions } from '../service.js';
import { parseSettings } from '../settings.js';
import { planVariable, type EndOrder, type Order, type ProcessPlan, type Report } from './messages.js';

/** Resolves when the message is written, or can't be: the supervisor may be gone. */
function send(report: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(report, undefined, undefined, () => resolve());
    else resolve();
  });
}

/** Resolves with the supervisor's first order to end. A supervisor that is gone is an order to stop. */
function endOrder(log: Logger): Promise<EndOrder> {
  return new Promise((resolve) => {
    process.on('message', (message: Order) => {
      if (message.order !== 'metrics') resolve(message);
    });
    cluster.worker?.once('disconnect', () => {
      // Without this, node:cluster exits at once when the channel closes.
      if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
      log.debug('supervisor process exited, stopping');
      resolve({ order: 'stop', delayMs: 0 });
    });
  });
}

/** Responds to the supervisor's requests for metrics. */
function sendMetrics(name: string, metrics: Observation, log: Logger): void {
  process.on('message', (message: Order) => {
    if (message.order !== 'metrics') return;
    metrics
      .samples(name, message.shared)
      .then((samples) => send({ report: 'metrics', metrics: samples }))
      .catch((error: unknown) => {
        log.debug({ err: error }, 'metrics not sent');
      });
  });
}

/** Ignores what a terminal or a service manager sends to all processes of a group: the supervisor stops and replaces its processes in order. */
function ignoreSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}

/** Runs a process of a supervisor to its end, and exits: with 0 after an order to end, with 1 when it can't start. */
export async function runSupervised(): Promise<never> {
  ignoreSignals();
  const plan = JSON.parse(process.env[planVariable] ?? '') as ProcessPlan;
  const settings = parseSettings(process.env);
  const log = openLog(settings.logLevel, plan.name);
  logNodeEvents(log);
  const ended = endOrder(log);
  let metrics: Observation | undefined;
  const supervised: SupervisedOptions = {
    appliesConfig: plan.appliesConfig,
    onConfigApplied: () => void send({ report: 'config applied' }),
    onMetrics: (started) => {
      metrics = started;
      sendMetrics(plan.name, started, log);
    },
  };
  const print = (line: string): void => {
    log.debug(line);
  };
  if (plan.role === 'api') prepareApi();
  const service = await startService(
    { settings, log, print, supervised },
    { api: plan.role === 'api', worker: plan.role === 'worker' },
  ).catch(async (error: unknown) => {
    await send({ report: 'failed', message: failureText(error) });
    process.exit(1);
  });
  await send({ report: 'started', address: service.address });
  await end(service, await ended);
  if (metrics) await send({ report: 'counted', metrics: await metrics.counts() });
  process.exit(0);
}

function end(service: Service, order: EndOrder): Promise<void> {
  return order.order === 'retire' ? service.retire() : service.stop(order.delayMs);
}
