import type { z } from 'zod';
import { andMore, LaurelError } from '../errors.js';
import { limits } from '../limits.js';

type Issue = z.core.$ZodIssue;

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

/** Zod's names of types in the words of JSON. */
const jsonTypes: Readonly<Record<string, string>> = { int: 'integer', record: 'object', map: 'object', date: 'string' };

/** What is wrong with a value, without its subject: `must be a number`. */
function predicate(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = jsonTypes[issue.expected] ?? issue.expected;
      return issue.input === undefined ? `is required and must be ${article(expected)}` : `must be ${article(expected)}`;
    }
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return issue.message.startsWith('must ') ? issue.message : `must be at most ${String(issue.maximum)}`;
    case 'too_small':
      return issue.message.startsWith('must ') ? issue.message : `must be at least ${String(issue.minimum)}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'is not valid';
    default:
      return /^(must|is|holds|may) /.test(issue.message) ? issue.message : 'is not valid';
  }
}

/** The path of a value as a caller would write it: `user.attributes.city`. */
const pathOf = (prefix: string, path: readonly PropertyKey[]): string => [...(prefix ? [prefix] : []), ...path.map(String)].join('.');

/**
 * Parses a part of a request. Throws a 422 whose sentence names every field that breaks a rule. `prefix` is put before the fields' names;
 * `whole` is what the part itself is called.
 */
export function parsePart<T>(schema: z.ZodType<T>, input: unknown, whole: string, prefix = ''): T {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  const sentences = result.error.issues.slice(0, limits.maxComplaints).map((issue) => {
    const path = pathOf(prefix, issue.path);
    return `${path === '' ? whole : `\`${path}\``} ${predicate(issue)}`;
  });
  throw new LaurelError('unprocessable', `${sentences.join('; ')}${andMore(result.error.issues.length)}.`);
}
