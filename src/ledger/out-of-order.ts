import type pg from 'pg';
import type { LedgerEntry } from './entry.js';

/** Whether something newer of the user is stored. */
async function isOutdated(client: pg.ClientBase, tenant: number, user: string, rev: number): Promise<boolean> {
  const { rows } = await client.query<{ newer: boolean }>(
    'select exists (select 1 from user_state where tenant = $1 and user_id = $2 and rev > $3) as newer',
    [tenant, user, rev],
  );
  return rows[0]?.newer === true;
}

/**
 * An entry that is written late, behind entries that came after it, without those of its facts that only hold in order: most state is
 * replaced by a higher revision alone, so an older fact does nothing, but pauses and places that were given up have none.
 */
export async function outOfOrder(client: pg.ClientBase, tenant: number, entry: LedgerEntry): Promise<LedgerEntry> {
  if (!('rev' in entry)) return entry;
  if (!(await isOutdated(client, tenant, entry.user, entry.rev))) return entry;
  const { pauses: _, ...rest } = entry;
  return { ...rest, boards: entry.boards.filter(({ seq }) => seq !== undefined) };
}
