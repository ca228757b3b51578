import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { LaurelError } from '../shared/errors.js';
import { noteTaskMs, Turns } from './turns.js';

/** Functions that a thread runs, by name. Arguments and results are copied between threads. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>;

/** What a thread is asked for, and what it replies. */
export interface Order {
  readonly name: string;
  readonly input: unknown;
}
export type Reply = { readonly result: unknown } | { readonly error: unknown };

/** A task took more time or memory than it may, and its thread was terminated. A 422, unless the caller handles it. */
export class Overrun extends LaurelError {
  constructor(sentence: string, cause: unknown) {
    super('unprocessable', sentence, { cause });
    this.name = 'Overrun';
  }
}

/** Whether a task has ended because of its limits, and not because of a fault in the thread. */
const isOverrun = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ABORT_ERR' || error.code === 'ERR_WORKER_OUT_OF_MEMORY');

export interface ThreadOptions {
  /** The module that the thread runs, without its extension; it calls `serve` (serve.ts). */
  readonly entry: URL;
  readonly timeMs: number;
  readonly memoryMb: number;
  /** The message of an Overrun. */
  readonly overrun: string;
}

/** Starts a module of this folder. Tests run TypeScript, whose loader a thread does not inherit. */
function startWorker({ entry, memoryMb }: ThreadOptions): Worker {
  const options = { resourceLimits: { maxOldGenerationSizeMb: memoryMb } };
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL(`${entry.href}.js`), options);
  const module = JSON.stringify(`${entry.href}.ts`);
  return new Worker(`import('tsx/esm/api').then(({ register }) => { register(); return import(${module}); })`, { ...options, eval: true });
}

/**
 * A worker thread that runs one task at a time, in turns (turns.ts), for work that would block the event loop. It starts with the first task, and
 * again after an overrun; it does not keep the process running.
 *
 * The limit of memory is a last resort: a single allocation far beyond it aborts the whole process, so tasks bound what they allocate.
 */
export class Thread<T extends Tasks> {
  private readonly options: ThreadOptions;
  private readonly turns = new Turns();
  private worker: Promise<Worker> | undefined;

  constructor(options: ThreadOptions) {
    this.options = options;
  }

  /** Runs a task. Throws an Overrun, or what the task throws. */
  async run<N extends keyof T & string>(name: N, input: Parameters<T[N]>[0]): Promise<ReturnType<T[N]>> {
    const reply = await this.turns.run(() => this.send({ name, input }));
    if ('error' in reply) throw reply.error;
    return reply.result as ReturnType<T[N]>;
  }

  private async send(order: Order): Promise<Reply> {
    this.worker ??= this.start();
    const worker = await this.worker;
    const begun = performance.now();
    worker.ref();
    worker.postMessage(order);
    try {
      const [reply] = (await once(worker, 'message', { signal: AbortSignal.timeout(this.options.timeMs) })) as [Reply];
      return reply;
    } catch (error) {
      this.worker = undefined;
      await worker.terminate();
      throw isOverrun(error) ? new Overrun(this.options.overrun, error) : error;
    } finally {
      noteTaskMs(performance.now() - begun);
      worker.unref();
    }
  }

  /** Resolves once the thread has loaded its modules, so that the time of a task is its own. */
  private async start(): Promise<Worker> {
    const worker = startWorker(this.options);
    worker.on('error', () => (this.worker = undefined));
    await once(worker, 'message');
    return worker;
  }
}
