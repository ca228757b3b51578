import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { limits } from '../shared/limits.js';
import { changeAccount } from './account-row.js';
import { hashKey, type KeyLimits, keyPrefix, makeKey, type StoredKey } from './keys.js';

const limitColumns = `permissions, fields, max_event_value as "maxEventValue", expires`;
const columns = `id, kind, tenant, user_id as "userId", access, ${limitColumns}, prefix, hash`;

/** The valid admin keys of the account. Keys that are bound to a tenant are looked up when they are used. */
export async function loadAdminKeys(pool: pg.Pool): Promise<StoredKey[]> {
  const { rows } = await pool.query<StoredKey>(
    `select ${columns} from api_keys where kind = 'admin' and tenant is null and revoked is null`,
  );
  return rows;
}

/** The valid keys with these prefixes. */
export async function loadKeys(pool: pg.Pool, prefixes: readonly string[]): Promise<StoredKey[]> {
  const { rows } = await pool.query<StoredKey>(`select ${columns} from api_keys where prefix = any($1::text[]) and revoked is null`, [
    textArray(prefixes),
  ]);
  return rows;
}

/** What people know a key by, also one that has just been deleted: its row stays. */
export async function keyLabel(pool: pg.Pool, id: string): Promise<{ readonly name: string; readonly prefix: string }> {
  const { rows } = await pool.query<{ name: string; prefix: string }>('select name, prefix from api_keys where id = $1', [id]);
  const [key] = rows;
  if (!key) throw new Error(`there is no key ${id}, which has authenticated a request`);
  return key;
}

/** The keys that changed after a revision, and whether they are valid. */
export async function keysSince(pool: pg.Pool, revision: number): Promise<(StoredKey & { readonly isValid: boolean })[]> {
  const { rows } = await pool.query<StoredKey & { isValid: boolean }>(
    `select ${columns}, revoked is null as "isValid" from api_keys where revision > $1 and revision > 0`,
    [revision],
  );
  return rows;
}

/** What a start did about ADMIN_API_KEY, or about the lack of any key. */
export interface EnsuredKey {
  /** The key that was created. This is the only time that it can be shown. */
  readonly made: string | undefined;
  /** The keys have changed: announce it to other processes. */
  readonly isChanged: boolean;
  /** ADMIN_API_KEY is revoked, and stays revoked. */
  readonly isRevoked: boolean;
  /** If ADMIN_API_KEY is new: the other valid admin keys of the account, each as its prefix and name. */
  readonly others: readonly string[];
}

/**
 * Ensures that there is an admin key. `given` is ADMIN_API_KEY; without it, a key is created if there is none. A revoked or deleted key stays so,
 * but its prefix with another body is a new key.
 */
export async function ensureAdminKey(pool: pg.Pool, given: string | null): Promise<EnsuredKey> {
  if (given === null) {
    if ((await loadAdminKeys(pool)).some(({ access }) => access === 'full'))
      return { made: undefined, isChanged: false, isRevoked: false, others: [] };
    const made = makeKey();
    await insertGiven(pool, made);
    return { made, isChanged: true, isRevoked: false, others: [] };
  }
  const { rows } = await pool.query<{ hash: Buffer; isRevoked: boolean }>(
    `select hash, revoked is not null as "isRevoked" from api_keys where prefix = $1 and kind = 'admin'`,
    [keyPrefix(given)],
  );
  const [found] = rows;
  if (found?.hash.equals(hashKey(given)) === true) return { made: undefined, isChanged: false, isRevoked: found.isRevoked, others: [] };
  await insertGiven(pool, given);
  return { made: undefined, isChanged: true, isRevoked: false, others: await otherAdminKeys(pool, keyPrefix(given)) };
}

/** The valid admin keys of the account except one, as texts. A prefix is no secret. */
async function otherAdminKeys(pool: pg.Pool, prefix: string): Promise<string[]> {
  const { rows } = await pool.query<{ prefix: string; name: string }>(
    `select prefix, name from api_keys where kind = 'admin' and tenant is null and revoked is null and prefix <> $1 order by created limit $2`,
    [prefix, limits.maxAdminKeys],
  );
  return rows.map(({ prefix: other, name }) => (name === '' ? other : `${other} (${name})`));
}

async function insertGiven(pool: pg.Pool, key: string): Promise<void> {
  await changeAccount(pool, (client, revision) =>
    client.query(
      `insert into api_keys (kind, name, prefix, hash, revision) values ('admin', 'First key', $1, $2, $3)
       on conflict (prefix) do update
         set hash = excluded.hash, tenant = null, access = 'full', revoked = null, deleted = null, revision = excluded.revision
       where api_keys.kind = 'admin'`,
      [keyPrefix(key), hashKey(key), revision],
    ),
  );
}

/** An application key that was created, or why it was not. */
export type MadeApplicationKey =
  { readonly id: string; readonly userId: string; readonly key: string; readonly prefix: string } | { readonly problem: string };

/** An application key to create. */
type NewApplicationKey = { readonly userId: string } & { readonly [L in keyof KeyLimits]?: KeyLimits[L] | undefined };

interface KeyedItem {
  readonly item: NewApplicationKey;
  readonly key: string;
}

export interface NewApplicationKeys {
  readonly tenant: number;
  readonly items: readonly NewApplicationKey[];
  /** The moment of the request (Account.now). */
  readonly nowMs: number;
}

/**
 * Creates application keys of users of a tenant. They need no announcement: no process has them in memory, and each looks them up when they are used.
 */
export async function createApplicationKeys(pool: pg.Pool, { tenant, items, nowMs }: NewApplicationKeys): Promise<MadeApplicationKey[]> {
  const userIds = items.map(({ userId }) => userId);
  const { rows } = await pool.query<{ userId: string; count: number }>(
    `select user_id as "userId", count(*)::int from api_keys
      where kind = 'application' and tenant = $1 and user_id = any($2::text[]) and revoked is null and (expires is null or expires > to_timestamp($3 / 1000.0))
      group by user_id`,
    [tenant, textArray(userIds), nowMs],
  );
  const counts = new Map(rows.map(({ userId, count }) => [userId, count]));
  const keys = items.map((item): KeyedItem | { readonly problem: string } => {
    if (item.expires && item.expires.getTime() <= nowMs)
      return { problem: 'This key would already have expired: choose a later `expires`.' };
    const count = (counts.get(item.userId) ?? 0) + 1;
    counts.set(item.userId, count);
    if (count > limits.maxKeysPerUser) return { problem: `A user has at most ${limits.maxKeysPerUser} keys: delete one first.` };
    return { item, key: makeKey() };
  });
  const rowsOf = keys.flatMap((one) => ('problem' in one ? [] : [rowOf(one)]));
  const inserted = await pool.query<{ id: string; prefix: string }>(
    `insert into api_keys (kind, tenant, user_id, permissions, fields, max_event_value, expires, prefix, hash)
     select 'application', $1, user_id, permissions, fields, max_event_value, expires, prefix, decode(hash, 'hex')
       from jsonb_to_recordset($2::jsonb) as row (user_id text, permissions text[], fields text[], max_event_value double precision,
                                                  expires timestamptz, prefix text, hash text)
     returning id, prefix`,
    [tenant, JSON.stringify(rowsOf)],
  );
  const ids = new Map(inserted.rows.map(({ id, prefix }) => [prefix, id]));
  return keys.map((one) => {
    if ('problem' in one) return one;
    const prefix = keyPrefix(one.key);
    return { userId: one.item.userId, key: one.key, prefix, id: ids.get(prefix) ?? '' };
  });
}

/** The row of a new key. One that is limited to some routes may write no field that it does not name. */
function rowOf({ item, key }: KeyedItem): object {
  const { userId, permissions = null, fields = null, maxEventValue = null, expires = null } = item;
  return {
    user_id: userId,
    permissions,
    fields: fields ?? (permissions && []),
    max_event_value: maxEventValue,
    expires: expires?.toISOString() ?? null,
    prefix: keyPrefix(key),
    hash: hashKey(key).toString('hex'),
  };
}

/** Deletes rows of application keys that expired or were revoked before a time, at most limits.accessPruneRows. Returns how many. */
export async function pruneApplicationKeys(pool: pg.Pool, before: Date): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from api_keys where id in (
       select id from api_keys where kind = 'application' and least(revoked, expires) < $1 limit ${limits.accessPruneRows})`,
    [before],
  );
  return rowCount ?? 0;
}

/** An application key as operators see it. */
export interface ApplicationKey extends KeyLimits {
  readonly id: string;
  readonly userId: string;
  readonly prefix: string;
  readonly created: Date;
  /** Null while it has never been used. */
  readonly lastUsed: Date | null;
}

export interface ApplicationKeyQuery {
  readonly limit: number;
  readonly skip: number;
  /** Whose keys; those of all users without it. */
  readonly userId: string | undefined;
}

/** The application keys of a tenant, the oldest first. One that was revoked is not listed any more. */
export async function listApplicationKeys(
  pool: pg.Pool,
  tenant: number,
  { limit, skip, userId }: ApplicationKeyQuery,
): Promise<ApplicationKey[]> {
  const { rows } = await pool.query<ApplicationKey>(
    `select id, user_id as "userId", prefix, ${limitColumns}, created, last_used as "lastUsed" from api_keys
      where kind = 'application' and tenant = $1 and ($4::text is null or user_id = $4) and revoked is null
      order by created, id limit $2 offset $3`,
    [tenant, limit, skip, userId ?? null],
  );
  return rows;
}

/** Revokes and deletes application keys of a tenant. Returns for each id whether there was such a key. */
export async function deleteApplicationKeys(pool: pg.Pool, tenant: number, ids: readonly string[]): Promise<boolean[]> {
  return changeAccount(pool, async (client, revision) => {
    const { rows } = await client.query<{ id: string }>(
      `update api_keys set revoked = now(), deleted = now(), revision = $3
        where kind = 'application' and tenant = $1 and id = any($2::uuid[]) and revoked is null returning id`,
      [tenant, textArray(ids), revision],
    );
    const found = new Set(rows.map(({ id }) => id));
    // An id that is named twice is found once.
    return ids.map((id) => found.delete(id.toLowerCase()));
  });
}

/**
 * Revokes all keys of a user and removes the user's id from them. The caller announces the change (access/account.ts).
 */
export async function eraseUserKeys(pool: pg.Pool, tenant: number, userId: string): Promise<number> {
  return changeAccount(pool, async (client, revision) => {
    const { rowCount } = await client.query(
      `update api_keys set user_id = null, revoked = coalesce(revoked, now()), deleted = coalesce(deleted, now()), revision = $3
        where kind = 'application' and tenant = $1 and user_id = $2`,
      [tenant, userId, revision],
    );
    return rowCount ?? 0;
  });
}

/** When keys were last used: noted in memory with each request, saved at most once for each key and limits.keyUseMs. */
export class KeyUse {
  private used = new Map<string, number>();

  note(keyId: string): void {
    this.used.set(keyId, Date.now());
  }

  /** Saves what was noted since the last call. */
  async flush(pool: pg.Pool): Promise<void> {
    if (this.used.size === 0) return;
    const noted = this.used;
    this.used = new Map();
    try {
      await pool.query(
        `update api_keys as key set last_used = greatest(key.last_used, to_timestamp(row.at / 1000.0))
           from unnest($1::uuid[], $2::float8[]) as row (id, at) where key.id = row.id`,
        [textArray([...noted.keys()]), numberArray([...noted.values()])],
      );
    } catch (error) {
      for (const [id, at] of noted) if (!this.used.has(id)) this.used.set(id, at);
      throw error;
    }
  }
}
