import type { Redis } from 'ioredis';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { inside, Monitor } from '../../test/support/monitor.js';
import { statsOf, total } from '../measure/command-stats.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import { users } from '../load/workload.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import { redisCpuS } from '../servers/cpu.js';
import { inNewRedises, type NewRedis } from '../servers/new-redis.js';
import { enginePrefix } from '../sides/make-engine.js';
import type { SideKeys } from '../sides/side-work.js';
import { withSides, type Side } from '../sides/sides.js';

/** Two tenants get the same events: one is measured, and of the other MONITOR shows what the function does. */
const measured = 1;
const watched = 2;
/** Not a tenant: where the commands that were seen are made again, so that it is always in the state that the other two are in. */
const replayed = partitionPrefix(enginePrefix, 3);
/** Events that are sent at once, in one pipeline: few, so that Redis is done with them before something else is given its core. */
const atOnce = 10;
/** Each user has had so many events on average before the first round: boards are full, lists of awards have a usual length. */
const eventsBeforehand = 6;
const name = 'the wide workload';

/** The words of one command. */
type Words = readonly Buffer[];
type Names = 'rounds' | 'events' | 'starts';

/** A partition of one side, and its Redis. */
interface Filled extends NewRedis {
  readonly side: Side;
  readonly keys: SideKeys;
}

/** What Redis takes for work of some events: in commands and functions, and CPU of the thread that executes them. */
async function costOf(redis: Redis, events: number, work: () => Promise<unknown>): Promise<Figures> {
  const cpuS = await redisCpuS(redis, 'main');
  const stats = await statsOf(redis, work);
  const cpuUs = (((await redisCpuS(redis, 'main')) - cpuS) * 1e6) / events;
  const nested = total(stats, ['fcall']);
  const whole = stats.get('fcall');
  return { commands: nested.calls / events, commandsUs: nested.us / events, functionUs: (whole ?? nested).us / events, cpuUs };
}

/** The ledger keeps one entry, as behind a write-behind. */
const trim = (redis: Redis, ledger: string): Promise<unknown> => redis.xtrim(ledger, 'MAXLEN', 1);

class Partition {
  private readonly filled: Filled;

  constructor(filled: Filled) {
    this.filled = filled;
  }

  /** Opens a partition and lets each user have the events before the first round. */
  static async fill(side: Side, { redis, redisUrl }: NewRedis, tenant: number): Promise<Partition> {
    const keys = await side.ask('open', { redisUrl, sequence: {}, tenant });
    return new Partition({ side, redis, redisUrl, keys });
  }

  async send(events: number, each: number = atOnce): Promise<void> {
    await this.filled.side.ask('send', { opened: this.filled.keys.opened, events, atOnce: each });
  }

  async measure(events: number): Promise<Figures> {
    const { redis, keys } = this.filled;
    const figures = await costOf(redis, events, () => this.send(events));
    await trim(redis, keys.ledger);
    return figures;
  }

  /** Sends events and returns the commands that the function made for them, on the keys of the third partition. */
  async watch(events: number): Promise<Words[]> {
    const { redis, redisUrl, keys } = this.filled;
    const monitor = await Monitor.start(redisUrl);
    try {
      const seen = inside(
        await monitor.during(
          (mark) => redis.echo(mark),
          () => this.send(events),
        ),
      );
      await trim(redis, keys.ledger);
      const [from, to] = [Buffer.from(keys.partition), Buffer.from(replayed)];
      const moved = (word: Buffer): Buffer =>
        word.subarray(0, from.length).equals(from) ? Buffer.concat([to, word.subarray(from.length)]) : word;
      return seen.map(({ words }) => words.map(moved));
    } finally {
      monitor.stop();
    }
  }
}

/** Makes commands in pipelines that each hold those of `atOnce` events. */
async function replay(redis: Redis, commands: readonly Words[], events: number): Promise<void> {
  const size = Math.ceil((commands.length * atOnce) / events);
  for (let first = 0; first < commands.length; first += size) {
    const pipeline = redis.pipeline();
    for (const [command, ...words] of commands.slice(first, first + size)) pipeline.call(String(command), ...words);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}

/** The commands of our function, made without it: the lower bound for any Lua that makes these commands. */
async function floorStand(side: Side, store: NewRedis, events: number): Promise<Stand<Figures>> {
  const partition = await Partition.fill(side, store, watched);
  const { redis } = store;
  const round = async (count: number): Promise<Figures> => {
    const commands = await partition.watch(count);
    const figures = await costOf(redis, count, () => replay(redis, commands, count));
    await trim(redis, replayed + keyNames.ledger);
    return figures;
  };
  for (let sent = 0; sent < users * eventsBeforehand; sent += users) await round(users);
  return { case: name, side: 'floor', measure: () => round(events) };
}

async function sideStand(side: Side, store: NewRedis, events: number): Promise<Stand<Figures>> {
  const partition = await Partition.fill(side, store, measured);
  for (let sent = 0; sent < users * eventsBeforehand; sent += users) await partition.send(users, 10 * atOnce);
  return { case: name, side: side.name, measure: () => partition.measure(events) };
}

/** Measures with servers that have just been started: what lies where in memory differs between two servers and stays the same while they run. */
async function measureOnce(bench: Bench<Names>, sides: readonly Side[], start: number): Promise<void> {
  const events = bench.option('events');
  await inNewRedises(sides.length, async (stores) => {
    const placed = start % 2 === 0 ? stores : stores.toReversed();
    const stands: Stand<Figures>[] = [];
    for (const [no, side] of sides.entries()) {
      const store = placed[no];
      if (!store) continue;
      stands.push(await sideStand(side, store, events));
      if (no === 0) stands.push(await floorStand(side, store, events));
    }
    await bench.rounds(stands, { rounds: bench.option('rounds') });
  });
}

export const functionKind = defineKind({
  name: 'function',
  summary: 'µs an event inside Redis, in turn with the commands that the function makes for it',
  options: {
    rounds: { text: 'rounds of each side that count, after each start', value: 30, tiny: 2 },
    events: { text: 'events of a round', value: 100, tiny: 20 },
    starts: { text: 'how many times the servers are started', value: 2, tiny: 1 },
  },
  figures: [
    { key: 'functionUs', title: 'time in Redis', unit: 'µs an event', decimals: 2 },
    { key: 'commandsUs', title: 'of it in commands', unit: 'µs an event', decimals: 2 },
    { key: 'cpuUs', title: "CPU of Redis' main thread", unit: 'µs an event', decimals: 2 },
    { key: 'commands', title: 'commands', unit: 'an event', decimals: 2 },
  ],
  targets: [],
  run: async (bench) => {
    for (let start = 0; start < bench.option('starts'); start += 1) {
      await withSides(bench, (sides) => measureOnce(bench, sides, start));
    }
  },
});
