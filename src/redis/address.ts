import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseRedisAddress } from '../addresses.js';

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** What people call a Redis: its address without the login. One that only this machine reaches is named with the machine. */
export function redisPlaceName(redisUrl: string | null, dataDir: string): string {
  const address = redisUrl === null ? undefined : parseRedisAddress(redisUrl);
  if (!address) return `the built-in Redis in ${resolve(dataDir)} on ${hostname()}`;
  const { kind, path: socket, nodes, tls, db, masterName } = address;
  if (socket !== undefined) return `unix://${socket} on ${hostname()}`;
  const hosts = nodes.map(({ host, port }) => `${isLoopback(host) ? 'localhost' : host}:${port}`).join(',');
  const scheme = `redis${tls ? 's' : ''}${kind === 'server' ? '' : `+${kind}`}`;
  const path = [masterName, ...(db === 0 ? [] : [String(db)])].filter((part) => part !== '').join('/');
  const isOfThisMachine = nodes.every(({ host }) => isLoopback(host));
  return `${scheme}://${hosts}${path === '' ? '' : `/${path}`}${isOfThisMachine ? ` on ${hostname()}` : ''}`;
}

/** The number of the logical database that an address names. */
export const redisDatabaseOf = (redisUrl: string | null): number => (redisUrl === null ? 0 : (parseRedisAddress(redisUrl)?.db ?? 0));
