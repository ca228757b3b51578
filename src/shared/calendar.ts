import { DateTime, IANAZone } from 'luxon';
import { limits } from './limits.js';
import { Memo } from './memo.js';
import { zoneNames } from './zone-names.js';

/** Milliseconds of a UTC day. */
export const dayMs = 86_400_000;

/** The version of the time zone data of this Node.js, such as `2026a`. Offsets of other data are stored separately. */
export const zoneDataVersion = process.versions.tz ?? 'unknown';

/** The names of zones by their lower case, and those of them that this Node.js knows for sure: asking Intl for one takes 0.1 ms. */
let zonesByName: ReadonlyMap<string, string> | undefined;
const knownZones = new Map<string, boolean>();

function zonesOfIntl(): ReadonlyMap<string, string> {
  const listed = Intl.supportedValuesOf('timeZone');
  for (const zone of listed) knownZones.set(zone, true);
  return new Map([...zoneNames, ...listed].map((zone) => [zone.toLowerCase(), zone]));
}

function isKnown(zone: string): boolean {
  const known = knownZones.get(zone) ?? IANAZone.isValidZone(zone);
  knownZones.set(zone, known);
  return known;
}

/**
 * Returns the canonical spelling of an IANA time zone (docs/rules/users.md), whatever the letter case of `name`; undefined for any other text. A
 * link such as `US/Eastern` keeps its name. Offsets such as `+02:00`, which Intl accepts, are not zones. Intl and luxon only ever receive known
 * names, since they cache every spelling.
 */
export function canonicalZone(name: string): string | undefined {
  zonesByName ??= zonesOfIntl();
  const zone = zonesByName.get(name.toLowerCase());
  return zone !== undefined && isKnown(zone) ? zone : undefined;
}

/** Whether a text is a calendar date, `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && DateTime.fromISO(text, { zone: 'utc' }).isValid;
}

/** Days since 1970-01-01 of a date, `YYYY-MM-DD`. */
export function dateToDay(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

/** Responses have the same few dates again and again, and a Date takes a microsecond to write one. */
const dates = new Memo<number, string>(limits.maxCachedDates);
const writeDate = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

/** The date, `YYYY-MM-DD`, of days since 1970-01-01. */
export const dayToDate = (day: number): string => dates.get(day, writeDate);

/** The date before another. */
export function dayBefore(date: string): string {
  return dayToDate(dateToDay(date) - 1);
}

export type Frequency = 'daily' | 'weekly' | 'monthly';

/** Days to add to a day since 1970-01-01, a Thursday, so that division by 7 gives the week (docs/rules/time.md). */
export const weekShiftOf = ({ weekStart }: { readonly weekStart: 'monday' | 'sunday' }): number => (weekStart === 'sunday' ? 4 : 3);

/** The first day of a period (docs/rules/time.md), in days since 1970-01-01. `weekShift` is that of `weekShiftOf`. */
export function firstDayOf(frequency: Frequency, period: number, weekShift: number): number {
  switch (frequency) {
    case 'daily':
      return period;
    case 'weekly':
      return period * 7 - weekShift;
    case 'monthly':
      return Date.UTC(1970, period) / dayMs;
  }
}

/** The period of a day. */
export function periodOf(frequency: Frequency, day: number, weekShift: number): number {
  switch (frequency) {
    case 'daily':
      return day;
    case 'weekly':
      return Math.floor((day + weekShift) / 7);
    case 'monthly': {
      const date = new Date(day * dayMs);
      return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
    }
  }
}

/** How weeks are counted for a user: by `shift` from the day `from` on, and before it by the other one; without `from`, always by `shift`. */
export interface Weeks {
  readonly shift: number;
  readonly from?: number | undefined;
}

/** The shifts of the two ways to count weeks, together. */
const bothShifts = 7;

/** The period of a day for a user (docs/rules/streaks.md, "Another first day of the week"). */
export const periodIn = (frequency: Frequency, day: number, { shift, from }: Weeks): number =>
  periodOf(frequency, day, from !== undefined && day < from ? bothShifts - shift : shift);

function firstDayIn(frequency: Frequency, period: number, { shift, from }: Weeks): number {
  const first = firstDayOf(frequency, period, shift);
  return frequency === 'weekly' && from !== undefined && first < from ? firstDayOf(frequency, period, bothShifts - shift) : first;
}

/** The first and the last date of a period for a user, `YYYY-MM-DD`. */
export const datesIn = (frequency: Frequency, period: number, weeks: Weeks): { first: string; last: string } => ({
  first: dayToDate(firstDayIn(frequency, period, weeks)),
  last: dayToDate(firstDayIn(frequency, period + 1, weeks) - 1),
});

/** The first and the last date of a period, `YYYY-MM-DD`. */
export function datesOf(frequency: Frequency, period: number, weekShift: number): { first: string; last: string } {
  return {
    first: dayToDate(firstDayOf(frequency, period, weekShift)),
    last: dayToDate(firstDayOf(frequency, period + 1, weekShift) - 1),
  };
}

/** The date, `YYYY-MM-DD`, in UTC. */
export function utcDate(ms: number): string {
  return dayToDate(Math.floor(ms / dayMs));
}
