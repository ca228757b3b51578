/** Rules "Time": local days, streak days, periods, and the moments at which local days begin. Moments are milliseconds since 1970. */
import { DateTime, IANAZone } from 'luxon';
import type { Settings } from '../../../src/config/schema/model.js';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const minuteMs = 60_000;

export type Frequency = 'daily' | 'weekly' | 'monthly';
export const frequencies: readonly Frequency[] = ['daily', 'weekly', 'monthly'];

/** Whether a name is an IANA time zone. Bare offsets such as `+02:00` are not. */
export const isZone = (name: string): boolean => /^[A-Za-z]/.test(name) && IANAZone.isValidZone(name);

/** Zones change their offsets on quarters of an hour of UTC, so that one answer holds for a quarter. */
const quarterMs = 15 * minuteMs;
const offsets = new Map<string, number>();

/** Minutes east of UTC. Luxon takes microseconds for it, and a history asks a million times. */
function offset(zone: string, ms: number): number {
  const quarter = Math.floor(ms / quarterMs);
  const key = `${zone} ${quarter}`;
  const known = offsets.get(key) ?? IANAZone.create(zone).offset(quarter * quarterMs);
  offsets.set(key, known);
  return known;
}

/** Wall-clock milliseconds: what a clock in the zone shows, counted as if it were UTC. */
const wallClock = (zone: string, ms: number): number => ms + offset(zone, ms) * minuteMs;

/** A **local day**: days since 1970-01-01 of the local date in a zone. */
export const localDay = (zone: string, ms: number): number => Math.floor(wallClock(zone, ms) / dayMs);

/** Milliseconds since midnight that a clock in the zone shows. */
export const timeOfDay = (zone: string, ms: number): number => wallClock(zone, ms) - localDay(zone, ms) * dayMs;

const starts = new Map<string, number>();

/** The first moment of a local day, which is not 00:00 where clocks are put forward at midnight. */
export function startOfDay(zone: string, day: number): number {
  const key = `${zone} ${day}`;
  const known = starts.get(key);
  if (known !== undefined) return known;
  // No zone is further from UTC than 14 hours.
  let before = day * dayMs - 16 * hourMs;
  let at = day * dayMs + 16 * hourMs;
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2);
    if (localDay(zone, middle) >= day) at = middle;
    else before = middle;
  }
  starts.set(key, at);
  return at;
}

const dateTime = (day: number): DateTime => DateTime.fromMillis(day * dayMs, { zone: 'utc' });

/** The local day of a date, `YYYY-MM-DD`. */
export const dayOf = (date: string): number => DateTime.fromISO(date, { zone: 'utc' }).toMillis() / dayMs;

/** The date, `YYYY-MM-DD`, of a local day. */
export const dateOf = (day: number): string => dateTime(day).toFormat('yyyy-MM-dd');

/** An instant as answers show it. */
export const instant = (ms: number): string => new Date(ms).toISOString();

/** `day` and some days, months or years; a day that a month lacks is its last. */
export const plus = (day: number, count: number, unit: 'day' | 'month' | 'year'): number =>
  unit === 'day'
    ? day + count
    : dateTime(day)
        .plus({ [unit]: count })
        .toMillis() / dayMs;

/** The day of the week, from 0 for Sunday. */
export const weekdayOf = (day: number): number => dateTime(day).weekday % 7;

export type WeekStart = Settings['weekStart'];

/** On which day weeks start; `earlier` is how it was before, up to the end of the week in which that was changed. */
export interface Weeks {
  readonly start: WeekStart;
  readonly earlier?: { readonly start: WeekStart; readonly until: number } | null;
}

/** 1970-01-01 was a Thursday: the third day after a Monday, the fourth after a Sunday. */
const daysIntoWeek = { monday: 3, sunday: 4 } as const;

function weekOf(day: number, { start, earlier }: Weeks): number {
  return Math.floor((day + daysIntoWeek[earlier && day < earlier.until ? earlier.start : start]) / 7);
}

function firstDayOfWeek(week: number, { start, earlier }: Weeks): number {
  const first = 7 * week - daysIntoWeek[start];
  return earlier && first < earlier.until ? 7 * week - daysIntoWeek[earlier.start] : first;
}

/** The **period** of a streak day. */
export function periodOf(frequency: Frequency, day: number, weeks: Weeks): number {
  switch (frequency) {
    case 'daily':
      return day;
    case 'weekly':
      return weekOf(day, weeks);
    case 'monthly':
      return 12 * (dateTime(day).year - 1970) + dateTime(day).month - 1;
  }
}

/** The first streak day of a period. */
export function firstDayOf(frequency: Frequency, period: number, weeks: Weeks): number {
  switch (frequency) {
    case 'daily':
      return period;
    case 'weekly':
      return firstDayOfWeek(period, weeks);
    case 'monthly':
      return plus(0, period, 'month');
  }
}

/** The last streak day of a period. */
export const lastDayOf = (frequency: Frequency, period: number, weeks: Weeks): number => firstDayOf(frequency, period + 1, weeks) - 1;

/** Rule "Week start": the week that runs on a day ends as it would have, and what follows starts on another day of the week. */
export function changedWeeks(weeks: Weeks, start: WeekStart, day: number): NonNullable<Weeks['earlier']> | null {
  // A change that is taken back before it has made a difference has made none.
  if (weeks.earlier && day < weeks.earlier.until) return weeks.earlier.start === start ? null : weeks.earlier;
  return { start: weeks.start, until: firstDayOfWeek(weekOf(day, weeks) + 1, weeks) };
}
