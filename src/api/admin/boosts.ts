import { z } from 'zod';
import { day, filledText, multiplier, oneOf, userId } from '../../config/fields.js';
import type { PointsBoost } from '../../config/model.js';
import { limits } from '../../shared/limits.js';
import { resourceRoutes } from './resource.js';
import { filter, listOf, shownFilters, uuid } from './requests.js';
import { dateShape } from '../../shared/shapes.js';

/** The contract's `CreatePointsBoostRequestItem`. The Admin API has no keys of boosts: one is made from the name. */
export const newBoost = z.object({
  userId: userId.nullable().optional(),
  name: filledText(limits.maxBoostNameChars),
  start: day,
  end: day.nullable().optional(),
  multiplier,
  rounding: oneOf(['down', 'up', 'nearest']).optional(),
  userAttributes: listOf(filter, limits.maxFilters).nullable().optional(),
});

/** The contract's `AdminPointsBoost`. */
export const shownBoost = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(['active', 'scheduled', 'finished']),
  start: dateShape,
  end: dateShape.nullable(),
  multiplier: z.number(),
  rounding: z.enum(['down', 'up', 'nearest']),
  userId: z.string().nullable(),
  userAttributes: z.array(filter),
});

/** By the date in UTC; users have it by their own. */
function statusOf({ start, end }: PointsBoost, today: string): 'active' | 'scheduled' | 'finished' {
  if (today < start) return 'scheduled';
  return end !== null && today > end ? 'finished' : 'active';
}

export const showBoost = (boost: PointsBoost, today: string): z.infer<typeof shownBoost> => ({
  id: boost.id,
  name: boost.name,
  status: statusOf(boost, today),
  start: boost.start,
  end: boost.end,
  multiplier: boost.multiplier,
  rounding: boost.rounding,
  userId: boost.userId,
  userAttributes: shownFilters(boost.userAttributes),
});

/** Whom a boost is for stays (contract, `PatchPointsBoostsRequest`): `userId` is not a field of a change. */
export const boostAdminRoutes = resourceRoutes({
  list: 'boosts',
  path: '/points/{systemId}/boosts',
  operations: 'admin_points_boosts',
  one: 'boost',
  many: 'boosts of a points system',
  create: newBoost,
  update: newBoost.omit({ userId: true }).partial().extend({ id: uuid }),
  shown: shownBoost,
  show: showBoost,
  // The contract asks for no format here.
  ids: z.string(),
});
