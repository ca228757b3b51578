import type { Table } from '../postgres/insert.js';
import { addDecimals } from '../shared/decimal.js';
import { type EventEntry, type UserEntry, noTrigger } from './entry.js';

/**
 * What `analytics_days` counts (migrations/0001_schema.sql). `active` and `active30` come from `activeDays`, the others from the entries of a
 * batch.
 */
export type AnalyticsKind = 'events' | 'awards' | 'achievements' | 'created' | 'active' | 'active30';

/** What a batch adds to a local day. */
export interface AnalyticsRow {
  readonly kind: AnalyticsKind;
  /** The `no` of a metric, trigger or achievement; of a points system for adjustments by operators; 0 for users. */
  readonly object: number;
  /** The users' local date, in days since 1970-01-01. */
  readonly day: number;
  count: number;
  amount: number;
}

type CountedOnce = Readonly<Omit<AnalyticsRow, 'count'>>;

function add(rows: Map<string, AnalyticsRow>, { kind, object, day, amount }: CountedOnce): void {
  const key = `${kind}:${object}:${day}`;
  const row = rows.get(key);
  if (!row) {
    // To 15 significant digits.
    rows.set(key, { kind, object, day, count: 1, amount: addDecimals(0, amount) });
    return;
  }
  row.count += 1;
  if (amount !== 0) row.amount = addDecimals(row.amount, amount);
}

/** Adds an entry: the creation of its user, the event, its awards and completions. */
export function collectAnalytics(rows: Map<string, AnalyticsRow>, entry: EventEntry | UserEntry): void {
  const { day } = entry;
  // A user is created by the entry of the first revision.
  if (entry.rev === 1) add(rows, { kind: 'created', object: 0, day, amount: 0 });
  if (entry.kind === 'event') add(rows, { kind: 'events', object: entry.metric, day, amount: entry.value });
  for (const object of entry.achieved ?? []) add(rows, { kind: 'achievements', object, day, amount: 0 });
  for (const { no, awards } of entry.points) {
    for (const { trigger, day: on, awarded } of awards) {
      add(rows, { kind: 'awards', object: trigger === noTrigger ? no : trigger, day: on, amount: awarded });
    }
  }
}

/** Up to here the sum of two whole numbers has 15 digits. */
const exact = 4e14;

/**
 * The sum of the displayed decimals of two expressions: a cast to numeric rounds to 15 significant digits. Whole numbers, which most are, need no such
 * casts: they print and parse a text.
 */
export function sumOfDecimals(old: string, added: string): string {
  return `case
    when abs(${old}) < ${exact} and abs(${added}) < ${exact} and ${old} = trunc(${old}) and ${added} = trunc(${added})
    then ${old} + ${added}
    else (${old}::numeric + ${added}::numeric)::float8::numeric::float8 end`;
}

export const analyticsDays: Table<AnalyticsRow> = {
  name: 'analytics_days',
  columns: [
    { name: 'kind', type: 'text', value: ({ kind }) => kind },
    { name: 'object', type: 'integer', value: ({ object }) => object },
    { name: 'day', type: 'date', value: ({ day }) => day },
    { name: 'count', type: 'bigint', value: ({ count }) => count },
    { name: 'amount', type: 'float8', value: ({ amount }) => amount },
  ],
  conflict: {
    key: ['kind', 'object', 'day'],
    assign: { count: 'analytics_days.count + excluded.count', amount: sumOfDecimals('analytics_days.amount', 'excluded.amount') },
  },
};

/** Days of the window of `active30`. */
const activeWindowDays = 30;

/**
 * The end of the statement that writes `user_days`: counts the users and days that are new in `written`. Only a row that was inserted can be the user's first of the day; such a row has no
 * `xmax`, while an updated one has that of its lock. So an event on a day that has events already costs nothing here.
 *
 * A user counts in `active30` for 30 days from each active day on. Each new day covers from itself to the next active day, the new ones
 * included, for at most 30 days; what the days before this statement covered is left out. (`active_days` shows no row of `fresh` here: a
 * statement does not see what it inserts itself.) `active30` stores where such spans begin and end, so its sum up to a day is the count of
 * that day.
 */
export const activeDays = `, fresh as (
      insert into active_days (tenant, user_id, day)
      select distinct $1::integer, user_id, day from written where is_new
      on conflict do nothing returning user_id, day
    ), spans as (
      select day,
             greatest(day, (
               select max(earlier.day) from active_days as earlier
                where earlier.tenant = $1 and earlier.user_id = fresh.user_id
                  and earlier.day > fresh.day - ${activeWindowDays} and earlier.day < fresh.day
             ) + ${activeWindowDays}) as first,
             least(day + ${activeWindowDays}, lead(day) over (partition by user_id collate "C" order by day), (
               select min(later.day) from active_days as later
                where later.tenant = $1 and later.user_id = fresh.user_id
                  and later.day > fresh.day and later.day < fresh.day + ${activeWindowDays}
             )) as until
        from fresh
    ), counted as (
      select 'active' as kind, day, 1 as count from spans
      union all select 'active30', first, 1 from spans where first < until
      union all select 'active30', until, -1 from spans where first < until
    )
    insert into analytics_days (tenant, kind, object, day, count, amount)
    select $1, kind, 0, day, sum(count), 0 from counted group by kind, day having sum(count) <> 0
    on conflict (tenant, kind, object, day) do update set count = analytics_days.count + excluded.count`;
