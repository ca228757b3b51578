import { hostname } from 'node:os';
import { resolve } from 'node:path';

/** A server of an address. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** REDIS_URL, parsed. */
export interface RedisAddress {
  /** One server, some nodes of a Redis Cluster, or Sentinels that know the master. */
  readonly kind: 'server' | 'cluster' | 'sentinel';
  /** The path of a Unix socket. */
  readonly path?: string;
  /** At least one; exactly one for a single server, none for a socket. */
  readonly nodes: readonly HostAndPort[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The number of the logical database; a cluster has only 0. */
  readonly db: number;
  /** The Sentinels' name of the master; empty without Sentinels. */
  readonly masterName: string;
}

const addressForm = /^redis(s?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/?#\s]*)@)?([^@/?#\s]+)(?:\/([^?#\s]*))?$/;
const socketForm = /^unix:\/\/(?:([^@/?#\s]*)@)?(\/[^?#\s]+)$/;
const nodeForm = /^(\[[0-9a-f:.]+\]|[^[\]:]+)(?::(\d{1,5}))?$/i;
const ports = { server: 6379, cluster: 6379, sentinel: 26379 } as const;

function readNode(text: string, defaultPort: number): HostAndPort | undefined {
  const match = nodeForm.exec(text);
  const host = match?.[1]?.replace(/^\[|\]$/g, '');
  const port = Number(match?.[2] ?? defaultPort);
  return host !== undefined && port > 0 && port < 65_536 ? { host, port } : undefined;
}

/** Decodes percent-encoding; undefined for an empty text. Throws an URIError for an invalid one. */
function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text);
}

/** `redis://secret@host` names a user, as in every other address. */
function loginOf(login: string): Pick<RedisAddress, 'username' | 'password'> {
  const colon = login.indexOf(':');
  const [username, password] = colon < 0 ? [login, ''] : [login.slice(0, colon), login.slice(colon + 1)];
  return { username: decoded(username), password: decoded(password) };
}

/** Parses REDIS_URL (docs/settings.md); undefined for an invalid one. */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  try {
    return parse(text);
  } catch (error) {
    // A % that encodes nothing.
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

function parse(text: string): RedisAddress | undefined {
  const [, socketLogin = '', socketPath] = socketForm.exec(text) ?? [];
  const path = decoded(socketPath);
  if (path !== undefined) return { kind: 'server', path, nodes: [], tls: false, ...loginOf(socketLogin), db: 0, masterName: '' };
  const match = addressForm.exec(text);
  if (!match) return undefined;
  const [, secure, several, login = '', hosts = '', rest = ''] = match;
  const kind = (several ?? 'server') as RedisAddress['kind'];
  const nodes = hosts.split(',').map((host) => readNode(host, ports[kind]));
  if (nodes.includes(undefined) || (kind === 'server' && nodes.length > 1)) return undefined;
  const [first = '', second = '', ...more] = rest.split('/');
  const [masterName, db] = kind === 'sentinel' ? [first, second] : ['', first];
  if (more.length > 0 || (kind !== 'sentinel' && second !== '') || !/^\d{0,5}$/.test(db)) return undefined;
  if ((kind === 'cluster' && Number(db) !== 0) || (kind === 'sentinel' && masterName === '')) return undefined;
  return {
    kind,
    nodes: nodes as HostAndPort[],
    tls: secure === 's',
    ...loginOf(login),
    db: Number(db),
    masterName: decoded(masterName) ?? '',
  };
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** A name of a Redis for operators: its address without the login, and with this machine's name if only this machine reaches it. */
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

/** The number of the logical database of an address. */
export const redisDatabaseOf = (redisUrl: string | null): number => (redisUrl === null ? 0 : (parseRedisAddress(redisUrl)?.db ?? 0));
