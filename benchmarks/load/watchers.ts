import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Processes, RunningProcess } from '../servers/children.js';
import { apiKey } from '../servers/laurel.js';
import type { ProbeEvent, Watch, WatchCommand, WatchReply, WatchReport } from './watching.js';

const program = fileURLToPath(new URL('watching.js', import.meta.url)).replace(/js$/, 'ts');

/** Connections that watch live leaderboards, in a process of their own (watching.ts). */
export class Watchers {
  private readonly running: RunningProcess;
  private readonly signal: AbortSignal;

  private constructor(running: RunningProcess, signal: AbortSignal) {
    this.running = running;
    this.signal = signal;
  }

  static async start(processes: Processes, signal: AbortSignal): Promise<Watchers> {
    const args = ['--import', import.meta.resolve('tsx'), program];
    const how = { name: 'The process of the watchers', command: process.execPath, args, channel: true, ready: /ready/ };
    return new Watchers(await processes.start(how, signal), signal);
  }

  /** Opens connections, and waits for the first message on each. */
  async open(url: string, watches: readonly Watch[]): Promise<void> {
    await this.send({ do: 'open', url, apiKey, watches });
  }

  /** Counts from now on. */
  async begin(): Promise<void> {
    await this.send({ do: 'begin' });
  }

  /** What has arrived since `begin`, while there were these events of the probes. */
  async report(events: readonly ProbeEvent[]): Promise<WatchReport> {
    const { report } = await this.send({ do: 'report', events });
    if (!report) throw new Error('The watchers have sent no report.');
    return report;
  }

  async close(): Promise<void> {
    await this.send({ do: 'close' });
  }

  private async send(command: WatchCommand): Promise<WatchReply> {
    const { child } = this.running;
    const replied = once(child, 'message', { signal: this.signal });
    child.send(command);
    const [reply] = (await replied) as [WatchReply];
    if (reply.problem !== undefined) throw new Error(reply.problem);
    return reply;
  }
}
