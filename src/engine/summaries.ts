import { dayToDate, firstDayOf, periodOf, weekShiftOf, type Frequency } from '../shared/calendar.js';
import { addDecimals } from '../shared/decimal.js';
import type { DaySpan, DaySummary } from '../history/aggregates.js';
import { requireMetric, requireSystem, type ActiveConfig } from '../plan/active-config.js';
import type { SummaryStores } from './points.js';
import type { SummaryItem } from '../responses/events.js';
import { readUser } from './users.js';

export interface SummaryQuery extends DaySpan {
  readonly aggregation: Frequency;
}

/**
 * One item for each bucket that touches the span, oldest first; those without events have the total of the one before and change 0.
 * `opening` is the total before the span.
 */
function bucketsOf(rows: readonly DaySummary[], opening: number, { aggregation, first, last }: SummaryQuery, shift: number): SummaryItem[] {
  const buckets: SummaryItem[] = [];
  let total = opening;
  let next = 0;
  for (let period = periodOf(aggregation, first, shift); period <= periodOf(aggregation, last, shift); period += 1) {
    const end = firstDayOf(aggregation, period + 1, shift);
    const before = total;
    let row = rows[next];
    while (row && row.day < end) {
      total = row.total;
      next += 1;
      row = rows[next];
    }
    // The sum of the days' changes has been rounded at other places than the total.
    buckets.push({ date: dayToDate(firstDayOf(aggregation, period, shift)), total, change: addDecimals(total, -before) });
  }
  return buckets;
}

/**
 * What a user did in a metric or a points system, whose `no` is picked from the configuration, by day, week or month of the user's local
 * calendar. Reads at most one row for each day. Throws a 404 for an unknown user or key.
 */
async function summarise(
  { engine, history, aggregates }: SummaryStores,
  tenant: number,
  user: string,
  query: SummaryQuery & { readonly pick: (config: ActiveConfig) => { readonly no: number } },
): Promise<SummaryItem[]> {
  const { config, ledgerId } = await readUser(engine, tenant, user);
  const { no } = query.pick(config);
  await history.waitFor(tenant, ledgerId);
  const [rows, totals] = await Promise.all([
    aggregates.days(tenant, user, no, query),
    aggregates.totalsBefore(tenant, user, [no], query.first),
  ]);
  return bucketsOf(rows, totals.get(no) ?? 0, query, weekShiftOf(config.document.settings));
}

type KeyedQuery = SummaryQuery & { readonly key: string };

/** A user's events on a metric, summed up. */
export const summariseMetric = (
  stores: SummaryStores,
  tenant: number,
  user: string,
  { key, ...query }: KeyedQuery,
): Promise<SummaryItem[]> => summarise(stores, tenant, user, { ...query, pick: (config) => requireMetric(config, key) });

/** A user's awards in a points system, summed up. */
export const summariseUserPoints = (
  stores: SummaryStores,
  tenant: number,
  user: string,
  { key, ...query }: KeyedQuery,
): Promise<SummaryItem[]> => summarise(stores, tenant, user, { ...query, pick: (config) => requireSystem(config, key) });
