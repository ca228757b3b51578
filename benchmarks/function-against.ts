import type { Redis } from 'ioredis';
import { redisCpuS, statsOf } from './command-stats.js';
import { batchEvents, eventsBeforehand } from './function.js';
import { users } from './function-workload.js';
import { inTurn, pairReport, type Measure } from './pairs.js';
import type { SideKeys } from './side-work.js';
import { onNewRedises, standsOf, withSides, type AgainstOptions, type Side, type Stand } from './sides.js';

const fillAtOnce = 100;

export interface FunctionAgainstOptions extends AgainstOptions {
  readonly against: string;
  readonly starts: number;
  readonly rounds: number;
  readonly events: number;
}

/** A side that has users, and the name of its ledger. */
interface Filled {
  readonly side: Side;
  readonly redis: Redis;
  readonly ledger: string;
}

/** What Redis took for an event in one round. */
interface Round {
  /** In the function, on the clock. */
  readonly functionUs: number;
  /** Of CPU in the main thread, which also reads the call and sends its reply. */
  readonly cpuUs: number;
}

const measures: readonly Measure<Round>[] = [
  { title: 'the function, µs an event', decimals: 2, of: ({ functionUs }) => functionUs },
  { title: "CPU of Redis' main thread, µs an event", decimals: 2, of: ({ cpuUs }) => cpuUs },
];

/** Measures the function inside Redis against that of another checkout, on the same events. */
export async function measureFunctionAgainst(options: FunctionAgainstOptions): Promise<void> {
  const { starts, rounds, events, signal, print } = options;
  const all: Round[][] = [[], []];
  await withSides(options, async (sides) => {
    for (let start = 0; start < starts; start += 1) {
      // What lies where in memory differs between two servers and stays the same for as long as they run.
      const some = await onNewRedises(sides.length, async (stores) => {
        const filled: Filled[] = [];
        for (const stand of standsOf(sides, start % 2 === 0 ? stores : stores.toReversed())) filled.push(await fill(stand));
        return inTurn(filled, rounds, (side) => {
          signal.throwIfAborted();
          return measure(side, events);
        });
      });
      for (const [no, results] of some.entries()) all[no]?.push(...results);
      print(`Servers ${start + 1} of ${starts}:${pairReport(some, measures)}\n`);
    }
  });
  print(`All rounds (${starts * rounds} of ${events} events):${pairReport(all, measures)}`);
}

async function fill({ side, redis, redisUrl }: Stand): Promise<Filled> {
  const { ledger }: SideKeys = await side.ask('open', { redisUrl, sequence: {} });
  for (let sent = 0; sent < users * eventsBeforehand; sent += users) await side.ask('send', { events: users, atOnce: fillAtOnce });
  await trim(redis, ledger);
  return { side, redis, ledger };
}

async function measure({ side, redis, ledger }: Filled, events: number): Promise<Round> {
  const cpuS = await redisCpuS(redis);
  const stats = await statsOf(redis, () => side.ask('send', { events, atOnce: batchEvents }));
  const tookS = (await redisCpuS(redis)) - cpuS;
  await trim(redis, ledger);
  return { functionUs: (stats.get('fcall')?.us ?? NaN) / events, cpuUs: (tookS * 1e6) / events };
}

/** As the write-behind would. */
async function trim(redis: Redis, ledger: string): Promise<void> {
  await redis.xtrim(ledger, 'MAXLEN', 1);
}
