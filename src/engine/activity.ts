import { firstDayOf, periodOf, type Frequency } from '../calendar.js';
import type { DaySpan, DaySummary } from '../ledger/aggregates.js';

/** When a user was most active in a year, and on how many days, in how many weeks and months the user was active at all. */
export interface Activity {
  readonly counts: { readonly daysActive: number; readonly weeksActive: number; readonly monthsActive: number };
  readonly day: DaySpan;
  readonly week: DaySpan;
  readonly month: DaySpan;
}

/** Events by period; a period is in it if it had any. */
function eventsBy(frequency: Frequency, rows: readonly DaySummary[], shift: number): Map<number, number> {
  const events = new Map<number, number>();
  for (const row of rows) {
    const period = periodOf(frequency, row.day, shift);
    events.set(period, (events.get(period) ?? 0) + row.events);
  }
  return events;
}

/** The period with the most events, the earliest of equals, within the year; the first of the year when there were none. */
function mostActive(frequency: Frequency, events: ReadonlyMap<number, number>, year: DaySpan, shift: number): DaySpan {
  let best = periodOf(frequency, year.first, shift);
  for (const [period, count] of events) {
    const most = events.get(best) ?? 0;
    if (count > most || (count === most && period < best)) best = period;
  }
  return {
    first: Math.max(firstDayOf(frequency, best, shift), year.first),
    last: Math.min(firstDayOf(frequency, best + 1, shift) - 1, year.last),
  };
}

/** Looks at the days of a year on which there were events of metrics. Weeks that reach beyond the year are cut off at its ends. */
export function activityOf(rows: readonly DaySummary[], metrics: ReadonlySet<number>, year: DaySpan, shift: number): Activity {
  const active = rows.filter(({ object }) => metrics.has(object));
  const [days, weeks, months] = [eventsBy('daily', active, shift), eventsBy('weekly', active, shift), eventsBy('monthly', active, shift)];
  return {
    counts: { daysActive: days.size, weeksActive: weeks.size, monthsActive: months.size },
    day: mostActive('daily', days, year, shift),
    week: mostActive('weekly', weeks, year, shift),
    month: mostActive('monthly', months, year, shift),
  };
}
