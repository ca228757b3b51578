import { setTimeout as delay } from 'node:timers/promises';
import { fromSources, LaurelProcess } from '../../support/process.js';
import { until } from '../../support/stage.js';

/** Before a process that did not start is started again: a service manager does the same. */
const restartMs = 250;

/**
 * A Laurel process that is started again whenever it has ended, as a service manager does. One whose stores are away when it starts ends by
 * itself, with a sentence; one that was up must not.
 */
export class Supervised {
  readonly name: string;
  /** Starts that ended before the process was ready. */
  failedStarts = 0;
  /** What went wrong: a process that was up ended without having been killed. */
  readonly faults: string[] = [];
  private readonly args: readonly string[];
  private env: Readonly<Record<string, string>>;
  private readonly ready: RegExp;
  private current: LaurelProcess | undefined;
  private isKilled = false;
  private stopping = false;
  private running: Promise<void> = Promise.resolve();
  private up: Promise<void> = Promise.resolve();
  private isUp: () => void = () => undefined;

  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>>, ready: RegExp) {
    this.name = name;
    this.args = args;
    this.env = env;
    this.ready = ready;
  }

  start(): void {
    this.expectUp();
    this.running = this.supervise();
  }

  /** Resolves when it is ready. */
  whenUp(): Promise<void> {
    return this.up;
  }

  /** `kill -9` of one process under its supervisor. Returns when the supervisor has started another one. */
  async killOne(timeoutMs: number): Promise<void> {
    const { current } = this;
    const pids = (): number[] => [...(current?.processes().values() ?? [])];
    const [pid] = await until('a process', () => pids().length > 0 && pids(), timeoutMs);
    if (pid === undefined) throw new Error(`${this.name} has no process`);
    process.kill(pid, 'SIGKILL');
    await until('another process', () => pids().some((other) => other !== pid), timeoutMs);
  }

  /** `kill -9` of the supervisor alone: its processes stop in order. It is started again once they have. */
  async killSupervisor(): Promise<void> {
    this.isKilled = true;
    this.expectUp();
    this.current?.signal('SIGKILL');
    await this.current?.exit;
  }

  /** `kill -9` of the supervisor and its processes; it is started again at once. */
  async kill(): Promise<void> {
    this.isKilled = true;
    this.expectUp();
    await this.current?.kill();
  }

  /** SIGTERM, and a new start with other settings, as a deployment does. Returns when the old process has ended. */
  async replace(env: Readonly<Record<string, string>>): Promise<void> {
    this.isKilled = true;
    this.expectUp();
    this.env = { ...this.env, ...env };
    await this.current?.stop();
  }

  async freeze(): Promise<void> {
    await this.current?.signalAll('SIGSTOP');
  }

  async thaw(): Promise<void> {
    await this.current?.signalAll('SIGCONT');
  }

  /** The end of its log. */
  get log(): string {
    return this.current?.log.slice(-4_000) ?? '';
  }

  /** Ends it for good, in order; by force if it is not ready. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.thaw();
    await this.current?.stop().catch(() => undefined);
    await this.running;
  }

  private expectUp(): void {
    this.up = new Promise((resolve) => {
      this.isUp = resolve;
    });
  }

  private async supervise(): Promise<void> {
    while (!this.stopping) {
      this.isKilled = false;
      const life = new LaurelProcess(fromSources(), this.args, this.env);
      this.current = life;
      const wasReady = await life.says(this.ready).then(
        () => true,
        () => false,
      );
      if (wasReady) this.isUp();
      else this.failedStarts += 1;
      const { code, signal } = await life.exit;
      if (wasReady && !this.wasAsked()) {
        this.faults.push(`${this.name} ended by itself (${signal ?? String(code)}):\n${life.output}${life.log}`.slice(-8_000));
        this.expectUp();
      }
      if (!wasReady) await delay(restartMs);
    }
  }

  private wasAsked(): boolean {
    return this.isKilled || this.stopping;
  }
}
