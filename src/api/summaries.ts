import { z } from 'zod';
import { dateToDay } from '../shared/calendar.js';
import { summaryItemShape } from '../responses/events.js';
import { summariseMetric, summariseUserPoints, type SummaryQuery } from '../engine/summaries.js';
import { readWrapped } from '../engine/wrapped.js';
import { wrappedShape } from '../responses/wrapped.js';
import { limits } from '../shared/limits.js';
import { keyText, optionalIntegerText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { dateText } from '../shared/shapes.js';
import { idSchema } from '../engine/user-properties.js';

const date = dateText.refine((text) => text >= '0001-01-01', 'must be a date from 0001-01-01 on').optional();
const otherSpelling = date.meta({ description: 'An alias: send only one of the two.' });

/** The date parameters and their aliases. */
const spellings = [
  ['startDate', 'start_date'],
  ['endDate', 'end_date'],
] as const;

type Dates = Partial<Record<(typeof spellings)[number][number], string | undefined>>;

/** The requested days. */
function spanOf(dates: Dates): { first: number; last: number } {
  const [first = 0, last = 0] = spellings.map((names) =>
    dateToDay(names.map((name) => dates[name]).find((text) => text !== undefined) ?? ''),
  );
  return { first, last };
}

const query = z
  .object({
    aggregation: z.enum(['daily', 'weekly', 'monthly']).meta({ description: "The unit, in the user's local calendar." }),
    startDate: date.meta({
      description: `The first day, a local date of the user. At most ${limits.maxSummaryDays} days.`,
    }),
    endDate: date.meta({ description: 'The last day.' }),
    start_date: otherSpelling,
    end_date: otherSpelling,
  })
  .superRefine((dates, context) => {
    const complain = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
    for (const [usual, other] of spellings) {
      if (dates[usual] === undefined && dates[other] === undefined) complain(usual, 'must be a date such as 2026-01-31');
      if (dates[usual] !== undefined && dates[other] !== undefined && dates[usual] !== dates[other])
        complain(other, `must be the same as \`${usual}\`: send one of the two`);
    }
    const { first, last } = spanOf(dates);
    if (last < first) complain('endDate', 'must not be before the start');
    if (last - first >= limits.maxSummaryDays)
      complain('endDate', `must be at most ${limits.maxSummaryDays} days after the start, both included`);
  });

const summaryQuery = ({ aggregation, ...dates }: z.infer<typeof query>): SummaryQuery => ({ aggregation, ...spanOf(dates) });

export const summaryRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users/{id}/metrics/{key}/event-summary',
    operation: 'users_metric_event_summary',
    description:
      'Buckets without events are sent with change 0. A week or month that reaches beyond the span counts only the days ' + 'inside.',
    responses: { 200: z.array(summaryItemShape) },
    summary: "Sum up a user's events on a metric by day, week or month",
    access: ({ params: { id } }) => [id],
    params: z.object({ id: idSchema, key: keyText('metric') }),
    query,
    handle: async ({ services, tenant, params: { id, key }, query: asked }) => ({
      status: 200,
      body: await summariseMetric(services, tenant, id, { key, ...summaryQuery(asked) }),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/points/{key}/event-summary',
    operation: 'users_points_event_summary',
    description:
      'Buckets without awards are sent with change 0. A week or month that reaches beyond the span counts only the days ' + 'inside.',
    responses: { 200: z.array(summaryItemShape) },
    summary: "Sum up a user's awards in a points system by day, week or month",
    access: ({ params: { id } }) => [id],
    params: z.object({ id: idSchema, key: keyText('points system') }),
    query,
    handle: async ({ services, tenant, params: { id, key }, query: asked }) => ({
      status: 200,
      body: await summariseUserPoints(services, tenant, id, { key, ...summaryQuery(asked) }),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/wrapped',
    operation: 'users_wrapped',
    description:
      "A year that has not begun in the user's calendar is a 422. A year without events has zeros. `percentileThisPeriod` is " +
      'the percentage of the other active users who changed less.',
    responses: { 200: wrappedShape },
    summary: "Read a user's year in review",
    access: ({ params: { id } }) => [id],
    params: z.object({ id: idSchema }),
    query: z.object({
      year: optionalIntegerText(1, 9999, "The current year of the user's local calendar without it."),
    }),
    handle: async ({ services, tenant, params: { id }, query: { year } }) => ({
      status: 200,
      body: await readWrapped(services, tenant, id, year),
    }),
  }),
];
