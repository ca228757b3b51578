import type { AttributeSums, DaySpan, DaySummary, RankedDay } from '../history/aggregates.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userFields, userRecords } from '../redis/contract.js';
import { at, listOf } from '../redis/encoding.js';
import { completedResponse } from '../responses/achievements.js';
import { leaderboardResponse } from '../responses/leaderboards.js';
import { userResponse } from '../responses/users.js';
import type { WrappedMetric, WrappedPeriod, WrappedPlace, WrappedPoints, WrappedResponse, WrappedStreak } from '../responses/wrapped.js';
import { type Frequency, dateToDay, datesOf, dayToDate, firstDayOf, periodOf, utcDate, weekShiftOf } from '../shared/calendar.js';
import { addDecimals } from '../shared/decimal.js';
import { LaurelError } from '../shared/errors.js';
import { ranksAbove } from '../shared/ranking.js';
import { localDayOf } from '../shared/zones.js';
import type { SummaryStores } from './points.js';
import { type UserState, completedBy, readUser } from './users.js';

/** When a user was most active in a year, and on how many days, in how many weeks and months the user was active at all. */
interface Activity {
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
function activityOf(rows: readonly DaySummary[], metrics: ReadonlySet<number>, year: DaySpan, shift: number): Activity {
  const active = rows.filter(({ object }) => metrics.has(object));
  const [days, weeks, months] = [eventsBy('daily', active, shift), eventsBy('weekly', active, shift), eventsBy('monthly', active, shift)];
  return {
    counts: { daysActive: days.size, weeksActive: weeks.size, monthsActive: months.size },
    day: mostActive('daily', days, year, shift),
    week: mostActive('weekly', weeks, year, shift),
    month: mostActive('monthly', months, year, shift),
  };
}

/** The days of a year, oldest first, and the totals before it by object `no`. */
interface YearDays {
  readonly rows: readonly DaySummary[];
  readonly openings: ReadonlyMap<number, number>;
}

/** Everything that a year in review is made of. */
interface Year extends YearDays {
  readonly state: UserState;
  /** The day, the week, the month and the year, in this order. */
  readonly attributes: readonly AttributeSums[];
  readonly ranked: readonly RankedDay[];
  /** Achievements with the local day of their completion, in the order of it. */
  readonly completed: readonly { readonly no: number; readonly at: number; readonly day: number }[];
}

/** Object `no` → the user's percentile; undefined for a period without percentiles. */
type Percentiles = ReadonlyMap<number, number> | undefined;

const percentOf = (change: number, before: number): number => {
  if (before === 0) return 100 * Math.sign(change);
  return Math.round((change * 10_000) / Math.abs(before)) / 100;
};

const changeOf = (total: number, change: number): Pick<WrappedPoints, 'currentTotal' | 'changeThisPeriod' | 'percentChange'> => ({
  currentTotal: total,
  changeThisPeriod: change,
  percentChange: percentOf(change, addDecimals(total, -change)),
});

/**
 * For each metric and points system with rows in a span: the total at its end, and the change in it. The change is the difference of totals: the sum of
 * the days' changes has been rounded at other places.
 */
function sumsOf({ rows, openings }: YearDays, { first, last }: DaySpan): Map<number, { change: number; total: number }> {
  const totals = new Map(openings);
  const sums = new Map<number, { change: number; total: number }>();
  for (const { object, day, total } of rows) {
    if (day < first) totals.set(object, total);
    else if (day <= last) sums.set(object, { change: addDecimals(total, -(totals.get(object) ?? 0)), total });
  }
  return sums;
}

function byAttribute(config: ActiveConfig, year: Year, metric: number, index: number): WrappedMetric['byAttribute'] {
  const { name, units } = config.metricByNo.get(metric) ?? { name: '', units: '' };
  const sums = new Map<string, [value: string, sum: WrappedMetric['byAttribute'][string][string]][]>();
  for (const { metric: no, attribute, value, changes, totals } of year.attributes) {
    const change = changes[index] ?? 0;
    const key = config.attributeByNo.get(attribute);
    if (no !== metric || change === 0 || !key || key.archived) continue;
    const ofKey = sums.get(key.key) ?? [];
    ofKey.push([value, { name, units: units || null, ...changeOf(totals[index] ?? 0, change) }]);
    sums.set(key.key, ofKey);
  }
  // Entries, not assignments: a value may be `__proto__`.
  return Object.fromEntries([...sums].map(([key, values]) => [key, Object.fromEntries(values)]));
}

/** The best rank on each leaderboard that users can see, and the best value at it. */
function bestPlaces(year: Year, { first, last }: DaySpan): Record<string, WrappedPlace> {
  const { config, now } = year.state;
  const best = new Map<number, RankedDay>();
  for (const row of year.ranked) {
    if (row.day < first || row.day > last) continue;
    const earlier = best.get(row.leaderboard);
    const isBetter = !earlier || row.rank < earlier.rank || (row.rank === earlier.rank && ranksAbove(row.value, earlier.value));
    if (isBetter) best.set(row.leaderboard, row);
  }
  const places: Record<string, WrappedPlace> = {};
  for (const board of config.leaderboards.values()) {
    const place = best.get(board.no);
    if (place) places[board.key] = { ...leaderboardResponse(config, board, utcDate(now)), rank: place.rank, value: place.value };
  }
  return places;
}

/** What a user did in a span; `index` is its place among those of the attributes. */
function periodOfYear(year: Year, span: DaySpan, index: number, percentiles: Percentiles): WrappedPeriod {
  const { config } = year.state;
  const sums = sumsOf(year, span);
  const percentile = (no: number): { percentileThisPeriod?: number } => {
    const found = percentiles?.get(no);
    return found === undefined ? {} : { percentileThisPeriod: found };
  };
  const metrics: Record<string, WrappedMetric> = {};
  for (const { no, key, name, units } of config.metrics.values()) {
    const sum = sums.get(no);
    if (!sum) continue;
    const change = { ...changeOf(sum.total, sum.change), ...percentile(no) };
    metrics[key] = { name, units: units || null, ...change, byAttribute: byAttribute(config, year, no, index) };
  }
  const points: Record<string, WrappedPoints> = {};
  for (const { no, key, name, description } of config.systems.values()) {
    const sum = sums.get(no);
    if (sum) points[key] = { name, description, ...changeOf(sum.total, sum.change), ...percentile(no) };
  }
  const completed = year.completed.filter(({ day }) => day >= span.first && day <= span.last);
  const achievements = completed.flatMap(({ no, at }) => {
    const achievement = [...config.achievements.values()].find((one) => one.no === no);
    return achievement ? [completedResponse(config, achievement, at)] : [];
  });
  return { metrics, points, achievements, leaderboards: bestPlaces(year, span) };
}

/** The longest that the streak of the configured frequency was in a year. */
async function longestStreak(
  { aggregates }: SummaryStores,
  { tenant, user }: { readonly tenant: number; readonly user: string },
  { config, streak }: UserState,
  { first, last }: DaySpan,
): Promise<WrappedStreak> {
  const { frequency } = config.document.streaks;
  const shift = weekShiftOf(config.document.settings);
  const [from, to] = [periodOf(frequency, first, shift), periodOf(frequency, last, shift)];
  const found = await aggregates.longestStreak(tenant, user, frequency, { first: from, last: to });
  if (!found) return { length: 0, frequency, periodStart: null, periodEnd: null, started: null };
  const dates = datesOf(frequency, found.period, shift);
  // The streak that the user has now knows when it started, also after it was restored.
  const started = streak && streak.length === found.length && found.period >= streak.started ? streak.started : found.started;
  return {
    length: found.length,
    frequency,
    periodStart: dates.first,
    periodEnd: dates.last,
    started: datesOf(frequency, started, shift).first,
  };
}

function completedIn(state: UserState): Year['completed'] {
  const zone = state.profile[userFields.tz] || state.config.document.settings.defaultTimeZone;
  return [...completedBy(state)].map(([no, at]) => ({ no, at, day: localDayOf(at, zone) })).sort((a, b) => a.at - b.at || a.no - b.no);
}

const yearOf = (day: number): number => Number(dayToDate(day).slice(0, 4));

const changesOf = (days: YearDays, span: DaySpan): ReadonlyMap<number, number> =>
  new Map([...sumsOf(days, span)].map(([no, { change }]) => [no, change]));

/**
 * A user's year in review, by the user's local calendar; the current year without one. Read from the sums of days and years, never from
 * events. What each number means: docs/rules/summaries.md. Throws a 404 for an unknown user, a 422 for a year that has not begun.
 */
export async function readWrapped(
  stores: SummaryStores,
  tenant: number,
  user: string,
  requested: number | undefined,
): Promise<WrappedResponse> {
  const { engine, history, aggregates } = stores;
  const state = await readUser(engine, tenant, user);
  const { config, ledgerId, day: today } = state;
  const number = requested ?? yearOf(today);
  // A user who has moved west has a newest day that the local calendar has yet to reach.
  const newest = yearOf(Math.max(today, Number(at(listOf(state.hash, userRecords.core), 'core', 'newestDay') ?? today)));
  if (number > newest) {
    throw new LaurelError('unprocessable', `\`year\` is ${number}, which has not begun for this user: send ${newest} or an earlier year.`);
  }
  await history.waitFor(tenant, ledgerId);
  const text = String(number).padStart(4, '0');
  const span = { first: dateToDay(`${text}-01-01`), last: dateToDay(`${text}-12-31`) };
  const metrics = Array.from(config.metrics.values(), ({ no }) => no);
  const systems = Array.from(config.systems.values(), ({ no }) => no);
  const objects = [...metrics, ...systems];
  const [rows, openings] = await Promise.all([
    aggregates.daysOfAll(tenant, user, objects, span),
    aggregates.totalsBefore(tenant, user, objects, span.first),
  ]);
  const days = { rows, openings };
  const activity: Activity = activityOf(rows, new Set(metrics), span, weekShiftOf(config.document.settings));
  const { day, week, month } = activity;
  const [attributes, ranked, streak, ofWeek, ofMonth, ofYear] = await Promise.all([
    aggregates.attributeSums(tenant, user, metrics, [day, week, month, span]),
    aggregates.rankedDays(tenant, user, span),
    longestStreak(stores, { tenant, user }, state, span),
    aggregates.percentiles(tenant, user, week, changesOf(days, week)),
    aggregates.percentiles(tenant, user, month, changesOf(days, month)),
    aggregates.percentiles(tenant, user, { year: number }, changesOf(days, span)),
  ]);
  const year = { ...days, state, attributes, ranked, completed: completedIn(state) };
  return {
    user: userResponse(config, user, state.profile),
    activity: {
      ...activity.counts,
      mostActiveDay: { date: dayToDate(day.first), ...periodOfYear(year, day, 0, undefined) },
      mostActiveWeek: { start: dayToDate(week.first), end: dayToDate(week.last), ...periodOfYear(year, week, 1, ofWeek) },
      mostActiveMonth: { month: Number(dayToDate(month.first).slice(5, 7)) - 1, ...periodOfYear(year, month, 2, ofMonth) },
      entireYear: { ...periodOfYear(year, span, 3, ofYear), longestStreak: streak },
    },
  };
}
