import type { Redis } from 'ioredis';
import type { SequenceOptions } from './function-workload.js';
import { inNewRedis } from './new-redis.js';
import { withSides, type AgainstOptions, type Side } from './sides.js';

const sentAtOnce = 100;
const scannedKeys = 1_000;
/** Idempotency keys of a user on one metric: a few, and those of months of use. */
const keysPerUser = [10, 200] as const;

export interface MemoryOptions extends AgainstOptions {
  readonly users: number;
  readonly events: number;
}

/** Bytes of the keys of a partition, by MEMORY USAGE. */
interface Usage {
  readonly idempotency: number;
  readonly others: number;
}

/** Measures the bytes of Redis that a user takes, and that an idempotency key takes, for ours and the other checkout. */
export async function measureMemory(options: MemoryOptions): Promise<void> {
  const { users, events, print } = options;
  await withSides(options, async (sides) => {
    const report = async (title: string, bytesOf: (side: Side) => Promise<number>): Promise<void> => {
      const [ours = NaN, theirs] = await inOrder(sides, bytesOf);
      const other = theirs === undefined ? '' : `   theirs ${theirs.toFixed(1)}   ratio ${(ours / theirs).toFixed(3)}`;
      print(`${title}: ours ${ours.toFixed(1)}${other}`);
    };
    await report(`bytes a user after ${events} events (${users} users), without idempotency keys`, async (side) => {
      const usage = await usageAfter(side, { userCount: users, isInTurn: true }, users * events);
      return usage.others / users;
    });
    for (const keys of keysPerUser) {
      const some = Math.max(1, Math.round((users * keysPerUser[0]) / keys));
      await report(`bytes an idempotency key, ${keys} of each of ${some} users`, async (side) => {
        const usage = await usageAfter(side, { userCount: some, isInTurn: true, isOneMetric: true }, some * keys);
        return usage.idempotency / (some * keys);
      });
    }
  });
}

async function inOrder<T>(sides: readonly Side[], measure: (side: Side) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const side of sides) results.push(await measure(side));
  return results;
}

/** What an empty Redis holds after the first events of a sequence, with the ledger drained. */
function usageAfter(side: Side, sequence: SequenceOptions, events: number): Promise<Usage> {
  return inNewRedis(async (redis, redisUrl) => {
    const { partition, ledger, idempotency } = await side.ask('open', { redisUrl, sequence });
    for (let left = events; left > 0; left -= sentAtOnce) {
      await side.ask('send', { events: Math.min(left, sentAtOnce), atOnce: sentAtOnce });
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
