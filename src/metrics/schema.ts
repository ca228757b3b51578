import { z } from 'zod';
import { limits } from '../limits.js';
import { attributesSchema, idSchema, userPropertiesSchema } from '../users/schema.js';

/** One event as callers send it (spec, "Event"), but for its metric. */
export const eventSchema = z.object({
  user: userPropertiesSchema.extend({ id: idSchema }),
  value: z
    .number()
    .min(-limits.maxAbsoluteTotal)
    .max(limits.maxAbsoluteTotal)
    .meta({ description: 'What is added to the total; negative or a decimal is fine.' }),
  attributes: attributesSchema.optional(),
});
