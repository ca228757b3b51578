/** Parses the items of long lists in parts, since one call of the schema for 1,000 events takes longer than a request may hold the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { limits } from '../shared/limits.js';
import { type Issue, invalid, parsePart } from './errors.js';
import { ignoredFields, type Path } from './ignored-fields.js';

export interface ParsedBody {
  readonly body: unknown;
  /** The fields that the schema doesn't know. */
  readonly ignored: readonly Path[];
}

/** The schema of a list of bounded length, as of boundedArray (shared/shapes.ts). Its first half checks the length. */
type ListSchema = z.ZodPipe<z.ZodType, z.ZodArray<z.ZodType>>;

/** Whether a body is a list to be parsed with `parseList`. */
export const isLongList = (schema: z.ZodType, sent: unknown): schema is ListSchema =>
  Array.isArray(sent) && sent.length > 1 && schema instanceof z.ZodPipe && schema.out instanceof z.ZodArray;

/** Parses a list of at least one item in turns of limits.parseTurnMs, or of one item. Throws what parsePart throws. */
export async function parseList(schema: ListSchema, sent: unknown, whole: string): Promise<ParsedBody> {
  const items = parsePart(schema.in, sent, whole) as readonly unknown[];
  const body: unknown[] = [];
  const ignored: Path[] = [];
  const issues: Issue[] = [];
  let turnEnds = performance.now() + limits.parseTurnMs;
  for (const [index, item] of items.entries()) {
    if (performance.now() > turnEnds) {
      await nextTurn();
      turnEnds = performance.now() + limits.parseTurnMs;
    }
    const result = schema.out.element.safeParse(item, { reportInput: true });
    if (result.success) {
      body.push(result.data);
      ignored.push(...ignoredFields(item, result.data, [String(index)]));
    } else {
      issues.push(...result.error.issues.map((issue) => ({ ...issue, path: [index, ...issue.path] })));
    }
  }
  if (issues.length > 0) throw invalid(issues, whole);
  return { body, ignored };
}
