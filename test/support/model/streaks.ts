/** Rules "Streaks": counting, extending, missing, freezes, moving between zones, restoring, resetting. Answers are streak-answers.ts. */
import { add, amount, type Amount } from './decimal.js';
import type { Change } from './leaderboards.js';
import { dayOf, firstDayOf, frequencies, instant, lastDayOf, periodOf, startOfDay, weekdayOf, type Frequency, type Weeks } from './time.js';
import type { Kept, Pause, PersonalConditions, Streak } from './streak-state.js';
import { localDayOf, reach, zoneOf, type User } from './users.js';
import { live, Refused, type World } from './world.js';

/** "The most that a user can hold", however the freezes were come by. */
const mostFreezes = 100;
const mostPauses = 100;

/** The user's weeks. */
export const weeksOf = ({ config }: Pick<World, 'config'>, { earlierWeeks }: User): Weeks => ({
  start: config.settings.weekStart,
  earlier: earlierWeeks ?? null,
});

/** The period of the user's streak day. */
export const currentPeriod = (world: World, user: User, frequency: Frequency): number =>
  periodOf(frequency, user.day, weeksOf(world, user));

/** The length of the configured frequency's streak: there is none while streaks are not enabled. */
export const shownLength = ({ config: { streaks } }: World, user: User): number =>
  streaks.enabled ? user.streaks[streaks.frequency].length : 0;

/** The user's own conditions where some are on metrics in use and the configuration lets users choose; else the configured ones. */
function conditionsOf({ config: { streaks, metrics: all } }: World, { personal }: User): PersonalConditions {
  if (!streaks.personalization || !personal) return streaks;
  const metrics = personal.metrics.filter(({ metricId }) => live(all).some(({ id }) => id === metricId));
  return metrics.length > 0 ? { ...personal, metrics } : streaks;
}

/** AND: all; OR: any; no conditions: never. */
function areMet({ evaluationMode, metrics }: PersonalConditions, counts: ReadonlyMap<string, Amount>): boolean {
  const met = metrics.map(({ metricId, threshold }) => (counts.get(metricId) ?? 0n) >= amount(threshold));
  return met.length > 0 && (evaluationMode === 'AND' ? met.every(Boolean) : met.some(Boolean));
}

/** The length of a streak as leaderboards take it. */
function changeOf(world: World, user: User, frequency: Frequency, before: number, moment: number): Change {
  const { length } = user.streaks[frequency];
  const source = `streak:${frequency}`;
  return { source, moment, after: amount(length), gain: amount(length - before), isChanged: true, sequence: reach(world, user, source) };
}

/** Enters how a period went. That the streak was reset in it stays. */
function keep(streak: Streak, period: number, kept: Partial<Kept> & Pick<Kept, 'length'>): void {
  streak.history.set(period, { ...streak.history.get(period), usedFreeze: false, usedPause: false, ...kept });
}

/** Rule "Extending", for each of the three streaks. Returns what it changed. */
export function extend(world: World, user: User): Change[] {
  return frequencies.flatMap((frequency) => {
    const streak = user.streaks[frequency];
    const current = currentPeriod(world, user, frequency);
    const counts = streak.counts.period === current ? streak.counts.byMetric : new Map<string, Amount>();
    if (streak.last !== null && current <= streak.last) return [];
    if (!user.hasStreaks || !areMet(conditionsOf(world, user), counts)) return [];
    const before = streak.length;
    // Only a grace lets periods between be open still: they are covered silently.
    for (let period = (streak.last ?? current) + 1; before > 0 && period < current; period += 1) {
      keep(streak, period, { length: before });
    }
    if (before === 0) streak.started = current;
    streak.length = before + 1;
    streak.last = current;
    streak.extended = { period: current, at: world.now };
    streak.grace = -Infinity;
    keep(streak, current, { length: streak.length });
    return [changeOf(world, user, frequency, before, world.now)];
  });
}

/** Rule "Counting". Returns whether it may extend streaks. Configured conditions also count for users with conditions of their own. */
export function count(world: World, user: User, metricId: string, value: Amount): boolean {
  const isAmong = ({ metrics }: Pick<PersonalConditions, 'metrics'>): boolean => metrics.some((each) => each.metricId === metricId);
  const isCondition = isAmong(conditionsOf(world, user));
  if (!world.config.streaks.enabled || (!isCondition && !isAmong(world.config.streaks))) return false;
  for (const frequency of frequencies) {
    const streak = user.streaks[frequency];
    const period = currentPeriod(world, user, frequency);
    if (streak.counts.period !== period) streak.counts = { period, byMetric: new Map() };
    streak.counts.byMetric.set(metricId, add(streak.counts.byMetric.get(metricId) ?? 0n, value));
  }
  return isCondition;
}

/** Rule "Days off": the first period, from `period` on, that is no day off of the user's. Only a shown daily streak has days off. */
export function countingPeriod({ config: { streaks } }: World, user: User, frequency: Frequency, period: number): number {
  if (frequency !== 'daily' || streaks.frequency !== 'daily') return period;
  const daysOff = (streaks.personalization ? user.daysOff : null) ?? streaks.daysOff;
  let counting = period;
  while (daysOff.includes(weekdayOf(counting))) counting += 1;
  return counting;
}

/** Freezes that were earned or given: never beyond the maximum, but what was granted beyond it stays. */
function gain(world: World, user: User, freezes: number): void {
  user.freezes = Math.max(user.freezes, Math.min(user.freezes + freezes, world.config.streaks.freezes.maximum));
}

/** The next local day on which a user earns freezes; infinity for never. */
function nextEarning({ config }: World, user: User): number {
  const { earnInterval } = config.streaks.freezes;
  if (earnInterval === 0) return Infinity;
  return user.createdDay + earnInterval * (Math.floor((user.freezesThrough - user.createdDay) / earnInterval) + 1);
}

interface Missed {
  readonly frequency: Frequency;
  readonly period: number;
  readonly at: number;
  /** The last day on which a freeze can have been earned for it. */
  readonly through: number;
}

/**
 * The first period after `last` that is over without having been kept, and the moment at which it is missed: when its last day ends, or
 * when the grace does.
 */
function firstMissed(world: World, user: User, frequency: Frequency, now: number): Missed[] {
  const { length, last, grace } = user.streaks[frequency];
  if (length === 0 || last === null || last + 1 >= currentPeriod(world, user, frequency) || now < grace) return [];
  const end = lastDayOf(frequency, last + 1, weeksOf(world, user));
  const at = Math.min(now, Math.max(startOfDay(zoneOf(user), end + 1), grace));
  return [{ frequency, period: last + 1, at, through: Math.max(end, grace === -Infinity ? end : localDayOf(user, grace - 1)) }];
}

/** Rule "Missing", for one period: a pause covers it, or a day off or a freeze does, or the streak is lost. */
function miss(world: World, user: User, { frequency, period, at }: Missed): Change[] {
  const streak = user.streaks[frequency];
  const { length, started } = streak;
  const weeks = weeksOf(world, user);
  const [first, last] = [firstDayOf(frequency, period, weeks), lastDayOf(frequency, period, weeks)];
  const usedPause = user.pauses.some(({ start, end }) => dayOf(start) <= last && dayOf(end) >= first);
  const isOff = countingPeriod(world, user, frequency, period) !== period;
  const usedFreeze = !usedPause && !isOff && frequency === world.config.streaks.frequency && user.freezes > 0;
  if (usedFreeze) user.freezes -= 1;
  if (usedPause || isOff || usedFreeze) {
    streak.last = period;
    keep(streak, period, { length, usedFreeze, usedPause });
    return [];
  }
  streak.lost = { length, started };
  streak.length = 0;
  if (frequency === world.config.streaks.frequency) user.webhooks.push({ kind: 'streak.lost', about: length });
  return [changeOf(world, user, frequency, length, at)];
}

/**
 * Rules "Missing" and "Freezes", up to the user's streak day: in the order of time, and what is missed with the end of a day before what
 * is earned with the start of the next. Returns the lengths that changed.
 */
export function settleStreaks(world: World, user: User, now: number): Change[] {
  const { enabled, freezes } = world.config.streaks;
  if (!enabled) return [];
  if (!user.hasInitialFreezes) gain(world, user, freezes.initial);
  user.hasInitialFreezes = true;
  const changes: Change[] = [];
  while (true) {
    const missed = frequencies.flatMap((frequency) => firstMissed(world, user, frequency, now)).sort((a, b) => a.at - b.at)[0];
    const earning = nextEarning(world, user);
    const isEarningDue = earning <= user.day;
    if (missed && !(isEarningDue && earning <= missed.through)) {
      changes.push(...miss(world, user, missed));
    } else if (isEarningDue) {
      user.freezesThrough = earning;
      gain(world, user, freezes.earnAmount);
    } else {
      // Days that are over earn nothing any more, whatever the numbers of freezes become.
      user.freezesThrough = Math.max(user.freezesThrough, user.day);
      return changes;
    }
  }
}

/** Rule "Not enabled": the time without streaks misses no period and earns no freeze. `weeks` are those of that time. */
export function resume(user: User, now: number, weeks: Weeks): void {
  user.day = Math.max(user.day, localDayOf(user, now));
  user.freezesThrough = user.day;
  for (const frequency of frequencies) {
    const streak = user.streaks[frequency];
    if (streak.grace <= now) streak.grace = -Infinity;
    if (streak.length === 0 || streak.last === null) continue;
    for (let period = streak.last + 1; period < periodOf(frequency, user.day, weeks); period += 1) {
      streak.last = period;
      keep(streak, period, { length: streak.length });
    }
  }
}

/** Rule "Moving": no streak is lost before the period that it needs next has ended in the old zone. */
export function grantGrace(world: World, user: User, oldZone: string): void {
  if (!world.config.streaks.enabled) return;
  for (const frequency of frequencies) {
    const streak = user.streaks[frequency];
    if (streak.length === 0 || streak.last === null) continue;
    const next = Math.max(streak.last + 1, currentPeriod(world, user, frequency));
    const needed = countingPeriod(world, user, frequency, next);
    streak.grace = startOfDay(oldZone, lastDayOf(frequency, needed, weeksOf(world, user)) + 1);
  }
}

/** The graces that end after a moment. */
export const nextGrace = (user: User, after: number): number =>
  Math.min(Infinity, ...frequencies.map((frequency) => user.streaks[frequency].grace).filter((grace) => grace > after));

/** Rule "Pauses": those that are over make room, the one that ended first before the others. */
export function pause(user: User, added: Pause, today: string): void {
  if (added.start < today) throw new Refused(422, 'a pause does not start in the past');
  if (user.pauses.length >= mostPauses) {
    const [over] = user.pauses.filter(({ end }) => end < today).sort((a, b) => dayOf(a.end) - dayOf(b.end));
    if (!over) throw new Refused(422, 'that is the most pauses a user can have');
    user.pauses.splice(user.pauses.indexOf(over), 1);
  }
  user.pauses.push(added);
}

function checkEnabled({ config }: World): void {
  if (!config.streaks.enabled) throw new Refused(422, 'streaks are not enabled');
}

/** A freeze granted by hand. */
export function grant(world: World, user: User): void {
  checkEnabled(world);
  if (user.freezes >= mostFreezes) throw new Refused(422, 'that is the most freezes a user can hold');
  user.freezes += 1;
}

/** A freeze taken by hand. */
export function take(world: World, user: User): void {
  checkEnabled(world);
  if (user.freezes === 0) throw new Refused(422, 'the user holds no freeze');
  user.freezes -= 1;
}

/** Rule "Restore", for the configured frequency. Returns what it changed. */
export function restore(world: World, user: User): Change[] {
  checkEnabled(world);
  const { frequency } = world.config.streaks;
  const streak = user.streaks[frequency];
  if (streak.lost === null) throw new Refused(422, 'no streak was lost');
  if (streak.length > streak.lost.length) throw new Refused(422, 'the running streak is longer');
  const before = streak.length;
  const current = currentPeriod(world, user, frequency);
  streak.length = streak.lost.length;
  streak.started = streak.lost.started;
  const isExtended = streak.extended?.period === current;
  streak.last = isExtended ? current : current - 1;
  streak.lost = null;
  // A reset in the same period is undone there too.
  if (isExtended && before === 0) keep(streak, current, { length: streak.length });
  return streak.length === before ? [] : [changeOf(world, user, frequency, before, world.now)];
}

/** Rule "Reset", for the configured frequency. Returns what it changed. */
export function reset(world: World, user: User): Change {
  checkEnabled(world);
  const { frequency } = world.config.streaks;
  const streak = user.streaks[frequency];
  const { length, started, last } = streak;
  if (length === 0) throw new Refused(422, 'there is no streak');
  const current = currentPeriod(world, user, frequency);
  streak.lost = { length, started };
  streak.length = 0;
  // The period counts as not extended.
  streak.last = Math.min(last ?? current, current - 1);
  streak.grace = -Infinity;
  keep(streak, current, { length: 0, resetAt: instant(world.now) });
  user.webhooks.push({ kind: 'streak.lost', about: length });
  return changeOf(world, user, frequency, length, world.now);
}
