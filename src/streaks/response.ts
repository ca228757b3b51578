import { datesOf, weekShiftOf, type Frequency } from '../calendar.js';
import type { StreakFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { BaseStreak, EventStreakResponse, StreakPeriodResponse } from './shapes.js';

/** The streak of a user who has none, or while streaks are not enabled. */
const none = { length: 0, started: null, periodStart: null, periodEnd: null, expires: null } as const;

/** The contract's `BaseStreakResponse`. `expires` is the last local date on which the user can still extend (semantics.md, "Streaks"). */
export function baseStreak(config: ActiveConfig, fact: StreakFact | undefined): BaseStreak {
  const { frequency, freezes } = config.document.streaks;
  const shown = {
    freezes: fact?.freezes ?? 0,
    maxFreezes: freezes.maximum,
    freezeAutoEarnInterval: freezes.earnInterval,
    freezeAutoEarnAmount: freezes.earnAmount,
  };
  if (!fact || fact.length === 0) return { ...none, frequency, ...shown };
  const shift = weekShiftOf(config.document.settings);
  const current = datesOf(frequency, fact.current, shift);
  return {
    length: fact.length,
    frequency,
    started: datesOf(frequency, fact.started, shift).first,
    periodStart: current.first,
    periodEnd: current.last,
    expires: fact.isExtended ? datesOf(frequency, fact.current + 1, shift).last : current.last,
    ...shown,
  };
}

/** The contract's `MetricEventStreakResponse`. */
export function eventStreak(config: ActiveConfig, fact: StreakFact | undefined): EventStreakResponse {
  return { ...baseStreak(config, fact), extended: fact?.extended ?? false };
}

/** A period of the history as Postgres keeps it. */
export interface PeriodRow {
  readonly length: number;
  readonly how: string;
}

/** The last `count` periods up to `current`, oldest first; one without a row had no streak (spec, "Streak"). */
export function historyResponse(
  rows: ReadonlyMap<number, PeriodRow>,
  frequency: Frequency,
  current: number,
  count: number,
  shift: number,
): StreakPeriodResponse[] {
  return Array.from({ length: count }, (_, i) => {
    const period = current - count + 1 + i;
    const row = rows.get(period);
    const { first, last } = datesOf(frequency, period, shift);
    return {
      periodStart: first,
      periodEnd: last,
      length: row?.how === 'lost' ? 0 : (row?.length ?? 0),
      usedFreeze: row?.how === 'freeze',
      usedPause: row?.how === 'pause',
    };
  });
}
