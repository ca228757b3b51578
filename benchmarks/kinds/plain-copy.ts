import type { Redis } from 'ioredis';
import { redisCpuS } from '../servers/cpu.js';

/** Keys that one scan looks at, and commands that are made ready, untimed, before they are written, timed. */
const scannedKeys = 1_000;
const readyCommands = 60_000;
/** Members of a sorted set and of a set that one command adds. */
const membersAtOnce = 500;
const pipelinesAhead = 2;

type Value = string | Buffer;
type PlainCommand = [name: string, key: string, ...args: Value[]];

export interface PlainCopy {
  readonly from: Redis;
  /** An empty Redis. */
  readonly to: Redis;
  readonly commandsPerPipeline: number;
  readonly signal: AbortSignal;
}

/** What writing took, without the reading: seconds on the clock, and of CPU in the Redis that was written to. */
export interface Written {
  readonly seconds: number;
  readonly redisS: number;
}

/** A text where the bytes are one: ioredis sends commands of texts faster. */
function plain(bytes: Buffer): Value {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

function* inGroups<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}

/** The members of a sorted set with their scores, as ZADD takes them. */
async function scored(redis: Redis, key: string): Promise<Value[]> {
  const all: Value[] = [];
  let cursor = '0';
  do {
    const [next, found] = await redis.zscanBuffer(key, cursor, 'COUNT', scannedKeys);
    for (let i = 0; i < found.length; i += 2) all.push(plain(found[i + 1] as Buffer), plain(found[i] as Buffer));
    cursor = next.toString();
  } while (cursor !== '0');
  return all;
}

/** The commands that make a key what it is. */
async function commandsFor(redis: Redis, key: string, type: string): Promise<PlainCommand[]> {
  switch (type) {
    case 'hash':
      return [['hset', key, ...Object.entries(await redis.hgetallBuffer(key)).flatMap(([field, value]) => [field, plain(value)])]];
    case 'list':
      return [['rpush', key, ...(await redis.lrangeBuffer(key, 0, -1)).map(plain)]];
    case 'zset':
      return Array.from(inGroups(await scored(redis, key), 2 * membersAtOnce), (some): PlainCommand => ['zadd', key, ...some]);
    case 'set':
      return Array.from(inGroups(await redis.smembers(key), membersAtOnce), (some): PlainCommand => ['sadd', key, ...some]);
    case 'string':
      return [['set', key, plain((await redis.getBuffer(key)) ?? Buffer.alloc(0))]];
    default:
      return [];
  }
}

/** The commands that make every key, a page of keys at a time. Streams are left out: a restore does not write them. */
async function* readCommands(from: Redis): AsyncGenerator<PlainCommand[]> {
  let cursor = '0';
  do {
    const [next, keys] = await from.scan(cursor, 'COUNT', scannedKeys);
    const types = await Promise.all(keys.map((key) => from.type(key)));
    yield (await Promise.all(keys.map((key, i) => commandsFor(from, key, types[i] ?? 'none')))).flat();
    cursor = next;
  } while (cursor !== '0');
}

/** Writes commands in pipelines, of which the next is sent before the one before it has been answered. */
async function write(to: Redis, commands: readonly PlainCommand[], perPipeline: number): Promise<void> {
  const ahead: Promise<unknown>[] = [];
  for (const some of inGroups(commands, perPipeline)) {
    ahead.push(to.pipeline(some).exec());
    if (ahead.length > pipelinesAhead) await ahead.shift();
  }
  await Promise.all(ahead);
}

/** Writes what one Redis holds to another with plain commands in pipelines. Only the writing is measured. */
export async function copyPlainly({ from, to, commandsPerPipeline, signal }: PlainCopy): Promise<Written> {
  const total = { seconds: 0, redisS: 0 };
  let ready: PlainCommand[] = [];
  const writeReady = async (): Promise<void> => {
    const [startedMs, redisS] = [performance.now(), await redisCpuS(to)];
    await write(to, ready, commandsPerPipeline);
    total.seconds += (performance.now() - startedMs) / 1_000;
    total.redisS += (await redisCpuS(to)) - redisS;
    ready = [];
  };
  for await (const commands of readCommands(from)) {
    signal.throwIfAborted();
    for (const command of commands) ready.push(command);
    if (ready.length >= readyCommands) await writeReady();
  }
  await writeReady();
  return total;
}
