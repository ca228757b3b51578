import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** How long a process may take until it is ready, and until it has stopped. A first start of Laurel sets up a Postgres. */
const readyMs = 60_000;
const stopMs = 30_000;
/** Output that is kept to show when a process fails. */
const keptOutputChars = 20_000;

export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** What the process prints on its standard output when it is ready. */
  readonly ready: RegExp;
  /** Whether to open a channel for messages (Node processes only). */
  readonly channel?: boolean;
}

export interface RunningProcess {
  readonly child: ChildProcess;
  /** What `ready` matched. */
  readonly readyText: string;
  /** The end of what it has printed so far. */
  readonly output: () => string;
}

/** Processes that are started here are all stopped here, by their own ids, the last one first. */
export class Processes {
  readonly #running: { readonly name: string; readonly child: ChildProcess }[] = [];

  /** Starts a process and waits until it is ready. Throws with its output when it ends, or takes longer, before that. */
  async start(options: ProcessOptions, signal: AbortSignal): Promise<RunningProcess> {
    signal.throwIfAborted();
    const child = spawn(options.command, options.args, {
      env: options.env,
      stdio: ['ignore', 'pipe', 'pipe', ...(options.channel ? (['ipc'] as const) : [])],
      // A group of its own: Ctrl-C in the terminal then reaches the benchmark alone, which stops the others in order.
      detached: true,
    });
    this.#running.push({ name: options.name, child });
    const output = keepOutput(child);
    const readyText = await untilReady(child, options, output, signal);
    return { child, readyText, output };
  }

  /** Stops every process, and waits until each is gone. */
  async stop(): Promise<void> {
    for (let last = this.#running.pop(); last; last = this.#running.pop()) await stopProcess(last.name, last.child);
  }
}

/** Reads all that the process prints, so that it never waits for us, and keeps the end of it. */
function keepOutput(child: ChildProcess): () => string {
  let output = '';
  const keep = (text: string): void => {
    output = (output + text).slice(-keptOutputChars);
  };
  child.stdout?.setEncoding('utf8').on('data', keep);
  child.stderr?.setEncoding('utf8').on('data', keep);
  return () => output;
}

async function untilReady(child: ChildProcess, options: ProcessOptions, output: () => string, signal: AbortSignal): Promise<string> {
  const timeout = AbortSignal.timeout(readyMs);
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${options.name} ${why}. Its output:\n${output()}`));
    child.once('error', (error) => fail(`could not be started (${error.message})`));
    child.once('exit', (code, killedBy) => fail(`ended (${killedBy ?? code ?? 0}) before it was ready`));
    timeout.addEventListener('abort', () => fail(`was not ready within ${readyMs / 1_000} s`));
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    const look = (): void => {
      const match = options.ready.exec(output());
      if (!match) return;
      child.stdout?.off('data', look);
      resolve(match[0]);
    };
    child.stdout?.on('data', look);
  });
}

async function stopProcess(name: string, child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => {
    console.error(`${name} did not stop within ${stopMs / 1_000} s and was killed.`);
    child.kill('SIGKILL');
  }, stopMs);
  await exited;
  clearTimeout(timer);
}
