import type { Redis } from 'ioredis';
import type pg from 'pg';
import { keysOf } from './world.js';

/** The raw bytes of a key: nothing is unpacked, so that nothing is missed. */
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

/** The keys of a partition with one of the texts in their name or content. */
async function inRedis(redis: Redis, partition: string, texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const key of await keysOf(redis, partition)) {
    const content = [Buffer.from(key.slice(partition.length)), ...(await contentOf(redis, key))];
    for (const text of texts) if (content.some((part) => part.includes(text))) found.push(`${text} in Redis, ${key}`);
  }
  return found;
}

/** The tables, partitions included, with one of the texts in any column of a row. */
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

/** All occurrences of the texts: in names, fields and values of a partition's keys, and in every column of every table. */
export async function tracesOf(redis: Redis, pool: pg.Pool, partition: string, texts: readonly string[]): Promise<string[]> {
  return [...(await inRedis(redis, partition, texts)), ...(await inPostgres(pool, texts))];
}
