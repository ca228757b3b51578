import { z } from 'zod';
import { whole } from '../../config/schema/fields.js';
import { adjustPoints, type Adjusted } from '../../engine/points.js';
import { callersIdSchema, idSchema, textSchema } from '../../engine/user-properties.js';
import { requireSystemById } from '../../plan/active-config.js';
import { refOf, refShape } from '../../responses/refs.js';
import { limits } from '../../shared/limits.js';
import { countOf } from '../audit.js';
import { defineRoute, type Route } from '../route.js';
import { batch, batchResponses, batchStatus, eachItem, issueSchema, uuid } from './requests.js';

const itemSchema = z.object({
  userId: idSchema,
  amount: whole(-limits.maxAbsoluteTotal)
    .refine((amount) => amount !== 0, 'must not be 0')
    .meta({ description: 'Points to add; negative takes points. No boost applies.' }),
  reason: textSchema(1).meta({ description: 'Why, for operators: users do not see it.' }),
  idempotencyKey: callersIdSchema.optional(),
});

const adjustmentShape = z
  .object({
    id: z.uuid(),
    userId: z.string(),
    awarded: z.number().int().meta({ description: 'What was really added, within 0 and the cap; 0 for a replay.' }),
    total: z.number().int(),
    level: refShape.nullable().meta({ description: 'The level of the total; null for none.' }),
    idempotentReplayed: z.boolean().meta({ description: 'Whether the key was used before, so that nothing was changed.' }),
  })
  .meta({ id: 'PointsAdjustment' });

const responseSchema = z.object({ created: z.array(adjustmentShape), issues: z.array(issueSchema) });

const shown = ({ level, ...adjusted }: Adjusted): z.infer<typeof adjustmentShape> => ({ ...adjusted, level: level && refOf(level) });

/** Points by operators (docs/rules/points.md). */
export const pointsAdminRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/points/{systemId}/adjustments',
    operation: 'admin_points_adjustments_create',
    description:
      'Levels, leaderboards and webhooks follow as for an award. The total stays within 0 and the cap; if that leaves nothing ' +
      'to change, the item is an issue of severity `warning`. An unknown user is an issue.',
    responses: batchResponses(responseSchema),
    summary: 'Add points to users, or take them, with a reason',
    audit: ({ response }) => {
      const { created } = response as z.infer<typeof responseSchema>;
      const users = created.filter(({ idempotentReplayed }) => !idempotentReplayed).map(({ userId }) => userId);
      return countOf(users.length, 'points adjustment', 'made', users);
    },
    params: z.object({ systemId: uuid }),
    body: z.object({ adjustments: batch(itemSchema) }),
    handle: async ({ services, principal: { keyId }, tenant, params: { systemId }, body }) => {
      requireSystemById(await services.engine.config(tenant), systemId);
      const { done, issues } = await eachItem(
        body.adjustments,
        ({ userId: user, ...adjustment }) =>
          adjustPoints(services.engine, tenant, (config) => requireSystemById(config, systemId), {
            user,
            keyId,
            idempotencyKey: undefined,
            ...adjustment,
          }),
        ({ userId }) => ({ userId }),
      );
      return { status: batchStatus(done.length), body: { created: done.map(shown), issues } };
    },
  }),
];
