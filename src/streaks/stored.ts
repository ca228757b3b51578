import { periodOf, weekShiftOf } from '../calendar.js';
import { streakPlace, type StoredStreaks, type StreakFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { at } from '../redis/user-hash.js';

/** The streak of the configured frequency, as the library's `streaks.fact` tells it; `extended` is whether this entry extended it. */
export function shownStreak(config: ActiveConfig, stored: StoredStreaks, extended: boolean): StreakFact {
  const { frequency } = config.document.streaks;
  const shown = (place: 'length' | 'started' | 'last' | 'extendedAt'): number => streakPlace(stored, frequency, place);
  const current = periodOf(frequency, at(stored, 'core', 'streakDay') as number, weekShiftOf(config.document.settings));
  return {
    length: shown('length'),
    started: shown('started'),
    current,
    isExtended: shown('length') > 0 && shown('last') >= current,
    extendedAt: shown('extendedAt'),
    extended,
    freezes: at(stored, 'core', 'freezes') as number,
  };
}

/** The length that the streak of the configured frequency had when it was last lost; 0 when there is none that could be restored. */
export function lostLength(config: ActiveConfig, stored: StoredStreaks): number {
  return streakPlace(stored, config.document.streaks.frequency, 'lostLength');
}
