import type { ConfigDocument } from '../../config/schema/model.js';
import { datesOf, dateToDay, dayToDate, periodOf, weekShiftOf } from '../../shared/calendar.js';

/** The dates, `YYYY-MM-DD`, of the recap period that contains a day, in days since 1970-01-01. */
export function recapDates({ settings }: Pick<ConfigDocument, 'settings'>, day: number): { first: string; last: string } {
  const { recapFrequency: frequency } = settings;
  const shift = weekShiftOf(settings);
  if (frequency !== 'yearly') return datesOf(frequency, periodOf(frequency, day, shift), shift);
  const year = dayToDate(day).slice(0, 'YYYY'.length);
  return { first: `${year}-01-01`, last: `${year}-12-31` };
}

const weekDays = 7;

/** What a period of a recap is called, by its first and its last date. The frequency of the settings may have changed since. */
export function periodName(start: string, end: string): 'day' | 'week' | 'month' | 'year' {
  if (start === end) return 'day';
  const days = dateToDay(end) - dateToDay(start) + 1;
  if (days === weekDays) return 'week';
  return start.slice(0, 'YYYY-MM'.length) === end.slice(0, 'YYYY-MM'.length) ? 'month' : 'year';
}
