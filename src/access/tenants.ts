import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { changeAccount, changeEach, type Problem } from './account-row.js';

/** The tenant of requests without a Tenant-ID header: the account itself. It can be neither changed nor archived. */
export const defaultTenant = 1;

/** A tenant as it is stored. */
export interface Tenant {
  /** Its number in keys of Redis and rows of Postgres. */
  readonly no: number;
  readonly id: string;
  /** Null for the default tenant only. */
  readonly customerId: string | null;
  readonly name: string;
  readonly status: 'active' | 'archived';
  readonly created: Date;
  readonly updated: Date;
}

/** The outcome of an item of a batch: the tenant, or why the item was refused. */
export type TenantOutcome = Tenant | Problem;

const columns = `no, id, customer_id as "customerId", name, status, created, updated`;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const unknown = { problem: 'There is no tenant with this id.' };

/** The active tenants without the default one, the oldest first. */
export async function listTenants(pool: pg.Pool, { limit, skip }: { limit: number; skip: number }): Promise<Tenant[]> {
  const { rows } = await pool.query<Tenant>(
    `select ${columns} from tenants where status = 'active' and no <> $1 order by no limit $2 offset $3`,
    [defaultTenant, limit, skip],
  );
  return rows;
}

/** An active tenant other than the default one, by its id. */
export async function getTenant(pool: pg.Pool | pg.PoolClient, id: string): Promise<Tenant | undefined> {
  const { rows } = await pool.query<Tenant>(`select ${columns} from tenants where status = 'active' and no <> $1 and id = $2`, [
    defaultTenant,
    id,
  ]);
  return rows[0];
}

/** An active tenant, by what a Tenant-ID header may name: its id, or else its customer's. */
export async function findTenant(pool: pg.Pool, name: string): Promise<Tenant | undefined> {
  const { rows } = await pool.query<Tenant>(
    `select ${columns} from tenants where status = 'active' and (id::text = lower($1) or customer_id = $1)
      order by id::text = lower($1) desc limit 1`,
    [name],
  );
  return rows[0];
}

/** The tenants that changed after a revision, archived ones included. */
export async function tenantsSince(pool: pg.Pool, revision: number): Promise<Tenant[]> {
  const { rows } = await pool.query<Tenant>(`select ${columns} from tenants where revision > $1 order by no`, [revision]);
  return rows;
}

/** Why a tenant can't have a customerId; `no` is the tenant that may have it already. */
async function customerProblem(client: pg.PoolClient, customerId: string, no = 0): Promise<string | undefined> {
  const { rows } = await client.query<{ isId: boolean }>(
    `select id::text = lower($1) as "isId" from tenants where (status = 'active' and customer_id = $1 and no <> $2) or id::text = lower($1)`,
    [customerId, no],
  );
  if (rows.length === 0) return undefined;
  if (uuid.test(customerId) && rows.some(({ isId }) => isId)) return 'This customerId is the id of a tenant: choose another one.';
  return 'A tenant with this customerId already exists.';
}

/** Creates tenants, each with an empty configuration. */
export async function createTenants(
  pool: pg.Pool,
  items: readonly { readonly customerId: string; readonly name: string }[],
): Promise<TenantOutcome[]> {
  return changeAccount(pool, async (client, revision) => {
    const outcomes: TenantOutcome[] = [];
    const { rows } = await client.query<{ count: number }>(`select count(*)::int from tenants where status = 'active'`);
    let left = limits.maxTenants - (rows[0]?.count ?? 0);
    for (const { customerId, name } of items) {
      const problem = left > 0 ? await customerProblem(client, customerId) : `An account has at most ${limits.maxTenants} tenants.`;
      if (problem !== undefined) {
        outcomes.push({ problem });
        continue;
      }
      const made = await client.query<Tenant>(
        `insert into tenants (customer_id, name, revision) values ($1, $2, $3) returning ${columns}`,
        [customerId, name, revision],
      );
      outcomes.push(made.rows[0] ?? unknown);
      left -= 1;
    }
    return outcomes;
  });
}

export interface TenantChange {
  readonly id: string;
  readonly customerId?: string | undefined;
  readonly name?: string | undefined;
}

/** Changes only the fields that are sent. `updated` moves only when a value changes. */
export function updateTenants(pool: pg.Pool, items: readonly TenantChange[]): Promise<TenantOutcome[]> {
  return changeEach(pool, items, updateTenant, ({ id }) => id);
}

async function updateTenant(client: pg.PoolClient, { id, customerId, name }: TenantChange, revision: number): Promise<TenantOutcome> {
  const before = await getTenant(client, id);
  if (!before) return unknown;
  const [newCustomer, newName] = [customerId ?? before.customerId, name ?? before.name];
  if (newCustomer === before.customerId && newName === before.name) return before;
  const problem = newCustomer === before.customerId ? undefined : await customerProblem(client, newCustomer ?? '', before.no);
  if (problem !== undefined) return { problem };
  const changed = await client.query<Tenant>(
    `update tenants set customer_id = $2, name = $3, updated = now(), revision = $4 where no = $1 returning ${columns}`,
    [before.no, newCustomer, newName, revision],
  );
  return changed.rows[0] ?? unknown;
}

/** Archives tenants: requests can no longer name them. Their data stays in the stores. */
export function archiveTenants(pool: pg.Pool, ids: readonly string[]): Promise<TenantOutcome[]> {
  return changeEach(pool, ids, async (client, id, revision) => {
    const { rows } = await client.query<Tenant>(
      `update tenants set status = 'archived', updated = now(), revision = $3
        where status = 'active' and no <> $1 and id = $2 returning ${columns}`,
      [defaultTenant, id, revision],
    );
    return rows[0] ?? unknown;
  });
}

/** The tenants in the memory of a process. Archived ones are found by their ids alone. */
export class TenantDirectory {
  private readonly byNo = new Map<number, Tenant>();
  private readonly byId = new Map<string, Tenant>();
  private readonly byCustomer = new Map<string, Tenant>();
  private readonly archivedById = new Map<string, number>();
  private list: readonly number[] = [defaultTenant];

  /** The nos of all active tenants, in order. */
  get nos(): readonly number[] {
    return this.list;
  }

  /** The active tenant that a Tenant-ID header names: by its id, or else by its customer's. */
  find(name: string): number | undefined {
    return (this.byId.get(name.toLowerCase()) ?? this.byCustomer.get(name))?.no;
  }

  /** Whether a tenant is active, by no. */
  has(no: number): boolean {
    return this.byNo.has(no);
  }

  /** The archived tenant with an id. (Another tenant may have its customerId by now.) */
  findArchived(id: string): number | undefined {
    return this.archivedById.get(id.toLowerCase());
  }

  clear(): void {
    for (const map of [this.byNo, this.byId, this.byCustomer, this.archivedById]) map.clear();
  }

  /** Adds or replaces tenants. */
  update(tenants: readonly Tenant[]): void {
    // All old names first: two tenants may have exchanged their customers.
    for (const { no } of tenants) {
      const before = this.byNo.get(no);
      if (before?.customerId !== undefined && before.customerId !== null) this.byCustomer.delete(before.customerId);
      if (before) this.byId.delete(before.id);
      this.byNo.delete(no);
    }
    for (const tenant of tenants) {
      if (tenant.status === 'archived') {
        this.archivedById.set(tenant.id, tenant.no);
        continue;
      }
      this.byNo.set(tenant.no, tenant);
      this.byId.set(tenant.id, tenant);
      if (tenant.customerId !== null) this.byCustomer.set(tenant.customerId, tenant);
    }
    this.list = [...this.byNo.keys()].sort((a, b) => a - b);
  }
}

/** Saves whether the services run on the test clock. Commands follow it, whatever their own environment says. */
export async function noteTestClock(pool: pg.Pool, isOn: boolean): Promise<void> {
  await pool.query('update account set test_clock = $1 where test_clock is distinct from $1', [isOn]);
}

/** Saves the time of the test clock that all tenants have reached, in milliseconds since 1970: partitions of Redis are opened at it. */
export async function saveTestClock(pool: pg.Pool, atMs: number): Promise<void> {
  await pool.query('update account set test_clock_ms = greatest(test_clock_ms, $1)', [atMs]);
}

interface SavedTestClock {
  /** Whether the services run on the test clock; undefined before the first service has started. */
  readonly isOn: boolean | undefined;
  /** The time that `saveTestClock` saved; 0 while the test clock has never been set. */
  readonly atMs: number;
}

export async function savedTestClock(pool: pg.Pool): Promise<SavedTestClock> {
  const { rows } = await pool.query<{ isOn: boolean | null; atMs: string | null }>(
    'select test_clock as "isOn", test_clock_ms as "atMs" from account',
  );
  return { isOn: rows[0]?.isOn ?? undefined, atMs: Number(rows[0]?.atMs ?? 0) };
}
