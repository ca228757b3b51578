import { z } from 'zod';
import {
  readAnalyticsAchievement,
  readAnalyticsDays,
  readAnalyticsLevels,
  readAnalyticsStreaks,
  type AnalyticsStores,
} from '../../engine/analytics.js';
import type { DaySpan } from '../../history/aggregates.js';
import { analyticsAchievementShape, analyticsDaysShape, analyticsLevelsShape, analyticsStreaksShape } from '../../responses/analytics.js';
import { dateToDay, utcDate } from '../../shared/calendar.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { dateText } from '../../shared/shapes.js';
import { defineRoute, type Route } from '../route.js';
import { uuid } from './requests.js';

const { maxAnalyticsDays, analyticsDays } = limits;
const date = dateText.refine((text) => text >= '0001-01-01', 'must be a date from 0001-01-01 on').optional();

const spanQuery = z.object({
  from: date.meta({ description: `The first day. Without it, ${analyticsDays} days up to the last.` }),
  until: date.meta({ description: `The last day; today in UTC without it. At most ${maxAnalyticsDays} days from the first.` }),
});

/** The requested days. Throws a 422 when there are too many, or none. */
async function spanOf({ clock }: AnalyticsStores, tenant: number, { from, until }: z.infer<typeof spanQuery>): Promise<DaySpan> {
  const last = dateToDay(until ?? utcDate(await clock.now(tenant)));
  const first = from === undefined ? last - analyticsDays + 1 : dateToDay(from);
  if (last < first) throw new LaurelError('unprocessable', '`until` must not be before `from`.');
  if (last - first >= maxAnalyticsDays) {
    throw new LaurelError('unprocessable', `\`until\` must be at most ${maxAnalyticsDays} days after \`from\`, both included.`);
  }
  return { first, last };
}

export const analyticsRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/analytics/days',
    operation: 'admin_analytics_days',
    description:
      'Days are local dates of the users, so the last day is not over everywhere. Events, awards and users stay in the counts when users are deleted. Archived objects are listed if they have counts in the span.',
    summary: 'Count events, active users, new users, awards and completions by day',
    responses: { 200: analyticsDaysShape },
    query: spanQuery,
    handle: async ({ services, tenant, query }) => ({
      status: 200,
      body: await readAnalyticsDays(services, tenant, await spanOf(services, tenant, query)),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/analytics/achievements/{id}',
    operation: 'admin_analytics_achievement',
    description: 'Days are local dates of the users. Completions and users stay in the counts when users are deleted.',
    summary: 'Read the completions and the rarity of an achievement by day',
    responses: { 200: analyticsAchievementShape },
    params: z.object({ id: uuid }),
    query: spanQuery,
    handle: async ({ services, tenant, params, query }) => ({
      status: 200,
      body: await readAnalyticsAchievement(services, tenant, params.id, await spanOf(services, tenant, query)),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/analytics/streaks',
    operation: 'admin_analytics_streaks',
    description: 'Lengths are in periods of the configured frequency. Without streaks in the configuration, all numbers are 0.',
    summary: 'Count users by the length of their current streak',
    responses: { 200: analyticsStreaksShape },
    handle: async ({ services, tenant }) => ({ status: 200, body: await readAnalyticsStreaks(services, tenant) }),
  }),
  defineRoute({
    method: 'get',
    path: '/analytics/levels/{systemId}',
    operation: 'admin_analytics_levels',
    summary: 'Count users by their level in a points system',
    responses: { 200: analyticsLevelsShape },
    params: z.object({ systemId: uuid }),
    handle: async ({ services, tenant, params }) => ({ status: 200, body: await readAnalyticsLevels(services, tenant, params.systemId) }),
  }),
];
