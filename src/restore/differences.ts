import type pg from 'pg';
import { limits } from '../shared/limits.js';
import type { RedisConnection } from '../redis/connection.js';

export interface VerifyOptions {
  readonly tenant: number;
  /** The key prefix of the tenant. */
  readonly partition: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** Resolves when Postgres has committed every entry that the ledger has at the time of the call. */
  readonly waitForLedger: () => Promise<void>;
  /**
   * The moment, in ms since 1970, up to which used idempotency keys have expired; absent: none has. Such keys are not compared, because they are
   * removed without a ledger entry: a Redis that comes back older still has them, and is in sync.
   */
  readonly keysExpiredUpTo?: () => Promise<number>;
  readonly onProgress?: (compared: number, users: number) => void;
}

/** A fact that differs between Redis and Postgres; null where it is absent. */
export interface Difference {
  readonly what: string;
  readonly redis: string | null;
  readonly postgres: string | null;
}

/** The facts of one side, by name. */
export type Facts = Map<string, string>;

export function differencesOf(redis: Facts, postgres: Facts): Difference[] {
  return [...new Set([...redis.keys(), ...postgres.keys()])].flatMap((what) => {
    const [inRedis, inPostgres] = [redis.get(what) ?? null, postgres.get(what) ?? null];
    return inRedis === inPostgres ? [] : [{ what, redis: inRedis, postgres: inPostgres }];
  });
}

const serialized = ({ what, redis, postgres }: Difference): string => JSON.stringify([what, redis, postgres]);

/**
 * Drops suspected differences that change when they are compared again, a few times: events may change a fact between the reads of the two sides.
 * (A fact that changes constantly is never confirmed: verify it when it rests.)
 */
export async function confirm(suspected: Difference[], compare: () => Promise<readonly Difference[]>): Promise<Difference[]> {
  let open = suspected;
  for (let i = 0; open.length > 0 && i < limits.verifyConfirmations; i += 1) {
    const found = new Set((await compare()).map(serialized));
    open = open.filter((difference) => found.has(serialized(difference)));
  }
  return open;
}
