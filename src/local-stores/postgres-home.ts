import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { canEnter, ensureUser, postgresUser } from './postgres-user.js';
import type { RunAs } from './processes.js';

/** Where the database is kept when the user that Postgres runs as cannot reach the data folder. */
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

/** The place that an earlier start has chosen, kept in the data folder so that the two can be moved together. */
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

/** Where root puts a new database: in the data folder if the user can reach it, else in a place of the system's. */
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
 * Chooses the folder and the user of the Postgres of a data folder; the same at every start. A database that is there already keeps its place
 * and its owner, so that a start by root after one by another user (or the other way round) never begins an empty one elsewhere.
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
