import { z } from 'zod';
import { filledText, text, whole } from '../config/fields.js';
import type { PointsLevel } from '../config/model.js';
import { resourceRoutes } from './resource.js';
import { badge, key, shownBadge, uuid } from './shapes.js';

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
