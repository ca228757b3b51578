import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { trackEvent } from '../../src/engine/events.js';
import { reads } from '../kinds/reads.js';
import { eventSequence, seed } from '../load/events.js';
import { fill } from '../load/fill.js';
import type { LoadRequest } from '../load/load.js';
import { eventRequests, users, workloadConfig } from '../load/workload.js';
import { readStats, statsOf, total, type CommandStats } from '../measure/command-stats.js';
import { apiKey } from '../servers/laurel.js';
import { inNewRedis } from '../servers/new-redis.js';
import { withOwnStack } from '../servers/stack.js';
import { engineAlone } from '../sides/engine-alone.js';
import { writeFile } from './run-file.js';

/** What was counted, by what it is. */
export type Counts = Readonly<Record<string, number>>;

const file = fileURLToPath(new URL('../counts.json', import.meta.url));
const noonMs = Date.parse('2040-01-02T12:00:00Z');
const tenant = 1;
/** Events of the workload before those that are counted: each user has had two. */
const beforehand = 2 * users;
const counted = 1_000;
const atOnce = 100;
/** Requests of a kind. More than the commands that the service sends for none of them, which are left out by rounding down. */
const requests = 300;
const filledEvents = 5_000;

/** Commands that the function makes for an event of the wide workload, on average. The clock stands still, so every run counts the same. */
function commandsOfEvents(): Promise<Counts> {
  return inNewRedis(async (redis) => {
    const engine = engineAlone(redis, workloadConfig, { testClock: true });
    const next = eventRequests(seed);
    const send = async (events: number): Promise<void> => {
      for (let left = events; left > 0; left -= atOnce) {
        await Promise.all(Array.from({ length: Math.min(left, atOnce) }, () => trackEvent(engine, tenant, next())));
      }
    };
    await engine.loadLibrary();
    await engine.call(tenant, 'clock', () => ({ args: { to: noonMs } }));
    await send(beforehand);
    const stats = await statsOf(redis, () => send(counted));
    const calls = (stats.get('fcall')?.calls ?? NaN) / counted;
    return {
      'an event of the wide workload, function calls': calls,
      'an event of the wide workload, commands': total(stats, ['fcall']).calls / counted,
    };
  });
}

/** Calls of functions, and all commands with those that functions make, of each kind of request. */
function commandsOfRequests(signal: AbortSignal): Promise<Counts> {
  return withOwnStack(signal, async (stack) => {
    const { readyText: filled } = await stack.serve();
    await fill(stack, { url: filled, events: filledEvents, sequence: { isInTurn: true }, signal });
    // A worker would go on to apply the configuration to the users, by one call for each.
    await stack.processes.stop();
    const { readyText: url } = await stack.serve({ args: ['--api-only'] });
    const countsOf = async (next: () => LoadRequest): Promise<CommandStats> => {
      const before = await readStats(stack.redis);
      await sendAll(url, next);
      const after = await readStats(stack.redis);
      return new Map([...after].map(([name, { calls, us }]) => [name, { calls: calls - (before.get(name)?.calls ?? 0), us }]));
    };
    const calls = (stats: CommandStats): number =>
      Math.floor(((stats.get('fcall')?.calls ?? 0) + (stats.get('fcall_ro')?.calls ?? 0)) / requests);
    const counts: Record<string, number> = {};
    for (const { name, path } of reads) {
      const stats = await countsOf(() => ({ method: 'GET', path: path('user-1') }));
      counts[`${name}, function calls`] = calls(stats);
      counts[`${name}, commands`] = Math.floor(total(stats).calls / requests);
    }
    // Of events only the calls are counted: what their function makes depends on the events.
    counts['an event over HTTP, function calls'] = calls(await countsOf(eventSequence(seed)));
    return counts;
  });
}

/** Sends requests one after the other. Throws when one gets another status than a 2xx. */
async function sendAll(url: string, next: () => LoadRequest): Promise<void> {
  const dispatcher = new Agent({ connections: 1 });
  try {
    for (let sent = 0; sent < requests; sent += 1) {
      const { method, path, body = null, idempotencyKey } = next();
      const headers = {
        'content-type': 'application/json',
        'x-api-key': apiKey,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      };
      const response = await request(url + path, { method, headers, body, dispatcher });
      const text = await response.body.text();
      if (response.statusCode >= 300) throw new Error(`${method} ${path} got the status ${response.statusCode}: ${text}`);
    }
  } finally {
    await dispatcher.close();
  }
}

/** Counts all. */
export async function countAll(signal: AbortSignal): Promise<Counts> {
  return { ...(await commandsOfEvents()), ...(await commandsOfRequests(signal)) };
}

export const readRecorded = (): Counts => z.record(z.string(), z.number()).parse(JSON.parse(readFileSync(file, 'utf8')));

export const record = (counts: Counts): void => writeFile(file, `${JSON.stringify(counts, null, 2)}\n`);

/** A sentence for each count that has risen, is not recorded, or is recorded and was not counted. */
export function problemsOf(counts: Counts, recorded: Counts): string[] {
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(counts)])];
  return names.flatMap((name) => {
    const [now, before] = [counts[name], recorded[name]];
    if (now === undefined) return [`${name}: recorded, but not counted.`];
    if (before === undefined) return [`${name}: ${now}, but not recorded.`];
    return now > before ? [`${name}: ${now}, and only ${before} when it was recorded.`] : [];
  });
}
