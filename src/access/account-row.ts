import type pg from 'pg';
import { inTransaction } from '../postgres/pool.js';

/**
 * Changes tenants or keys in one transaction. `change` gets the revision that it writes with each row. Each change locks the row of the account, so
 * there is one at a time, and `change` can check rules between rows without further locks.
 */
export async function changeAccount<T>(pool: pg.Pool, change: (client: pg.PoolClient, revision: number) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ revision: string }>('select revision + 1 as revision from account for update');
    const revision = Number(rows[0]?.revision);
    const result = await change(client, revision);
    // A change without a row is no revision.
    await client.query(
      `update account set revision = $1
        where exists (select 1 from tenants where revision = $1) or exists (select 1 from api_keys where revision = $1)`,
      [revision],
    );
    return result;
  });
}

/** The newest revision, up to which every change can be read, and the time of Postgres in milliseconds since 1970. */
export async function accountState(pool: pg.Pool): Promise<{ readonly revision: number; readonly nowMs: number }> {
  const { rows } = await pool.query<{ revision: string; nowMs: number }>(
    'select revision, extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs" from account',
  );
  return { revision: Number(rows[0]?.revision ?? 0), nowMs: rows[0]?.nowMs ?? Date.now() };
}

/** Why an item of a batch was refused. */
export interface Problem {
  readonly problem: string;
}

type Change<I, O> = (client: pg.PoolClient, item: I, revision: number) => Promise<O | Problem>;

/**
 * Changes the items of a batch in order, in one transaction. With `idOf`, refuses an item whose id occurs earlier in the batch: two items about one
 * object have no order that callers could rely on.
 */
export function changeEach<I, O>(
  pool: pg.Pool,
  items: readonly I[],
  change: Change<I, O>,
  idOf?: (item: I) => string,
): Promise<(O | Problem)[]> {
  return changeAccount(pool, async (client, revision) => {
    const outcomes: (O | Problem)[] = [];
    const named = new Set<string>();
    for (const item of items) {
      const isRepeated = idOf !== undefined && named.size === named.add(idOf(item).toLowerCase()).size;
      outcomes.push(isRepeated ? duplicateId : await change(client, item, revision));
    }
    return outcomes;
  });
}

const duplicateId: Problem = { problem: 'This id occurs earlier in the batch: send one item for each id.' };
