import { z } from 'zod';
import { limits } from '../../shared/limits.js';
import { filledText, oneOf, positive, text, whole } from '../../config/fields.js';
import type { Achievement } from '../../config/model.js';
import { resourceRoutes } from './resource.js';
import { badge, filter, key, listOf, shownBadge, shownFilters, uuid } from './requests.js';

const triggers = ['metric', 'streak', 'api', 'achievement'] as const;
const statuses = ['inactive', 'active', 'locked'] as const;

/** One without a key gets one that is made from its name. */
const create = z.object({
  name: filledText(),
  key: key.optional(),
  description: text().nullable().optional(),
  badge: z.object({ url: filledText() }).nullable().optional(),
  status: oneOf(statuses).optional(),
  trigger: oneOf(triggers),
  userAttributes: listOf(filter, limits.maxFilters).nullable().optional(),
  metricId: uuid.optional(),
  metricValue: positive.optional(),
  eventAttributes: listOf(filter, limits.maxFilters).nullable().optional(),
  streakLength: whole(1).optional(),
  achievementIds: listOf(uuid).optional(),
});

/** What does not go with the trigger is left out. */
const shown = z.object({
  id: z.uuid(),
  key: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  badge: badge.nullable(),
  status: z.enum(statuses),
  trigger: z.enum(triggers),
  userAttributes: z.array(filter),
  metricId: z.uuid().optional(),
  metricValue: z.number().optional(),
  eventAttributes: z.array(filter).optional(),
  streakLength: z.number().optional(),
  achievementIds: z.array(z.uuid()).optional(),
});

type Shown = z.infer<typeof shown>;

function ofTrigger(achievement: Achievement): Partial<Shown> {
  switch (achievement.trigger) {
    case 'metric': {
      const { metricId, metricValue, eventAttributes } = achievement;
      return { metricId, metricValue, eventAttributes: shownFilters(eventAttributes) };
    }
    case 'streak':
      return { streakLength: achievement.streakLength };
    case 'api':
      return {};
    case 'achievement':
      return { achievementIds: [...achievement.achievementIds] };
  }
}

/** Achievements, which the hosted service's API lacks: the fields are those of a configuration file, with ids. */
export const achievementAdminRoutes = resourceRoutes({
  list: 'achievements',
  path: '/achievements',
  operations: 'admin_achievements',
  one: 'achievement',
  many: 'achievements',
  create,
  // A key is in paths and files, so it stays.
  update: create.omit({ key: true }).partial().extend({ id: uuid }),
  shown,
  show: (achievement): Shown => ({
    id: achievement.id,
    key: achievement.key,
    name: achievement.name,
    description: achievement.description,
    badge: shownBadge(achievement.badgeUrl),
    status: achievement.status,
    trigger: achievement.trigger,
    userAttributes: shownFilters(achievement.userAttributes),
    ...ofTrigger(achievement),
  }),
});
