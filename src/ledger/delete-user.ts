import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { limits } from '../shared/limits.js';
import { forgetInDeadLetters } from './dead-letters.js';

/** The payload without the elements of its lists that are about a user. */
function without(value: unknown, user: string): unknown {
  if (Array.isArray(value)) return value.filter((element) => !isAbout(element, user)).map((element) => without(element, user));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, without(part, user)]));
}

const isAbout = (element: unknown, user: string): boolean =>
  typeof element === 'object' && element !== null && 'userId' in element && element.userId === user;

/**
 * Takes a user out of the messages that name the user beside others, such as the rankings of a leaderboard, at most `max` of them: they are still
 * delivered, and still seen by operators; what receivers answered to them goes, since it may repeat them. Returns how many it changed. (What is about the user alone goes as a row of the user.)
 */
export async function forgetInMessages(client: pg.ClientBase, tenant: number, user: string, max: number): Promise<number> {
  const { rows } = await client.query<{ id: string; payload: unknown }>(
    'select id, payload from outbox where others @> array[$2]::text[] and tenant = $1 limit $3 for update',
    [tenant, user, max],
  );
  for (const { id, payload } of rows) {
    await client.query('update outbox set payload = $2, others = array_remove(others, $3) where id = $1', [
      ...[id, JSON.stringify(without(payload, user)), user],
    ]);
  }
  if (rows.length > 0)
    await forgetAnswers(
      client,
      rows.map(({ id }) => id),
    );
  return rows.length;
}

async function forgetAnswers(client: pg.ClientBase, messages: readonly string[]): Promise<void> {
  await client.query(
    `update webhook_deliveries set tries = (
       select jsonb_agg(try || '{"answer": null}' order by place) from jsonb_array_elements(tries) with ordinality as made (try, place))
      where outbox = any($1::bigint[]) and tries <> '[]'`,
    [textArray(messages)],
  );
}

/**
 * Every table whose rows are of a user of a tenant, as text that can stand in a statement. They are asked for and not listed: a table that
 * is added must not be forgotten here. (Final rankings are among them. The places below move up where they are read, so that the runs of
 * years need not be written anew.)
 */
const tablesWithUsers = `
  select oid::regclass::text as name from pg_class
   where relkind in ('r', 'p') and not relispartition
     and relnamespace = (select relnamespace from pg_class where oid = 'users'::regclass)
     and (select count(*) from pg_attribute where attrelid = pg_class.oid and attname in ('tenant', 'user_id') and not attisdropped) = 2`;
/** Those whose rows are deleted here. Keys are erased before: processes have them in memory, and see by the row that is left that they are revoked. */
const tablesOfUsers = `${tablesWithUsers} and oid <> 'api_keys'::regclass`;

/** Whether any table has a row of a user, a key of the user's own included, or a message names the user beside others. */
export async function hasRowsOf(pool: pg.Pool, tenant: number, user: string): Promise<boolean> {
  const { rows: tables } = await pool.query<{ name: string }>(tablesWithUsers);
  const places = [
    'users where tenant = $1 and id = $2',
    ...tables.map(({ name }) => `${name} where tenant = $1 and user_id = $2`),
    'outbox where others @> array[$2]::text[] and tenant = $1',
  ];
  for (const place of places) {
    const { rowCount } = await pool.query(`select 1 from ${place} limit 1`, [tenant, user]);
    if (rowCount === 1) return true;
  }
  return false;
}

/** Deletes at most `max` rows of a user from a table, or from one partition of it. Returns how many. */
async function deleteRows(client: pg.ClientBase, table: string, tenant: number, user: string, max: number): Promise<number> {
  const found = await client.query<{ part: string }>(
    `select tableoid::regclass::text as part from ${table} where tenant = $1 and user_id = $2 limit 1`,
    [tenant, user],
  );
  const part = found.rows[0]?.part;
  if (part === undefined) return 0;
  const { rowCount } = await client.query(
    `delete from ${part} where ctid = any(array(select ctid from ${part} where tenant = $1 and user_id = $2 limit $3))`,
    [tenant, user, max],
  );
  return rowCount ?? 0;
}

/** Forgets the groups that nobody is in any more: their names are made of the attributes of those who were. */
async function forgetGroups(client: pg.ClientBase, table: string, tenant: number): Promise<void> {
  await client.query(
    `delete from ${table} as told
      where tenant = $1 and "group" <> '' and not exists (
        select 1 from leaderboard_entries as entry
         where entry.tenant = told.tenant and entry.leaderboard = told.leaderboard and entry.run = told.run and entry."group" = told."group")`,
    [tenant],
  );
}

/**
 * Deletes what Postgres has of a user, at most limits.forgetRows rows of it, within the transaction of `client`. Returns whether that was
 * all; if not, the rest is for the next call.
 */
export async function deleteUser(client: pg.ClientBase, tenant: number, user: string): Promise<boolean> {
  const { rows: tables } = await client.query<{ name: string }>(tablesOfUsers);
  let left: number = limits.forgetRows;
  for (const { name } of tables) {
    for (let deleted = -1; deleted !== 0; left -= deleted) {
      if (left <= 0) return false;
      deleted = await deleteRows(client, name, tenant, user, left);
    }
  }
  if ((await forgetInMessages(client, tenant, user, limits.forgetMessages)) === limits.forgetMessages) return false;
  // A pass that was cut off right after this user begins anew: entering somebody twice changes nothing.
  await client.query(`update activations set cursor = '' where tenant = $1 and right(cursor, length($2)) = $2`, [tenant, user]);
  // A round of e-mails goes on after the user before: whoever comes up to here has been told.
  await client.query(
    `update webhook_email_state set cursor = coalesce((select max(id collate "C") from users where tenant = $1 and id collate "C" < $2), '')
      where tenant = $1 and cursor = $2`,
    [tenant, user],
  );
  for (const table of ['webhook_leaderboard_state', 'webhook_ranking_state']) await forgetGroups(client, table, tenant);
  await forgetInDeadLetters(client, tenant, user);
  await client.query('delete from users where tenant = $1 and id = $2', [tenant, user]);
  return true;
}
