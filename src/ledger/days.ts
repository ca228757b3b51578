import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { type Table, insertsOf } from '../postgres/insert.js';
import { dayMs } from '../shared/calendar.js';
import { addDecimals } from '../shared/decimal.js';
import { activeDays, addedDecimals } from './analytics-days.js';
import type { EventEntry, UserEntry } from './entry.js';

/** The sums of a batch for one user, local day, and metric or points system (`object`, its `no`). */
interface DayRow {
  readonly user: string;
  readonly object: number;
  /** The user's local date, in days since 1970-01-01. */
  readonly day: number;
  /** After the newest event or award of the batch on that day. */
  total: number;
  /** What the batch adds to the day's change and to its number of events or awards. */
  change: number;
  events: number;
  rev: number;
}

interface YearRow {
  readonly user: string;
  readonly object: number;
  readonly year: number;
  change: number;
  rev: number;
}

/** Events of a metric with one value of an event attribute (its `no`). */
interface AttributeDayRow {
  readonly user: string;
  readonly metric: number;
  readonly attribute: number;
  readonly value: string;
  readonly day: number;
  readonly change: number;
  readonly rev: number;
}

/** An entry for a day before one that may already have rows: totals must be recomputed from this day on. */
interface BackdatedRow {
  readonly user: string;
  readonly object: number;
  readonly first: number;
}

/** The summary rows of a batch; each key of a map identifies one row. */
export interface Summaries {
  readonly metricDays: Map<string, DayRow>;
  readonly pointsDays: Map<string, DayRow>;
  readonly years: Map<string, YearRow>;
  readonly attributes: Map<string, AttributeDayRow>;
  readonly backdated: Map<string, BackdatedRow>;
}

export const emptySummaries = (): Summaries => ({
  metricDays: new Map(),
  pointsDays: new Map(),
  years: new Map(),
  attributes: new Map(),
  backdated: new Map(),
});

let lastDay = 0;
let yearOfLastDay = 1970;

/** The year of a local day. Most days are that of the call before. */
function yearOf(day: number): number {
  if (day !== lastDay) {
    lastDay = day;
    yearOfLastDay = new Date(day * dayMs).getUTCFullYear();
  }
  return yearOfLastDay;
}

type CountedDay = Readonly<Omit<DayRow, 'events'>>;

function count({ years, backdated }: Summaries, days: Map<string, DayRow>, counted: CountedDay, back: boolean): void {
  const { user, object, day, total, rev } = counted;
  // To 15 significant digits.
  const change = addDecimals(0, counted.change);
  const dayKey = `${object}:${day}:${user}`;
  const counts = days.get(dayKey);
  if (counts) {
    counts.change = addDecimals(counts.change, change);
    counts.events += 1;
    counts.total = total;
    counts.rev = rev;
  } else days.set(dayKey, { user, object, day, total, change, events: 1, rev });
  const year = yearOf(day);
  const yearKey = `${object}:${year}:${user}`;
  const yearly = years.get(yearKey);
  if (yearly) {
    yearly.change = addDecimals(yearly.change, change);
    yearly.rev = rev;
  } else years.set(yearKey, { user, object, year, change, rev });
  if (!back) return;
  const movedKey = `${object}:${user}`;
  backdated.set(movedKey, { user, object, first: Math.min(backdated.get(movedKey)?.first ?? day, day) });
}

function countAttributes({ attributes }: Summaries, { user, metric, day, value: change, rev, attributes: sent }: EventEntry): void {
  for (const [no, value] of sent) {
    const key = `${metric}:${no}:${day}:${user.length}:${user}:${value}`;
    const before = attributes.get(key)?.change ?? 0;
    attributes.set(key, { user, metric, attribute: Number(no), value, day, rev, change: addDecimals(before, change) });
  }
}

/** Adds an entry: the event itself and its awards. */
export function collectSummaries(days: Summaries, entry: EventEntry | UserEntry): void {
  const { user, rev, back = false } = entry;
  if (entry.kind === 'event') {
    const { metric: object, day, total, value: change } = entry;
    count(days, days.metricDays, { user, object, day, total, change, rev }, back);
    countAttributes(days, entry);
  }
  for (const { no: object, awards } of entry.points) {
    for (const { day, total, awarded: change } of awards) count(days, days.pointsDays, { user, object, day, total, change, rev }, back);
  }
}

const added = (table: string): string => addedDecimals(table, 'change');
const newer = (table: string): string => `${table}.rev < excluded.rev`;

/*
 * Each table has a generated column. For an update that sets none of the columns which it is made of, Postgres parses its expression again for
 * every row. So the updates below set those columns to their current values.
 */

const pointsDays: Table<DayRow> = {
  name: 'user_days',
  columns: [
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'object', type: 'integer', value: ({ object }) => object },
    { name: 'day', type: 'date', value: ({ day }) => day },
    { name: 'total', type: 'float8', value: ({ total }) => total },
    { name: 'change', type: 'float8', value: ({ change }) => change },
    { name: 'events', type: 'integer', value: ({ events }) => events },
    { name: 'rev', type: 'bigint', value: ({ rev }) => rev },
  ],
  conflict: {
    key: ['user_id', 'object', 'day'],
    replace: ['user_id', 'total', 'change', 'events', 'rev'],
    replaceWhen: newer('user_days'),
    assign: { change: added('user_days'), events: 'user_days.events + excluded.events' },
  },
};

const metricDays: Table<DayRow> = { ...pointsDays, then: activeDays };

const years: Table<YearRow> = {
  name: 'user_years',
  columns: [
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'object', type: 'integer', value: ({ object }) => object },
    { name: 'year', type: 'integer', value: ({ year }) => year },
    { name: 'change', type: 'float8', value: ({ change }) => change },
    { name: 'rev', type: 'bigint', value: ({ rev }) => rev },
  ],
  conflict: {
    key: ['user_id', 'object', 'year'],
    replace: ['user_id', 'change', 'rev'],
    replaceWhen: newer('user_years'),
    assign: { change: added('user_years') },
  },
};

const attributes: Table<AttributeDayRow> = {
  name: 'user_attribute_days',
  columns: [
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'metric', type: 'integer', value: ({ metric }) => metric },
    { name: 'attribute', type: 'integer', value: ({ attribute }) => attribute },
    { name: 'value', type: 'text', value: ({ value }) => value },
    { name: 'day', type: 'date', value: ({ day }) => day },
    { name: 'change', type: 'float8', value: ({ change }) => change },
    { name: 'rev', type: 'bigint', value: ({ rev }) => rev },
  ],
  conflict: {
    key: ['user_id', 'metric', 'attribute', 'value_hash', 'day'],
    replace: ['value', 'change', 'rev'],
    replaceWhen: newer('user_attribute_days'),
    assign: { change: added('user_attribute_days') },
  },
};

/** The same table for an entry that is written behind newer ones: its changes are added, everything else stays as the newer rows have it. */
function late<T>(table: Table<T>): Table<T> {
  const { name, conflict } = table;
  if (!conflict) return table;
  const { replaceWhen: _, ...rest } = conflict;
  const assign = {
    ...conflict.assign,
    rev: `greatest(${name}.rev, excluded.rev)`,
    total: `case when ${newer(name)} then excluded.total else ${name}.total end`,
  };
  return { ...table, conflict: { ...rest, assign } };
}

const tables = { metricDays, pointsDays, years, attributes };
const lateTables = { metricDays: late(metricDays), pointsDays: late(pointsDays), years: late(years), attributes: late(attributes) };

/** The total of each day from `first` on: that of the last day before, plus the changes since. */
const recomputedTotals = `
  with moved as (
    select row.user_id, row.object, date '1970-01-01' + row.first as first
      from unnest($2::text[], $3::integer[], $4::integer[]) as row (user_id, object, first)
  ), summed as (
    select later.user_id, later.object, later.day, coalesce((
             select earlier.total from user_days as earlier
              where earlier.tenant = $1 and earlier.user_id = moved.user_id and earlier.object = moved.object and earlier.day < moved.first
              order by earlier.day desc limit 1
           ), 0)::numeric + sum(later.change::numeric) over (partition by later.user_id, later.object order by later.day) as total
      from moved join user_days as later
        on later.tenant = $1 and later.user_id = moved.user_id and later.object = moved.object and later.day >= moved.first
  )
  update user_days as row set total = summed.total::float8::numeric::float8 from summed
   where row.tenant = $1 and row.user_id = summed.user_id and row.object = summed.object and row.day = summed.day`;

async function recomputeTotals(client: pg.ClientBase, tenant: number, moved: readonly BackdatedRow[]): Promise<void> {
  if (moved.length === 0) return;
  const values = [
    tenant,
    textArray(moved.map(({ user }) => user)),
    numberArray(moved.map(({ object }) => object)),
    numberArray(moved.map(({ first }) => first)),
  ];
  await client.query({ name: 'recompute-day-totals', text: recomputedTotals, values });
}

/**
 * The writes of a batch's summaries, in order. Changes are added; the offset, committed in the same transaction, guarantees that each entry is added
 * once. The total of a day is a fact of its newest entry; only when a user returns to an earlier day, by moving west, are totals recomputed from
 * the changes.
 */
export function summaryWrites(client: pg.ClientBase, tenant: number, batch: Summaries, isLate: boolean): (() => Promise<void>)[] {
  const { metricDays, pointsDays, years, attributes } = isLate ? lateTables : tables;
  return [
    ...insertsOf(client, tenant, metricDays, [...batch.metricDays.values()]),
    ...insertsOf(client, tenant, pointsDays, [...batch.pointsDays.values()]),
    ...insertsOf(client, tenant, years, [...batch.years.values()]),
    ...insertsOf(client, tenant, attributes, [...batch.attributes.values()]),
    () => recomputeTotals(client, tenant, [...batch.backdated.values()]),
  ];
}
