import type pg from 'pg';
import { numberArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/failure.js';
import { rangeWidths } from '../shared/ranges.js';

/** One run and group of a leaderboard, by numbers; the group is empty for a board that is not broken down. */
export interface BoardGroup {
  readonly leaderboard: number;
  readonly run: number;
  readonly group: string;
}

/** The values of all users who have one. */
export interface BoardValues {
  readonly participants: number;
  /** Null without participants. */
  readonly lowest: number | null;
  /** The one in the middle; of two, the lower one. */
  readonly median: number | null;
  readonly highest: number | null;
}

interface ValuesInRanges {
  /** Range i is from i × width up to, but not at, (i + 1) × width; those without users are left out. */
  readonly ranges: ReadonlyMap<number, number>;
}

export interface GroupSize {
  readonly group: string;
  readonly participants: number;
}

/** The groups of each run, one look-up in the index for each group: a run may have a million participants. */
const groupCounts = `
  select run, (
    with recursive known as (
      (select "group" from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = asked.run order by "group" limit 1)
      union all
      select next."group" from known cross join lateral (
        select "group" from leaderboard_entries
         where tenant = $1 and leaderboard = $2 and run = asked.run and "group" > known."group" order by "group" limit 1) as next)
    select count(*)::integer from known) as groups
    from unnest($3::integer[]) as asked (run)`;

/**
 * How often each value occurs, and from that everything else: users share values, and their rows are read once. Two workers count a million rows in
 * 0.4 to 0.6 s; a query for the width and another one for the ranges took 0.7 to 1.3 s. `$5` are the widths (shared/ranges.ts), `$6` is how many
 * ranges lie between the lowest and the highest value.
 */
const valuesQuery = `
  with counted as materialized (
         select value, count(*) as users from leaderboard_entries
          where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4 group by value),
       bounds as materialized (
         select sum(users)::integer as participants, min(value) as lowest, max(value) as highest from counted),
       scale as materialized (
         select width from bounds, unnest($5::float8[]) as width where width >= (highest - lowest) / $6 order by width limit 1)
  select participants, lowest, highest,
         (select value from (select value, sum(users) over (order by value) as up_to from counted) as ordered
           where up_to * 2 >= participants order by value limit 1) as median,
         (select json_object_agg(range, users)
            from (select floor(value / width)::bigint as range, sum(users) as users from counted, scale group by 1) as filled) as ranges
    from bounds`;

/**
 * Reads the participants of leaderboards: of all runs how many groups have some, and the rest of runs that are over, which have left Redis. Callers
 * first wait for the write-behind (HistoryReader.waitFor).
 */
export class BoardReader {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** How many groups of each run have participants. */
  async groupCounts(tenant: number, leaderboard: number, runs: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const rows = await this.rows<{ run: number; groups: number }>(groupCounts, [tenant, leaderboard, numberArray(runs)]);
    return new Map(rows.map(({ run, groups }) => [run, groups]));
  }

  /** The groups of a run that have participants, the largest first. */
  groups(tenant: number, { leaderboard, run }: Omit<BoardGroup, 'group'>, page: { limit: number; skip: number }): Promise<GroupSize[]> {
    return this.rows<GroupSize>(
      `select "group", count(*)::integer as participants from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3
        group by "group" order by participants desc, "group" collate "C" limit $4 offset $5`,
      [tenant, leaderboard, run, page.limit, page.skip],
    );
  }

  /** The values of all users who have one, and how many are in each of so many ranges between the lowest and the highest. */
  async values(tenant: number, { leaderboard, run, group }: BoardGroup, ranges: number): Promise<BoardValues & ValuesInRanges> {
    type Row = Omit<BoardValues, 'participants'> & { participants: number | null; ranges: Readonly<Record<string, number>> | null };
    const rows = await this.rows<Row>(valuesQuery, [tenant, leaderboard, run, group, numberArray(rangeWidths), ranges]);
    const [row] = rows;
    if (!row || row.participants === null) return { participants: 0, lowest: null, median: null, highest: null, ranges: new Map() };
    const counts = Object.entries(row.ranges ?? {}).map(([range, users]) => [Number(range), users] as const);
    return { ...row, participants: row.participants, ranges: new Map(counts) };
  }

  private async rows<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<T[]> {
    return (await withPostgresErrors(this.pool.query<T>(text, values))).rows;
  }
}
