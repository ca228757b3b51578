import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Redis } from 'ioredis';
import { keyNames, partitionPrefix } from '../src/redis/contract.js';
import { settingsSchema } from '../src/app/settings.js';
import { eventSequence, type BenchmarkEvent } from './events.js';
import { listening, startProcess } from './laurel.js';
import { load, type LoadResult } from './load.js';
import { type Processes, type RunningProcess } from './processes.js';
import { comparison, roundLine, roundsHeader } from './report.js';
import { inWorkshop } from './workshop.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const apiKey = 'benchmark.0123456789abcdef';
export const path = '/v1/metrics/flashcards-viewed/event';
/** Any number would do; it is the same for both sides and in every run. */
export const seed = 20_260_101;
/** How long the write-behind may take to commit a round, and how often to look. */
const drainMs = 120_000;
const drainPollMs = 10;

export interface TrackOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/** One of the two servers, and the events that it gets. */
interface Side {
  readonly name: string;
  readonly server: RunningProcess;
  readonly url: string;
  readonly nextEvent: () => BenchmarkEvent;
}

/** Compares Laurel with a server that does no work of its own. Returns whether every event of every round was answered with a 2xx. */
export function track(options: TrackOptions): Promise<boolean> {
  return inWorkshop(options.print, async ({ folder, redisUrl, redis, processes }) => {
    const laurel = await startLaurel(folder, processes, options.signal);
    const bare = await startBareServer(redisUrl, processes, options.signal);
    return compare(options, laurel, bare, redis);
  });
}

/** Laurel with stores of its own; the sample configuration is applied because the account is empty. */
export async function startLaurel(dataDir: string, processes: Processes, signal: AbortSignal): Promise<Side> {
  const server = await startProcess({ dataDir, apiKey }, processes, signal);
  return { name: 'Laurel', server, url: server.readyText, nextEvent: eventSequence(seed) };
}

async function startBareServer(redisUrl: string, processes: Processes, signal: AbortSignal): Promise<Side> {
  const server = await processes.start(
    {
      name: 'The bare server',
      command: process.execPath,
      args: ['--import', import.meta.resolve('tsx'), join(root, 'benchmarks/bare-server.ts'), redisUrl],
      channel: true,
      ready: listening,
    },
    signal,
  );
  return { name: 'bare', server, url: server.readyText, nextEvent: eventSequence(seed) };
}

/**
 * The rounds: A, B, A, B … The first of each is the warm-up, which is printed and not counted. The bare server answers with as many bytes as
 * Laurel did in the round before, on average, since answers get shorter as levels and ranks change less often.
 */
async function compare(options: TrackOptions, laurel: Side, bare: Side, redis: Redis): Promise<boolean> {
  const results: { laurel: LoadResult[]; bare: LoadResult[] } = { laurel: [], bare: [] };
  let failed = 0;
  options.print(roundsHeader);
  for (let round = 0; round <= options.rounds; round += 1) {
    const a = await load({ ...options, ...laurel, path, apiKey });
    // Otherwise what Laurel has left to do would slow down its rival.
    const drainedMs = await untilDrained(redis, options.signal);
    await setAnswerBytes(bare, Math.round(a.answerBytes), options.signal);
    const b = await load({ ...options, ...bare, path, apiKey });
    const label = round === 0 ? 'warm-up' : String(round);
    options.print(roundLine(label, laurel.name, a, drainedMs));
    options.print(roundLine(label, bare.name, b));
    failed += a.failed + b.failed;
    if (round > 0) {
      results.laurel.push(a);
      results.bare.push(b);
    }
  }
  options.print(comparison(results.laurel, results.bare));
  options.print(`Events without a 2xx: ${failed}`);
  if (failed > 0) for (const { name, server } of [laurel, bare]) options.print(`The last output of ${name}:\n${server.output()}`);
  return failed === 0;
}

async function setAnswerBytes({ server }: Side, answerBytes: number, signal: AbortSignal): Promise<void> {
  const acknowledged = once(server.child, 'message', { signal });
  server.child.send({ answerBytes });
  await acknowledged;
}

/**
 * Waits until the write-behind has committed all that Laurel has acknowledged, and returns how long that took. It trims what it has
 * committed off the stream.
 */
export async function untilDrained(redis: Redis, signal: AbortSignal): Promise<number> {
  const ledger = partitionPrefix(settingsSchema.parse({}).REDIS_PREFIX, 1) + keyNames.ledger;
  const start = performance.now();
  while ((await redis.xlen(ledger)) > 0) {
    if (performance.now() - start > drainMs) throw new Error(`The write-behind did not drain within ${drainMs / 1_000} s.`);
    await delay(drainPollMs, undefined, { signal });
  }
  return performance.now() - start;
}
