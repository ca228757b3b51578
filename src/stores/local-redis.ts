import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { OperatorError } from '../errors.js';
import { storeBounds } from './bounds.js';
import { connectionProblem, launch, waitUntilReady, type Sight } from './launch.js';
import { explainFolderErrors, shareServer, type LocalStore, type LocalStoreOptions, type RunningServer } from './local-store.js';
import { freePort, listProcesses, processFolder, ProcessHandle } from './processes.js';
import { findOrInstallRedis, thisMachine, type Machine } from './redis-program.js';

/** What is needed to reach the server of a folder. Both are kept in its redis.conf, so they are written down once. */
interface Access {
  readonly port: number;
  readonly password: string;
}

/** The files of one server. */
class RedisFolder {
  readonly path: string;
  readonly conf: string;
  readonly log: string;
  readonly #pidFile: string;
  readonly #durability: 'everysec' | 'always';

  /** @param path real path, since that is what Redis answers when it is asked for its folder. */
  constructor(path: string, durability: 'everysec' | 'always') {
    this.#durability = durability;
    this.path = path;
    this.conf = join(path, 'redis.conf');
    this.log = join(path, 'redis.log');
    this.#pidFile = join(path, 'redis.pid');
  }

  /** How the server was last reached; null before the first start. */
  async access(): Promise<Access | null> {
    const conf = await readIfThere(this.conf);
    const port = Number(/^port (\d+)$/m.exec(conf)?.[1]);
    const password = /^requirepass (\S+)$/m.exec(conf)?.[1];
    return port > 0 && password !== undefined ? { port, password } : null;
  }

  /** Replaced in one step, since a half-written file would lose the password of the data. */
  async writeConf(access: Access): Promise<void> {
    const fresh = `${this.conf}.new`;
    await writeFile(fresh, this.#settings(access), { mode: 0o600 });
    await rename(fresh, this.conf);
  }

  #settings({ port, password }: Access): string {
    return [
      '# Written by Laurel at every start of this server: changes made here are lost.',
      'bind 127.0.0.1',
      `port ${port}`,
      `dir ${quoted(this.path)}`,
      'daemonize no',
      // The data: each write to the append-only file, which reaches the disk within a second, or before it is answered. No snapshots beside it.
      'appendonly yes',
      `appendfsync ${this.#durability}`,
      'save ""',
      // A server that evicts would forget users without a word.
      'maxmemory-policy noeviction',
      // The hash of a user stays a listpack up to this size: a quarter of the memory, and faster to read whole.
      'hash-max-listpack-entries 256',
      'hash-max-listpack-value 256',
      `requirepass ${password}`,
      `logfile ${quoted(this.log)}`,
      `pidfile ${quoted(this.#pidFile)}`,
      '',
    ].join('\n');
  }

  /**
   * The process of this folder's server, whether or not it answers; null when there is none. It has our configuration file as its argument
   * until it shows its address instead; from then on it works in the folder, and has recorded its number there.
   */
  async findProcess({ port }: Access): Promise<ProcessHandle | null> {
    const recorded = Number.parseInt(await readIfThere(this.#pidFile), 10);
    const isOurs = (pid: number, command: string): boolean =>
      command.includes(this.conf) || processFolder(pid) === this.path || (pid === recorded && command.includes(`127.0.0.1:${port}`));
    const servers = listProcesses().filter(({ command }) => /(redis|valkey)-server /.test(command));
    const found = servers.find(({ pid, command }) => isOurs(pid, command));
    return found ? new ProcessHandle(found.pid) : null;
  }
}

/** A path in the syntax of redis.conf. */
function quoted(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

async function readIfThere(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
}

/** Runs the work on one connection that is not tried again and not waited for long. */
async function onConnection<T>({ port, password }: Access, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({
    host: '127.0.0.1',
    port,
    password,
    lazyConnect: true,
    // The ready check waits until the data is loaded; here it is the loading that is to be seen.
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

/** Looks whether the server that the folder recorded answers at its port: with its password, and from this folder. */
async function look(folder: RedisFolder, access: Access): Promise<Sight> {
  try {
    return await onConnection(access, async (redis) => {
      const [, dir] = (await redis.call('CONFIG', 'GET', 'dir')) as string[];
      if (dir !== folder.path) return { state: 'none', why: `At its port a server of ${dir ?? 'nowhere'} answers.` };
      const info = await redis.info();
      const pid = Number(/^process_id:(\d+)/m.exec(info)?.[1]);
      return /^loading:1/m.test(info) ? { state: 'loading' } : { state: 'ready', pid };
    });
  } catch (error) {
    return { state: 'none', why: connectionProblem(error) };
  }
}

/**
 * The pid of the folder's server if it runs. Two servers on one append-only file destroy it, so a server that is alive but does not answer
 * is an error and never a reason to start another one.
 */
async function findRunning(folder: RedisFolder, access: Access): Promise<number | null> {
  const sight = await look(folder, access);
  if (sight.state === 'ready') return sight.pid;
  const server = await folder.findProcess(access);
  return server && waitUntilReady('Redis', server, () => look(folder, access));
}

/** Starts a server on the port; null when another program has taken the port. */
async function tryStart(folder: RedisFolder, program: string, access: Access): Promise<number | null> {
  await folder.writeConf(access);
  // Its messages about the terminal, the locale and the like should not hang on the operator's environment.
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  const server = await launch({ program, args: [folder.conf], env, logFile: folder.log, runAs: null });
  try {
    const pid = await waitUntilReady('Redis', server.process, () => look(folder, access));
    if (pid === server.process.pid) return pid;
    // Another one was faster and has the port. Ours finds that out and ends.
    await server.process.isGoneWithin(storeBounds.killMs);
  } catch (error) {
    server.process.signal('SIGKILL');
    throw error;
  }
  if (/Address already in use/i.test(await server.log())) return null;
  throw new OperatorError(`Redis did not start. ${await server.logTail()}`);
}

/**
 * The recorded port is tried first, and that is more than tidiness: a server that a killed service had only just launched may show in no way
 * yet. It and a second one cannot both listen on that port, and Redis binds before it opens its data. Another port is taken only
 * when the recorded one is in use and, after that, no server of this folder is to be found.
 */
async function obtain(folder: RedisFolder, machine: Machine, log: (line: string) => void): Promise<RunningServer> {
  const last = await folder.access();
  const password = last?.password ?? randomBytes(24).toString('base64url');
  let port = last?.port ?? (await freePort());
  for (let attempt = 0; attempt < storeBounds.maxStarts; attempt += 1) {
    const running = await findRunning(folder, { port, password });
    if (running !== null) {
      log(`Redis was still running (process ${running}) and is used again. Its data is in ${folder.path}.`);
      return serverOf({ port, password }, running, true);
    }
    if (attempt > 0) port = await freePort();
    const started = await tryStart(folder, await findOrInstallRedis(machine, log), { port, password });
    if (started !== null) {
      log(`Redis runs on 127.0.0.1:${port} (process ${started}). Its data is in ${folder.path}.`);
      return serverOf({ port, password }, started, false);
    }
  }
  throw new OperatorError(`Redis found no free port of 127.0.0.1 in ${storeBounds.maxStarts} attempts.`);
}

function serverOf(access: Access, pid: number, adopted: boolean): RunningServer {
  const server = new ProcessHandle(pid);
  return {
    url: `redis://:${access.password}@127.0.0.1:${access.port}`,
    pid,
    adopted,
    shutDown: () => shutDown(access, server),
  };
}

/** SHUTDOWN brings the append-only file to the disk first. A server that cannot be asked gets the signal that means the same. */
async function shutDown(access: Access, server: ProcessHandle): Promise<void> {
  if (!server.isAlive()) return;
  // The answer to a SHUTDOWN that works is the end of the connection, so what counts is whether the process goes.
  await onConnection(access, (redis) => redis.call('SHUTDOWN')).catch(() => server.signal('SIGTERM'));
  if (await server.isGoneWithin(storeBounds.stopMs)) return;
  server.signal('SIGKILL');
  await server.isGoneWithin(storeBounds.killMs);
}

/**
 * Runs a Redis (or Valkey) of our own in `<dataDir>/redis`, on a free port of 127.0.0.1, with a password that is kept with the data. The
 * one that runs there already is used.
 * @param options.durability how a server that is started brings its data to the disk; one that runs already is left as it is.
 * @param options.machine where Redis is looked for and installed; a parameter for tests.
 * @throws OperatorError that says what to do when there is no Redis and no way to install one, or when it does not start.
 */
export async function startLocalRedis({
  dataDir,
  log,
  durability = 'everysec',
  machine = thisMachine,
}: LocalStoreOptions & { durability?: 'everysec' | 'always'; machine?: Machine }): Promise<LocalStore> {
  return explainFolderErrors(dataDir, async () => {
    const path = join(resolve(dataDir), 'redis');
    await mkdir(path, { recursive: true });
    // Only this folder is closed, not the data folder around it: Postgres may run as another user, who must get through that one.
    await chmod(path, 0o700);
    const folder = new RedisFolder(await realpath(path), durability);
    return shareServer(folder.path, log, () => obtain(folder, machine, log));
  });
}
