import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/failure.js';
import type { Frequency } from '../shared/calendar.js';
import type { DaySpan } from './aggregates.js';
import type { AnalyticsRow } from '../ledger/analytics-days.js';

/** What is counted: a kind, and the `no` of a metric, trigger or achievement; 0 for users. */
export type Counted = Pick<AnalyticsRow, 'kind' | 'object'>;

/** The users whose current streak has a length, in periods. */
export interface UsersByLength {
  readonly length: number;
  readonly users: number;
}

const dayOf = `day - date '1970-01-01'`;
const dateOf = (parameter: string): string => `date '1970-01-01' + ${parameter}::integer`;

/** The parameters are tenant, kinds, objects, first and last day. */
const countsQuery = `
  select row.kind, row.object, row.${dayOf} as day, row.count::float8, row.amount
    from unnest($2::text[], $3::integer[]) as asked (kind, object)
    join analytics_days as row on row.tenant = $1 and row.kind = asked.kind and row.object = asked.object
     and row.day between ${dateOf('$4')} and ${dateOf('$5')}`;

/** The sum of all days before the first one is in a row of the day before it. */
const sumsQuery = `
  select kind, greatest(${dayOf}, $4::integer - 1) as day, sum(count)::float8 as count
    from analytics_days where tenant = $1 and kind = $2 and object = $3 and day <= ${dateOf('$5')}
   group by kind, 2 order by 2`;

/** Reads the counts by local day that the write-behind maintains. Callers first wait for the write-behind (HistoryReader.waitFor). */
export class AnalyticsReader {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** The days from the first to the last that have counts, in no order. */
  counts(tenant: number, counted: readonly Counted[], { first, last }: DaySpan): Promise<AnalyticsRow[]> {
    const kinds = textArray(counted.map(({ kind }) => kind));
    const objects = numberArray(counted.map(({ object }) => object));
    return this.rows<AnalyticsRow>(countsQuery, [tenant, kinds, objects, first, last]);
  }

  /** For each day from the first to the last, the count of all days up to it. */
  async sums(tenant: number, { kind, object }: Counted, { first, last }: DaySpan): Promise<number[]> {
    const rows = await this.rows<{ day: number; count: number }>(sumsQuery, [tenant, kind, object, first, last]);
    const added = new Map(rows.map(({ day, count }) => [day, count]));
    const sums: number[] = [];
    let sum = added.get(first - 1) ?? 0;
    for (let day = first; day <= last; day += 1) {
      sum += added.get(day) ?? 0;
      sums.push(sum);
    }
    return sums;
  }

  /** How many users have a current streak of each length. */
  usersByStreak(tenant: number, frequency: Frequency): Promise<UsersByLength[]> {
    return this.rows<UsersByLength>('select length, users from streak_lengths where tenant = $1 and frequency = $2 and users > 0', [
      tenant,
      frequency,
    ]);
  }

  private async rows<T extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<T[]> {
    return (await withPostgresErrors(this.pool.query<T>(text, [...values]))).rows;
  }
}
