import type pg from 'pg';
import { limits } from '../shared/limits.js';
import type { RedisConnection } from '../redis/connection.js';

export interface VerifyOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
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

const spelled = ({ what, redis, postgres }: Difference): string => JSON.stringify([what, redis, postgres]);

/**
 * Those of some differences that stay the same when they are looked at again, a few times: what events change between the reading of the one side
 * and of the other is no difference. (What changes without pause never stays the same: verify it when it rests.)
 */
export async function confirm(suspected: Difference[], look: () => Promise<readonly Difference[]>): Promise<Difference[]> {
  let open = suspected;
  for (let round = 0; open.length > 0 && round < limits.verifyConfirmations; round += 1) {
    const found = new Set((await look()).map(spelled));
    open = open.filter((difference) => found.has(spelled(difference)));
  }
  return open;
}
