import { z } from 'zod';
import { filledText, text, whole } from '../config/fields.js';
import type { ConfigObject, PointsSystem } from '../config/model.js';
import { newBoost, showBoost, shownBoost } from './boosts.js';
import { newLevel, showLevel, shownLevel } from './levels.js';
import { resourceRoutes } from './resource.js';
import { badge, key, listOf, shownBadge, uuid } from './shapes.js';
import { newTrigger, showTrigger, shownTrigger } from './triggers.js';

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
