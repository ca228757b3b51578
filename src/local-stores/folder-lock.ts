import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { poll, processStart } from './processes.js';

/**
 * A lock on a folder that a crash of its holder releases, and the list of the processes that use the folder's server. Node has no flock, and a
 * lock file that is deleted when its owner looks dead can be deleted by two processes at once, the second deleting the lock that the first has
 * just taken. So nothing is ever taken over: the lock is the newest of a series of entries `lock.1`, `lock.2` …, and it is free when that
 * one's owner is gone or says `free`. Whoever makes the next entry holds the lock; making an entry that exists fails. The newest entry is never
 * deleted, so no number is used twice for two holders. An entry is a symbolic link to nowhere whose target names its owner, because
 * making one is a single atomic step that carries its content.
 */
const lockName = /^lock\.(\d+)$/;
const free = 'free';

/** Names this process so that a later one with the same number is not taken for it. */
const ourTag = (): string => `${process.pid}:${processStart(process.pid) ?? ''}`;

function isAlive(tag: string): boolean {
  const separator = tag.indexOf(':');
  return separator > 0 && processStart(Number(tag.slice(0, separator))) === tag.slice(separator + 1);
}

async function generations(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names.map((name) => Number(lockName.exec(name)?.[1] ?? 0)).filter((generation) => generation > 0);
}

/** The owner of an entry; null when it was deleted in the meantime, which happens only to entries that are not the newest. */
async function ownerOf(path: string): Promise<string | null> {
  return readlink(path).catch((error: unknown) => unlessCode(error, 'ENOENT', null));
}

function unlessCode<T>(error: unknown, code: string, value: T): T {
  if ((error as NodeJS.ErrnoException).code === code) return value;
  throw error;
}

/** Whether the entry was made now, and is the newest: a slow process can make one that was used and deleted long ago. */
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

/** The generation that is ours now; null when the lock is held. */
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
 * Runs the work while no other process, and nothing else in this one, runs work under the lock of the same folder.
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

/** Enters this process into the list of those that use the folder's server. To be called under the lock, as is what it returns. */
export async function enterUser(folder: string): Promise<{ leave: () => Promise<void> }> {
  await mkdir(join(folder, 'users'), { recursive: true });
  const entry = join(folder, 'users', randomUUID());
  await symlink(ourTag(), entry);
  return { leave: () => rm(entry, { force: true }) };
}

/** Whether a living process is in the list; entries of dead ones are removed. To be called under the lock. */
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
