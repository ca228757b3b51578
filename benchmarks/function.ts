import type { Redis } from 'ioredis';
import type { Engine } from '../src/engine/engine.js';
import { trackEvent, type EventRequest } from '../src/engine/events.js';
import { keyNames } from '../src/redis/contract.js';
import { inside, Monitor } from '../test/support/monitor.js';
import { statsOf, total, type CommandStats } from './command-stats.js';
import { engineAlone } from './engine-alone.js';
import { eventRequests, seed, users, workloadConfig } from './function-workload.js';
import { inNewRedis } from './new-redis.js';
import { functionReport, type Round } from './function-report.js';

/** The words of one command. */
type Words = readonly Buffer[];

/** Two tenants get the same events: one is measured, and of the other MONITOR shows what the function does. */
const measured = 1;
const watched = 2;
/** Not a tenant: where the commands that were seen are made again, so that it is always in the state that the other two are in. */
const replayed = 3;
/** Events that are sent at once, in one pipeline: few, so that Redis is done with them before something else is given its core. */
export const batchEvents = 10;
/** Each user has had so many events on average before the first round: boards are full, lists of awards have a usual length. */
export const eventsBeforehand = 6;

export interface FunctionOptions {
  readonly rounds: number;
  readonly events: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/** Measures the function inside Redis against the commands that it makes. */
export async function measureFunction(options: FunctionOptions): Promise<void> {
  await inNewRedis(async (redis, url) => {
    const monitored = (work: () => Promise<void>): Promise<Words[]> => whatFunctionsDo(url, redis, work);
    await new Comparison(redis, options, monitored).run();
  }, options.print);
}

async function whatFunctionsDo(url: string, redis: Redis, work: () => Promise<void>): Promise<Words[]> {
  const monitor = await Monitor.start(url);
  try {
    return inside(await monitor.during((mark) => redis.echo(mark), work)).map(({ words }) => words);
  } finally {
    monitor.stop();
  }
}

class Comparison {
  private readonly redis: Redis;
  private readonly options: FunctionOptions;
  private readonly monitored: (work: () => Promise<void>) => Promise<Words[]>;
  private readonly engine: Engine;
  private readonly nextEvent = eventRequests(seed);

  constructor(redis: Redis, options: FunctionOptions, monitored: (work: () => Promise<void>) => Promise<Words[]>) {
    this.redis = redis;
    this.options = options;
    this.monitored = monitored;
    this.engine = engineAlone(redis, workloadConfig);
  }

  async run(): Promise<void> {
    const { options } = this;
    await this.engine.loadLibrary();
    // The plan, the zones: what is stored once is no part of an event. The floor needs it too, to read it as the function does.
    for (let sent = 0; sent < users * eventsBeforehand; sent += users) await this.round(users, 0);
    const rounds: Round[] = [];
    for (let no = 1; no <= options.rounds; no += 1) {
      options.signal.throwIfAborted();
      rounds.push(await this.round(options.events, no));
    }
    options.print(functionReport(rounds));
  }

  /** The same events on both sides. The first side alternates by round. */
  private async round(count: number, no: number): Promise<Round> {
    const requests = Array.from({ length: count }, this.nextEvent);
    const commands = await this.monitored(() => this.send(watched, requests));
    const own = this.moved(commands);
    let inFunction: CommandStats = new Map();
    let alone: CommandStats = new Map();
    const sides = [
      async () => (inFunction = await statsOf(this.redis, () => this.send(measured, requests))),
      async () => (alone = await statsOf(this.redis, () => this.replay(own, count))),
    ];
    if (no % 2 === 0) sides.reverse();
    for (const side of sides) await side();
    // As the write-behind would.
    for (const tenant of [measured, watched, replayed])
      await this.redis.xtrim(this.engine.partition(tenant) + keyNames.ledger, 'MAXLEN', 1);
    return { events: count, inFunction, alone, calls: total(alone).calls };
  }

  private async send(tenant: number, requests: readonly EventRequest[]): Promise<void> {
    for (let first = 0; first < requests.length; first += batchEvents) {
      await Promise.all(requests.slice(first, first + batchEvents).map((request) => trackEvent(this.engine, tenant, request)));
    }
  }

  /** The commands, on the keys of the third partition. */
  private moved(commands: readonly Words[]): Buffer[][] {
    const [from, to] = [watched, replayed].map((tenant) => Buffer.from(this.engine.partition(tenant)));
    if (!from || !to) return [];
    return commands.map((words) =>
      words.map((word) => (word.subarray(0, from.length).equals(from) ? Buffer.concat([to, word.subarray(from.length)]) : word)),
    );
  }

  private async replay(commands: readonly (readonly Buffer[])[], events: number): Promise<void> {
    const size = Math.ceil((commands.length * batchEvents) / events);
    for (let first = 0; first < commands.length; first += size) {
      const pipeline = this.redis.pipeline();
      for (const [name, ...words] of commands.slice(first, first + size)) pipeline.call(String(name), ...words);
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
    }
  }
}
