import { Redis } from 'ioredis';
import pino from 'pino';
import { loadConfig, mustLoadVersion } from '../../src/config/store/store.js';
import { Engine } from '../../src/engine/engine.js';
import { isPastEpoch, loadOffset } from '../../src/ledger/offsets.js';
import { WriteBehind } from '../../src/ledger/write-behind.js';
import { limits } from '../../src/shared/limits.js';
import { createPool } from '../../src/postgres/pool.js';
import { Listener, redisOptions } from '../../src/redis/connection.js';
import { bundleLibrary } from '../../src/redis/library.js';
import { tenant, type World } from './world.js';

/** A write-behind worker beside a world without one. */
export interface Worker {
  readonly writeBehind: WriteBehind;
  /** Its log messages. */
  readonly said: readonly string[];
  /** Drains, stops and closes its connections. Idempotent. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts a worker for a world's ledger; `databaseUrl` may go through a proxy, statements may have a shorter timeout, and batches may follow one
 * another at another pace.
 */
export function startWorker(
  world: World,
  databaseUrl = world.settings.databaseUrl!,
  timeoutMs: number = limits.postgresQueryTimeoutMs,
  collectMs: number = limits.writeBehindCollectMs,
): Worker {
  const redis = new Redis(world.settings.redisUrl!, { ...redisOptions, enableOfflineQueue: true, lazyConnect: false });
  redis.on('error', () => undefined);
  const pool = createPool(databaseUrl, 2, () => undefined, timeoutMs);
  const said: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => said.push(readMessage(line)) });
  const subscriber = redis.duplicate();
  subscriber.on('error', () => undefined);
  const { redisPrefix: prefix, testClock, maxLedgerEntries } = world.settings;
  const engine = new Engine({
    redis,
    prefix,
    testClock,
    maxLedgerEntries,
    library: bundleLibrary(),
    loadConfig: (no) => loadConfig(pool, no),
    loadVersion: (no, version) => mustLoadVersion(pool, no, version),
    loadOffset: (no, isFinal) => loadOffset(pool, no, isFinal),
    isPastEpoch: (no, epoch) => isPastEpoch(pool, no, epoch),
    autoRestore: false,
  });
  const writeBehind = new WriteBehind({
    redis,
    pool,
    log,
    collectMs,
    tenants: () => [tenant],
    partition: () => world.partition,
    awaitEntries: (no, epoch, lastId) => engine.awaitEntries(no, epoch, lastId),
    onReplaced: () => Promise.resolve(),
  });
  const listener = new Listener(subscriber, prefix);
  void listener.on(
    'written',
    (of) => writeBehind.wake(Number(of)),
    () => undefined,
  );
  writeBehind.start();
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await writeBehind.stop(30_000);
    redis.disconnect();
    subscriber.disconnect();
    await pool.end();
  };
  return {
    writeBehind,
    said,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** The message of a log line, and that of the error in it. */
function readMessage(line: string): string {
  const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
  return err ? `${msg}: ${err.message}` : msg;
}
