import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { limits } from '../shared/limits.js';
import { deleteUnreadableOf } from './dead-letters.js';

/** The payload without the list elements that are about a user. */
function without(value: unknown, user: string): unknown {
  if (Array.isArray(value)) return value.filter((element) => !isAbout(element, user)).map((element) => without(element, user));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, without(part, user)]));
}

const isAbout = (element: unknown, user: string): boolean =>
  typeof element === 'object' && element !== null && 'userId' in element && element.userId === user;

/**
 * Removes a user from at most `max` messages that contain the user beside others, such as the rankings of a leaderboard. They are still delivered
 * and visible to operators; the receivers' responses are deleted, since they may repeat the user. Returns how many it changed. (Messages about
 * the user alone are rows of the user.)
 */
async function removeFromMessages(client: pg.ClientBase, tenant: number, user: string, max: number): Promise<number> {
  const { rows } = await client.query<{ id: string; payload: unknown }>(
    'select id, payload from outbox where others @> array[$2]::text[] and tenant = $1 limit $3 for update',
    [tenant, user, max],
  );
  for (const { id, payload } of rows) {
    await client.query('update outbox set payload = $2, others = array_remove(others, $3) where id = $1', [
      ...[id, JSON.stringify(without(payload, user)), user],
    ]);
  }
  const messages = rows.map(({ id }) => id);
  if (messages.length > 0) await deleteResponses(client, messages);
  return messages.length;
}

async function deleteResponses(client: pg.ClientBase, messages: readonly string[]): Promise<void> {
  await client.query(
    `update deliveries set tries = (
       select jsonb_agg(try || '{"answer": null}' order by ordinal) from jsonb_array_elements(tries) with ordinality as made (try, ordinal))
      where outbox = any($1::bigint[]) and tries <> '[]'`,
    [textArray(messages)],
  );
}

/**
 * Queries the tables whose rows belong to a user of a tenant, as names that can be part of a statement. A query instead of a list: a new table must
 * not be forgotten here. (Final rankings are among them. Lower ranks move up when they are read, so the runs of years need not be rewritten.)
 */
const tablesWithUsers = `
  select oid::regclass::text as name from pg_class
   where relkind in ('r', 'p') and not relispartition
     and relnamespace = (select relnamespace from pg_class where oid = 'users'::regclass)
     and (select count(*) from pg_attribute where attrelid = pg_class.oid and attname in ('tenant', 'user_id') and not attisdropped) = 2`;
/** The tables whose rows are deleted here. Keys are erased before; processes cache them, and the row that remains shows that they are revoked. */
const tablesOfUsers = `${tablesWithUsers} and oid <> 'api_keys'::regclass`;

const auditEntries = `audit_log where users @> array[$2]::text[] and users <> '{}'`;

/** Removes a user from at most `max` entries of the audit log, which stay. Returns how many. */
async function removeFromAudit(client: pg.ClientBase, tenant: number, user: string, max: number): Promise<number> {
  const { rowCount } = await client.query(
    `update audit_log set users = array_remove(users, $2) where id in (select id from ${auditEntries} and tenant = $1 limit $3)`,
    [tenant, user, max],
  );
  return rowCount ?? 0;
}

/** Whether any table has a row of a user (the user's own key included), or a message contains the user beside others. */
export async function hasRowsOf(pool: pg.Pool, tenant: number, user: string): Promise<boolean> {
  const { rows: tables } = await pool.query<{ name: string }>(tablesWithUsers);
  const sources = [
    'users where tenant = $1 and id = $2',
    ...tables.map(({ name }) => `${name} where tenant = $1 and user_id = $2`),
    'outbox where others @> array[$2]::text[] and tenant = $1',
    `${auditEntries} and tenant = $1`,
  ];
  for (const source of sources) {
    const { rowCount } = await pool.query(`select 1 from ${source} limit 1`, [tenant, user]);
    if (rowCount === 1) return true;
  }
  return false;
}

/** Deletes at most `max` rows of a user, [tenant, user id], from a table or one of its partitions. Returns how many. */
async function deleteRows(client: pg.ClientBase, table: string, user: readonly [number, string], max: number): Promise<number> {
  const found = await client.query<{ part: string }>(
    `select tableoid::regclass::text as part from ${table} where tenant = $1 and user_id = $2 limit 1`,
    [...user],
  );
  const part = found.rows[0]?.part;
  if (part === undefined) return 0;
  const { rowCount } = await client.query(
    `delete from ${part} where ctid = any(array(select ctid from ${part} where tenant = $1 and user_id = $2 limit $3))`,
    [...user, max],
  );
  return rowCount ?? 0;
}

/** Deletes the groups without participants: their names contain attributes of former participants. */
async function deleteEmptyGroups(client: pg.ClientBase, table: string, tenant: number): Promise<void> {
  await client.query(
    `delete from ${table} as state
      where tenant = $1 and "group" <> '' and not exists (
        select 1 from leaderboard_entries as entry
         where entry.tenant = state.tenant and entry.leaderboard = state.leaderboard and entry.run = state.run and entry."group" = state."group")`,
    [tenant],
  );
}

/** Deletes at most limits.forgetRows rows of a user within the transaction of `client`. Returns whether the deletion is complete; if not, call again. */
export async function deleteUser(client: pg.ClientBase, tenant: number, user: string): Promise<boolean> {
  const { rows: tables } = await client.query<{ name: string }>(tablesOfUsers);
  let left: number = limits.forgetRows;
  for (const { name } of tables) {
    let deleted: number;
    do {
      if (left <= 0) return false;
      deleted = await deleteRows(client, name, [tenant, user], left);
      left -= deleted;
    } while (deleted > 0);
  }
  if ((await removeFromMessages(client, tenant, user, limits.forgetMessages)) === limits.forgetMessages) return false;
  if ((await removeFromAudit(client, tenant, user, limits.forgetRows)) === limits.forgetRows) return false;
  // An activation that was interrupted right after this user starts over: entering a user twice changes nothing.
  await client.query(`update activations set cursor = '' where tenant = $1 and right(cursor, length($2)) = $2`, [tenant, user]);
  // An email schedule resumes after the user before: users up to here have been emailed.
  await client.query(
    `update notification_state set cursor = coalesce((select max(id collate "C") from users where tenant = $1 and id collate "C" < $2), '')
      where tenant = $1 and cursor = $2`,
    [tenant, user],
  );
  // Locks the row, so that a pass notes no user who is being deleted.
  await client.query(
    `update key_retention
        set last_user = case last_user when $2 then coalesce((select max(id) from users where tenant = $1 and id < $2), '') else last_user end
      where tenant = $1`,
    [tenant, user],
  );
  for (const table of ['webhook_leaderboard_state', 'webhook_ranking_state']) await deleteEmptyGroups(client, table, tenant);
  await deleteUnreadableOf(client, tenant, user);
  await client.query('delete from users where tenant = $1 and id = $2', [tenant, user]);
  return true;
}
