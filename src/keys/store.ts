import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { hashKey, keyPrefix, type StoredKey } from './key-ring.js';

const prefixBytes = 6;
const bodyBytes = 24;

/** A new key, `prefix.body`. */
function makeKey(): string {
  return `${randomBytes(prefixBytes).toString('hex')}.${randomBytes(bodyBytes).toString('base64url')}`;
}

/** The admin keys that are valid now. */
export async function loadKeys(pool: pg.Pool): Promise<StoredKey[]> {
  const { rows } = await pool.query<StoredKey>(`select id, prefix, hash from api_keys where kind = 'admin' and revoked is null`);
  return rows;
}

async function insertKey(pool: pg.Pool, key: string): Promise<void> {
  await pool.query(
    `insert into api_keys (kind, prefix, hash) values ('admin', $1, $2)
     on conflict (prefix) do update set hash = excluded.hash, revoked = null where api_keys.kind = 'admin'`,
    [keyPrefix(key), hashKey(key)],
  );
}

/**
 * Makes sure that there is an admin key. `given` is ADMIN_API_KEY, which is always let in; without it a key is made if there is none.
 * Returns the key that was made, which is the only time that it can be shown.
 */
export async function ensureAdminKey(pool: pg.Pool, given: string | null): Promise<string | undefined> {
  if (given !== null) {
    await insertKey(pool, given);
    return undefined;
  }
  if ((await loadKeys(pool)).length > 0) return undefined;
  const key = makeKey();
  await insertKey(pool, key);
  return key;
}
