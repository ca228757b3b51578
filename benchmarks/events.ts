const users = 1_000;
const maxValue = 5;

/** What one request carries. */
export interface BenchmarkEvent {
  readonly body: string;
  /** A UUID in shape, unique in its sequence. */
  readonly idempotencyKey: string;
}

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

/** A sequence of events that depends on the seed alone, so that both sides of a comparison get the same one. */
export function eventSequence(seed: number): () => BenchmarkEvent {
  const random = seeded(seed);
  let sent = 0;
  return () => {
    const id = `user-${1 + Math.floor(random() * users)}`;
    const value = 1 + Math.floor(random() * maxValue);
    sent += 1;
    return {
      body: JSON.stringify({ user: { id }, value }),
      idempotencyKey: `00000000-0000-4000-8000-${String(sent).padStart(12, '0')}`,
    };
  };
}

/** Batches of that sequence, as the Admin API takes them; each event has the key that it would have by itself. */
export function batchSequence(seed: number, events: number): () => BenchmarkEvent {
  const nextEvent = eventSequence(seed);
  return () => {
    const batch = Array.from({ length: events }, () => {
      const { body, idempotencyKey } = nextEvent();
      return { key: 'flashcards-viewed', ...(JSON.parse(body) as object), idempotencyKey: `batch-${idempotencyKey}` };
    });
    return { body: JSON.stringify(batch), idempotencyKey: batch[0]?.idempotencyKey ?? '' };
  };
}
