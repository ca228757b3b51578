import type pg from 'pg';
import { inTransaction } from '../postgres/pool.js';

const partitionedTables = ['events', 'awards'] as const;
/** Any number that nobody else locks by: creating partitions is done by one worker at a time. */
const partitionLock = 7_019_001;

/** The UTC month of a moment, such as `2026-11`. */
function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

function nextMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number));
}

/** The UTC months of moments (milliseconds since 1970). Throws a RangeError for one that is none. */
export function monthsOf(moments: Iterable<number>): Set<string> {
  const months = new Set<string>();
  // Most moments are of the month of the one before.
  let [first, end] = [0, 0];
  for (const moment of moments) {
    if (moment >= first && moment < end) continue;
    const month = monthOf(moment);
    months.add(month);
    [first, end] = [Date.parse(month), Date.parse(nextMonth(month))];
  }
  return months;
}

/** Makes the monthly partitions that rows need, before they come. Remembers what it has made. */
export class Partitions {
  private readonly pool: pg.Pool;
  private readonly made = new Set<string>();

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** After this, rows of these UTC months (`monthsOf`) have a partition. */
  async ensure(months: ReadonlySet<string>): Promise<void> {
    for (const month of months) if (!this.made.has(month)) await this.make(month);
  }

  private async make(month: string): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [partitionLock]);
      for (const table of partitionedTables) await makePartition(client, table, month);
    });
    this.made.add(month);
  }
}

/** Made apart and attached: `create table … partition of` would wait until nobody reads the table any more, for a backup that takes an hour, say. */
async function makePartition(client: pg.ClientBase, table: string, month: string): Promise<void> {
  const name = `${table}_${month.replace('-', '_')}`;
  const { rowCount } = await client.query('select 1 from pg_inherits where inhrelid = to_regclass($1)', [name]);
  if (rowCount === 1) return;
  await client.query(`create table ${name} (like ${table} including all)`);
  // What ANALYZE must not sample is not copied. (Up to Postgres 16, system columns, which have no positive number, are among what it does not sample.)
  const { rows } = await client.query<{ column: string }>(
    `select quote_ident(attname) as column from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 and attstattarget = 0 and not attisdropped`,
    [table],
  );
  for (const { column } of rows) await client.query(`alter table ${name} alter column ${column} set statistics 0`);
  await client.query(
    `alter table ${table} attach partition ${name} for values from ('${month}-01T00:00:00Z') to ('${nextMonth(month)}-01T00:00:00Z')`,
  );
}
