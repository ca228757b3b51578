import { batchSequence, eventSequence } from './events.js';
import { load, type LoadOptions, type LoadResult } from './load.js';
import { median } from './stats.js';
import { apiKey, path, seed, startLaurel, untilDrained } from './track.js';
import { inWorkshop } from './workshop.js';

const batchPath = '/admin/v1/metrics/events';
const batchEvents = 1_000;
/** Connections that send batches, and those that send single events when it is looked at how long these take. */
const batchConnections = 2;
const besideConnections = 4;

export interface BatchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

interface Round {
  readonly single: LoadResult;
  readonly batch: LoadResult;
  /** A few single events, alone and beside a client that sends batches. */
  readonly alone: LoadResult;
  readonly beside: LoadResult;
}

/** Compares batches of events with the same events one by one, on one Laurel. Returns whether everything was answered with a 2xx. */
export function batch(options: BatchOptions): Promise<boolean> {
  return inWorkshop(options.print, async ({ folder, redis, processes }) => {
    const { url } = await startLaurel(folder, processes, options.signal);
    return compare(options, url, () => untilDrained(redis, options.signal));
  });
}

async function compare({ rounds, print, ...options }: BatchOptions, url: string, drained: () => Promise<unknown>): Promise<boolean> {
  const [nextEvent, nextBatch] = [eventSequence(seed), batchSequence(seed, batchEvents)];
  const measured = async (more: Pick<LoadOptions, 'path' | 'connections' | 'nextEvent'>): Promise<LoadResult> => {
    const result = await load({ ...options, url, apiKey, ...more });
    await drained();
    return result;
  };
  const counted: Round[] = [];
  let failed = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const single = await measured({ path, connections: options.connections, nextEvent });
    const batches = await measured({ path: batchPath, connections: batchConnections, nextEvent: nextBatch });
    const few = { path, connections: besideConnections, nextEvent };
    const alone = await measured(few);
    const [beside, others] = await Promise.all([
      load({ ...options, url, apiKey, ...few }),
      load({ ...options, url, apiKey, path: batchPath, connections: 1, nextEvent: nextBatch }),
    ]);
    await drained();
    failed += [single, batches, alone, beside, others].reduce((sum, result) => sum + result.failed, 0);
    const result = { single, batch: batches, alone, beside };
    print(line(round === 0 ? 'warm-up' : String(round), result));
    if (round > 0) counted.push(result);
  }
  const rate = (of: (round: Round) => number): number => median(counted.map(of));
  const [singles, inBatches] = [rate(({ single }) => single.eventsPerS), rate(({ batch: { eventsPerS } }) => eventsPerS * batchEvents)];
  print(`Medians: ${singles.toFixed(0)} single events/s, ${inBatches.toFixed(0)} events/s in batches of ${batchEvents}`);
  print(`Batches / single events: ${(inBatches / singles).toFixed(2)}`);
  print(`Requests without a 2xx: ${failed}`);
  return failed === 0;
}

function line(round: string, { single, batch: inBatches, alone, beside }: Round): string {
  return [
    round.padStart(8),
    `single ${single.eventsPerS.toFixed(0)} events/s`,
    `batches ${(inBatches.eventsPerS * batchEvents).toFixed(0)} events/s, p50 ${inBatches.p50Ms.toFixed(1)} ms a batch`,
    `few single events: p50 ${alone.p50Ms.toFixed(1)} p99 ${alone.p99Ms.toFixed(1)} ms alone`,
    `p50 ${beside.p50Ms.toFixed(1)} p99 ${beside.p99Ms.toFixed(1)} ms beside batches`,
  ].join('; ');
}
