/**
 * Of which streaks users are reminded: those that end with their current period unless they are extended, that no pause covers and no day off,
 * and that their users have not switched off.
 */
import type pg from 'pg';
import type { StreakFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { textArray } from '../../postgres/arrays.js';
import { countingDay, currentPeriod } from '../../responses/streaks.js';
import { dayToDate } from '../../shared/calendar.js';

/** The dates, `YYYY-MM-DD`, of the current period of a streak that was read, if the streak ends with it unless the user extends it. */
export function endingPeriod(config: ActiveConfig, fact: StreakFact | undefined): { first: string; last: string } | undefined {
  if (!fact || fact.length === 0 || fact.isExtended || fact.isPaused) return undefined;
  return countingDay(fact.current, fact.daysOff) === fact.current ? currentPeriod(config, fact) : undefined;
}

/**
 * The last date of the period that a user is reminded of on a local day, in days since 1970-01-01; undefined for no reminder. A user who has moved
 * west may still live in days before the current period, and is reminded once the period has begun there.
 */
export function periodToRemindOf(config: ActiveConfig, fact: StreakFact | undefined, day: number): string | undefined {
  const period = endingPeriod(config, fact);
  const date = dayToDate(day);
  return period && period.first <= date && date <= period.last ? period.last : undefined;
}

/** Those users who have a streak. The engine knows whether it ends. */
export async function withStreak(client: pg.ClientBase | pg.Pool, config: ActiveConfig, users: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ user_id: string }>(
    `select wanted.user_id from unnest($2::text[]) as wanted (user_id) cross join lateral (
       select 1 from user_streaks
        where tenant = $1 and user_id = wanted.user_id and ${config.document.streaks.frequency} > 0
        limit 1) as found`,
    [config.tenant, textArray(users)],
  );
  return rows.map(({ user_id: id }) => id);
}
