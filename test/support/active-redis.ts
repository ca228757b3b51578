import type pg from 'pg';
import { ActiveRedis } from '../../src/ledger/active-redis.js';
import type { RedisConnection } from '../../src/redis/connection.js';
import { partitionPrefix } from '../../src/redis/contract.js';
import { claimPurposeOf, type RestoreOptions } from '../../src/restore/restore.js';

/** The fence of a process that a test simulates: it confirms only its own claims. */
export function activeRedis(redis: RedisConnection, pool: pg.Pool, prefix: string): ActiveRedis {
  return new ActiveRedis({
    redis,
    pool,
    prefix,
    address: 'the Redis of a test',
    db: 0,
    role: 'worker',
    opened: () => [],
    partition: (tenant) => partitionPrefix(prefix, tenant),
  });
}

/** What a restore needs to be allowed one, on the Redis of the service. */
export function allowed(redis: RedisConnection, pool: pg.Pool, prefix: string): Pick<RestoreOptions, 'active' | 'purpose'> {
  return { active: activeRedis(redis, pool, prefix), purpose: claimPurposeOf('behind') };
}
