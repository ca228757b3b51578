import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { readStats } from '../measure/command-stats.js';
import { apiKey } from '../servers/laurel.js';
import { untilDrained, type Stack } from '../servers/stack.js';
import { batchSequence, inBatches, seed, type Event, type EventSequenceOptions } from './events.js';
import type { LoadRequest } from './load.js';

const batchEvents = 1_000;
const lookMs = 100;
const quietLooks = 5;

export interface FillOptions {
  /** Where the service listens. */
  readonly url: string;
  readonly events: number;
  /** Events of the sample configuration. */
  readonly sequence?: EventSequenceOptions;
  /** Other events than those. */
  readonly next?: () => Event;
  readonly signal: AbortSignal;
}

/** Sends events in batches, rounded up to whole ones, and waits until all are in Postgres and nothing else goes on. Throws when a batch gets another status than a 2xx. */
export async function fill({ redis }: Stack, { url, events, sequence, next: own, signal }: FillOptions): Promise<void> {
  const next = own ? inBatches(own, batchEvents) : batchSequence(seed, batchEvents, { name: 'fill', ...sequence });
  await sendBatches({ url, apiKey, events, next, signal });
  await untilQuiet(redis, signal);
  await untilDrained(redis, signal);
}

/** Sends events in batches to a service of an operator's. Throws when a batch gets another status than a 2xx. */
export const fillService = (
  to: Addressee,
  { events, next, signal }: { events: number; next: () => Event; signal: AbortSignal },
): Promise<void> => sendBatches({ ...to, events, next: inBatches(next, batchEvents), signal });

/** Where batches are sent. */
interface Addressee {
  readonly url: string;
  readonly apiKey: string;
  readonly tenant?: string | undefined;
}

interface Sending extends Addressee {
  readonly events: number;
  readonly next: () => LoadRequest;
  readonly signal: AbortSignal;
}

async function sendBatches({ url, apiKey: key, tenant, events, next, signal }: Sending): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key, ...(tenant !== undefined && { 'tenant-id': tenant }) };
  for (let left = events; left > 0; left -= batchEvents) {
    const { method, path, body = '' } = next();
    const response = await fetch(url + path, { method, headers, body, signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`A batch of events got the status ${response.status}: ${text}`);
  }
}

/** Waits until no function is called: the worker applies a new configuration to the users who are there. */
async function untilQuiet(redis: Redis, signal: AbortSignal): Promise<void> {
  const calls = async (): Promise<number> => (await readStats(redis)).get('fcall')?.calls ?? 0;
  let seen = await calls();
  for (let quiet = 0; quiet < quietLooks;) {
    await delay(lookMs, undefined, { signal });
    const now = await calls();
    quiet = now === seen ? quiet + 1 : 0;
    seen = now;
  }
}
