import { batchSequence, eventSequence, seed } from '../load/events.js';
import { load, type LoadRequest, type LoadResult } from '../load/load.js';
import { readStats } from '../measure/command-stats.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import type { RunningProcess } from '../servers/children.js';
import { apiKey } from '../servers/laurel.js';
import { untilDrained, withStacks, type Stack } from '../servers/stack.js';

const batchEvents = 1_000;
/** Connections that send batches, and those that send single events when it is measured how long these take. */
const batchConnections = 2;
const fewConnections = 4;
const single = 'single events';
const batches = `batches of ${batchEvents}`;
const alone = `${fewConnections} connections, alone`;
const beside = `${fewConnections} connections beside batches`;

type Names = 'rounds' | 'seconds' | 'connections';
type Load = (connections: number, next: () => LoadRequest) => Promise<LoadResult>;

/** The cases of one Laurel. */
function standsOf(bench: Bench<Names>, stack: Stack, server: RunningProcess): Stand<Figures>[] {
  const { side, redis } = stack;
  const nextEvent = eventSequence(seed);
  const nextBatch = batchSequence(seed, batchEvents);
  const send: Load = async (connections, next) => {
    const result = await load({ url: server.readyText, apiKey, connections, next, seconds: bench.option('seconds'), signal: bench.signal });
    bench.fail(result.failed);
    return result;
  };
  const drained = async (result: LoadResult, events = 1): Promise<Figures> => {
    await untilDrained(redis, bench.signal);
    return { eventsPerS: result.ratePerS * events, p50Ms: result.p50Ms, p99Ms: result.p99Ms };
  };
  return [
    { case: single, side, measure: async () => drained(await send(bench.option('connections'), nextEvent)) },
    {
      ...{ case: batches, side },
      measure: async () => {
        const before = await readStats(redis);
        const result = await send(batchConnections, nextBatch);
        const after = await readStats(redis);
        const us = (after.get('fcall')?.us ?? NaN) - (before.get('fcall')?.us ?? 0);
        const functionUs = us / (result.answered * batchEvents);
        const figures = await drained(result, batchEvents);
        return { ...figures, functionUs, busyShare: ((figures.eventsPerS ?? NaN) * functionUs) / 1e6 };
      },
    },
    { case: alone, side, measure: async () => drained(await send(fewConnections, nextEvent)) },
    {
      ...{ case: beside, side },
      measure: async () => {
        const [few] = await Promise.all([send(fewConnections, nextEvent), send(1, nextBatch)]);
        return drained(few);
      },
    },
  ];
}

export const batch = defineKind({
  name: 'batch',
  summary: `events a second in batches of ${batchEvents}, in turn with the same events one by one`,
  options: {
    rounds: { text: 'rounds that count', value: 3, tiny: 1 },
    seconds: { text: 'length of each part of a round', value: 4, tiny: 0.3 },
    connections: { text: 'connections that send single events', value: 64, tiny: 8 },
  },
  figures: [
    { key: 'eventsPerS', title: 'events', unit: '1/s', decimals: 0 },
    { key: 'p50Ms', title: 'p50 of a request', unit: 'ms', decimals: 2 },
    { key: 'p99Ms', title: 'p99 of a request', unit: 'ms', decimals: 2 },
    { key: 'functionUs', title: 'time in the function', unit: 'µs an event', decimals: 1 },
    { key: 'busyShare', title: 'share of the time in the function', unit: '', decimals: 3 },
  ],
  targets: [
    { title: 'events/s in batches × function time', unit: '', atLeast: 0.85, of: (all) => all.median(batches, 'busyShare') },
    {
      ...{ title: 'events/s in batches ÷ one by one', unit: '' },
      of: (all) => (all.median(batches, 'eventsPerS') ?? NaN) / (all.median(single, 'eventsPerS') ?? NaN),
    },
  ],
  run: (bench) =>
    withStacks(bench, async (stacks) => {
      const stands: Stand<Figures>[] = [];
      for (const stack of stacks) stands.push(...standsOf(bench, stack, await stack.serve()));
      await bench.rounds(stands, { rounds: bench.option('rounds'), warmUps: bench.isTiny ? 0 : 1 });
    }),
});
