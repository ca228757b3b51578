import { EventEmitter, once } from 'node:events';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import pino from 'pino';
import type { Engine } from '../../src/engine/engine.js';
import type { TraceBatch } from '../../src/ledger/write-behind.js';
import { eventRequests, seed, workloadConfig, type SequenceOptions } from '../load/workload.js';
import type { Checkout } from './checkout.js';
import { makeEngine } from './make-engine.js';

const poolSize = 2;

/** The stores that a side works on, and the events that it sends. */
export interface Opening {
  readonly redisUrl: string;
  /** An empty database; undefined for work inside Redis alone. */
  readonly databaseUrl?: string;
  readonly sequence: SequenceOptions;
  /** A configuration file as an object; that of the workload without it. */
  readonly config?: object;
  /** The tenant whose partition is opened; 1 without it. */
  readonly tenant?: number;
}

/** An open partition: its number among those of the side, and its keys, as the side's own contract names them. */
export interface SideKeys {
  readonly opened: number;
  /** The start of all keys of the partition. */
  readonly partition: string;
  readonly meta: string;
  readonly ledger: string;
  /** The start of all hashes of idempotency keys. */
  readonly idempotency: string;
}

/** What a drain took: seconds on the clock, and of CPU in the process of the write-behind. */
export interface Drained {
  readonly entries: number;
  readonly seconds: number;
  readonly cpuS: number;
}

interface Opened {
  readonly redis: Redis;
  readonly engine: Engine;
  readonly tenant: number;
  readonly nextEvent: ReturnType<typeof eventRequests>;
}

/** What a side of a paired benchmark does, with the code of its own checkout. */
export class SideWork {
  private readonly code: Checkout;
  private readonly partitions: Opened[] = [];

  constructor(code: Checkout) {
    this.code = code;
  }

  /** Takes up a partition of a Redis, and begins a sequence of events for it. */
  async open({ redisUrl, databaseUrl, sequence, config = workloadConfig, tenant = 1 }: Opening): Promise<SideKeys> {
    const { code } = this;
    const redis = this.connect(redisUrl);
    const epoch = crypto.randomUUID();
    const pool = databaseUrl === undefined ? undefined : await this.migrated(databaseUrl);
    const engine = makeEngine(code, redis, config, {
      loadOffset: (no, isFinal) =>
        pool ? code.loadOffset(pool, no, isFinal) : Promise.resolve({ epoch, lastId: '0-0', isRestoring: false, testClockMs: null }),
      isPastEpoch: () => Promise.resolve(false),
    });
    await engine.loadLibrary();
    await engine.open(tenant);
    // Others copy the database as it is now.
    await pool?.end();
    const opened = this.partitions.push({ redis, engine, tenant, nextEvent: eventRequests(seed, sequence) }) - 1;
    const partition = engine.partition(tenant);
    const { meta, ledger, idempotency } = code.keyNames;
    return { opened, partition, meta: partition + meta, ledger: partition + ledger, idempotency: partition + idempotency };
  }

  /** Counts the next events of an open partition, so many in one pipeline. */
  async send({ opened, events, atOnce }: { readonly opened: number; readonly events: number; readonly atOnce: number }): Promise<void> {
    const { engine, tenant, nextEvent } = this.at(opened);
    const requests = Array.from({ length: events }, nextEvent);
    for (let first = 0; first < events; first += atOnce) {
      await Promise.all(requests.slice(first, first + atOnce).map((request) => this.code.trackEvent(engine, tenant, request)));
    }
  }

  /** Runs the write-behind until a ledger of so many entries is in a database. Throws what the write-behind would only log. */
  async drain({
    opened,
    databaseUrl,
    entries,
  }: {
    readonly opened: number;
    readonly databaseUrl: string;
    readonly entries: number;
  }): Promise<Drained> {
    const { engine, redis, tenant } = this.at(opened);
    const progress = new EventEmitter();
    const drained = once(progress, 'drained');
    const fail = (error: Error): void => void progress.emit('error', error);
    // The first problem is enough.
    progress.on('error', () => undefined);
    const pool = this.code.createPool(databaseUrl, poolSize, fail);
    let committed = 0;
    const traceBatch: TraceBatch = async (_, write) => {
      const written = await write();
      committed += Number(written);
      if (committed >= entries) progress.emit('drained');
      return written;
    };
    // `aroundBatch` is its earlier name.
    const traced = { traceBatch, aroundBatch: traceBatch };
    const writeBehind = new this.code.WriteBehind({
      ...{ redis, pool, log: pino({ level: 'warn' }, { write: (line) => fail(new Error(line)) }) },
      tenants: () => [tenant],
      partition: (no) => engine.partition(no),
      awaitEntries: (no, epoch, lastId) => engine.awaitEntries(no, epoch, lastId),
      // It is logged before, which ends the round.
      onReplaced: () => Promise.resolve(),
      ...traced,
    });
    const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
    try {
      writeBehind.start();
      await drained;
      const { user, system } = process.cpuUsage(cpu);
      return { entries: committed, seconds: (performance.now() - startedMs) / 1_000, cpuS: (user + system) / 1e6 };
    } finally {
      await writeBehind.stop(0);
      await pool.end();
    }
  }

  private connect(url: string): Redis {
    const redis = new this.code.ioredis.Redis(url, { ...this.code.redisOptions, enableOfflineQueue: true, lazyConnect: false });
    this.code.sendByTurns?.(redis);
    // The command that waits for it fails; between two servers none does.
    redis.on('error', () => undefined);
    return redis;
  }

  private async migrated(url: string): Promise<pg.Pool> {
    const fail = (problem: string | Error): never => {
      throw problem instanceof Error ? problem : new Error(problem);
    };
    await this.code.migrate(url, fail);
    return this.code.createPool(url, poolSize, fail);
  }

  private at(opened: number): Opened {
    const partition = this.partitions[opened];
    if (!partition) throw new Error('A side was asked to work on a partition that it has not opened.');
    return partition;
  }
}

/** What a side can be asked for. */
export type Work = Pick<SideWork, 'open' | 'send' | 'drain'>;

/** A request to the process of a side, and its reply. */
export interface Request<Name extends keyof Work = keyof Work> {
  readonly name: Name;
  readonly options: Parameters<Work[Name]>[0];
}
export type Reply = { readonly result: unknown } | { readonly problem: string };
