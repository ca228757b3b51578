import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { poll, processStart } from './processes.js';

/**
 * A lock on a folder that a crash of its holder releases at once, and the list of the processes that use the folder's server.
 *
 * Node has no flock. proper-lockfile takes over a lock that was not renewed for a few seconds: two processes would start a server on the same
 * append-only file after a suspended or stopped holder resumes, and a crashed holder would delay the next start. A lock file that is deleted when its
 * owner looks dead can be deleted by two processes at once, the second deleting the lock that the first has just taken.
 *
 * So no lock is taken over: the lock is the newest of a series of entries `lock.1`, `lock.2` …, and it is free when the owner of that entry is dead or
 * the entry says `free`. The process that creates the next entry holds the lock; creating an entry that exists fails. The newest entry is
 * never deleted, so no number belongs to two holders. An entry is a symbolic link to nowhere whose target names its owner, because creating one is a
 * single atomic step that carries its content.
 */
const lockName = /^lock\.(\d+)$/;
const free = 'free';

/** Identifies this process, and no later one with the same pid. */
const ourTag = (): string => `${process.pid}:${processStart(process.pid) ?? ''}`;

function isAlive(tag: string): boolean {
  const separator = tag.indexOf(':');
  return separator > 0 && processStart(Number(tag.slice(0, separator))) === tag.slice(separator + 1);
}

async function generations(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names.map((name) => Number(lockName.exec(name)?.[1] ?? 0)).filter((generation) => generation > 0);
}

/** The owner of an entry; null if it has been deleted, which happens only to entries that are not the newest. */
async function ownerOf(path: string): Promise<string | null> {
  return readlink(path).catch((error: unknown) => unlessCode(error, 'ENOENT', null));
}

function unlessCode<T>(error: unknown, code: string, value: T): T {
  if ((error as NodeJS.ErrnoException).code === code) return value;
  throw error;
}

/** Creates an entry. False if it exists, or is not the newest: a slow process can create one that was used and deleted long ago. */
async function claim(folder: string, generation: number): Promise<boolean> {
  const path = join(folder, `lock.${generation}`);
  const made = await symlink(ourTag(), path).then(
    () => true,
    (error: unknown) => unlessCode(error, 'EEXIST', false),
  );
  if (!made) return false;
  if (Math.max(...(await generations(folder))) === generation) return true;
  await rm(path, { force: true });
  return false;
}

/** The generation that this process holds now; null when another process holds the lock. */
async function tryLock(folder: string): Promise<number | null> {
  const newest = Math.max(0, ...(await generations(folder)));
  if (newest > 0) {
    const owner = await ownerOf(join(folder, `lock.${newest}`));
    if (owner === null || (owner !== free && isAlive(owner))) return null;
  }
  return (await claim(folder, newest + 1)) ? newest + 1 : null;
}

async function unlock(folder: string, held: number): Promise<void> {
  await symlink(free, join(folder, `lock.${held + 1}`));
  const older = (await generations(folder)).filter((generation) => generation <= held);
  await Promise.all(older.map((generation) => rm(join(folder, `lock.${generation}`), { force: true })));
}

/**
 * Runs the work under the lock of a folder: no other process, and no other call in this one, runs work under it concurrently.
 * @throws OperatorError when another process still holds it after `timeoutMs`.
 */
export async function withFolderLock<T>(folder: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const held = await poll(() => tryLock(folder), timeoutMs);
  if (held === null) throw new OperatorError(`Another Laurel process has been starting or stopping the server of ${folder} for too long.`);
  try {
    return await work();
  } finally {
    await unlock(folder, held);
  }
}

/** Adds this process to the users of the folder's server. Call it, and the function that it returns, under the lock. */
export async function enterUser(folder: string): Promise<{ leave: () => Promise<void> }> {
  await mkdir(join(folder, 'users'), { recursive: true });
  const entry = join(folder, 'users', randomUUID());
  await symlink(ourTag(), entry);
  return { leave: () => rm(entry, { force: true }) };
}

/** Whether a living process uses the folder's server. Removes the entries of dead ones. Call it under the lock. */
export async function hasUsers(folder: string): Promise<boolean> {
  const users = join(folder, 'users');
  const living = await Promise.all(
    (await readdir(users)).map(async (name) => {
      if (isAlive((await ownerOf(join(users, name))) ?? '')) return true;
      await rm(join(users, name), { force: true });
      return false;
    }),
  );
  return living.includes(true);
}
