import { z } from 'zod';
import { readDistribution } from '../../engine/distribution.js';
import { listGroups, listRuns } from '../../engine/leaderboard-runs.js';
import { distributionShape, groupShape, runShape } from '../../responses/leaderboard-runs.js';
import { dateText } from '../../shared/shapes.js';
import { attributeFilters } from '../query.js';
import { defineRoute, type Route } from '../route.js';
import { pageQuery, uuid } from './requests.js';

const params = z.object({ id: uuid });
export const runDate = dateText.optional().meta({
  description: 'A date of the run; the current run in UTC without it, or the first or the last.',
});

/** What operators read of leaderboards (docs/rules/leaderboards.md); their configuration is a resource. */
export const leaderboardAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/leaderboards/{id}/runs',
    operation: 'admin_leaderboards_runs',
    description:
      'The runs that have begun, in UTC or in a time zone east of it; the first run before that. A perpetual leaderboard has one run.',
    summary: 'List the runs of a leaderboard, the newest first',
    responses: { 200: z.object({ runs: z.array(runShape) }) },
    params,
    query: pageQuery,
    handle: async ({ services, tenant, params: { id }, query }) => ({
      status: 200,
      body: { runs: await listRuns(services, tenant, id, query) },
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/leaderboards/{id}/groups',
    operation: 'admin_leaderboards_groups',
    description: 'Those that have participants. A leaderboard without breakdown has one group, without attributes.',
    summary: 'List the groups of a run of a leaderboard, the largest first',
    responses: { 200: z.object({ groups: z.array(groupShape) }) },
    params,
    query: pageQuery.extend({ run: runDate }),
    handle: async ({ services, tenant, params: { id }, query }) => ({
      status: 200,
      body: { groups: await listGroups(services, tenant, id, query) },
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/leaderboards/{id}/distribution',
    operation: 'admin_leaderboards_distribution',
    description:
      'A leaderboard with breakdown needs `userAttributes` with a value for each of its attributes; on others the parameter is a 422.',
    summary: 'Read how the values of a run of a leaderboard are distributed',
    responses: { 200: distributionShape },
    params,
    query: z.object({ run: runDate, userAttributes: attributeFilters }),
    handle: async ({ services, tenant, params: { id }, query }) => ({
      status: 200,
      body: await readDistribution(services, tenant, id, query),
    }),
  }),
];
