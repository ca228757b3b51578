import { periodOf, weekShiftOf, type Frequency } from '../calendar.js';
import type { StoredStreaks, StreakFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';

const placeOf = { daily: 3, weekly: 4, monthly: 5 } as const satisfies Readonly<Record<Frequency, number>>;

/** The streak of the configured frequency, as the library's `streaks.fact` tells it; `extended` is whether this entry extended it. */
export function shownStreak(config: ActiveConfig, stored: StoredStreaks, extended: boolean): StreakFact {
  const { frequency } = config.document.streaks;
  const [length, started, last, extendedAt] = stored[placeOf[frequency]];
  const [day, freezes] = stored;
  const current = periodOf(frequency, day, weekShiftOf(config.document.settings));
  return { length, started, current, isExtended: length > 0 && last >= current, extendedAt, extended, freezes };
}

/** The length that the streak of the configured frequency had when it was last lost; 0 when there is none that could be restored. */
export function lostLength(config: ActiveConfig, stored: StoredStreaks): number {
  return stored[placeOf[config.document.streaks.frequency]][7];
}
