import type { Redis } from 'ioredis';
import type pg from 'pg';
import { keysOf } from './world.js';

/** Everything that a key holds, as bytes: nothing is unpacked, so that nothing can be missed. */
async function contentOf(redis: Redis, key: string): Promise<Buffer[]> {
  switch (await redis.type(key)) {
    case 'string':
      return [(await redis.getBuffer(key)) ?? Buffer.alloc(0)];
    case 'hash':
      return Object.entries(await redis.hgetallBuffer(key)).flatMap(([field, value]) => [Buffer.from(field), value]);
    case 'list':
      return redis.lrangeBuffer(key, 0, -1);
    case 'set':
      return redis.smembersBuffer(key);
    case 'zset':
      return redis.zrangeBuffer(key, '0', '-1');
    case 'stream':
      return (await redis.xrangeBuffer(key, '-', '+')).flatMap(([, fields]) => fields);
    default:
      return [];
  }
}

/** The keys of a partition in whose name or content one of the texts is. */
async function inRedis(redis: Redis, partition: string, texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const key of await keysOf(redis, partition)) {
    const content = [Buffer.from(key.slice(partition.length)), ...(await contentOf(redis, key))];
    for (const text of texts) if (content.some((part) => part.includes(text))) found.push(`${text} in Redis, ${key}`);
  }
  return found;
}

/** The tables, partitions included, in a row of which one of the texts is, in any column. */
async function inPostgres(pool: pg.Pool, texts: readonly string[]): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    for (const text of texts) {
      const { rows } = await pool.query(`select 1 from ${name} as t where position($1 in t::text) > 0 limit 1`, [text]);
      if (rows.length > 0) found.push(`${text} in Postgres, ${name}`);
    }
  }
  return found;
}

/** Where any of the texts is to be found: in names, fields and values of a partition's keys, and in every column of every table. */
export async function tracesOf(redis: Redis, pool: pg.Pool, partition: string, texts: readonly string[]): Promise<string[]> {
  return [...(await inRedis(redis, partition, texts)), ...(await inPostgres(pool, texts))];
}
