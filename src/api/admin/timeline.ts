import { z } from 'zod';
import { readTimeline } from '../../engine/timeline.js';
import { idSchema } from '../../engine/user-properties.js';
import { placeOfCursor } from '../../history/timeline.js';
import { timelineShape } from '../../responses/timeline.js';
import { limits } from '../../shared/limits.js';
import { instantText, integerText } from '../query.js';
import { defineRoute, type Route } from '../route.js';

const cursor = z
  .string()
  .transform((text, context) => {
    const place = placeOfCursor(text);
    if (place) return place;
    context.addIssue({ code: 'custom', message: 'must be `next` of the page before', input: text });
    return z.NEVER;
  })
  .optional()
  .meta({ description: '`next` of the page before; the first page without it.' });

/** What happened to a user (docs/rules/users.md). */
export const timelineRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/users/{id}/timeline',
    operation: 'admin_users_timeline',
    description:
      'Newest first. An event contains the awards that it led to; awards by time and by other calls are entries of their own. The periods of the ' +
      'streak are those of the configured frequency; each is listed at the start of its first day in UTC.',
    summary: "List a user's events, awards, achievements and streak periods",
    responses: { 200: timelineShape },
    params: z.object({ id: idSchema }),
    query: z.object({
      limit: integerText(1, limits.maxTimelinePage, 50),
      cursor,
      from: instantText('Only entries at this instant or later.'),
      until: instantText('Only entries before this instant.'),
    }),
    handle: async ({ services, tenant, params, query: { limit, cursor: after, from: fromMs, until: untilMs } }) => ({
      status: 200,
      body: await readTimeline(services, tenant, params.id, { limit, after, fromMs, untilMs }),
    }),
  }),
];
