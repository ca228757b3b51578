import { spawn } from 'node:child_process';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { poll, ProcessHandle, type RunAs } from './processes.js';

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** File that takes what the server writes, ours to read. */
  readonly logFile: string;
  readonly runAs: RunAs | null;
}

/** A server process that was started and may not answer yet. */
export class LaunchedServer {
  readonly process: ProcessHandle;
  readonly #logFile: string;
  readonly #logStart: number;

  constructor(pid: number, logFile: string, logStart: number) {
    this.process = new ProcessHandle(pid);
    this.#logFile = logFile;
    this.#logStart = logStart;
  }

  /** What it has written to its log since this start. */
  async log(): Promise<string> {
    return (await readFile(this.#logFile)).subarray(this.#logStart).toString();
  }

  async logTail(): Promise<string> {
    return `The end of its log (${this.#logFile}):\n${(await this.log()).slice(-storeBounds.logTailBytes).trim()}`;
  }
}

/**
 * Starts a server in a session of its own, so that Ctrl-C in the terminal reaches only the service, which stops the server after it has
 * drained. It survives a service that is killed; the next start finds it.
 * @throws OperatorError when the program cannot be run.
 */
export async function launch({ program, args, env, logFile, runAs }: Launch): Promise<LaunchedServer> {
  const log = await openLog(logFile);
  try {
    const logStart = (await log.stat()).size;
    const child = spawn(program, args, { cwd: '/', detached: true, stdio: ['ignore', log.fd, log.fd], env, ...(runAs ?? {}) });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(new OperatorError(`${program} cannot be run: ${error.message}.`, { cause: error })));
    });
    child.unref();
    if (child.pid === undefined) throw new Error(`${program} was started without a process id`);
    return new LaunchedServer(child.pid, logFile, logStart);
  } finally {
    await log.close();
  }
}

/** The log is kept across starts up to a size: what led to a crash is in the part before the crash. */
async function openLog(path: string): Promise<FileHandle> {
  const log = await open(path, 'a', 0o600);
  if ((await log.stat()).size > storeBounds.maxLogBytes) await log.truncate();
  return log;
}

/** What a look at a server found: nothing that is ours, ours but still reading its data, or ours and ready. */
export type Sight = { state: 'none'; why: string } | { state: 'loading' } | { state: 'ready'; pid: number };

/** Why a server could not be asked, as a sentence. */
export function connectionProblem(error: unknown): string {
  return `A connection to it fails: ${error instanceof Error ? error.message.replace(/\.$/, '') : String(error)}.`;
}

/**
 * Waits until a server of ours is ready. One that answers but still reads its data gets longer than one that says nothing, since a large
 * append-only file takes minutes.
 * @returns the pid of the one that answers, which can be a faster one; null when the process has ended before.
 * @throws OperatorError when it is alive and does not get there in time.
 */
export async function waitUntilReady(name: string, server: ProcessHandle, look: () => Promise<Sight>): Promise<number | null> {
  let deadline = performance.now() + storeBounds.responseMs;
  let isLoading = false;
  let last = '';
  const found = await poll<number | 'ended' | 'late'>(async () => {
    if (!server.isAlive()) return 'ended';
    const sight = await look();
    if (sight.state === 'ready') return sight.pid;
    if (sight.state === 'loading' && !isLoading) {
      isLoading = true;
      deadline = performance.now() + storeBounds.loadMs;
    }
    last = sight.state === 'none' ? sight.why : 'It is still reading its data.';
    return performance.now() > deadline ? 'late' : null;
  }, storeBounds.loadMs + storeBounds.responseMs);
  if (typeof found === 'number') return found;
  if (found === 'ended') return null;
  throw new OperatorError(
    `${name} runs as process ${server.pid} but does not get ready. ${last} Look at its log, or end it with: kill ${server.pid}`,
  );
}
