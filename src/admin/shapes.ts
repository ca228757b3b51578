/** What the resources of the configuration have in common in the Admin API: fields of requests and of answers. */
import { z } from 'zod';
import { keySchema } from '../config/fields.js';
import type { AttributeFilter } from '../config/model.js';
import { limits } from '../limits.js';
import { boundedArray } from '../bounded.js';

export const uuid = z.uuid('must be a UUID');
export { keySchema as key };

/** A list of a request: no longer than there can be objects of a kind. */
export const listOf = <T extends z.ZodType>(element: T, max: number = limits.maxConfigObjects) => boundedArray(element, max);

/** Of users or events: the value that an attribute must have. */
export const filter = z.object({ attributeId: uuid, attributeValue: z.string() }).meta({ id: 'AttributeFilter' });

export const shownFilters = (filters: readonly AttributeFilter[]): z.infer<typeof filter>[] =>
  filters.map(({ attributeId, attributeValue }) => ({ attributeId, attributeValue }));

export const badge = z.object({ url: z.string() }).meta({ id: 'Badge' });

export const shownBadge = (url: string | null): z.infer<typeof badge> | null => (url === null ? null : { url });
