import type pg from 'pg';
import { limits } from '../limits.js';
import { inSnapshot } from '../postgres/pool.js';
import { readStoredUsers, readUserIds, type StoredUser } from './stored-users.js';

export interface UsersOf {
  readonly pool: pg.Pool;
  readonly tenant: number;
}

/**
 * The users of a tenant whose ids follow `after`, byte by byte, in chunks of at most limits.restoreUsers, with everything that Redis holds of
 * them. While the caller works on a chunk, those after it are read, each through a connection of its own: nothing may be written meanwhile.
 */
export async function* readUsersAhead({ pool, tenant }: UsersOf, after: string): AsyncGenerator<readonly StoredUser[], void> {
  const reading: Promise<StoredUser[]>[] = [];
  try {
    for (let ids = await readUserIds(pool, tenant, after, limits.restoreUsers); ids.length > 0;) {
      const chunk = ids;
      const users = inSnapshot(pool, (client) => readStoredUsers(client, tenant, chunk));
      // Its failure is met when its turn comes.
      users.catch(() => undefined);
      reading.push(users);
      ids = await readUserIds(pool, tenant, chunk.at(-1) ?? '', limits.restoreUsers);
      if (reading.length > limits.restoreReadsAhead) yield (await reading.shift()) ?? [];
    }
    for (let users = reading.shift(); users; users = reading.shift()) yield await users;
  } finally {
    await Promise.allSettled(reading);
  }
}
