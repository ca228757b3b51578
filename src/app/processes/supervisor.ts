import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultTenant } from '../../access/tenants.js';
import { startServer } from '../../api/server.js';
import type { ConfigDocument } from '../../config/schema/model.js';
import { metricsEndpoint } from '../../observe/observed.js';
import { OperatorError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { Context, startStores, type ContextOptions, type StoreAddresses } from '../context.js';
import { Lifecycle } from '../lifecycle.js';
import { expectFreePorts, metricsListen, prepare, type Roles } from '../service.js';
import { defaultApiProcesses } from '../settings.js';
import { applyAtStart, openDefaultTenant } from '../startup.js';
import { refusedByStore } from '../refused.js';
import { describeTarget } from '../target.js';
import { GroupMetrics } from './group-metrics.js';
import { describeExit, ManagedProcess, type Exit } from './managed-process.js';
import type { EndOrder, SupervisedRole } from './messages.js';

/** What the operator is shown once all processes serve. */
export interface Started {
  /** `http://host:port`; undefined without the API. */
  readonly address: string | undefined;
  readonly metricsAddress: string | undefined;
  /** The admin key that this start generated. */
  readonly newAdminKey: string | undefined;
  /** The active configuration of the default tenant; undefined while Redis is out of sync. */
  readonly configuration: ConfigDocument | undefined;
}

/** When processes are replaced; documented in `limits`. */
export type RestartLimits = Readonly<Record<'processRestartMs' | 'processRestartMaxMs' | 'processStableMs' | 'maxFailedStarts', number>>;

/** A place in the group, which one process after the other fills. */
interface Slot {
  readonly name: string;
  readonly role: SupervisedRole;
  process: ManagedProcess | undefined;
  /** Ends in a row soon after the start, and failed starts among them. */
  failures: number;
  failedStarts: number;
}

/**
 * Runs the API and the worker in processes of their own: prepares the start, starts them, replaces those that end, and stops them in order. It holds
 * no connection to the stores itself.
 */
export class Supervisor {
  /** Rejects with an OperatorError when no process can be kept running. */
  readonly failure: Promise<never>;
  private readonly options: ContextOptions;
  private readonly roles: Roles;
  private readonly restarts: RestartLimits;
  private readonly lifecycle: Lifecycle;
  private readonly slots: readonly Slot[];
  private readonly living = new Set<ManagedProcess>();
  private readonly metrics: GroupMetrics;
  private readonly stopping = new AbortController();
  private starting: Promise<Started> | undefined;
  private stopped: Promise<void> | undefined;
  private reloading: Promise<void> = Promise.resolve();
  private isStarted = false;
  private giveUp: (reason: OperatorError) => void = () => undefined;
  private appliesConfig = false;
  private stores: StoreAddresses | undefined;
  /** The port that the running API processes share, and its number once it is known: they differ for PORT=0. */
  private port: number;
  private boundPort: number | undefined;

  constructor(options: ContextOptions, roles: Roles, restarts: RestartLimits = limits) {
    this.options = options;
    this.roles = roles;
    this.restarts = restarts;
    this.lifecycle = new Lifecycle(options.log);
    this.port = options.settings.port;
    const slot = (name: string, role: SupervisedRole): Slot => ({ name, role, process: undefined, failures: 0, failedStarts: 0 });
    const apiProcesses = options.settings.apiProcesses ?? defaultApiProcesses(availableParallelism());
    const apis = Array.from({ length: roles.api ? apiProcesses : 0 }, (_, at) => slot(`api-${at + 1}`, 'api'));
    this.slots = [...(roles.worker ? [slot('worker', 'worker')] : []), ...apis];
    this.metrics = new GroupMetrics(() => this.processesUp());
    this.failure = new Promise((_, reject) => {
      this.giveUp = reject;
    });
    this.failure.catch(() => undefined);
  }

  /** Prepares the start and returns once all processes serve. Throws an OperatorError, after everything has stopped again, when one does not start. */
  start(): Promise<Started> {
    this.starting ??= this.startAll();
    return this.starting;
  }

  /** Replaces the processes one by one, each once its successor serves. A reload during another one follows it. */
  reload(): Promise<void> {
    this.reloading = this.reloading.then(() => this.replaceAll());
    return this.reloading;
  }

  /** Applies the file of CONFIG again, as the start did. Throws an OperatorError when it is refused. */
  async applyConfig(): Promise<void> {
    await this.withContext(applyAtStart).catch((error: unknown) => {
      throw refusedByStore(error);
    });
  }

  /** Stops the API processes, which serve for another `delayMs` while not ready, then the worker, then the built-in stores. */
  stop(delayMs: number): Promise<void> {
    this.stopped ??= this.stopAll(delayMs);
    return this.stopped;
  }

  /** Kills all processes, and stops the built-in stores. Nothing is lost: the ledger waits in Redis. */
  async abort(): Promise<void> {
    this.stopping.abort(new OperatorError('Interrupted.'));
    for (const process of this.living) process.kill();
    await this.starting?.catch(() => undefined);
    await this.stop(0);
  }

  private async startAll(): Promise<Started> {
    try {
      const { settings } = this.options;
      await expectFreePorts(settings, this.roles);
      const metricsAddress = await this.serveMetrics();
      const prepared = await this.prepareStart();
      this.stopping.signal.throwIfAborted();
      const addresses = await Promise.all(this.slots.map((slot) => this.fill(slot).started));
      const address = addresses.find((one) => one !== undefined);
      if (address !== undefined) this.boundPort = Number(new URL(address).port);
      this.isStarted = true;
      return { address, metricsAddress, ...prepared };
    } catch (error) {
      await this.stop(0);
      throw refusedByStore(error);
    }
  }

  private async stopAll(delayMs: number): Promise<void> {
    this.stopping.abort(new OperatorError('Interrupted.'));
    for (const role of ['api', 'worker'] as const) {
      const processes = [...this.living].filter((process) => process.role === role);
      await Promise.all(processes.map((process) => this.end(process, { order: 'stop', delayMs: role === 'api' ? delayMs : 0 })));
    }
    await this.lifecycle.stop();
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Those that can be asked for metrics. The first one reads those of the stores: the worker knows best which ledgers have entries. */
  private processesUp(): ManagedProcess[] {
    const order = (process: ManagedProcess): number => (process.role === 'worker' ? 0 : 1);
    return [...this.living].filter((process) => process.isUp).sort((one, other) => order(one) - order(other));
  }

  private async serveMetrics(): Promise<string | undefined> {
    const { settings } = this.options;
    const listen = metricsListen(settings);
    if (!listen) return undefined;
    const starting = startServer(metricsEndpoint(this.metrics, settings.metricsToken), listen);
    return (await this.lifecycle.start('metrics endpoint', starting, (server) => server.stop(limits.stopIdleMs))).address;
  }

  /** Starts the stores and does what happens once. */
  private prepareStart(): Promise<Pick<Started, 'newAdminKey' | 'configuration'>> {
    this.options.print(describeTarget(this.options.settings));
    return this.withContext(async (context) => {
      const newAdminKey = await prepare(context);
      const isOpen = await openDefaultTenant(context);
      if (isOpen) await applyAtStart(context);
      this.appliesConfig = !isOpen;
      return { newAdminKey, configuration: isOpen ? (await context.engine.config(defaultTenant)).document : undefined };
    });
  }

  /** Starts the stores, unless they run, and connects to them for some work. The connections are closed again: only the stores stay. */
  private async withContext<T>(work: (context: Context) => Promise<T>): Promise<T> {
    const options = { ...this.options, createStores: true };
    this.stores ??= await startStores(options, this.lifecycle);
    const context = await Context.start({ ...options, stores: this.stores });
    try {
      return await work(context);
    } finally {
      await context.stop();
    }
  }

  /** Starts the process of a slot. */
  private fill(slot: Slot): ManagedProcess {
    slot.process = this.launch(slot);
    return slot.process;
  }

  private launch(slot: Slot): ManagedProcess {
    const { name, role } = slot;
    // Processes that share a port must name it in the same way. When none is left, the port is closed, and its number stays.
    const isShared = [...this.living].some((other) => other.role === 'api');
    if (!isShared && this.boundPort !== undefined) this.port = this.boundPort;
    const process: ManagedProcess = new ManagedProcess({ name, role, appliesConfig: this.appliesConfig && role === 'worker' }, this.port, {
      onConfigApplied: () => {
        this.appliesConfig = false;
      },
      onCounted: (metrics) => this.metrics.counted(process, metrics),
    });
    this.living.add(process);
    const startedMs = performance.now();
    this.options.log.debug({ name, pid: process.pid }, 'process started');
    void process.exited.then((exit) => {
      this.living.delete(process);
      const isFailure = slot.process === process && !this.isStopping;
      this.metrics.ended(process, isFailure);
      return isFailure ? this.replace(slot, process, { exit, livedMs: performance.now() - startedMs }) : undefined;
    });
    return process;
  }

  /** Fills a slot again whose process has ended. Gives up when the start fails again and again and no process runs. */
  private async replace(slot: Slot, ended: ManagedProcess, { exit, livedMs }: { exit: Exit; livedMs: number }): Promise<void> {
    const { log } = this.options;
    const reason = await ended.startProblem();
    // The start of the service fails with it.
    if (reason && !this.isStarted) return;
    slot.failures = livedMs < this.restarts.processStableMs ? slot.failures + 1 : 0;
    slot.failedStarts = reason ? slot.failedStarts + 1 : 0;
    log.error({ name: slot.name, pid: ended.pid, end: describeExit(exit), error: reason?.message }, 'process ended, will be replaced');
    if (reason && slot.failedStarts >= this.restarts.maxFailedStarts && this.processesUp().length === 0) {
      this.giveUp(reason);
      return;
    }
    await delay(restartDelayMs(slot.failures, this.restarts), undefined, { signal: this.stopping.signal }).catch(() => undefined);
    // A reload may have filled it.
    if (!this.isStopping && slot.process === ended) this.fill(slot);
  }

  private async replaceAll(): Promise<void> {
    const { log } = this.options;
    for (const slot of [...this.slots].reverse()) {
      // What has ended is replaced anyway.
      if (this.isStopping || slot.process?.isUp !== true) continue;
      const next = this.launch(slot);
      try {
        await next.started;
      } catch (error) {
        log.error({ err: error, name: slot.name }, 'reload failed, the other processes continue');
        return;
      }
      const old = slot.process;
      slot.process = next;
      await this.end(old, { order: 'retire' });
    }
    log.info('all processes replaced');
  }

  private async end(process: ManagedProcess, order: EndOrder): Promise<void> {
    if (await process.end(order)) return;
    this.options.log.error({ name: process.name, pid: process.pid }, 'process did not stop in time and was killed');
  }
}

/** The delay before a process is replaced that has ended soon after its start, for the `failures`th time in a row. */
function restartDelayMs(failures: number, { processRestartMs, processRestartMaxMs }: RestartLimits): number {
  return failures === 0 ? 0 : Math.min(processRestartMs * 2 ** (failures - 1), processRestartMaxMs);
}
