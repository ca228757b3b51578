import { randomBytes } from 'node:crypto';
import getPort from 'get-port';
import { Redis } from 'ioredis';

/**
 * Lets a built-in Redis, which listens at a socket alone, listen on a port of this machine too, with a password: some tests need an address that
 * can be moved or encrypted. Returns it; `known` is one that it had before a restart.
 */
export async function overTcp(socketUrl: string, known?: string): Promise<string> {
  const url = new URL(known ?? `redis://:${randomBytes(24).toString('base64url')}@127.0.0.1:${await getPort({ host: '127.0.0.1' })}`);
  const redis = new Redis(socketUrl);
  await redis.config('SET', 'bind', url.hostname);
  await redis.config('SET', 'port', url.port);
  await redis.config('SET', 'requirepass', url.password);
  redis.disconnect();
  return url.href;
}
