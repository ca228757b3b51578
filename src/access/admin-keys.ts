import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { changeEach, type Problem } from './account-row.js';
import { hashKey, type KeyAccess, keyPrefix, makeKey } from './keys.js';

/** An admin key as operators see it. */
export interface AdminKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly status: 'active' | 'revoked';
  readonly access: KeyAccess;
  readonly created: Date;
  readonly revoked: Date | null;
  /** Null while it has never been used. */
  readonly lastUsed: Date | null;
  /** The id of the tenant that the key is bound to; null for a key of the account. */
  readonly tenantId: string | null;
}

/** A new key: `key` is shown only once. */
export interface MadeAdminKey extends AdminKey {
  readonly key: string;
}

const columns = `id, name, prefix, case when revoked is null then 'active' else 'revoked' end as status, access, created, revoked,
  last_used as "lastUsed", (select tenants.id from tenants where tenants.no = api_keys.tenant) as "tenantId"`;
const known = `kind = 'admin' and deleted is null`;
const unknown: Problem = { problem: 'There is no admin key with this id.' };
const noTenant: Problem = { problem: 'There is no tenant with this id or customerId.' };
const last: Problem = { problem: 'This is the last active admin key of the account with full access: create another one first.' };

/** The admin keys, the oldest first, revoked ones included. */
export async function listAdminKeys(pool: pg.Pool, { limit, skip }: { limit: number; skip: number }): Promise<AdminKey[]> {
  const { rows } = await pool.query<AdminKey>(`select ${columns} from api_keys where ${known} order by created, id limit $1 offset $2`, [
    limit,
    skip,
  ]);
  return rows;
}

export async function getAdminKey(pool: pg.Pool, id: string): Promise<AdminKey | undefined> {
  const { rows } = await pool.query<AdminKey>(`select ${columns} from api_keys where ${known} and id = $1`, [id]);
  return rows[0];
}

export async function getAdminKeyByPrefix(pool: pg.Pool, prefix: string): Promise<AdminKey | undefined> {
  const { rows } = await pool.query<AdminKey>(`select ${columns} from api_keys where ${known} and prefix = $1`, [prefix]);
  return rows[0];
}

export interface NewAdminKey {
  readonly name: string;
  /** `tenants.no` of the tenant that the key is bound to, null for a key of the account, undefined when there is no such tenant. */
  readonly tenant: number | null | undefined;
  readonly access: KeyAccess;
}

async function insert(client: pg.PoolClient, { name, tenant, access }: NewAdminKey, revision: number): Promise<MadeAdminKey | Problem> {
  if (tenant === undefined) return noTenant;
  const { rows: counted } = await client.query<{ count: number }>(
    `select count(*)::int from api_keys where ${known} and tenant is not distinct from $1`,
    [tenant],
  );
  if ((counted[0]?.count ?? 0) >= limits.maxAdminKeys) {
    const owner = tenant === null ? 'An account' : 'A tenant';
    return { problem: `${owner} has at most ${limits.maxAdminKeys} admin keys: delete some that are revoked.` };
  }
  const key = makeKey();
  const { rows } = await client.query<AdminKey>(
    `insert into api_keys (kind, name, tenant, access, prefix, hash, revision) values ('admin', $1, $2, $3, $4, $5, $6) returning ${columns}`,
    [name, tenant, access, keyPrefix(key), hashKey(key), revision],
  );
  const [made] = rows;
  return made ? { ...made, key } : unknown;
}

/** Creates admin keys. */
export function createAdminKeys(pool: pg.Pool, items: readonly NewAdminKey[]): Promise<(MadeAdminKey | Problem)[]> {
  return changeEach(pool, items, insert);
}

/** Creates a successor of each key, for the same tenant. The old keys stay valid until they are revoked, so rotation needs no downtime. */
export function rotateAdminKeys(pool: pg.Pool, ids: readonly string[]): Promise<(MadeAdminKey | Problem)[]> {
  const rotate = async (client: pg.PoolClient, id: string, revision: number): Promise<MadeAdminKey | Problem> => {
    const { rows } = await client.query<NewAdminKey>(`select name, tenant, access from api_keys where ${known} and id = $1`, [id]);
    return rows[0] ? insert(client, rows[0], revision) : unknown;
  };
  return changeEach(pool, ids, rotate, (id) => id);
}

export interface AdminKeyChange {
  readonly id: string;
  readonly name?: string | undefined;
  /** A revoked key cannot be activated again. */
  readonly status?: 'revoked' | undefined;
}

/** Whether no other admin key of the account is active. Keys that are read-only or bound to a tenant don't count: they can't create keys. */
async function isLastActive(client: pg.PoolClient, id: string): Promise<boolean> {
  const { rows } = await client.query<{ id: string }>(
    `select id from api_keys where ${known} and tenant is null and access = 'full' and revoked is null limit 2`,
  );
  return rows.length === 1 && rows[0]?.id === id.toLowerCase();
}

/** Renames and revokes admin keys. The last active one of the account can't be revoked: without it, no call could create another. */
export function updateAdminKeys(pool: pg.Pool, items: readonly AdminKeyChange[]): Promise<(AdminKey | Problem)[]> {
  return changeEach(pool, items, updateAdminKey, ({ id }) => id);
}

async function updateAdminKey(client: pg.PoolClient, { id, name, status }: AdminKeyChange, revision: number): Promise<AdminKey | Problem> {
  if (status === 'revoked' && (await isLastActive(client, id))) return last;
  const { rows } = await client.query<AdminKey>(
    `update api_keys set name = coalesce($2, name), revoked = case when $3 then coalesce(revoked, now()) else revoked end, revision = $4
      where ${known} and id = $1 returning ${columns}`,
    [id, name ?? null, status === 'revoked', revision],
  );
  return rows[0] ?? unknown;
}

/** Revokes admin keys and removes them from the list. */
export function deleteAdminKeys(pool: pg.Pool, ids: readonly string[]): Promise<({ readonly id: string } | Problem)[]> {
  return changeEach(pool, ids, async (client, id, revision) => {
    if (await isLastActive(client, id)) return last;
    const { rows } = await client.query<{ id: string }>(
      `update api_keys set revoked = coalesce(revoked, now()), deleted = now(), revision = $2 where ${known} and id = $1 returning id`,
      [id, revision],
    );
    return rows[0] ?? unknown;
  });
}
