import { z } from 'zod';
import { oneOf, triggerPoints, whole, yesOrNo } from '../config/fields.js';
import type { PointsTrigger } from '../config/model.js';
import { limits } from '../limits.js';
import { resourceRoutes } from './resource.js';
import { filter, listOf, shownFilters, uuid } from './shapes.js';

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
