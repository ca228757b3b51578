import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import which from 'which';
import { storeBounds } from './bounds.js';

/** A user of the operating system that a command runs as. Only root can choose one. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Replaces the whole environment; absent: ours. */
  readonly env?: NodeJS.ProcessEnv;
  /** Absent: as ourselves. */
  readonly runAs?: RunAs | null;
  /** Written to its standard input; absent: it inherits ours, so that sudo can ask for a password. */
  readonly input?: string;
}

export interface CommandResult {
  /** Null when the program could not be started, was ended by a signal, or took too long. */
  readonly code: number | null;
  /** The end of what it wrote, both streams, or why it could not be started. */
  readonly output: string;
}

export type RunCommand = (command: Command) => Promise<CommandResult>;

/** Runs a command to its end, in the root folder, since another user may not be allowed into ours. */
export async function runCommand(command: Command, timeoutMs: number = storeBounds.installMs): Promise<CommandResult> {
  const { program, args, env = process.env, runAs, input } = command;
  const result = await execa(program, args, {
    cwd: '/',
    env,
    extendEnv: false,
    all: true,
    reject: false,
    timeout: timeoutMs,
    cleanup: false,
    ...runAs,
    ...(input === undefined ? { stdin: 'inherit' } : { input }),
  });
  // A program that could not be started has no output; execa's error says why.
  const output = result.all || (result instanceof Error ? result.message : '');
  return { code: Number.isInteger(result.exitCode) ? result.exitCode : null, output: output.slice(-storeBounds.maxOutputBytes).trim() };
}

/** The path of a program on the PATH, or null. */
export const lookUpProgram = (program: string): string | null => which.sync(program, { nothrow: true });

/**
 * When a process started, as a text to compare: with the pid, it distinguishes the process from a later one that was given the same pid. Null when
 * there is no such process. A zombie counts as none: it holds no file and no port, and in a container whose first process reaps nothing it stays
 * for ever.
 */
export function processStart(pid: number): string | null {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

function startFromProc(pid: number): string | null {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name of the program is in parentheses and may hold spaces and parentheses itself; what follows the last one is the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTicks] = [fields[0], fields[19]];
  if (startTicks === undefined || state === 'Z' || state === 'X') return null;
  return `${(readIfThere('/proc/sys/kernel/random/boot_id') ?? '').slice(0, 8)}-${startTicks}`;
}

function startFromPs(pid: number): string | null {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  const [state, ...start] = stdout.trim().split(/\s+/);
  return !state || state.startsWith('Z') ? null : start.join('-');
}

/** The command line of a process; empty when there is none. */
export function processCommand(pid: number): string {
  if (process.platform === 'linux') return (readIfThere(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
  return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}

/** All processes with their command lines. */
export function listProcesses(): { pid: number; command: string }[] {
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').map(Number);
    return pids.filter((pid) => pid > 0).map((pid) => ({ pid, command: processCommand(pid) }));
  }
  const { stdout } = spawnSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\n').map((line) => ({ pid: Number.parseInt(line, 10), command: line.replace(/^\s*\d+\s+/, '') }));
}

/** The working folder of a process; null where the system does not show it. */
export function processFolder(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** A process that was alive when this was created. Safe against reuse of its pid. */
export class ProcessHandle {
  readonly pid: number;
  readonly #start: string | null;

  constructor(pid: number) {
    this.pid = pid;
    this.#start = processStart(pid);
  }

  isAlive(): boolean {
    return this.#start !== null && processStart(this.pid) === this.#start;
  }

  signal(name: NodeJS.Signals): void {
    try {
      if (this.isAlive()) process.kill(this.pid, name);
    } catch {
      // It ended between the two lines.
    }
  }

  /** Whether it is gone before the time is up. */
  async isGoneWithin(timeoutMs: number): Promise<boolean> {
    return (await poll(() => (this.isAlive() ? null : true), timeoutMs)) ?? false;
  }
}

/** Checks until the result is not null, and returns it; null when the time is up. Checks at least once. */
export async function poll<T>(check: () => T | null | Promise<T | null>, timeoutMs: number): Promise<T | null> {
  const deadline = performance.now() + timeoutMs;
  while (true) {
    const found = await check();
    if (found !== null || performance.now() >= deadline) return found;
    await delay(storeBounds.pollMs);
  }
}
