import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { keyNames } from '../../src/redis/contract.js';
import { percentile } from '../measure/stats.js';

const everyMs = 200;
/** Shorter calls do not count, such as a sweep that finds no due user. */
const slowUs = 100;
const slowlogEntries = 8_192;

/** What the calls of the sweep took inside Redis. */
export interface Sweeps {
  readonly calls: number;
  readonly medianUs: number;
  readonly p99Us: number;
  readonly longestUs: number;
}

/** Looks at Redis while something goes on: how long each call of the sweep took, from its slow log, and how long the ledger was. */
export class Watch {
  /** Users who became due in the phase, the seconds in which there were any, and the longest of those times at a stretch. */
  settled = 0;
  busyS = 0;
  longestBacklogS = 0;
  readonly #redis: Redis;
  readonly #ledger: string;
  readonly #stopping = new AbortController();
  #sweepsUs: number[] = [];
  #longestLedger = 0;
  #running: Promise<void> = Promise.resolve();

  private constructor(redis: Redis, partition: string) {
    this.#redis = redis;
    this.#ledger = partition + keyNames.ledger;
  }

  static async start(redis: Redis, partition: string): Promise<Watch> {
    await redis.config('SET', 'slowlog-log-slower-than', slowUs);
    await redis.config('SET', 'slowlog-max-len', slowlogEntries);
    const watch = new Watch(redis, partition);
    watch.#running = watch.#run();
    return watch;
  }

  /** Begins a phase: forgets what was seen. */
  async begin(): Promise<void> {
    await this.#look();
    this.#sweepsUs = [];
    this.#longestLedger = 0;
    [this.settled, this.busyS, this.longestBacklogS] = [0, 0, 0];
  }

  /** So many users became due at once, and were settled after so many seconds. */
  note(users: number, seconds: number): void {
    this.settled += users;
    this.busyS += seconds;
    this.longestBacklogS = Math.max(this.longestBacklogS, seconds);
  }

  async sweeps(): Promise<Sweeps> {
    await this.#look();
    const all = Float64Array.from(this.#sweepsUs).sort();
    return { calls: all.length, medianUs: percentile(all, 0.5), p99Us: percentile(all, 0.99), longestUs: all.at(-1) ?? 0 };
  }

  get longestLedger(): number {
    return this.#longestLedger;
  }

  ledgerEntries(): Promise<number> {
    return this.#redis.xlen(this.#ledger);
  }

  /** Bytes that Redis has allocated. */
  async memoryBytes(): Promise<number> {
    return Number(/^used_memory:(\d+)/m.exec(await this.#redis.info('memory'))?.[1]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#look();
      await delay(everyMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    // In one step, so that nothing is logged between the two.
    const replies = await this.#redis.multi().call('SLOWLOG', 'GET', '-1').call('SLOWLOG', 'RESET').exec();
    const entries = (replies?.[0]?.[1] ?? []) as readonly [id: number, at: number, us: number, args: readonly string[]][];
    for (const [, , us, [command, name]] of entries) {
      if (command?.toLowerCase() === 'fcall' && name?.endsWith('_sweep')) this.#sweepsUs.push(us);
    }
    this.#longestLedger = Math.max(this.#longestLedger, await this.ledgerEntries());
  }
}
