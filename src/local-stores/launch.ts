import { spawn } from 'node:child_process';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { poll, ProcessHandle, type RunAs } from './processes.js';

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The server's standard output and error are appended to this file. */
  readonly logFile: string;
  readonly runAs: RunAs | null;
}

/** A server process that was started and may not respond yet. */
export class LaunchedServer {
  readonly process: ProcessHandle;
  readonly #logFile: string;
  readonly #logStart: number;

  constructor(pid: number, logFile: string, logStart: number) {
    this.process = new ProcessHandle(pid);
    this.#logFile = logFile;
    this.#logStart = logStart;
  }

  /** The part of the log that was written since this start. */
  async log(): Promise<string> {
    return (await readFile(this.#logFile)).subarray(this.#logStart).toString();
  }

  async logTail(): Promise<string> {
    return `The end of its log (${this.#logFile}):\n${(await this.log()).slice(-storeBounds.logTailBytes).trim()}`;
  }
}

/**
 * Starts a server in a session of its own, so that Ctrl-C in the terminal reaches only the service, which stops the server after it has
 * drained. The server survives a service that is killed; the next start finds it.
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

/** Starts append to the log up to a size, since the cause of a crash is in the part before it. */
async function openLog(path: string): Promise<FileHandle> {
  const log = await open(path, 'a', 0o600);
  if ((await log.stat()).size > storeBounds.maxLogBytes) await log.truncate();
  return log;
}

/** The result of a check of a server: not ours, ours and still reading its data, or ours and ready. */
export type ServerState = { state: 'none'; why: string } | { state: 'loading' } | { state: 'ready'; pid: number };

/** Why the connection to a server failed, as a sentence. */
export function connectionProblem(error: unknown): string {
  return `A connection to it fails: ${error instanceof Error ? error.message.replace(/\.$/, '') : String(error)}.`;
}

/**
 * Waits until a server of ours is ready. A server that responds and still reads its data gets longer than one that does not respond, since a
 * large append-only file takes minutes.
 * @returns the pid of the server that responds, which can be one that started faster; null when the process has exited.
 * @throws OperatorError when the process is alive and not ready in time.
 */
export async function waitUntilReady(name: string, server: ProcessHandle, check: () => Promise<ServerState>): Promise<number | null> {
  let deadline = performance.now() + storeBounds.answerMs;
  let isLoading = false;
  let last = '';
  const outcome = await poll<number | 'ended' | 'late'>(async () => {
    if (!server.isAlive()) return 'ended';
    const found = await check();
    if (found.state === 'ready') return found.pid;
    if (found.state === 'loading' && !isLoading) {
      isLoading = true;
      deadline = performance.now() + storeBounds.loadMs;
    }
    last = found.state === 'none' ? found.why : 'It is still reading its data.';
    return performance.now() > deadline ? 'late' : null;
  }, storeBounds.loadMs + storeBounds.answerMs);
  if (typeof outcome === 'number') return outcome;
  if (outcome === 'ended') return null;
  throw new OperatorError(
    `${name} runs as process ${server.pid} but is not ready. ${last} Look at its log, or end it with: kill ${server.pid}`,
  );
}
