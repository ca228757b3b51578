import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { ConfigDocument } from '../config/model.js';

export interface VerifyOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  readonly redis: Redis;
  readonly pool: pg.Pool;
  readonly document: ConfigDocument;
  /** Resolves when Postgres has everything that the ledger holds when it is called. */
  readonly level: () => Promise<void>;
  readonly onProgress?: (compared: number, users: number) => void;
}

/** Something that Redis and Postgres do not agree about; null is nothing. */
export interface Difference {
  readonly what: string;
  readonly redis: string | null;
  readonly postgres: string | null;
}

/** What one side holds, by name. */
export type Facts = Map<string, string>;

/** Tells apart what the two sides say. */
export function compareFacts(redis: Facts, postgres: Facts): Difference[] {
  return [...new Set([...redis.keys(), ...postgres.keys()])].flatMap((what) => {
    const [inRedis, inPostgres] = [redis.get(what) ?? null, postgres.get(what) ?? null];
    return inRedis === inPostgres ? [] : [{ what, redis: inRedis, postgres: inPostgres }];
  });
}
