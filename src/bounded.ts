import { z } from 'zod';
import { limits } from './limits.js';

/** An array whose length is checked before its elements, so that one that is too long costs no more than reading it. */
export function boundedArray<T extends z.ZodType>(element: T, max: number, min = 0) {
  const all = z.array(element).max(max, tooMany(max));
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value) || value.length <= max) return value;
      context.addIssue({ code: 'custom', message: tooMany(max), input: value });
      return z.NEVER;
    },
    min > 0 ? all.min(min, `must have at least ${min} item${min === 1 ? '' : 's'}`) : all,
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
