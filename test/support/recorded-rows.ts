import type pg from 'pg';
import { DateTime } from 'luxon';

/** A row as it was when it was inserted; users who have been deleted since have it under a name of their own. */
export interface RecordedEvent {
  readonly user: string;
  readonly metric: number;
  readonly day: string;
  readonly value: number;
}
interface RecordedAward {
  readonly trigger: number;
  readonly day: string;
  readonly awarded: number;
}
interface RecordedCompletion {
  readonly achievement: number;
  readonly day: string;
}
interface RecordedUser {
  readonly day: string;
}

/** Everything that was ever inserted into the tables that analytics count. */
export interface RecordedRows {
  readonly events: readonly RecordedEvent[];
  readonly awards: readonly RecordedAward[];
  readonly completions: readonly RecordedCompletion[];
  readonly users: readonly RecordedUser[];
}

const tables = ['events', 'awards', 'user_achievements', 'users'] as const;

/** Copies every row that is inserted into the tables from now on, in the same transaction: the copies stay when users are deleted. */
export async function recordRows(pool: pg.Pool): Promise<void> {
  for (const table of tables) {
    await pool.query(`create table recorded_${table} as select * from ${table} with no data`);
    await pool.query(
      `create function record_${table}() returns trigger language plpgsql as
       $$ begin insert into recorded_${table} select new.*; return null; end $$`,
    );
    await pool.query(`create trigger record after insert on ${table} for each row execute function record_${table}()`);
  }
  // Not named as the columns by which the rows of a user are found and deleted.
  for (const table of tables) {
    await pool.query(`alter table recorded_${table} rename column ${table === 'users' ? 'id' : 'user_id'} to person`);
  }
  await pool.query('alter table recorded_user_achievements add column day date');
}

/** Notes the local day of a user's completions so far. Call it before the user's zone changes; the ledger must be drained. */
export async function noteCompletions(pool: pg.Pool, user: string, zone: string): Promise<void> {
  const { rows } = await pool.query<{ at: Date }>('select at from recorded_user_achievements where person = $1 and day is null', [user]);
  for (const { at } of rows) {
    const day = DateTime.fromJSDate(at).setZone(zone).toISODate();
    await pool.query('update recorded_user_achievements set day = $3 where person = $1 and at = $2', [user, at, day]);
  }
}

/** Gives the rows of a user who has been deleted another name: a later user may have the same id. */
export async function renameRecorded(pool: pg.Pool, user: string, name: string): Promise<void> {
  for (const table of tables) await pool.query(`update recorded_${table} set person = $2 where person = $1`, [user, name]);
}

export async function readRecorded(pool: pg.Pool): Promise<RecordedRows> {
  const rows = async <T extends pg.QueryResultRow>(text: string): Promise<T[]> => (await pool.query<T>(text)).rows;
  return {
    events: await rows<RecordedEvent>('select person as user, metric, day::text, value from recorded_events'),
    awards: await rows<RecordedAward>('select trigger, day::text, awarded::float8 from recorded_awards'),
    completions: await rows<RecordedCompletion>('select achievement, day::text from recorded_user_achievements'),
    users: await rows<RecordedUser>(`select (date '1970-01-01' + created_day)::text as day from recorded_users`),
  };
}

/** Rows of analytics that differ from a plain count over the tables. No user may have been deleted. */
export async function countDifferences(pool: pg.Pool): Promise<unknown[]> {
  const { rows } = await pool.query<object>(`
    with counted (kind, object, day, count, amount) as (
      select 'events', metric, day, count(*), sum(value::numeric)::float8 from events group by metric, day
      union all select 'awards', trigger, day, count(*), sum(awarded)::float8 from awards group by trigger, day
      union all select 'created', 0, date '1970-01-01' + created_day, count(*), 0 from users group by created_day
      union all select 'active', 0, day, count(distinct user_id), 0 from events group by day
    ), kept as (
      select kind, object, day, count, amount from analytics_days where kind not in ('achievements', 'active30')
    )
    (select 'is missing' as row, * from (table counted except table kept) as missing)
    union all (select 'is wrong', * from (table kept except table counted) as wrong)`);
  return rows;
}
