import type pg from 'pg';
import { inTransaction } from './pool.js';

/**
 * Changes what processes keep of the account in their memory, in one transaction. `change` gets the revision that it writes with each row. One
 * change at a time, because each locks the account's row: rules between rows can be checked without more ado.
 */
export async function changeAccount<T>(pool: pg.Pool, change: (client: pg.PoolClient, revision: number) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ revision: string }>('select revision + 1 as revision from account for update');
    const revision = Number(rows[0]?.revision);
    const result = await change(client, revision);
    // What has changed nothing is no revision.
    await client.query(
      `update account set revision = $1
        where exists (select 1 from tenants where revision = $1) or exists (select 1 from api_keys where revision = $1)`,
      [revision],
    );
    return result;
  });
}

/** The revision up to which everything can be read. */
export async function accountRevision(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ revision: string }>('select revision from account');
  return Number(rows[0]?.revision ?? 0);
}

/** Whether an id of a batch has been named before in it: what two items say of one thing has no order that anybody could rely on. */
export function repeatedIds(): (id: string) => boolean {
  const named = new Set<string>();
  return (id) => named.size === named.add(id.toLowerCase()).size;
}

export const namedTwice = { problem: 'This id is named in the batch before: send what is to be done of it in one item.' } as const;
