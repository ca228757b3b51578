import type pg from 'pg';
import { limits } from '../limits.js';

/** Every table whose rows are of a user, by the column `user_id`. A test looks for users in all columns of all tables. */
const tables = [
  'events',
  'awards',
  'idempotency_keys',
  'user_metrics',
  'user_points',
  'user_triggers',
  'user_achievements',
  'user_achievement_sums',
  'user_streaks',
  'user_times',
  'streak_periods',
  'leaderboard_entries',
  'leaderboard_history',
  // The places below move up where they are read: a run of thousand places need not be written anew for it.
  'leaderboard_rankings',
  'api_keys',
] as const;

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

/**
 * Deletes what Postgres has of a user, at most limits.forgetRows rows of it, within the transaction of `client`. Returns whether that was all; if
 * not, the rest is for the next call.
 */
export async function deleteUser(client: pg.ClientBase, tenant: number, user: string): Promise<boolean> {
  let left: number = limits.forgetRows;
  for (const table of tables) {
    for (let deleted = -1; deleted !== 0; left -= deleted) {
      if (left <= 0) return false;
      deleted = await deleteRows(client, table, tenant, user, left);
    }
  }
  // A pass that was cut off right after this user begins anew: entering somebody twice changes nothing.
  await client.query(`update activations set cursor = '' where tenant = $1 and right(cursor, length($2)) = $2`, [tenant, user]);
  await client.query('delete from users where tenant = $1 and id = $2', [tenant, user]);
  return true;
}
