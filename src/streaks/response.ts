import { datesOf, weekShiftOf } from '../calendar.js';
import type { StreakFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import type { BaseStreak, EventStreakResponse, StreakPeriodResponse } from './shapes.js';

/** The streak of a user who has none, or while streaks are not enabled. */
const none = { length: 0, started: null, periodStart: null, periodEnd: null, expires: null } as const;

/** Freezes are shown where they are configured. Those granted by hand are shown without a configuration too, since they cover periods all the same. */
const showsFreezes = (config: ActiveConfig, fact: StreakFact | undefined): boolean =>
  config.document.streaks.freezes.maximum > 0 || (fact?.freezes ?? 0) > 0;

function freezeFields(config: ActiveConfig, fact: StreakFact | undefined): Partial<BaseStreak> {
  if (!showsFreezes(config, fact)) return {};
  const { maximum, earnInterval, earnAmount } = config.document.streaks.freezes;
  const freezes = fact?.freezes ?? 0;
  return { freezes, maxFreezes: Math.max(maximum, freezes), freezeAutoEarnInterval: earnInterval, freezeAutoEarnAmount: earnAmount };
}

/** The contract's `BaseStreakResponse`. `expires` is the last local date on which the user can still extend (semantics.md, "Streaks"). */
export function baseStreak(config: ActiveConfig, fact: StreakFact | undefined): BaseStreak {
  const { frequency } = config.document.streaks;
  const shown = freezeFields(config, fact);
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

/** The last `count` periods up to the current one, oldest first; one without a row had no streak (spec, "Streak"). */
export function historyResponse(
  config: ActiveConfig,
  fact: StreakFact,
  rows: ReadonlyMap<number, PeriodRow>,
  count: number,
): StreakPeriodResponse[] {
  const { settings, streaks } = config.document;
  const shift = weekShiftOf(settings);
  return Array.from({ length: count }, (_, i) => {
    const period = fact.current - count + 1 + i;
    const row = rows.get(period);
    const { first, last } = datesOf(streaks.frequency, period, shift);
    const usedFreeze = row?.how === 'freeze';
    return {
      periodStart: first,
      periodEnd: last,
      length: row?.how === 'lost' ? 0 : (row?.length ?? 0),
      ...(usedFreeze || showsFreezes(config, fact) ? { usedFreeze } : {}),
      usedPause: row?.how === 'pause',
    };
  });
}
