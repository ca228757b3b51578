import type pg from 'pg';
import { numberArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/pool.js';

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

const ofGroup = 'leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4';

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

  async values(tenant: number, { leaderboard, run, group }: BoardGroup): Promise<BoardValues> {
    const rows = await this.rows<BoardValues>(
      `select count(*)::integer as participants, min(value) as lowest, max(value) as highest,
              percentile_disc(0.5) within group (order by value) as median from ${ofGroup}`,
      [tenant, leaderboard, run, group],
    );
    return rows[0] ?? { participants: 0, lowest: null, median: null, highest: null };
  }

  /** How many users have a value in each range: range i is from i × width up to, but not at, (i + 1) × width. */
  async ranges(tenant: number, { leaderboard, run, group }: BoardGroup, width: number): Promise<ReadonlyMap<number, number>> {
    const rows = await this.rows<{ range: number; users: number }>(
      `select floor(value / $5::float8) as range, count(*)::integer as users from ${ofGroup} group by 1`,
      [tenant, leaderboard, run, group, width],
    );
    return new Map(rows.map(({ range, users }) => [range, users]));
  }

  private async rows<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<T[]> {
    return (await withPostgresErrors(this.pool.query<T>(text, values))).rows;
  }
}
