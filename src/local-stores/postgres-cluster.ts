import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { isThere } from './local-store.js';
import type { PostgresHome } from './postgres-home.js';
import type { PostgresPrograms } from './postgres-programs.js';
import { ProcessHandle, runCommand, type RunAs } from './processes.js';

/** The role that Laurel connects as. It owns the database and is no superuser. */
const role = 'laurel';
/** The superuser of the cluster. Laurel uses it only to create the cluster. */
const administrator = 'laurel_admin';
export const database = 'laurel';
/** Exists in every cluster. */
export const maintenanceDatabase = 'postgres';

/** Greater than every pid that a system assigns. */
const unusedPid = 2_000_000_000;

/** The environment of Postgres: none of the operator's PG… variables, and English messages. */
export const environment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/** Empty when there is no such file. */
async function readIfThere(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
}

/** The password in a file; writes a random one if the file is missing. */
async function obtainPassword(file: string): Promise<string> {
  const stored = (await readIfThere(file)).trim();
  if (stored !== '') return stored;
  const password = randomBytes(24).toString('base64url');
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return password;
}

const administratorPassword = (home: string): string => join(home, 'admin-password');

/** The address of a built-in Postgres for its superuser, from its address for Laurel. */
export async function administratorUrl(url: string, home: string): Promise<string> {
  const file = administratorPassword(home);
  const password = (await readIfThere(file)).trim();
  if (password === '')
    throw new OperatorError(`The password of the superuser of the database in ${home} is missing: put the file ${file} back.`);
  return Object.assign(new URL(url), { username: administrator, password }).href;
}

/** Runs the work on one connection. */
export async function onConnection<T>(url: string, queryTimeoutMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: storeBounds.checkMs,
    query_timeout: queryTimeoutMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The files of one server. */
export class PostgresFolder {
  readonly home: PostgresHome;
  readonly log: string;
  /** Belongs to the user that Postgres runs as, and only that user can read it. */
  readonly server: string;
  readonly data: string;
  readonly password: string;
  readonly #lockFile: string;

  private constructor(home: PostgresHome, password: string) {
    this.home = home;
    this.password = password;
    this.log = join(home.path, 'postgres.log');
    this.server = join(home.path, 'server');
    this.data = join(this.server, 'data');
    this.#lockFile = join(this.data, 'postmaster.pid');
  }

  /** The password is stored beside the data, and before it. Data without it cannot be opened. */
  static async open(home: PostgresHome): Promise<PostgresFolder> {
    const file = join(home.path, 'password');
    if ((await readIfThere(file)).trim() === '' && (await isThere(join(home.path, 'server', 'data')))) {
      throw new OperatorError(`The password of the database in ${home.path} is missing: put the file ${file} back.`);
    }
    return new PostgresFolder(home, await obtainPassword(file));
  }

  /** The process and the port that Postgres has recorded; null before it has, and after it has shut down by itself. */
  async recorded(): Promise<{ process: ProcessHandle; port: number } | null> {
    const lines = (await readIfThere(this.#lockFile)).split('\n');
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return pid > 0 && port > 0 ? { process: new ProcessHandle(pid), port } : null;
  }

  /**
   * Postgres takes a recorded process that is a zombie, or another program of the same user under a reused pid, for a living server and refuses
   * to start. This replaces the pid by an unused one. The file stays, because Postgres checks the rest of it for processes of the dead server that
   * may still write to the data.
   */
  async disownLockFile(): Promise<void> {
    const [, ...rest] = (await readIfThere(this.#lockFile)).split('\n');
    if (rest.length === 0) return;
    const { O_WRONLY, O_TRUNC, O_NOFOLLOW } = constants;
    const file = await open(this.#lockFile, O_WRONLY | O_TRUNC | O_NOFOLLOW);
    await file.writeFile([unusedPid, ...rest].join('\n')).finally(() => file.close());
  }

  url(port: number, name: string): string {
    return `postgres://${role}:${this.password}@127.0.0.1:${port}/${name}`;
  }
}

/** The same on every machine: the system's locale must not decide how names sort. */
const clusterOptions = ['--encoding=UTF8', '--locale=C', '--auth=scram-sha-256', '--no-instructions'];

/**
 * Creates the cluster with Laurel's role and database. It has another name until it is complete, so that one that was cut off is never taken
 * for a database.
 */
export async function createCluster(folder: PostgresFolder, programs: PostgresPrograms): Promise<void> {
  const { path, runAs } = folder.home;
  const password = await obtainPassword(administratorPassword(path));
  await mkdir(folder.server, { recursive: true });
  await chmod(folder.server, 0o700);
  const leftovers = (await readdir(folder.server)).filter((name) => name.startsWith('new-'));
  await Promise.all(leftovers.map((name) => rm(join(folder.server, name), { recursive: true, force: true })));
  const fresh = join(folder.server, `new-${randomUUID()}`);
  const passwordFile = `${fresh}-password`;
  const file = await open(passwordFile, 'wx', 0o600);
  try {
    await file.writeFile(password);
    if (runAs) await file.chown(runAs.uid, runAs.gid);
  } finally {
    await file.close();
  }
  if (runAs) await chownFolder(folder.server, runAs);
  const run = async (program: string, args: readonly string[], input = ''): Promise<void> => {
    const { code, output } = await runCommand({ program, args, env: environment, runAs, input });
    if (code === 0) return;
    throw new OperatorError(`The database could not be created in ${folder.server}: ${output.slice(-storeBounds.logTailBytes)}`);
  };
  await run(programs.initdb, [`--pgdata=${fresh}`, `--username=${administrator}`, `--pwfile=${passwordFile}`, ...clusterOptions]);
  await rm(passwordFile);
  await run(programs.postgres, ['--single', '-D', fresh, '-c', 'exit_on_error=on', maintenanceDatabase], roleStatements(folder.password));
  await rename(fresh, folder.data);
}

/** In single-user mode, each line is a statement of its own. `show data_directory` needs pg_read_all_settings. */
const roleStatements = (password: string): string =>
  [
    `create role ${role} login password ${pg.escapeLiteral(password)}`,
    `grant pg_read_all_settings to ${role}`,
    `create database ${database} owner ${role}`,
    '',
  ].join('\n');

async function chownFolder(path: string, { uid, gid }: RunAs): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await handle.chown(uid, gid).finally(() => handle.close());
}
