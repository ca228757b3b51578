/** About whose streaks a reminder is sent: those that end with the current period unless they are extended, and that no pause covers. */
import type pg from 'pg';
import type { ActiveConfig } from '../../plan/active-config.js';
import { textArray } from '../../postgres/arrays.js';
import type { StreakResponse } from '../../responses/streaks.js';
import { streakPeriod } from './times.js';

/** Whether a streak ends with the current period unless the user extends it. */
export const isEnding = ({ length, expires, periodEnd }: Pick<StreakResponse, 'length' | 'expires' | 'periodEnd'>): boolean =>
  length > 0 && expires === periodEnd;

/** Those users who have a streak whose period, on a local day in days since 1970-01-01, no pause covers. The engine knows whether it was extended. */
export async function withStreak(
  client: pg.ClientBase | pg.Pool,
  config: ActiveConfig,
  users: readonly string[],
  day: number,
): Promise<string[]> {
  const { first, last } = streakPeriod(config.document, day);
  const { rows } = await client.query<{ user_id: string }>(
    `select wanted.user_id from unnest($2::text[]) as wanted (user_id) cross join lateral (
       select 1 from user_streaks
        where tenant = $1 and user_id = wanted.user_id and ${config.document.streaks.frequency} > 0
          and not exists (select 1 from jsonb_array_elements(pauses) as pause where (pause ->> 'first')::int <= $4 and (pause ->> 'last')::int >= $3)
        limit 1) as found`,
    [config.tenant, textArray(users), first, last],
  );
  return rows.map(({ user_id: id }) => id);
}
