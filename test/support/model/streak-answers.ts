/** Rules "Streaks": the shapes in which a streak is shown. */
import { dateOf, firstDayOf, instant, lastDayOf } from './time.js';
import { countingPeriod, currentPeriod, shownLength, weeksOf } from './streaks.js';
import { localDayOf, type User } from './users.js';
import type { World } from './world.js';

/** Where freezes are configured, or the user holds one. */
const showsFreezes = ({ config }: World, freezes: number): boolean => config.streaks.freezes.maximum > 0 || freezes > 0;

/** The configured frequency's streak. Dates are null when the length is 0. */
export function streakBody(world: World, user: User): object {
  const { enabled, frequency, freezes } = world.config.streaks;
  const weeks = weeksOf(world, user);
  const { started, last } = user.streaks[frequency];
  const length = shownLength(world, user);
  const held = enabled ? user.freezes : 0;
  const current = currentPeriod(world, user, frequency);
  const isExtended = last !== null && last >= current;
  const date = (day: number): string | null => (length === 0 ? null : dateOf(day));
  return {
    length,
    frequency,
    started: date(firstDayOf(frequency, started, weeks)),
    periodStart: date(firstDayOf(frequency, current, weeks)),
    periodEnd: date(lastDayOf(frequency, current, weeks)),
    expires: date(lastDayOf(frequency, countingPeriod(world, user, frequency, isExtended ? current + 1 : current), weeks)),
    ...(showsFreezes(world, held)
      ? {
          freezes: held,
          maxFreezes: Math.max(freezes.maximum, held),
          freezeAutoEarnInterval: freezes.earnInterval,
          freezeAutoEarnAmount: freezes.earnAmount,
        }
      : {}),
  };
}

/** The last periods up to the current one, the oldest first. A period that was not kept, or not yet, has length 0. */
function history(world: World, user: User, periods: number): object[] {
  const { enabled, frequency } = world.config.streaks;
  if (!enabled) return [];
  const weeks = weeksOf(world, user);
  const current = currentPeriod(world, user, frequency);
  return Array.from({ length: periods }, (_, index) => {
    const period = current - periods + 1 + index;
    const nothing = { length: 0, usedFreeze: false, usedPause: false };
    const { usedFreeze, ...kept } = user.streaks[frequency].history.get(period) ?? nothing;
    const [first, last] = [firstDayOf(frequency, period, weeks), lastDayOf(frequency, period, weeks)];
    const freeze = usedFreeze || showsFreezes(world, user.freezes) ? { usedFreeze } : {};
    return { periodStart: dateOf(first), periodEnd: dateOf(last), ...kept, ...freeze };
  });
}

/** When the running streak was last extended; null while there is none. */
function extendedAt(world: World, user: User): string | null {
  const { extended } = user.streaks[world.config.streaks.frequency];
  return shownLength(world, user) > 0 && extended ? instant(extended.at) : null;
}

/** What the user-streak call answers. */
export const userStreakBody = (world: World, user: User, periods: number): object => ({
  ...streakBody(world, user),
  extended: extendedAt(world, user),
  streakHistory: history(world, user, periods),
  pauses: user.pauses.filter(({ end }) => end >= dateOf(localDayOf(user, world.now))).map(({ id, start, end }) => ({ id, start, end })),
});

/** Streaks of several users, longest first, equal ones in the requested order. An unknown user has none. */
export function rankedStreaks(world: World, ids: readonly string[]): object[] {
  const rows = ids.map((userId) => {
    const user = world.users.get(userId);
    const streakLength = user ? shownLength(world, user) : 0;
    return { userId, streakLength, extended: user ? extendedAt(world, user) : null };
  });
  return rows.sort((a, b) => b.streakLength - a.streakLength);
}
