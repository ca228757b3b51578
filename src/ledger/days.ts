import { addDecimals } from '../decimal.js';
import type { EventEntry, UserEntry } from './entry.js';

/** What a user did on one local day in one metric or points system (`object`, its `no`), as far as a batch knows. */
export interface DayRow {
  readonly user: string;
  readonly object: number;
  /** The user's local date at that moment, in days since 1970-01-01. */
  readonly day: number;
  /** After the newest event or award of the batch on that day. */
  readonly total: number;
  /** What the batch adds to the day's change, and to how many events or awards it had. */
  readonly change: number;
  readonly events: number;
  readonly rev: number;
}

export interface YearRow {
  readonly user: string;
  readonly object: number;
  readonly year: number;
  readonly change: number;
  readonly rev: number;
}

/** Events of a metric with one value of an event attribute (its `no`). */
export interface AttributeDayRow {
  readonly user: string;
  readonly metric: number;
  readonly attribute: number;
  readonly value: string;
  readonly day: number;
  readonly change: number;
  readonly rev: number;
}

/** Something was counted for a day when later ones may have rows: their totals have to be worked out again, from this day on. */
export interface MovedRow {
  readonly user: string;
  readonly object: number;
  readonly first: number;
}

/** The rows of days and years that a batch leads to; each map's key names one row. */
export interface Days {
  readonly days: Map<string, DayRow>;
  readonly years: Map<string, YearRow>;
  readonly attributes: Map<string, AttributeDayRow>;
  readonly moved: Map<string, MovedRow>;
}

export const noDays = (): Days => ({ days: new Map(), years: new Map(), attributes: new Map(), moved: new Map() });

const yearOf = (day: number): number => new Date(day * 86_400_000).getUTCFullYear();

type Counted = Omit<DayRow, 'events'>;

function count({ days, years, moved }: Days, counted: Counted, back: boolean): void {
  const { user, object, day, change, rev } = counted;
  const dayKey = `${object}:${day}:${user}`;
  const before = days.get(dayKey);
  days.set(dayKey, { ...counted, change: addDecimals(before?.change ?? 0, change), events: (before?.events ?? 0) + 1 });
  const year = yearOf(day);
  const yearKey = `${object}:${year}:${user}`;
  years.set(yearKey, { user, object, year, rev, change: addDecimals(years.get(yearKey)?.change ?? 0, change) });
  if (!back) return;
  const movedKey = `${object}:${user}`;
  moved.set(movedKey, { user, object, first: Math.min(moved.get(movedKey)?.first ?? day, day) });
}

function countAttributes({ attributes }: Days, { user, metric, day, value: change, rev, attributes: sent }: EventEntry): void {
  for (const [no, value] of sent) {
    const key = `${metric}:${no}:${day}:${user.length}:${user}:${value}`;
    const before = attributes.get(key)?.change ?? 0;
    attributes.set(key, { user, metric, attribute: Number(no), value, day, rev, change: addDecimals(before, change) });
  }
}

/** Adds what an entry counts: the event itself, and its awards. */
export function collectDays(days: Days, entry: EventEntry | UserEntry): void {
  const { user, rev, back = false } = entry;
  if (entry.kind === 'event') {
    const { metric: object, day, total, value: change } = entry;
    count(days, { user, object, day, total, change, rev }, back);
    countAttributes(days, entry);
  }
  for (const { no: object, awards } of entry.points) {
    for (const { day, total, awarded: change } of awards) count(days, { user, object, day, total, change, rev }, back);
  }
}
