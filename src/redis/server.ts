import type { Redis } from 'ioredis';
import { OperatorError } from '../errors.js';
import { mastersOf } from './cluster.js';
import type { RedisConnection } from './connection.js';

/** What INFO says, by field. */
export function infoFields(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );
}

/** Looks at every server that takes writes, and refuses those that Laurel must not run on. Throws an OperatorError. */
export async function checkRedisServers(redis: RedisConnection): Promise<void> {
  for (const server of mastersOf(redis)) await checkServer(server);
}

/** Refuses a server that is too old for functions, or that may evict keys, which would silently lose users' progress. */
async function checkServer(server: Redis): Promise<void> {
  const fields = infoFields(await server.info());
  const version = fields.get('redis_version') ?? '0';
  if (Number(version.split('.')[0]) < 7) {
    throw new OperatorError(`This Redis is version ${version}; Laurel needs Redis 7.0 or Valkey 7.2 at least.`);
  }
  const policy = fields.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    throw new OperatorError(
      `This Redis evicts keys when memory runs out (maxmemory-policy is ${policy}), which would lose users' progress. ` +
        'Set maxmemory-policy to noeviction and start again.',
    );
  }
}
