import type { Redis } from 'ioredis';
import type { SequenceOptions } from '../load/workload.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import { inNewRedis } from '../servers/new-redis.js';
import { withSides, type Side } from '../sides/sides.js';

const sentAtOnce = 100;
const scannedKeys = 1_000;
/** Idempotency keys of a user on one metric: a few, and those of months of use. */
const keysPerUser = [10, 200] as const;

/** Bytes of the keys of a partition, by MEMORY USAGE. */
interface Usage {
  readonly idempotency: number;
  readonly others: number;
}

/** What an empty Redis holds after the first events of a sequence, with the ledger drained. */
function usageAfter(side: Side, sequence: SequenceOptions, events: number): Promise<Usage> {
  return inNewRedis(async (redis, redisUrl) => {
    const { opened, partition, ledger, idempotency } = await side.ask('open', { redisUrl, sequence });
    for (let left = events; left > 0; left -= sentAtOnce) {
      await side.ask('send', { opened, events: Math.min(left, sentAtOnce), atOnce: sentAtOnce });
    }
    await redis.xtrim(ledger, 'MAXLEN', 0);
    const all = await usageOf(redis, partition);
    const ofKeys = await usageOf(redis, idempotency);
    if (ofKeys === 0) throw new Error(`${side.name} has no idempotency keys below ${idempotency}.`);
    return { idempotency: ofKeys, others: all - ofKeys };
  });
}

/** Bytes of all keys with a prefix, each with its name and every element, as Redis has allocated them. */
async function usageOf(redis: Redis, prefix: string): Promise<number> {
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const found = new Set<string>();
  for await (const keys of redis.scanStream({ match: pattern, count: scannedKeys })) for (const key of keys as string[]) found.add(key);
  const sizes = await Promise.all([...found].map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
}

/** The cases, and the bytes of each for one side. */
function casesOf(bench: Bench<'users' | 'events'>): readonly { readonly name: string; readonly bytes: (side: Side) => Promise<number> }[] {
  const [users, events] = [bench.option('users'), bench.option('events')];
  return [
    {
      name: `a user after ${events} events, without idempotency keys`,
      bytes: async (side) => (await usageAfter(side, { userCount: users, isInTurn: true }, users * events)).others / users,
    },
    ...keysPerUser.map((keys) => ({
      name: `an idempotency key, ${keys} of each user`,
      bytes: async (side: Side) => {
        const some = Math.max(1, Math.round((users * keysPerUser[0]) / keys));
        const sequence = { userCount: some, isInTurn: true, isOneMetric: true };
        return (await usageAfter(side, sequence, some * keys)).idempotency / (some * keys);
      },
    })),
  ];
}

export const memory = defineKind({
  name: 'memory',
  summary: 'bytes of Redis for a user and for an idempotency key',
  options: {
    users: { text: 'how many users', value: 2_000, tiny: 40 },
    events: { text: 'events of each of them', value: 20, tiny: 5 },
  },
  figures: [{ key: 'bytes', title: 'memory', unit: 'bytes', decimals: 1 }],
  targets: [],
  run: (bench) =>
    withSides(bench, (sides) =>
      bench.rounds(
        casesOf(bench).flatMap(({ name, bytes }) =>
          sides.map((side) => ({ case: name, side: side.name, measure: async () => ({ bytes: await bytes(side) }) })),
        ),
        { rounds: 1 },
      ),
    ),
});
