/** What the resources of the configuration have in common in the Admin API: fields of requests and of answers. */
import { z } from 'zod';
import { keySchema } from '../config/fields.js';
import type { AttributeFilter } from '../config/model.js';
import { limits } from '../limits.js';

export const uuid = z.uuid('must be a UUID');
export { keySchema as key };

/** A list of a request: no longer than there can be objects of a kind. */
export const listOf = <T extends z.ZodType>(element: T): z.ZodArray<T> =>
  z.array(element).max(limits.maxConfigObjects, `must have at most ${limits.maxConfigObjects} items`);

export const filter = z.object({ attributeId: uuid, attributeValue: z.string() });

export const shownFilters = (filters: readonly AttributeFilter[]): z.infer<typeof filter>[] =>
  filters.map(({ attributeId, attributeValue }) => ({ attributeId, attributeValue }));

export const badge = z.object({ url: z.string() });

export const shownBadge = (url: string | null): z.infer<typeof badge> | null => (url === null ? null : { url });

export const deleted = z.object({ id: z.string() });

/** A calendar day, `YYYY-MM-DD`, and a moment, as answers show them. */
export const shownDay = z.string().meta({ format: 'date' });
