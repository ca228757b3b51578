import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { MetricSamples } from '../../observe/observation.js';
import { OperatorError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { closeUnaccepted } from './passed-connections.js';
import { planVariable, type EndOrder, type Order, type ProcessPlan, type Report, type SupervisedRole } from './messages.js';

export interface Exit {
  /** Null when a signal ended it, or when it could not be started. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** What a process reports to its supervisor. */
export interface ProcessEvents {
  onConfigApplied(): void;
  /** The metrics that the process counted until its end. */
  onCounted(metrics: readonly MetricSamples[]): void;
}

/** A running process, as its supervisor sees it. */
export class ManagedProcess {
  readonly name: string;
  readonly role: SupervisedRole;
  readonly pid: number | undefined;
  /** The address of the API once it serves, undefined for a worker. Rejects with an OperatorError when the process ends before. */
  readonly started: Promise<string | undefined>;
  /** Resolves when the process is gone and all it sent has arrived. */
  readonly exited: Promise<Exit>;
  private readonly worker: Worker;
  private up = false;

  /** `port` replaces PORT. */
  constructor(plan: ProcessPlan, port: number, events: ProcessEvents) {
    this.name = plan.name;
    this.role = plan.role;
    cluster.setupPrimary({ args: [plan.name], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.worker = cluster.fork({ PORT: String(port), [planVariable]: JSON.stringify(plan) });
    this.pid = this.worker.process.pid;
    this.exited = exitOf(this.worker);
    this.started = new Promise((resolve, reject) => {
      this.worker.on('message', (message: Report) => {
        if (message.report === 'started') {
          this.up = true;
          resolve(message.address);
        } else if (message.report === 'failed') reject(new OperatorError(message.message));
        else if (message.report === 'config applied') events.onConfigApplied();
        else if (message.report === 'counted') events.onCounted(message.metrics);
      });
      void this.exited.then((exit) => {
        this.up = false;
        reject(new OperatorError(`The process ${this.name} exited during startup (${describeExit(exit)}): see its log.`));
      });
    });
    this.started.catch(() => undefined);
  }

  /** Why it did not start; undefined when it did. */
  startProblem(): Promise<OperatorError | undefined> {
    return this.started.then(
      () => undefined,
      (error: unknown) => (error instanceof OperatorError ? error : new OperatorError(String(error))),
    );
  }

  /** Whether it has started and not ended. */
  get isUp(): boolean {
    return this.up;
  }

  /** Asks it to end in order, and returns when it is gone. Kills it when it takes longer than limits.processStopMs; returns whether it did not. */
  async end(order: EndOrder): Promise<boolean> {
    this.send(order);
    const patience = new AbortController();
    const delayMs = order.order === 'stop' ? order.delayMs : limits.retireIdleMs;
    const late = delay(limits.processStopMs + delayMs, true, { signal: patience.signal }).catch(() => false);
    const isLate = await Promise.race([this.exited.then(() => false), late]);
    patience.abort();
    if (isLate) this.kill();
    await this.exited;
    return !isLate;
  }

  kill(): void {
    this.worker.process.kill('SIGKILL');
  }

  /** Its metrics; undefined when it does not respond within limits.processMetricsMs. With `shared`, those of the stores too. */
  metrics(shared: boolean): Promise<readonly MetricSamples[] | undefined> {
    return new Promise((resolve) => {
      const done = (metrics: readonly MetricSamples[] | undefined): void => {
        clearTimeout(timer);
        this.worker.off('message', receive);
        resolve(metrics);
      };
      const receive = (message: Report): void => {
        if (message.report === 'metrics') done(message.metrics);
      };
      const timer = setTimeout(done, limits.processMetricsMs, undefined);
      this.worker.on('message', receive);
      this.send({ order: 'metrics', shared });
    });
  }

  private send(order: Order): void {
    // The exit of a process that has just ended follows.
    if (this.worker.isConnected()) this.worker.send(order, () => undefined);
  }
}

export const describeExit = ({ code, signal }: Exit): string =>
  signal !== null ? `signal ${signal}` : code === null ? 'it could not be started' : `exit code ${code}`;

function exitOf(worker: Worker): Promise<Exit> {
  closeUnaccepted(worker.process);
  return new Promise((resolve) => {
    // Comes after `exit`, once all that it sent has been received. `disconnect` does not come while a connection on its way has no reply.
    worker.process.once('close', (code: number | null, signal: string | null) => {
      worker.disconnect();
      resolve({ code, signal });
    });
    worker.on('error', () => {
      if (worker.process.pid === undefined) resolve({ code: null, signal: null });
    });
  });
}
