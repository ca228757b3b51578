import type pg from 'pg';
import { inTransaction } from '../postgres/pool.js';

const partitionedTables = ['events', 'awards'] as const;
/** The advisory lock under which one worker at a time creates partitions; no other code uses this number. */
const partitionLock = 7_019_001;

/** A UTC month, such as `2026-11`. */
function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

function nextMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number));
}

/** The UTC months of times in milliseconds since 1970. Throws a RangeError for an invalid time. */
export function monthsOf(moments: Iterable<number>): Set<string> {
  const months = new Set<string>();
  // Most times are in the same month as the one before.
  let first = 0;
  let end = 0;
  for (const moment of moments) {
    if (moment >= first && moment < end) continue;
    const month = monthOf(moment);
    months.add(month);
    first = Date.parse(month);
    end = Date.parse(nextMonth(month));
  }
  return months;
}

/** Creates the monthly partitions of `events` and `awards` before rows are written. Caches which exist. */
export class MonthlyPartitions {
  private readonly pool: pg.Pool;
  private readonly existing = new Set<string>();

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Creates the partitions of UTC months (`monthsOf`) that do not exist. */
  async ensure(months: ReadonlySet<string>): Promise<void> {
    for (const month of months) if (!this.existing.has(month)) await this.create(month);
  }

  private async create(month: string): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [partitionLock]);
      for (const table of partitionedTables) await createPartition(client, table, month);
    });
    this.existing.add(month);
  }
}

/** Creates and attaches a partition: `create table … partition of` would wait for all readers of the table, such as an hour-long backup. */
async function createPartition(client: pg.ClientBase, table: string, month: string): Promise<void> {
  const name = `${table}_${month.replace('-', '_')}`;
  const { rowCount } = await client.query('select 1 from pg_inherits where inhrelid = to_regclass($1)', [name]);
  if (rowCount === 1) return;
  await client.query(`create table ${name} (like ${table} including all)`);
  // `like` does not copy statistics targets: columns that ANALYZE must not sample. (Up to Postgres 16, system columns, whose numbers are not positive, have target 0 too.)
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
