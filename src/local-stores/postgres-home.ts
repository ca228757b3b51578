import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { lookUpProgram, runCommand, type Command, type RunAs } from './processes.js';

/** The folder for databases whose data folder the user that Postgres runs as cannot reach. */
const sharedRoot = '/var/lib/laurel';

/** The folder of one Postgres. It is ours; `server` in it belongs to the user that Postgres runs as. */
export interface PostgresHome {
  readonly path: string;
  /** Null: as ourselves, because we are not root. */
  readonly runAs: RunAs | null;
}

const isRoot = (): boolean => process.getuid?.() === 0;

async function ownerOf(path: string): Promise<RunAs | null> {
  return stat(path).then(
    ({ uid, gid }) => ({ uid, gid }),
    () => null,
  );
}

/** The place that the first start chose, recorded in the data folder so that the two can be moved together. */
async function recordedPlace(local: string): Promise<string | null> {
  const place = (await readFile(join(local, 'location'), 'utf8').catch(() => '')).trim();
  if (place === '') return null;
  if (await ownerOf(place)) return place;
  throw new OperatorError(`The database of ${local} was kept in ${place}, which is gone. To start with an empty one, delete ${local}.`);
}

/**
 * The data folder is Laurel's own when it holds nothing else. Only then may its mode be changed: others may pass through it, and still not
 * list it.
 */
async function openIfOurs(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  if (!names.every((name) => name === 'redis' || name === 'postgres')) return;
  const { mode } = await stat(dataDir);
  await chmod(dataDir, mode | 0o111);
}

/** Where root puts a new database: in the data folder if the user can reach it, else below /var/lib. */
async function placeForRoot(dataDir: string, local: string, runAs: RunAs, log: (line: string) => void): Promise<string> {
  await chmod(local, 0o711);
  if (!(await canEnter(runAs, local))) await openIfOurs(dataDir);
  if (await canEnter(runAs, local)) return local;
  const place = join(sharedRoot, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
  await mkdir(place, { recursive: true });
  await chmod(sharedRoot, 0o755);
  await chmod(place, 0o711);
  await writeFile(join(local, 'location'), `${place}\n`);
  log(`The user ${postgresUser}, as whom Postgres runs because root may not, cannot reach ${dataDir}: the database is kept in ${place}.`);
  return place;
}

/**
 * Chooses the folder and the user of the Postgres of a data folder, the same at every start. An existing database keeps its place and its owner, so
 * that a start by root after one by another user (or the other way round) never creates an empty one elsewhere.
 * @throws OperatorError when there is no such user, or the database is out of its reach.
 */
export async function findPostgresHome(dataDir: string, log: (line: string) => void): Promise<PostgresHome> {
  const local = join(resolve(dataDir), 'postgres');
  await mkdir(local, { recursive: true });
  const parent = await realpath(resolve(dataDir));
  const known = (await recordedPlace(local)) ?? join(parent, 'postgres');
  if (!isRoot()) return { path: known, runAs: null };
  const owner = await ownerOf(join(known, 'server'));
  const runAs = owner && owner.uid !== 0 ? owner : await ensureUser(postgresUser, log);
  const path = owner ? known : await placeForRoot(parent, join(parent, 'postgres'), runAs, log);
  if (await canEnter(runAs, path)) return { path, runAs };
  throw new OperatorError(
    `Postgres runs as the user with the id ${runAs.uid}, who cannot reach ${path}: open the folders above it (chmod o+x).`,
  );
}

/** The system user that Postgres runs as when Laurel is started by root: Postgres refuses to run as root. */
const postgresUser = 'postgres';

/** The commands that create the user: with the shadow tools, or with BusyBox; null when this machine has neither. */
export function planUser(name: string, lookUp: typeof lookUpProgram): readonly Command[] | null {
  if (lookUp('useradd') !== null) {
    return [{ program: 'useradd', args: ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', name] }];
  }
  if (lookUp('addgroup') !== null && lookUp('adduser') !== null) {
    return [
      { program: 'addgroup', args: ['-S', name] },
      { program: 'adduser', args: ['-S', '-D', '-H', '-s', '/bin/false', '-G', name, name] },
    ];
  }
  return null;
}

async function idOf(option: '-u' | '-g', name: string): Promise<number | null> {
  const { code, output } = await runCommand({ program: 'id', args: [option, name] });
  return code === 0 && /^\d+$/.test(output) ? Number(output) : null;
}

async function findUser(name: string): Promise<RunAs | null> {
  const [uid, gid] = [await idOf('-u', name), await idOf('-g', name)];
  return uid === null || gid === null ? null : { uid, gid };
}

/**
 * The user and group that Postgres runs as under root. Creates them when missing.
 * @throws OperatorError when it cannot be created.
 */
async function ensureUser(name: string, log: (line: string) => void): Promise<RunAs> {
  const there = await findUser(name);
  if (there) return there;
  const commands = planUser(name, lookUpProgram) ?? [];
  if (commands.length > 0) log(`Postgres does not run as root: creating the system user ${name} for it.`);
  let problem = 'There is no useradd and no adduser.';
  for (const command of commands) problem = (await runCommand(command)).output;
  const made = await findUser(name);
  if (made) return made;
  throw new OperatorError(
    `Postgres does not run as root, and the user ${name} could not be created for it. ${problem} ` +
      'Create it, start Laurel as another user, or set DATABASE_URL to a server that runs.',
  );
}

/** Whether a shell script succeeds as a user: only the system knows what owners, modes, access lists and mounts amount to. */
export async function canRun(runAs: RunAs | null, script: string, ...args: string[]): Promise<{ ok: boolean; output: string }> {
  const { code, output } = await runCommand({ program: '/bin/sh', args: ['-c', script, 'sh', ...args], env: { LC_ALL: 'C' }, runAs });
  return { ok: code === 0, output };
}

/** Whether a user can enter a folder: every folder above it must let that user through. */
async function canEnter(runAs: RunAs, folder: string): Promise<boolean> {
  return (await canRun(runAs, 'cd -- "$1"', folder)).ok;
}
