/** Rules "Streaks": the shapes in which a streak is shown. */
import { dateOf, firstDayOf, instant, lastDayOf } from './time.js';
import { currentPeriod } from './streaks.js';
import { localDayOf, type User } from './users.js';
import type { World } from './world.js';

/** Where freezes are configured, or the user holds one. */
const showsFreezes = ({ config }: World, { freezes }: User): boolean => config.streaks.freezes.maximum > 0 || freezes > 0;

/** The configured frequency's streak. Dates are null when the length is 0. */
export function streakBody(world: World, user: User): object {
  const { frequency, freezes } = world.config.streaks;
  const { weekStart } = world.config.settings;
  const { length, started, last } = user.streaks[frequency];
  const current = currentPeriod(world, user, frequency);
  const isExtended = last !== null && last >= current;
  const date = (day: number): string | null => (length === 0 ? null : dateOf(day));
  return {
    length,
    frequency,
    started: date(firstDayOf(frequency, started, weekStart)),
    periodStart: date(firstDayOf(frequency, current, weekStart)),
    periodEnd: date(lastDayOf(frequency, current, weekStart)),
    expires: date(lastDayOf(frequency, isExtended ? current + 1 : current, weekStart)),
    ...(showsFreezes(world, user)
      ? {
          freezes: user.freezes,
          maxFreezes: Math.max(freezes.maximum, user.freezes),
          freezeAutoEarnInterval: freezes.earnInterval,
          freezeAutoEarnAmount: freezes.earnAmount,
        }
      : {}),
  };
}

/** The last periods up to the current one, the oldest first. A period that was not kept, or not yet, has length 0. */
function history(world: World, user: User, periods: number): object[] {
  const { frequency } = world.config.streaks;
  const { weekStart } = world.config.settings;
  const current = currentPeriod(world, user, frequency);
  return Array.from({ length: periods }, (_, index) => {
    const period = current - periods + 1 + index;
    const nothing = { length: 0, usedFreeze: false, usedPause: false };
    const { usedFreeze, ...kept } = user.streaks[frequency].history.get(period) ?? nothing;
    const [first, last] = [firstDayOf(frequency, period, weekStart), lastDayOf(frequency, period, weekStart)];
    const freeze = usedFreeze || showsFreezes(world, user) ? { usedFreeze } : {};
    return { periodStart: dateOf(first), periodEnd: dateOf(last), ...kept, ...freeze };
  });
}

/** When the running streak was last extended; null while there is none. */
function extendedAt(world: World, user: User): string | null {
  const { length, extended } = user.streaks[world.config.streaks.frequency];
  return length > 0 && extended ? instant(extended.at) : null;
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
    const streakLength = user?.streaks[world.config.streaks.frequency].length ?? 0;
    return { userId, streakLength, extended: user ? extendedAt(world, user) : null };
  });
  return rows.sort((a, b) => b.streakLength - a.streakLength);
}
