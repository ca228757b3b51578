import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { connectionProblem, launch, waitUntilReady, type ServerState } from './launch.js';
import {
  expectStore,
  explainFolderErrors,
  shareServer,
  type LocalStore,
  type LocalStoreOptions,
  type RunningServer,
} from './local-store.js';
import { listProcesses, processFolder, ProcessHandle } from './processes.js';
import { findOrInstallRedis, thisMachine, type Machine } from './redis-program.js';

/** The files of one server. */
class RedisFolder {
  readonly path: string;
  /** The only way to the server: no other user can enter its folder, so it needs no password. */
  readonly socket: string;
  readonly conf: string;
  readonly log: string;
  readonly #durability: 'everysec' | 'always';

  /** @param path the real path, which CONFIG GET dir returns. */
  constructor(path: string, socket: string, durability: 'everysec' | 'always') {
    this.#durability = durability;
    this.path = path;
    this.socket = socket;
    this.conf = join(path, 'redis.conf');
    this.log = join(path, 'redis.log');
  }

  /** Replaces the file in one step. */
  async writeConf(): Promise<void> {
    const fresh = `${this.conf}.new`;
    await writeFile(fresh, this.#settings(), { mode: 0o600 });
    await rename(fresh, this.conf);
  }

  #settings(): string {
    return [
      '# Written by Laurel at every start of this server: changes made here are lost.',
      'port 0',
      `unixsocket ${quoted(this.socket)}`,
      'unixsocketperm 700',
      `dir ${quoted(this.path)}`,
      'daemonize no',
      // Each write reaches the append-only file on the disk within a second, or before the response. No snapshots beside it.
      'appendonly yes',
      `appendfsync ${this.#durability}`,
      'save ""',
      // A server that evicts would lose users silently.
      'maxmemory-policy noeviction',
      // The hash of a user stays a listpack up to this size: a quarter of the memory, and faster to read whole.
      'hash-max-listpack-entries 256',
      'hash-max-listpack-value 256',
      `logfile ${quoted(this.log)}`,
      '',
    ].join('\n');
  }

  /**
   * The process of this folder's server, whether or not it responds; null when there is none. Its command line has our configuration file until it
   * shows the socket instead; from then on its working folder is ours.
   */
  findProcess(): ProcessHandle | null {
    const isOurs = (pid: number, command: string): boolean =>
      command.includes(this.conf) || command.includes(this.socket) || processFolder(pid) === this.path;
    const servers = listProcesses().filter(({ command }) => /(redis|valkey)-server /.test(command));
    const found = servers.find(({ pid, command }) => isOurs(pid, command));
    return found ? new ProcessHandle(found.pid) : null;
  }
}

/**
 * The socket of a folder's server: in the folder or, if that path is too long for a socket, in a folder below /tmp that is closed to others too.
 * Refuses one that another user has put there.
 */
async function socketOf(folder: string): Promise<string> {
  const inside = join(folder, 'redis.sock');
  if (Buffer.byteLength(inside) <= storeBounds.maxSocketBytes) return inside;
  const short = `/tmp/laurel-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`;
  await mkdir(short, { mode: 0o700 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  const [found, { uid }] = [await lstat(short), await stat(folder)];
  if (found.isDirectory() && (found.mode & 0o077) === 0 && [0, uid, process.getuid?.()].includes(found.uid))
    return join(short, 'redis.sock');
  throw new OperatorError(
    `The path ${inside} is too long for a socket, and ${short}, which is used instead, is open to others. ` +
      `Remove ${short}, or set DATA_DIR to a shorter path.`,
  );
}

/** A path in the syntax of redis.conf. */
function quoted(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Runs the work on one connection, without retries and with short timeouts. */
async function onConnection<T>({ socket: path }: RedisFolder, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({
    path,
    lazyConnect: true,
    // The ready check would wait until the data is loaded, and hide the state `loading`.
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: storeBounds.checkMs,
    commandTimeout: storeBounds.checkMs,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Checks whether a server of this folder responds at its socket. */
async function check(folder: RedisFolder): Promise<ServerState> {
  try {
    return await onConnection(folder, async (redis) => {
      const [, dir] = (await redis.call('CONFIG', 'GET', 'dir')) as string[];
      if (dir !== folder.path) return { state: 'none', why: `At its socket a server of ${dir ?? 'nowhere'} answers.` };
      const info = await redis.info();
      const pid = Number(/^process_id:(\d+)/m.exec(info)?.[1]);
      return /^loading:1/m.test(info) ? { state: 'loading' } : { state: 'ready', pid };
    });
  } catch (error) {
    return { state: 'none', why: connectionProblem(error) };
  }
}

/**
 * The pid of the folder's server if it runs. Two servers on one append-only file destroy it, so a server that is alive and does not respond is an
 * error and never a reason to start another one.
 */
async function findRunning(folder: RedisFolder): Promise<number | null> {
  const found = await check(folder);
  if (found.state === 'ready') return found.pid;
  const server = folder.findProcess();
  return server && waitUntilReady('Redis', server, () => check(folder));
}

async function launchIn(folder: RedisFolder, program: string): Promise<number> {
  await folder.writeConf();
  // The operator's environment must not decide the language of its messages.
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  const server = await launch({ program, args: [folder.conf], env, logFile: folder.log, runAs: null });
  try {
    const pid = await waitUntilReady('Redis', server.process, () => check(folder));
    if (pid !== null) return pid;
  } catch (error) {
    server.process.signal('SIGKILL');
    throw error;
  }
  throw new OperatorError(`Redis did not start. ${await server.logTail()}`);
}

async function obtain(folder: RedisFolder, machine: Machine, log: (line: string) => void): Promise<RunningServer> {
  const running = await findRunning(folder);
  if (running !== null) {
    log(`Redis was still running (process ${running}) and is used again. Its data is in ${folder.path}.`);
    return serverOf(folder, running, true);
  }
  const started = await launchIn(folder, await findOrInstallRedis(machine, log));
  log(`Redis runs as process ${started}. Its data is in ${folder.path}.`);
  return serverOf(folder, started, false);
}

const serverOf = (folder: RedisFolder, pid: number, adopted: boolean): RunningServer => ({
  url: `unix://${pathToFileURL(folder.socket).pathname}`,
  pid,
  adopted,
  shutDown: () => shutDown(folder),
});

/** SHUTDOWN flushes the append-only file first. A server that accepts no connection gets SIGTERM, which does the same. */
async function shutDown(folder: RedisFolder): Promise<void> {
  const server = folder.findProcess();
  if (!server) return;
  // A SHUTDOWN that works closes the connection without a reply, so only the end of the process counts.
  await onConnection(folder, (redis) => redis.call('SHUTDOWN')).catch(() => server.signal('SIGTERM'));
  if (await server.isGoneWithin(storeBounds.stopMs)) return;
  server.signal('SIGKILL');
  await server.isGoneWithin(storeBounds.killMs);
}

export interface LocalRedisOptions extends LocalStoreOptions {
  readonly durability?: 'everysec' | 'always';
  readonly machine?: Machine;
}

/**
 * Runs a Redis (or Valkey) of our own in `<dataDir>/redis`, at a socket in that folder, which is closed to others. The one that runs there
 * already is used.
 * @param options.create false for one that has to be there already.
 * @param options.durability how a server that is started brings its data to the disk; one that runs already is left as it is.
 * @param options.machine where Redis is looked for and installed; a parameter for tests.
 * @throws OperatorError that says what to do when there is no Redis and no way to install one, or when it does not start.
 */
export async function startLocalRedis(options: LocalRedisOptions): Promise<LocalStore> {
  const { dataDir, log, durability = 'everysec', machine = thisMachine } = options;
  return explainFolderErrors(dataDir, async () => {
    const path = join(resolve(dataDir), 'redis');
    await expectStore(options, 'Redis', join(path, 'redis.conf'));
    await mkdir(path, { recursive: true });
    // Only this folder is closed, not the data folder around it: Postgres may run as another user, who must get through that one.
    await chmod(path, 0o700);
    const real = await realpath(path);
    const folder = new RedisFolder(real, await socketOf(real), durability);
    return shareServer(folder.path, log, () => obtain(folder, machine, log));
  });
}
