import type pg from 'pg';
import type { BoardFact, LedgerEntry } from './entry.js';

const places = 'select seq from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4 and user_id = $5';

/** Whether a user has come to a board after a place in the order of the partition. */
async function cameLater(
  client: pg.ClientBase,
  tenant: number,
  { no, run, group = '', seq = 0 }: BoardFact,
  user: string,
): Promise<boolean> {
  const { rows } = await client.query<{ seq: string }>(places, [tenant, no, run, group, user]);
  return rows.some((row) => Number(row.seq) > seq);
}

/** A fact of a board without what is not so any more: those who had to leave for the user, and have come back since. */
async function stillTrue(client: pg.ClientBase, tenant: number, board: BoardFact): Promise<BoardFact> {
  const { left, pushed, ...fact } = board;
  const leaves = left !== undefined && !(await cameLater(client, tenant, board, left));
  const pushes = pushed !== undefined && !(await cameLater(client, tenant, board, pushed));
  return { ...fact, ...(leaves ? { left } : {}), ...(pushes ? { pushed } : {}) };
}

/** Whether something newer of the user is stored. */
async function isOutdated(client: pg.ClientBase, tenant: number, user: string, rev: number): Promise<boolean> {
  const { rows } = await client.query<{ newer: boolean }>(
    `select exists (select 1 from user_metrics where tenant = $1 and user_id = $2 and rev > $3)
         or exists (select 1 from user_points where tenant = $1 and user_id = $2 and rev > $3)
         or exists (select 1 from user_streaks where tenant = $1 and user_id = $2 and rev > $3) as newer`,
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
  const boards: BoardFact[] = [];
  for (const board of entry.boards) boards.push(await stillTrue(client, tenant, board));
  if (!(await isOutdated(client, tenant, entry.user, entry.rev))) return { ...entry, boards };
  const { pauses: _, ...rest } = entry;
  return { ...rest, boards: boards.filter(({ seq }) => seq !== undefined) };
}
