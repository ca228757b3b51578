import { z } from 'zod';
import { isDate } from './calendar.js';

/**
 * Small shapes that the answers, and some requests, of several resources share. The reference (http/reference.ts) is made from them and
 * from the shapes beside each resource's responses.
 */

/** A date as answers have it, `YYYY-MM-DD`. */
export const dateShape = z.iso.date();

/** A moment as answers have it: an ISO 8601 date-time in UTC. */
export const instantShape = z.iso.datetime();

/** A moment of the day, `HH:MM` or `HH:MM:SS`. */
export const timeShape = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/);

/** An attribute of a user or an event, and its value. */
export const attributeShape = z
  .object({ key: z.string().meta({ description: "The attribute's key." }), value: z.string() })
  .meta({ id: 'AttributeValue' });

/** The body of every answer that is an error. */
export const errorShape = z
  .object({ error: z.string().meta({ description: 'What is wrong and what to do, in a sentence.' }) })
  .meta({ id: 'Error' });

/** A date in a request. */
export const dateText = z.string().refine(isDate, 'must be a date such as 2026-01-31').meta({ format: 'date' });
