import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RunningProcess } from './children.js';
import type { BareMessage } from './bare-server.js';
import { listening } from './laurel.js';
import type { Stack } from './stack.js';

const program = fileURLToPath(new URL('bare-server.js', import.meta.url)).replace(/js$/, 'ts');

/** The floor of the benchmarks over HTTP: what the same stack does without Laurel (bare-server.ts). */
export class BareServer {
  readonly server: RunningProcess;
  private readonly signal: AbortSignal;

  private constructor(server: RunningProcess, signal: AbortSignal) {
    this.server = server;
    this.signal = signal;
  }

  /** Starts one on the Redis of a stack. */
  static async start({ redisUrl, processes }: Stack, signal: AbortSignal): Promise<BareServer> {
    const server = await processes.start(
      {
        name: 'The bare server',
        command: process.execPath,
        args: ['--import', import.meta.resolve('tsx'), program, redisUrl],
        channel: true,
        ready: listening,
      },
      signal,
    );
    return new BareServer(server, signal);
  }

  /** Makes its responses as long as Laurel's were on average. */
  async answer(bytes: number): Promise<void> {
    const { child } = this.server;
    const acknowledged = once(child, 'message', { signal: this.signal });
    child.send({ answerBytes: Math.round(bytes) } satisfies BareMessage);
    await acknowledged;
  }
}
