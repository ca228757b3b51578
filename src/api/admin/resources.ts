/** The resources of the configuration: how the Admin API's contract differs from the fields of their kinds. */
import { z } from 'zod';
import { EditRefusal } from '../../config/change/edits.js';
import { oneOf } from '../../config/schema/fields.js';
import type { Leaderboard, ListName } from '../../config/schema/model.js';
import type { Problem } from '../../config/file/problems.js';
import { finishedEnd, statusProblem } from '../../config/change/transitions.js';
import { webhookKinds } from '../../config/schema/webhook-kinds.js';
import { idSchema } from '../../engine/user-properties.js';
import { statusOn } from '../../responses/leaderboards.js';
import { boostStatusOn } from '../../responses/points.js';
import { boundedArray, instantShape } from '../../shared/shapes.js';
import type { EndpointState } from '../../webhooks/admin.js';
import type { Resource, Shown } from './resource.js';

const leaderboardStatuses = ['inactive', 'active', 'scheduled', 'finished'] as const;

interface SentLeaderboard {
  readonly status?: (typeof leaderboardStatuses)[number];
  readonly key?: string;
  readonly start?: string;
  readonly end?: string | null;
}

/** Translates the requested status: nothing changes where the leaderboard is shown with it already. */
function prepareLeaderboard(sent: SentLeaderboard, was: Leaderboard | undefined, today: string): object {
  const { status, ...others } = sent;
  const shownAs = was ? statusOn(was, today) : 'new';
  if (status === undefined || status === shownAs) return others;
  const refuse = (problem: Problem): EditRefusal =>
    new EditRefusal([{ ...problem, subject: { kind: 'leaderboard', key: was?.key ?? sent.key ?? '' } }]);
  const problem = statusProblem(shownAs, status, sent.start ?? was?.start, today);
  if (problem !== null) throw refuse(problem);
  if (status !== 'finished') return sent;
  const end = finishedEnd(shownAs, sent.end === undefined ? (was?.end ?? null) : sent.end, today);
  if (end === null || (typeof sent.end === 'string' && sent.end !== end)) throw refuse({ code: 'needs_past_end', today });
  return { ...others, status: 'active', end };
}

const withState = (webhook: Shown, state: EndpointState | undefined): Shown => ({
  ...webhook,
  status: state?.switchedOff ? 'inactive' : webhook['status'],
  failingSince: state?.failingSince?.toISOString() ?? null,
  switchedOff: state?.switchedOff?.toISOString() ?? null,
});

export const resources: { readonly [N in ListName]: Resource<N> } = {
  // The type of an attribute stays, as its key does.
  attributes: {
    list: 'attributes',
    path: '/attributes',
    operations: 'admin_attributes',
    many: 'attributes',
    key: 'required',
    fixed: ['type'],
  },
  metrics: { list: 'metrics', path: '/metrics', operations: 'admin_metrics', many: 'metrics', key: 'required' },
  // A new points system comes with its levels, boosts and triggers, which are resources of their own afterwards.
  pointsSystems: {
    list: 'pointsSystems',
    path: '/points',
    operations: 'admin_points_systems',
    many: 'points systems',
    key: 'required',
    nullable: ['badge', 'maxPoints'],
    shown: { description: z.string(), status: z.enum(['active', 'archived']) },
    show: ({ description, archived }) => ({ description: description ?? '', status: archived ? 'archived' : 'active' }),
  },
  levels: {
    list: 'levels',
    path: '/points/{systemId}/levels',
    operations: 'admin_points_levels',
    many: 'levels of a points system',
    key: 'required',
    clearable: ['badge'],
  },
  // The Admin API has no keys of boosts: one is made from the name. `userId` is not a field of an update.
  boosts: {
    list: 'boosts',
    path: '/points/{systemId}/boosts',
    operations: 'admin_points_boosts',
    many: 'boosts of a points system',
    key: 'made',
    fixed: ['userId'],
    nullable: ['userId', 'end', 'userAttributes'],
    shown: { status: z.enum(['active', 'scheduled', 'finished']) },
    // By the date in UTC; for users, by their own date.
    show: (boost, today) => ({ status: boostStatusOn(boost, today) }),
    // The contract requires no format of these ids.
    ids: z.string(),
    // A system may have a boost for each of many users.
    filters: { userId: idSchema },
  },
  // The Admin API has no keys of triggers: one is made from what sets it off.
  triggers: {
    list: 'triggers',
    path: '/points/{systemId}/triggers',
    operations: 'admin_points_triggers',
    many: 'triggers of a points system',
    key: 'made',
    nullable: ['userAttributes', 'eventAttributes'],
    shown: { blockIfOutOfPoints: z.boolean() },
    show: (trigger) => ({ blockIfOutOfPoints: trigger.type === 'metric' && trigger.blockIfOutOfPoints }),
  },
  // The contract has no achievements and no webhooks: the fields are those of a configuration file, with ids.
  achievements: {
    list: 'achievements',
    path: '/achievements',
    operations: 'admin_achievements',
    many: 'achievements',
    key: 'optional',
    renamable: true,
    nullable: ['description', 'badge', 'userAttributes', 'eventAttributes'],
    // By the contract, a text that is no UUID is an issue of its item.
    ids: z.string(),
  },
  leaderboards: {
    list: 'leaderboards',
    path: '/leaderboards',
    operations: 'admin_leaderboards',
    many: 'leaderboards',
    key: 'required',
    renamable: true,
    nullable: ['maxParticipants'],
    clearable: ['end', 'startTime', 'endTime', 'runUnit'],
    sent: { status: oneOf(leaderboardStatuses) },
    shown: { status: z.enum(leaderboardStatuses), maxParticipants: z.number().int().nullable() },
    omitsEmpty: true,
    show: (board, today) => ({ status: statusOn(board, today) }),
    prepare: prepareLeaderboard,
  },
  webhooks: {
    list: 'webhooks',
    path: '/webhooks',
    operations: 'admin_webhooks',
    many: 'webhooks',
    key: 'optional',
    sent: { events: boundedArray(oneOf(webhookKinds), webhookKinds.length, 1) },
    shown: {
      key: z.string().meta({ description: 'Names the endpoint in a configuration file.' }),
      status: z.enum(['active', 'inactive']).meta({ description: 'Inactive as well when Laurel has switched it off.' }),
      failingSince: instantShape.nullable().meta({ description: 'Since when no message could be delivered; null after a success.' }),
      switchedOff: instantShape.nullable().meta({
        description: 'When Laurel switched it off, because it had failed for days. Setting its status to active switches it on again.',
      }),
      created: instantShape,
      updated: instantShape,
      secret: z.string().optional().meta({ description: 'Signs messages: only in the response to a create.' }),
    },
    show: ({ created, updated }) => ({ failingSince: null, switchedOff: null, created, updated }),
    complete: async ({ services, tenant, objects, shown, isNew }) => {
      const nos = objects.map(({ no }) => no);
      if (isNew) {
        const secrets = await services.webhooks.secrets(tenant, nos);
        return shown.map((webhook, i) => ({ ...webhook, secret: secrets.get(nos[i] ?? 0) ?? '' }));
      }
      const states = await services.webhooks.states(tenant, nos);
      return shown.map((webhook, i) => withState(webhook, states.get(nos[i] ?? 0)));
    },
    // A request that sets an endpoint to active switches it on, even where Laurel had switched it off.
    changed: (services, tenant, changes) => {
      const active = changes.filter(({ fields }) => fields['status'] === 'active');
      return services.webhooks.switchOn(
        tenant,
        active.map(({ object }) => object.no),
      );
    },
  },
  // Null and an empty text differ: the one falls back, the other leaves the part out.
  templates: {
    list: 'templates',
    path: '/templates',
    operations: 'admin_templates',
    many: 'templates',
    key: 'optional',
    nullable: ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'],
    shown: {
      key: z.string().meta({ description: 'Names the template in a configuration file.' }),
      created: instantShape,
      updated: instantShape,
    },
    show: ({ created, updated }) => ({ created, updated }),
  },
};
