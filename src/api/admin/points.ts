import { z } from 'zod';
import { filledText, oneOf, text, triggerPoints, whole, yesOrNo } from '../../config/fields.js';
import type { ConfigObject, PointsLevel, PointsSystem, PointsTrigger } from '../../config/model.js';
import { limits } from '../../shared/limits.js';
import { newBoost, showBoost, shownBoost } from './boosts.js';
import { badge, filter, key, listOf, shownBadge, shownFilters, uuid } from './requests.js';
import { resourceRoutes } from './resource.js';

/** The contract's `CreatePointsLevelRequestItem`. */
export const newLevel = z.object({
  name: filledText(),
  key,
  points: whole(0),
  description: text().optional(),
  badge: z.object({ url: filledText() }).optional(),
});

/** The contract's `AdminPointsLevel`. */
export const shownLevel = z.object({
  id: z.uuid(),
  name: z.string(),
  key: z.string(),
  points: z.number(),
  description: z.string(),
  badge: badge.nullable(),
});

export const showLevel = ({ id, name, key: own, points, description, badgeUrl }: PointsLevel): z.infer<typeof shownLevel> => ({
  id,
  name,
  key: own,
  points,
  description,
  badge: shownBadge(badgeUrl),
});

export const levelAdminRoutes = resourceRoutes({
  list: 'levels',
  path: '/points/{systemId}/levels',
  operations: 'admin_points_levels',
  one: 'level',
  many: 'levels of a points system',
  create: newLevel,
  update: newLevel
    .omit({ key: true })
    .partial()
    .extend({ id: uuid, badge: z.object({ url: filledText() }).nullable().optional() }),
  shown: shownLevel,
  show: showLevel,
});

const types = ['metric', 'achievement', 'streak', 'time', 'user_creation'] as const;

/** The contract's `CreatePointsTriggerRequestItem`. The Admin API has no keys of triggers: one is made from what sets it off. */
export const newTrigger = z.object({
  type: oneOf(types),
  points: triggerPoints,
  status: oneOf(['active', 'inactive']).optional(),
  userAttributes: listOf(filter, limits.maxFilters).nullable().optional(),
  metricId: uuid.optional(),
  metricThreshold: whole(1).optional(),
  eventAttributes: listOf(filter, limits.maxFilters).nullable().optional(),
  achievementId: uuid.optional(),
  streakLength: whole(1).optional(),
  timeUnit: oneOf(['hours', 'days']).optional(),
  timeInterval: whole(1, limits.maxTriggerIntervalUnits).optional(),
  blockIfOutOfPoints: yesOrNo.optional(),
});

/** The contract's `AdminPointsTrigger`: the fields of each type are only there for it. */
export const shownTrigger = z.object({
  id: z.uuid(),
  type: z.enum(types),
  points: z.number(),
  status: z.enum(['active', 'inactive']),
  userAttributes: z.array(filter),
  metricId: z.uuid().optional(),
  metricThreshold: z.number().optional(),
  eventAttributes: z.array(filter).optional(),
  achievementId: z.uuid().optional(),
  streakLength: z.number().optional(),
  timeUnit: z.enum(['hours', 'days']).optional(),
  timeInterval: z.number().optional(),
  blockIfOutOfPoints: z.boolean(),
});

type Shown = z.infer<typeof shownTrigger>;

function ofType(trigger: PointsTrigger): Partial<Shown> {
  switch (trigger.type) {
    case 'metric': {
      const { metricId, metricThreshold, eventAttributes, blockIfOutOfPoints } = trigger;
      return { metricId, metricThreshold, eventAttributes: shownFilters(eventAttributes), blockIfOutOfPoints };
    }
    case 'achievement':
      return { achievementId: trigger.achievementId };
    case 'streak':
      return { streakLength: trigger.streakLength };
    case 'time':
      return { timeUnit: trigger.timeUnit, timeInterval: trigger.timeInterval };
    case 'user_creation':
      return {};
  }
}

export const showTrigger = (trigger: PointsTrigger): Shown => ({
  id: trigger.id,
  type: trigger.type,
  points: trigger.points,
  status: trigger.status,
  userAttributes: shownFilters(trigger.userAttributes),
  blockIfOutOfPoints: false,
  ...ofType(trigger),
});

export const triggerAdminRoutes = resourceRoutes({
  list: 'triggers',
  path: '/points/{systemId}/triggers',
  operations: 'admin_points_triggers',
  one: 'trigger',
  many: 'triggers of a points system',
  create: newTrigger,
  update: newTrigger.partial().extend({ id: uuid }),
  shown: shownTrigger,
  show: showTrigger,
});

const fields = {
  name: filledText(),
  description: text().optional(),
  badge: z.object({ url: filledText() }).nullable().optional(),
  maxPoints: whole(1).nullable().optional(),
};

/** The contract's `AdminPointsSystem`. */
const shown = z.object({
  id: z.uuid(),
  name: z.string(),
  key: z.string(),
  description: z.string(),
  status: z.enum(['active', 'archived']),
  badge: badge.nullable(),
  maxPoints: z.number().nullable(),
});

/** The contract's `CreatedAdminPointsSystem`. */
const created = shown.extend({ levels: z.array(shownLevel), boosts: z.array(shownBoost), triggers: z.array(shownTrigger) });

const show = (system: PointsSystem): z.infer<typeof shown> => ({
  id: system.id,
  name: system.name,
  key: system.key,
  // The contract has no null here.
  description: system.description ?? '',
  status: system.archived ? 'archived' : 'active',
  badge: shownBadge(system.badgeUrl),
  maxPoints: system.maxPoints,
});

const live = <T extends ConfigObject>(objects: readonly T[]): T[] => objects.filter(({ archived }) => !archived);

/** Points systems; a new one comes with its levels, boosts and triggers, which are resources of their own afterwards. */
export const pointsAdminRoutes = resourceRoutes({
  list: 'pointsSystems',
  path: '/points',
  operations: 'admin_points_systems',
  one: 'points system',
  many: 'points systems',
  create: z.object({
    ...fields,
    key,
    levels: listOf(newLevel).optional(),
    boosts: listOf(newBoost).optional(),
    triggers: listOf(newTrigger).optional(),
  }),
  update: z.object({ ...fields, id: uuid, name: filledText().optional() }),
  shown,
  show,
  created: {
    shown: created,
    show: (system, today) => ({
      ...show(system),
      levels: live(system.levels).map(showLevel),
      boosts: live(system.boosts).map((boost) => showBoost(boost, today)),
      triggers: live(system.triggers).map(showTrigger),
    }),
  },
});
