import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { type Table, type Then, insertsOf } from '../postgres/insert.js';
import { addDecimals } from '../shared/decimal.js';
import { activeDays, sumOfDecimals } from './analytics-days.js';
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

/** The days of users, in rounds: the second day of a user and object is in the second one, since Postgres computes it from the first. */
interface Days {
  readonly rows: Map<string, DayRow>;
  readonly rounds: DayRow[][];
  /** How many days each user and object has. */
  readonly counts: Map<string, number>;
}

/** An entry for a day before one that may already have rows: what is summed up over days must be recomputed from this day on. */
interface BackdatedRow {
  readonly user: string;
  readonly object: number;
  readonly first: number;
}

/** The summary rows of a batch; each key of a map identifies one row. */
export interface Summaries {
  readonly metricDays: Days;
  readonly pointsDays: Days;
  readonly attributes: Map<string, AttributeDayRow>;
  readonly backdated: Map<string, BackdatedRow>;
}

const emptyDays = (): Days => ({ rows: new Map(), rounds: [], counts: new Map() });

export const emptySummaries = (): Summaries => ({
  metricDays: emptyDays(),
  pointsDays: emptyDays(),
  attributes: new Map(),
  backdated: new Map(),
});

type CountedDay = Readonly<Omit<DayRow, 'events'>>;

function count({ backdated }: Summaries, { rows, rounds, counts }: Days, counted: CountedDay, back: boolean): void {
  const { user, object, day, total, rev } = counted;
  // To 15 significant digits.
  const change = addDecimals(0, counted.change);
  const key = `${object}:${user}`;
  const dayKey = `${day}:${key}`;
  const row = rows.get(dayKey);
  if (row) {
    row.change = addDecimals(row.change, change);
    row.events += 1;
    row.total = total;
    row.rev = rev;
  } else {
    const added = { user, object, day, total, change, events: 1, rev };
    const round = counts.get(key) ?? 0;
    rows.set(dayKey, added);
    counts.set(key, round + 1);
    (rounds[round] ??= []).push(added);
  }
  if (back) backdated.set(key, { user, object, first: Math.min(backdated.get(key)?.first ?? day, day) });
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

const added = (table: string, column = 'change'): string => sumOfDecimals(`${table}.${column}`, 'excluded.change');
const newer = (table: string): string => `${table}.rev < excluded.rev`;

/*
 * Each table has a generated column. For an update that sets none of the columns which it is made of, Postgres parses its expression again for
 * every row. So the updates below set those columns to their current values.
 */

/** The first of the days of a year. */
const newYear = (day: string): string => `make_date(extract(year from ${day})::integer, 1, 1)`;

const yearBefore = `
  cross join lateral (
    select coalesce((
      select earlier.year_change from user_days as earlier
       where earlier.tenant = $1 and earlier.user_id = row.user_id and earlier.object = row.object
         and earlier.day < row.day and earlier.day >= ${newYear('row.day')}
       order by earlier.day desc limit 1), 0) as change) as year`;

/** A new day ends the year in the place of the one before. */
const endsYear: Then = {
  columns: 'user_id, object, day, xmax = 0 as is_new',
  statement: `
    update user_days as earlier set ends_year = false from written
     where written.is_new and earlier.tenant = $1 and earlier.user_id = written.user_id and earlier.object = written.object
       and earlier.day < written.day and earlier.day >= ${newYear('written.day')} and earlier.ends_year`,
};

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
  computed: { join: yearBefore, columns: { year_change: sumOfDecimals('year.change', 'row.change') } },
  conflict: {
    key: ['user_id', 'object', 'day'],
    replace: ['user_id', 'total', 'change', 'year_change', 'events', 'rev'],
    replaceWhen: newer('user_days'),
    assign: {
      change: added('user_days'),
      year_change: added('user_days', 'year_change'),
      events: 'user_days.events + excluded.events',
    },
  },
  then: endsYear,
};

const metricDays: Table<DayRow> = {
  ...pointsDays,
  then: { columns: endsYear.columns, statement: `, closed as (${endsYear.statement})${activeDays}` },
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

const tables = { metricDays, pointsDays, attributes };
const lateTables = { metricDays: late(metricDays), pointsDays: late(pointsDays), attributes: late(attributes) };

const movedDays = `
  with moved as (
    select row.user_id, row.object, date '1970-01-01' + row.first as first
      from unnest($2::text[], $3::integer[], $4::integer[]) as row (user_id, object, first)
  )`;

/** The total of each day from `first` on: that of the last day before, plus the changes since. */
const recomputedTotals = `${movedDays}, summed as (
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

/** What was summed up over the days of the year of `first`, and of later ones. */
const recomputedYears = `${movedDays}, summed as (
    select days.user_id, days.object, days.day,
           sum(days.change::numeric) over days_of_year as year_change, lead(days.day) over days_of_year is null as ends_year
      from moved join user_days as days
        on days.tenant = $1 and days.user_id = moved.user_id and days.object = moved.object and days.day >= ${newYear('moved.first')}
    window days_of_year as (partition by days.user_id, days.object, extract(year from days.day) order by days.day)
  )
  update user_days as row set year_change = summed.year_change::float8::numeric::float8, ends_year = summed.ends_year from summed
   where row.tenant = $1 and row.user_id = summed.user_id and row.object = summed.object and row.day = summed.day`;

const recompute = { totals: recomputedTotals, years: recomputedYears };

async function recomputeDays(
  client: pg.ClientBase,
  tenant: number,
  what: keyof typeof recompute,
  moved: readonly BackdatedRow[],
): Promise<void> {
  if (moved.length === 0) return;
  const values = [
    tenant,
    textArray(moved.map(({ user }) => user)),
    numberArray(moved.map(({ object }) => object)),
    numberArray(moved.map(({ first }) => first)),
  ];
  await client.query({ name: `recompute-${what}-of-days`, text: recompute[what], values });
}

/**
 * The writes of a batch's summaries, in order. Changes are added; the offset, committed in the same transaction, guarantees that each entry is added
 * once. The total of a day is a fact of its newest entry; only when a user returns to an earlier day, by moving west, are totals recomputed from
 * the changes.
 */
export function summaryWrites(client: pg.ClientBase, tenant: number, batch: Summaries, isLate: boolean): (() => Promise<void>)[] {
  const { metricDays, pointsDays, attributes } = isLate ? lateTables : tables;
  const backdated = [...batch.backdated.values()];
  const late = [...batch.metricDays.rows.values(), ...batch.pointsDays.rows.values()].map(({ user, object, day: first }) => ({
    ...{ user, object, first },
  }));
  return [
    ...batch.metricDays.rounds.flatMap((rows) => insertsOf(client, tenant, metricDays, rows)),
    ...batch.pointsDays.rounds.flatMap((rows) => insertsOf(client, tenant, pointsDays, rows)),
    ...insertsOf(client, tenant, attributes, [...batch.attributes.values()]),
    () => recomputeDays(client, tenant, 'totals', backdated),
    () => recomputeDays(client, tenant, 'years', isLate ? late : backdated),
  ];
}
