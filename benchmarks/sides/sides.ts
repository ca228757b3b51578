import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import { Processes } from '../servers/children.js';
import { sideRoots } from './roots.js';
import type { Reply, Request, Work } from './side-work.js';

const program = fileURLToPath(new URL('./side.js', import.meta.url));

export interface AgainstOptions {
  /** The root of the checkout that this one is compared with; undefined to measure this one alone. */
  readonly against: string | undefined;
  readonly signal: AbortSignal;
}

type Result<Name extends keyof Work> = Awaited<ReturnType<Work[Name]>>;

/** A checkout whose code runs in a process of its own (side.ts). */
export class Side {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal;

  constructor(name: string, child: ChildProcess, signal: AbortSignal) {
    this.name = name;
    this.#child = child;
    this.#signal = signal;
  }

  /**
   * Asks for one piece of work and waits for it; only one at a time. Throws what went wrong there, and when the process ends or the run is
   * interrupted.
   */
  async ask<Name extends keyof Work>(name: Name, options: Request<Name>['options']): Promise<Result<Name>> {
    const child = this.#child;
    this.#signal.throwIfAborted();
    if (!child.connected) throw new Error(`The process of ${this.name} has ended.`);
    const answered = new AbortController();
    const until = { signal: AbortSignal.any([this.#signal, answered.signal]) };
    const replied = once(child, 'message', until) as Promise<[Reply]>;
    const ended = once(child, 'exit', until).then(() => {
      throw new Error(`The process of ${this.name} ended while it was at work.`);
    });
    child.send({ name, options } satisfies Request<Name>);
    try {
      const [reply] = await Promise.race([replied, ended]);
      if ('problem' in reply) throw new Error(`${this.name}: ${reply.problem}`);
      return reply.result as Result<Name>;
    } catch (error) {
      // Says it better than the error of the wait.
      this.#signal.throwIfAborted();
      throw error;
    } finally {
      answered.abort();
    }
  }
}

/** Starts this checkout, and the one that it is compared with, and stops both, however the work ends. */
export async function withSides<T>({ against, signal }: AgainstOptions, work: (sides: readonly Side[]) => Promise<T>): Promise<T> {
  const processes = new Processes();
  try {
    const sides: Side[] = [];
    for (const { side: name, root } of sideRoots(against)) {
      const args = ['--max-semi-space-size=64', '--import', import.meta.resolve('tsx'), program, root];
      const { child } = await processes.start({ name, command: process.execPath, args, ready: /^ready$/m, channel: true }, signal);
      sides.push(new Side(name, child, signal));
    }
    return await work(sides);
  } finally {
    await processes.stop();
  }
}
