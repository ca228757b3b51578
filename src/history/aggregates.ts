import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { numberArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/failure.js';
import type { Frequency } from '../shared/calendar.js';
import { rangeWidths } from '../shared/ranges.js';

/** A user's local day (days since 1970-01-01) in a metric or a points system; `total` is the one at the end of the day. */
export interface DaySummary {
  readonly object: number;
  readonly day: number;
  readonly total: number;
  readonly change: number;
  readonly events: number;
}

/** Local days, both inclusive, in days since 1970-01-01. */
export interface DaySpan {
  readonly first: number;
  readonly last: number;
}

/** A user's events of one metric with one value of an event attribute (its `no`): for each span, the change and the total at its end. */
export interface AttributeSums {
  readonly metric: number;
  readonly attribute: number;
  readonly value: string;
  readonly changes: readonly number[];
  readonly totals: readonly number[];
}

/** A user's rank on a leaderboard at the end of a day. */
export interface RankedDay {
  readonly leaderboard: number;
  readonly day: number;
  readonly rank: number;
  readonly value: number;
}

/** The period of a year in which a streak was longest; `started` is the period in which that streak began. */
export interface LongestStreak {
  readonly period: number;
  readonly length: number;
  readonly started: number;
}

/** How many users have how many points, in ranges of one width; those without users are left out. */
export interface UsersByPoints {
  readonly width: number;
  readonly users: ReadonlyMap<number, number>;
}

/** A level by `no`, and the total from which on users have it. */
export interface LevelStart {
  readonly no: number;
  readonly points: number;
}

/** The period in which a user is compared with the other users. */
export type PercentileScope = { readonly year: number } | DaySpan;

const dayOf = (column: string): string => `${column} - date '1970-01-01'`;
const dateOf = (parameter: string): string => `date '1970-01-01' + ${parameter}::integer`;

/** The days of one object in order, at most one row for each; the parameters are tenant, user, object, first and last day. */
export const daysQuery = `
  select object, ${dayOf('day')} as day, total, change, events from user_days
   where tenant = $1 and user_id = $2 and object = $3 and day between ${dateOf('$4')} and ${dateOf('$5')}
   order by user_days.day`;

const totalsBeforeQuery = `
  select wanted.object, total from unnest($3::integer[]) as wanted (object) cross join lateral (
    select total from user_days
     where tenant = $1 and user_id = $2 and user_days.object = wanted.object and day < ${dateOf('$4')}
     order by day desc limit 1) as newest`;

/** How many of the 1,024 samples of users to read so that at most limits.percentileRows rows are read; estimated from one 64th of the rows. */
const sampledParts = (table: string, condition: string): string => `
  lateral (
    select case when count(*) * 64 <= ${limits.percentileRows} then 1024
                else greatest(1, 1024 * ${limits.percentileRows} / (count(*) * 64)) end as parts
      from ${table} as counted where counted.tenant = $1 and counted.object = mine.object and counted.sample < 16 and ${condition}
  ) as bound`;

const mine = 'unnest($3::integer[], $4::float8[]) as mine (object, change)';

const yearPercentilesQuery = `
  select mine.object, count(*) filter (where other.change < mine.change)::integer as lower, count(*)::integer as others
    from ${mine}, ${sampledParts('user_years', 'counted.year = $5')}, user_years as other
   where other.tenant = $1 and other.object = mine.object and other.year = $5 and other.sample < bound.parts and other.user_id <> $2
   group by mine.object`;

const between = (table: string): string => `${table}.day between ${dateOf('$5')} and ${dateOf('$6')}`;
const dayPercentilesQuery = `
  select mine.object, count(*) filter (where other.change < mine.change::numeric)::integer as lower, count(*)::integer as others
    from ${mine}, ${sampledParts('user_days', between('counted'))}, lateral (
      select sum(counted.change::numeric) as change from user_days as counted
       where counted.tenant = $1 and counted.object = mine.object and ${between('counted')}
         and counted.sample < bound.parts and counted.user_id <> $2
       group by counted.user_id
    ) as other
   group by mine.object`;

/**
 * How often each total occurs, and from that the ranges: users share totals, and their rows are read once, which takes 0.2 s for a million. `$3` are
 * the widths (shared/ranges.ts), `$4` is how many ranges there may be.
 */
const usersByPointsQuery = (join: string): string => `
  with counted as materialized (
         select points.total, count(*) as users from user_points as points ${join}
          where points.tenant = $1 and points.system = $2 and points.total > 0 group by points.total),
       scale as materialized (
         select width from unnest($3::bigint[]) as width
          where width >= (select max(total) from counted)::float8 / $4 order by width limit 1)
  select ((total - 1) / width)::integer as range, sum(users)::integer as users, width::float8 from counted, scale group by 1, 3`;
const withAttributes = 'join users on users.tenant = points.tenant and users.id = points.user_id and users.attributes @> $5::jsonb';

/** Number of the attribute → value. */
type Attributes = ReadonlyMap<number, string>;
const jsonOf = (attributes: Attributes): string => JSON.stringify(Object.fromEntries(attributes));

interface UsersInRange {
  readonly range: number;
  readonly users: number;
  readonly width: number;
}

/** Reads the sums by day and by year that the write-behind maintains. Callers first wait for the write-behind (HistoryReader.waitFor). */
export class AggregateReader {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** A user's active days in one metric or points system, oldest first. */
  days(tenant: number, user: string, object: number, { first, last }: DaySpan): Promise<DaySummary[]> {
    return this.rows<DaySummary>(daysQuery, [tenant, user, object, first, last]);
  }

  /** A user's totals before a day in several metrics and points systems, by `no`; those without days before it are not in the map. */
  async totalsBefore(tenant: number, user: string, objects: readonly number[], day: number): Promise<ReadonlyMap<number, number>> {
    const rows = await this.rows<{ object: number; total: number }>(totalsBeforeQuery, [tenant, user, numberArray(objects), day]);
    return new Map(rows.map(({ object, total }) => [object, total]));
  }

  /** A user's active days in several metrics and points systems, oldest first. */
  async daysOfAll(tenant: number, user: string, objects: readonly number[], { first, last }: DaySpan): Promise<DaySummary[]> {
    return this.rows<DaySummary>(
      `select object, ${dayOf('day')} as day, total, change, events from user_days
        where tenant = $1 and user_id = $2 and object = any($3::integer[]) and day between ${dateOf('$4')} and ${dateOf('$5')}
        order by user_days.day`,
      [tenant, user, numberArray(objects), first, last],
    );
  }

  /**
   * The sums of a user's events by value of an event attribute, in several spans of which the last is the longest. Each attribute has at most
   * limits.maxWrappedValues values: those that changed most in the last span.
   */
  async attributeSums(tenant: number, user: string, metrics: readonly number[], spans: readonly DaySpan[]): Promise<AttributeSums[]> {
    const from = (i: number): string => dateOf(`$${4 + 2 * i}`);
    const to = (i: number): string => dateOf(`$${5 + 2 * i}`);
    const sum = (condition: string): string => `coalesce(sum(change::numeric) filter (where ${condition}), 0)::float8::numeric::float8`;
    const changes = spans.map((_, i) => sum(`day between ${from(i)} and ${to(i)}`));
    const totals = spans.map((_, i) => sum(`day <= ${to(i)}`));
    const longest = spans.length - 1;
    return this.rows<AttributeSums>(
      `select metric, attribute, value, changes, totals from (
         select metric, attribute, value, array[${changes.join(', ')}] as changes, array[${totals.join(', ')}] as totals,
                row_number() over (partition by metric, attribute order by abs(${changes[longest] ?? '0'}) desc, value) as place
           from user_attribute_days
          where tenant = $1 and user_id = $2 and metric = any($3::integer[]) and day <= ${to(longest)}
          group by metric, attribute, value
         having bool_or(day >= ${from(longest)})
       ) as ranked where place <= ${limits.maxWrappedValues} order by metric, attribute, place`,
      [tenant, user, numberArray(metrics), ...spans.flatMap(({ first, last }) => [first, last])],
    );
  }

  /**
   * For each metric or points system, the percentage of the other active users who changed less than this user within the scope, from 0 to 100
   * with two decimals; 100 when there are no other users. Exact up to limits.percentileRows rows; above, from an even sample of the users.
   */
  async percentiles(
    tenant: number,
    user: string,
    scope: PercentileScope,
    changes: ReadonlyMap<number, number>,
  ): Promise<ReadonlyMap<number, number>> {
    if (changes.size === 0) return changes;
    const values = [tenant, user, numberArray([...changes.keys()]), numberArray([...changes.values()])];
    type Row = { object: number; lower: number; others: number };
    const rows =
      'year' in scope
        ? await this.rows<Row>(yearPercentilesQuery, [...values, scope.year])
        : await this.rows<Row>(dayPercentilesQuery, [...values, scope.first, scope.last]);
    const found = new Map(rows.map(({ object, lower, others }) => [object, Math.round((lower * 10_000) / others) / 100]));
    return new Map([...changes.keys()].map((object) => [object, found.get(object) ?? 100]));
  }

  /** A user's ranks by day, on all leaderboards. */
  rankedDays(tenant: number, user: string, { first, last }: DaySpan): Promise<RankedDay[]> {
    return this.rows<RankedDay>(
      `select leaderboard, ${dayOf('day')} as day, rank, value from leaderboard_history
        where tenant = $1 and user_id = $2 and day between ${dateOf('$3')} and ${dateOf('$4')} and rank is not null
        order by day`,
      [tenant, user, first, last],
    );
  }

  /** A user's longest streak in the periods from `first` to `last`, the earliest of equals; undefined when there was none. */
  async longestStreak(
    tenant: number,
    user: string,
    frequency: Frequency,
    { first, last }: { readonly first: number; readonly last: number },
  ): Promise<LongestStreak | undefined> {
    const rows = await this.rows<LongestStreak>(
      `select best.period, best.longest as length, coalesce((
         select period from streak_periods as earlier
          where earlier.tenant = $1 and earlier.user_id = $2 and earlier.frequency = $3
            and (earlier.period < best.period or earlier.period = best.period and best.longest = 1)
            and (earlier.length = 1 and earlier.how = 'extended' or earlier.reset_length = 1)
          order by period desc limit 1
       ), best.period) as started
         from (
           select period, greatest(length, reset_length) as longest from streak_periods
            where tenant = $1 and user_id = $2 and frequency = $3 and period between $4 and $5 and greatest(length, reset_length) > 0
            order by longest desc, period limit 1
         ) as best`,
      [tenant, user, frequency, first, last],
    );
    return rows[0];
  }

  /** The number of users at each level, by their totals. The lowest level comes first. */
  async usersAtLevels(tenant: number, system: number, levels: readonly LevelStart[]): Promise<ReadonlyMap<number, number>> {
    if (levels.length === 0) return new Map();
    // A search in the list for each user: a join with the levels compares each user with each level.
    const rows = await this.rows<{ place: number; users: number }>(
      `select width_bucket(total::float8, $3::float8[]) as place, count(*)::integer as users
         from user_points where tenant = $1 and system = $2 group by place`,
      [tenant, system, numberArray(levels.map(({ points }) => points))],
    );
    const users = new Map(rows.map((row) => [row.place, row.users]));
    return new Map(levels.map(({ no }, i) => [no, users.get(i + 1) ?? 0]));
  }

  /** How many users have all of these attributes (`no` → value). */
  async usersWith(tenant: number, attributes: Attributes): Promise<number> {
    const rows = await this.rows<{ users: number }>(
      'select count(*)::integer as users from users where tenant = $1 and attributes @> $2::jsonb',
      [tenant, jsonOf(attributes)],
    );
    return rows[0]?.users ?? 0;
  }

  /** How many users with all of these attributes have a total above 0, in up to so many ranges: range i is from i × width + 1 to (i + 1) × width. */
  async usersByPoints(tenant: number, system: number, attributes: Attributes, ranges: number): Promise<UsersByPoints> {
    const values = [tenant, system, numberArray(rangeWidths), ranges];
    const rows =
      attributes.size > 0
        ? await this.rows<UsersInRange>(usersByPointsQuery(withAttributes), [...values, jsonOf(attributes)])
        : await this.rows<UsersInRange>(usersByPointsQuery(''), values);
    return { width: rows[0]?.width ?? 1, users: new Map(rows.map(({ range, users }) => [range, users])) };
  }

  private async rows<T extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<T[]> {
    return (await withPostgresErrors(this.pool.query<T>(text, [...values]))).rows;
  }
}
