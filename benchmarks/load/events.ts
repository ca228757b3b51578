import type { LoadRequest } from './load.js';

export const usualUsers = 1_000;
const maxValue = 5;
const metric = 'flashcards-viewed';

/** Any number would do; it is the same for both sides and in every run. */
export const seed = 20_260_101;
const pathOf = (metricKey: string): string => `/v1/metrics/${metricKey}/event`;
export const eventPath = pathOf(metric);
const batchPath = '/admin/v1/metrics/events';

/** Mulberry32: 32 bits of state, even enough to draw users with, and the same on every machine. Returns numbers from 0 up to below 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** An event: its metric, what a request's body has of it, and its idempotency key. */
export interface Event {
  readonly metricKey: string;
  readonly user: {
    readonly id: string;
    readonly name?: string;
    readonly tz?: string | undefined;
    readonly attributes?: Readonly<Record<string, string>>;
  };
  readonly value: number;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly idempotencyKey: string;
}

/** Single events, each a request. */
export const single = (next: () => Event) => (): LoadRequest => {
  const { metricKey, idempotencyKey, ...event } = next();
  return { method: 'POST', path: pathOf(metricKey), body: JSON.stringify(event), idempotencyKey };
};

/** Events in batches of the Admin API; each event has a key of its own. */
export const inBatches = (next: () => Event, events: number) => (): LoadRequest => {
  const batch = Array.from({ length: events }, () => {
    const { metricKey, ...event } = next();
    return { key: metricKey, ...event };
  });
  return { method: 'POST', path: batchPath, body: JSON.stringify(batch) };
};

/** How a sequence differs from that of 1,000 users who are drawn. */
export interface EventSequenceOptions {
  /** What its idempotency keys start with: unique among the sequences of a run. */
  readonly name?: string;
  readonly users?: number;
  /** Users send in turn instead of being drawn, so that each sends as many events. */
  readonly isInTurn?: boolean;
  /** How many users of other sequences come before the first one of this. */
  readonly first?: number;
  /** The value of each event; without it, values are drawn. */
  readonly value?: number;
}

/** Draws users `user-1` to `user-1000`, each with the same probability. */
export function userSequence(seed: number): () => string {
  const random = seeded(seed);
  return () => `user-${1 + Math.floor(random() * usualUsers)}`;
}

/** Events and their idempotency keys of 36 bytes. Depends on the seed and the options alone, so that all sides get the same. */
function eventsOf(
  seed: number,
  { name = 'single', users = usualUsers, isInTurn = false, first = 0, value: fixed }: EventSequenceOptions,
): () => Event {
  const random = seeded(seed);
  let sent = 0;
  return () => {
    const no = first + (isInTurn ? sent % users : Math.floor(random() * users));
    const value = fixed ?? 1 + Math.floor(random() * maxValue);
    sent += 1;
    return {
      metricKey: metric,
      user: { id: `user-${1 + no}` },
      value,
      idempotencyKey: `${name}-${String(sent).padStart(35 - name.length, '0')}`,
    };
  };
}

/** Single events of the sample configuration. */
export const eventSequence = (seed: number, options: EventSequenceOptions = {}): (() => LoadRequest) => single(eventsOf(seed, options));

/** Such events in batches. */
export const batchSequence = (seed: number, events: number, options: EventSequenceOptions = {}): (() => LoadRequest) =>
  inBatches(eventsOf(seed, { name: 'batch', ...options }), events);
