import { z } from 'zod';
import { isDate } from './calendar.js';
import { counted } from './counted.js';
import { limits } from './limits.js';

/**
 * Small shapes that the responses, and some requests, of several resources share. The reference (api/reference.ts) is made from them and
 * from the shapes beside each resource's responses.
 */

/** A date as responses have it, `YYYY-MM-DD`. */
export const dateShape = z.iso.date();

/** A moment as responses have it: an ISO 8601 date-time in UTC. */
export const instantShape = z.iso.datetime();

/** A moment of the day, `HH:MM` or `HH:MM:SS`. */
export const timeShape = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/);

/** An attribute of a user or an event, and its value. */
export const attributeShape = z
  .object({ key: z.string().meta({ description: "The attribute's key." }), value: z.string() })
  .meta({ id: 'AttributeValue' });

/** The body of every response that is an error. */
export const errorShape = z
  .object({ error: z.string().meta({ description: 'What is wrong and what to do, in a sentence.' }) })
  .meta({ id: 'Error' });

/** A date in a request. */
export const dateText = z.string().refine(isDate, 'must be a date such as 2026-01-31').meta({ format: 'date' });

/** An array whose length is checked before its elements, so that one that is too long costs no more than reading it. */
export function boundedArray<T extends z.ZodType>(element: T, max: number, min = 0) {
  const all = z.array(element).max(max, tooMany(max));
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value)) context.addIssue({ code: 'invalid_type', expected: 'array', input: value });
      else if (value.length > max) context.addIssue({ code: 'custom', message: tooMany(max), input: value });
      else return value as unknown[];
      return z.NEVER;
    },
    min > 0 ? all.min(min, `must have at least ${counted(min, 'item')}`) : all,
  );
}

const tooMany = (max: number): string => `must have at most ${max} items`;

/**
 * A map of texts. The number of its keys is checked before its values, and at most limits.maxComplaints of these are complained about.
 * `problemOf` says what is wrong with a text.
 */
export function boundedTexts(max: number, problemOf: (text: string) => string | undefined) {
  return z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      const entries = Object.entries(value);
      const problems =
        entries.length > max ? [{ path: [], message: `must have at most ${max} keys`, input: value }] : textProblems(entries, problemOf);
      for (const problem of problems) context.addIssue({ code: 'custom', ...problem });
      return problems.length > 0 ? z.NEVER : value;
    },
    z.record(z.string(), z.string()),
  );
}

function textProblems(entries: readonly (readonly [string, unknown])[], problemOf: (text: string) => string | undefined) {
  const problems: { path: string[]; message: string; input: unknown }[] = [];
  for (const [key, input] of entries) {
    const message = typeof input === 'string' ? problemOf(input) : 'must be a string';
    if (message !== undefined) problems.push({ path: [key], message, input });
    if (problems.length === limits.maxComplaints) break;
  }
  return problems;
}
