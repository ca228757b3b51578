import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { Client } from 'undici';
import { defaultTenant } from '../../src/access/tenants.js';
import { settingsSchema } from '../../src/app/settings.js';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { eventSequence, seed } from '../load/events.js';
import { load, type LoadRequest, type LoadResult } from '../load/load.js';
import type { RunningProcess } from '../servers/children.js';
import { apiKey } from '../servers/laurel.js';
import { untilDrained, withOwnStack } from '../servers/stack.js';
import { judge, type Series } from './trend.js';

export interface SoakOptions {
  readonly minutes: number;
  /** Length of the measurement of what the service can do. */
  readonly capacitySeconds: number;
  readonly connections: number;
  /** Another script of the `laurel` command, such as that of an unpacked release. */
  readonly program?: string;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

const probe = fileURLToPath(new URL('memory-probe.mjs', import.meta.url));
const sampleMs = 1_000;
/** Full collections take the service's time, so there are only so many of them. */
const collections = 60;
const shortestCollectionMs = 3_000;
const mib = 1024 * 1024;

/** Memory of all processes of the service, in bytes. */
interface Usage {
  readonly rss: number;
  readonly heapUsed: number;
}

interface Subject {
  readonly server: RunningProcess;
  /** Where each process of the service has its socket (memory-probe.mjs). */
  readonly probes: string;
  readonly redis: Redis;
  readonly next: () => LoadRequest;
}

/**
 * Measures what the service can do, then loads it with half of that for a time. Returns whether memory and stream stayed flat and
 * every event got a 2xx.
 */
export function soak(options: SoakOptions): Promise<boolean> {
  return withOwnStack(options.signal, async ({ folder, redis, serve }) => {
    const probes = join(folder, 'probes');
    await mkdir(probes);
    const { program } = options;
    const server = await serve({
      env: { LOG_LEVEL: 'warn', MEMORY_PROBES: probes },
      nodeArgs: ['--expose-gc', '--import', probe],
      ...(program !== undefined && { program }),
    });
    return measure(options, { server, probes, redis, next: eventSequence(seed) });
  });
}

async function measure(options: SoakOptions, subject: Subject): Promise<boolean> {
  const { minutes, capacitySeconds, print, signal } = options;
  const send = (seconds: number, rate?: number): Promise<LoadResult> =>
    load({ ...options, next: subject.next, url: subject.server.readyText, apiKey, seconds, ...(rate !== undefined && { rate }) });
  const warm = await send(Math.ceil(capacitySeconds / 2));
  const capacity = await send(capacitySeconds);
  await untilDrained(subject.redis, signal);
  const rate = Math.max(1, Math.round(capacity.ratePerS / 2));
  print(`Capacity: ${capacity.ratePerS.toFixed(0)} events/s over ${options.connections} connections. ${rate} events/s for ${minutes} min.`);

  const watching = new AbortController();
  const watched = watch(subject, minutes * 60_000, watching.signal);
  const result = await send(minutes * 60, rate).finally(() => watching.abort());
  const series = await watched;
  const drainedMs = await untilDrained(subject.redis, signal);
  const failed = warm.failed + capacity.failed + result.failed;
  return report(options, subject, { series, result, rate, failed, drainedMs });
}

interface Outcome {
  readonly series: readonly Series[];
  readonly result: LoadResult;
  readonly rate: number;
  readonly failed: number;
  readonly drainedMs: number;
}

function report({ print }: SoakOptions, { server }: Subject, { series, result, rate, failed, drainedMs }: Outcome): boolean {
  print(
    `${result.answered} events answered, ${result.ratePerS.toFixed(0)} a second of ${rate}; p50 ${result.p50Ms.toFixed(1)} ms, ` +
      `p99 ${result.p99Ms.toFixed(1)} ms, longest ${result.maxMs.toFixed(0)} ms; drained ${drainedMs.toFixed(0)} ms after the end.`,
  );
  const trends = series.map(judge);
  for (const { line } of trends) print(line);
  const complaints = server.output().match(/^\{"level":[4-6]0.*$/gm) ?? [];
  print(`Events without a 2xx: ${failed}. Warnings and errors in the log: ${complaints.length}.`);
  for (const line of complaints.slice(-10)) print(line);
  return failed === 0 && complaints.length === 0 && trends.every(({ isFlat }) => isFlat);
}

/** Samples the service until aborted: memory and stream every second, the heap after a full collection less often. */
async function watch({ probes, redis }: Subject, durationMs: number, signal: AbortSignal): Promise<Series[]> {
  const ledger = partitionPrefix(settingsSchema.parse({}).REDIS_PREFIX, defaultTenant) + keyNames.ledger;
  const collectMs = Math.max(shortestCollectionMs, durationMs / collections);
  const [rss, heap, stream]: { atS: number; value: number }[][] = [[], [], []];
  const started = performance.now();
  let collected = -Infinity;
  while (!signal.aborted) {
    const now = performance.now();
    const atS = (now - started) / 1_000;
    const collect = now - collected >= collectMs;
    // Before the collection: afterwards some of it is given back.
    const [usage, entries] = await Promise.all([usageOf(probes, false), redis.xlen(ledger)]);
    rss?.push({ atS, value: usage.rss });
    stream?.push({ atS, value: entries });
    if (collect) {
      collected = now;
      heap?.push({ atS, value: (await usageOf(probes, true)).heapUsed });
    }
    await delay(sampleMs, undefined, { signal }).catch(() => undefined);
  }
  return [
    { name: 'Memory of the service (RSS)', unit: [mib, 'MiB'], allowed: [0.1, 24 * mib], points: rss ?? [] },
    { name: 'Its heap after a full collection', unit: [mib, 'MiB'], allowed: [0.1, 4 * mib], points: heap ?? [] },
    { name: 'Stream', unit: [1, 'entries'], allowed: [1, 500], points: stream ?? [] },
  ];
}

/** The sum over the processes of the service; of the heap, what a full collection leaves. */
async function usageOf(probes: string, collect: boolean): Promise<Usage> {
  const usages = await Promise.all((await readdir(probes)).map((socket) => usageAt(join(probes, socket), collect)));
  const sum = (of: (usage: Usage) => number): number => usages.reduce((all, usage) => all + of(usage), 0);
  return { rss: sum(({ rss }) => rss), heapUsed: sum(({ heapUsed }) => heapUsed) };
}

async function usageAt(socketPath: string, collect: boolean): Promise<Usage> {
  const client = new Client('http://localhost', { socketPath });
  try {
    const { body } = await client.request({ method: 'GET', path: collect ? '/collected' : '/' });
    return (await body.json()) as Usage;
  } finally {
    await client.close();
  }
}
