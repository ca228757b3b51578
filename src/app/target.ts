import { resolve } from 'node:path';
import { redisPlaceName } from '../redis/address.js';
import type { Settings } from './settings.js';

/** `host:5432/database`, without the login. A host that is a folder of sockets is a parameter, or percent-encoded. */
function postgresPlaceName(databaseUrl: string): string {
  const { hostname, port, pathname, searchParams } = new URL(databaseUrl);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `${host}:${searchParams.get('port') ?? (port === '' ? '5432' : port)}${pathname}`;
}

/** The stores that a process works on, in one line without secrets. */
export function describeTarget({ redisUrl, redisPrefix, databaseUrl, dataDir }: Settings): string {
  const builtIn = `built-in, in ${resolve(dataDir)}`;
  const redis = redisUrl === null ? builtIn : redisPlaceName(redisUrl, dataDir);
  const postgres = databaseUrl === null ? builtIn : postgresPlaceName(databaseUrl);
  return `Redis: ${redis} (prefix ${redisPrefix}); Postgres: ${postgres}`;
}
