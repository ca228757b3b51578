/** Counts over all users of a tenant, for what a change of the configuration would do to them. */
import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/failure.js';
import { inTransaction } from '../postgres/pool.js';
import { userFields } from '../redis/contract.js';
import type { Frequency } from '../shared/calendar.js';

/** A query of one row with the column `count`. `$1` is the tenant, `values` are the parameters from `$2` on. */
export interface Count {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Totals from one up to, but not including, another; null has no end. */
export interface Totals {
  readonly from: number;
  readonly until: number | null;
}

/** Users whose total of a points system is in one of these ranges. A multirange costs two thirds of `width_bucket` with a million users. */
export const withTotals = (system: number, ranges: readonly Totals[]): Count => ({
  text: 'select count(*) from user_points where tenant = $1 and system = $2 and total <@ $3::int8multirange',
  values: [system, `{${ranges.map(({ from, until }) => `[${from},${until ?? ''})`).join(',')}}`],
});

/** Users with points in a system, and those among them whose total is above a number. */
export const withPoints = (system: number): Count => ({
  text: 'select count(*) from user_points where tenant = $1 and system = $2',
  values: [system],
});
export const abovePoints = (system: number, points: number): Count => ({
  text: 'select count(*) from user_points where tenant = $1 and system = $2 and total > $3',
  values: [system, points],
});

/** Users with a total of a metric. */
export const withMetric = (metric: number): Count => ({
  text: 'select count(*) from user_metrics where tenant = $1 and metric = $2',
  values: [metric],
});

/** Users with a streak condition of their own on a metric. */
export const withOwnCondition = (metric: number): Count => ({
  text: 'select count(*) from users where tenant = $1 and (preferences ->> $2)::jsonb @> $3::jsonb',
  values: [userFields.streakPreferences, JSON.stringify({ metrics: [{ key: String(metric) }] })],
});

/** Users with a value of each of these attributes. */
export const withAttributes = (attributes: readonly number[]): Count => ({
  text: 'select count(*) from users where tenant = $1 and attributes ?& $2::text[]',
  values: [textArray(attributes.map(String))],
});

export const withoutZone: Count = { text: `select count(*) from users where tenant = $1 and coalesce(tz, '') = ''`, values: [] };

/** All users. */
export const everyone: Count = { text: 'select count(*) from users where tenant = $1', values: [] };

/** Users with a current streak of a frequency. */
export const withStreak = (frequency: Frequency): Count => ({
  text: 'select coalesce(sum(users), 0) as count from streak_lengths where tenant = $1 and frequency = $2',
  values: [frequency],
});

/** Users who have completed an achievement. */
export const withAchievement = (achievement: number): Count => ({
  text: 'select count(*) from user_achievements where tenant = $1 and achievement = $2',
  values: [achievement],
});

/** Users to whom a trigger has awarded points since a moment, in milliseconds since 1970. */
export const awardedSince = (trigger: number, sinceMs: number): Count => ({
  text: 'select count(distinct user_id) from awards where tenant = $1 and trigger = $2 and at >= to_timestamp($3::float8 / 1000)',
  values: [trigger, sinceMs],
});

/** What a leaderboard that does not repeat ranks, and the attributes that its participants must have. */
export interface Ranked {
  readonly by: { readonly metric: number } | { readonly system: number } | { readonly streak: Frequency };
  readonly breakdown: readonly number[];
}

const rankedTexts = {
  metric: 'user_metrics as ranked where ranked.tenant = $1 and ranked.metric = $2',
  system: 'user_points as ranked where ranked.tenant = $1 and ranked.system = $2',
  daily: 'user_streaks as ranked where ranked.tenant = $1 and ranked.daily > $2',
  weekly: 'user_streaks as ranked where ranked.tenant = $1 and ranked.weekly > $2',
  monthly: 'user_streaks as ranked where ranked.tenant = $1 and ranked.monthly > $2',
} as const;

function rankedBy(by: Ranked['by']): { readonly text: string; readonly value: number } {
  if ('metric' in by) return { text: rankedTexts.metric, value: by.metric };
  if ('system' in by) return { text: rankedTexts.system, value: by.system };
  return { text: rankedTexts[by.streak], value: 0 };
}

/** Users who have a value to rank, as the backfill enters them. */
export function rankable({ by, breakdown }: Ranked): Count {
  const { text, value } = rankedBy(by);
  if (breakdown.length === 0) return { text: `select count(*) from ${text}`, values: [value] };
  return {
    text: `select count(*) from ${text} and exists (
             select from users where tenant = $1 and id = ranked.user_id and attributes ?& $3::text[])`,
    values: [value, textArray(breakdown.map(String))],
  };
}

/** A run of a leaderboard, named by its first day. */
export interface RunOfBoard {
  readonly board: number;
  readonly run: number;
}

/** Participants of a run in all groups: of each, the users up to rank `to` but not up to rank `from`. */
export const ranksBetween = ({ board, run }: RunOfBoard, from: number, to: number): Count => ({
  text: `select coalesce(sum(greatest(least(users, $5) - $4, 0)), 0) as count from (
           select count(*) as users from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3 group by "group") as groups`,
  values: [board, run, from, to],
});

/** Deliveries of a webhook endpoint that have not been sent. */
export const pendingDeliveries = (endpoint: number): Count => ({
  text: `select count(*) from deliveries where tenant = $1 and endpoint = $2 and status = 'pending'`,
  values: [endpoint],
});

/** SQLSTATE of a statement that took longer than its timeout. */
const timedOut = '57014';

/** Runs counts within a time. */
export class Counts {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** The count, or null if it takes longer than `timeoutMs`. Throws a 503 when Postgres is away. */
  async count(tenant: number, { text, values }: Count, timeoutMs: number): Promise<number | null> {
    const counting = inTransaction(this.pool, async (client) => {
      await client.query(`set local statement_timeout = ${Math.ceil(timeoutMs)}`);
      const { rows } = await client.query<{ count: string }>(text, [tenant, ...values]);
      return Number(rows[0]?.count);
    });
    return withPostgresErrors(counting.catch(nullWhenTimedOut));
  }
}

function nullWhenTimedOut(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === timedOut) return null;
  throw error;
}
