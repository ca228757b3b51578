import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { hasUsers, withFolderLock } from './folder-lock.js';
import { startLocalPostgres } from './local-postgres.js';
import { startLocalRedis } from './local-redis.js';
import { isThere } from './local-store.js';

const stores = [
  { name: 'redis', start: startLocalRedis },
  { name: 'postgres', start: startLocalPostgres },
] as const;

/**
 * Removes a data folder with its stores. A server that a killed process has left running is adopted and stopped first.
 * @throws OperatorError when a living process uses one of the stores; nothing is removed then.
 */
export async function removeDataFolder(dataDir: string): Promise<void> {
  const own = stores.map(({ name, start }) => ({ folder: join(dataDir, name), start }));
  for (const { folder } of own) {
    if (!(await isThere(join(folder, 'users')))) continue;
    const isUsed = await withFolderLock(folder, storeBounds.stopLockWaitMs, () => hasUsers(folder));
    if (isUsed) throw new OperatorError(`Another Laurel process uses the server in ${folder}: stop it first.`);
  }
  for (const { folder, start } of own) {
    if (await isThere(folder)) await (await start({ dataDir, log: () => undefined })).stop();
  }
  await rm(dataDir, { recursive: true, force: true });
}
