import { z } from 'zod';
import type { ZodOpenApiOverrideMeta } from 'zod-openapi';

/*
 * Schemas of path and query parameters. They parse text; the reference documents the type that the text stands for, from the same bounds.
 */

/** Replaces a schema's form in the reference. */
const documented = (override: ZodOpenApiOverrideMeta): { override: ZodOpenApiOverrideMeta } => ({ override });

/** A key in a path. */
export const keyText = (what: string): z.ZodString => z.string().meta({ description: `The key of the ${what}.` });

function wholeNumber(min: number, max: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^-?\d{1,15}$/, message)
    .transform(Number)
    .pipe(z.number().min(min, message).max(max, message));
}

/** A whole number in a query string, within bounds; undefined when it is absent. */
export function optionalIntegerText(min: number, max: number, description: string): z.ZodType<number | undefined> {
  return wholeNumber(min, max)
    .optional()
    .meta({
      description,
      ...documented(({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: min, maximum: max });
      }),
    });
}

/** A whole number in a path or a query string, within bounds. */
export function requiredIntegerText(min: number, max: number, description: string): z.ZodType<number> {
  return wholeNumber(min, max).meta({
    description,
    ...documented(({ jsonSchema }) => {
      delete jsonSchema.pattern;
      Object.assign(jsonSchema, { type: 'integer', minimum: min, maximum: max });
    }),
  });
}

/** A whole number in a query string, within bounds; `fallback` when it is absent. */
export function integerText(min: number, max: number, fallback: number): z.ZodType<number> {
  return wholeNumber(min, max)
    .default(fallback)
    .meta(
      documented(({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: min, maximum: max, default: fallback });
      }),
    );
}

/** An ISO 8601 instant in a query string, as milliseconds since 1970, at least 0; undefined when it is absent. */
export const instantText = (description: string): z.ZodType<number | undefined> =>
  z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date-time such as 2026-01-31T12:00:00Z' })
    .transform((text) => Math.max(Date.parse(text), 0))
    .optional()
    .meta({ description });

/** `true` or `false` in a query string; false when it is absent. */
export const booleanText: z.ZodType<boolean> = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')
  .meta(
    documented(({ jsonSchema }) => {
      delete jsonSchema.enum;
      Object.assign(jsonSchema, { type: 'boolean', default: false });
    }),
  );

/** True for `true`; false for any other text and when absent. */
export const onlyTrueText = (description: string): z.ZodType<boolean> =>
  z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((sent) => sent === 'true')
    .meta({
      description,
      ...documented(({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        jsonSchema.type = 'string';
      }),
    });

/** Splits a text at its commas. `\,` is a comma within a part and `\\` a backslash; other backslashes are literal. */
function partsOf(text: string): string[] {
  const parts = [''];
  for (const token of text.match(/\\[\\,]|,|\\|[^\\,]+/g) ?? []) {
    if (token === ',') parts.push('');
    else parts.push((parts.pop() ?? '') + (/^\\./.test(token) ? token.slice(1) : token));
  }
  return parts;
}

/** Returns `key:value` pairs. A part without a colon belongs to the value before it, with its comma. */
function pairsOf(text: string): string[] {
  const pairs: string[] = [];
  for (const part of partsOf(text)) {
    const before = pairs.at(-1);
    if (part.includes(':') || before === undefined) pairs.push(part);
    else pairs[pairs.length - 1] = `${before},${part}`;
  }
  return pairs;
}

/** `userAttributes`: `key:value` pairs, separated by commas; a value may hold colons. An empty map when it is absent. */
export const attributeFilters: z.ZodType<ReadonlyMap<string, string>> = z
  .string()
  .transform(pairsOf)
  .refine((pairs) => pairs.every((pair) => pair.indexOf(':') > 0), 'must be attribute filters such as city:London,plan:pro')
  .transform((pairs) => new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)] as const)))
  .optional()
  .transform((filters) => filters ?? new Map<string, string>())
  .meta({
    description:
      'Attribute keys and values such as `city:London,plan:pro`, all of which must match. A value may hold commas: a comma begins another pair only where a key and a colon follow, as in `city:Washington, D.C.,plan:pro`. Where they follow inside a value, write `\\,` for the comma, and `\\\\` for a backslash before it.',
  });

/** Drops the pattern of a format, whose name is clearer. */
function dropPattern({ jsonSchema }: { jsonSchema: { format?: unknown; pattern?: string } }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

/** A parameter of 1 to `max` items. `split` receives one text, or several if the parameter is repeated. */
function items<T>(item: z.ZodType<T, string>, max: number, how: { split: (sent: string | string[]) => string[]; description: string }) {
  const list = z.array(item).min(1, 'must have at least 1 item').max(max, `must have at most ${max} items`);
  return z
    .union([z.string(), z.array(z.string())])
    .transform(how.split)
    .pipe(list)
    .meta({
      description: how.description,
      ...documented(({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        const { $schema: _, ...schema } = z.toJSONSchema(list, { io: 'input', override: dropPattern });
        Object.assign(jsonSchema, schema);
      }),
    });
}

/** A list of ids generated by Laurel, which contain no comma: separated by commas, in one or more parameters. */
export const idsText = <T>(item: z.ZodType<T, string>, max: number): z.ZodType<T[]> =>
  items(item, max, {
    split: (sent) => [sent].flat().flatMap((text) => text.split(',')),
    description: 'Ids, as a repeated parameter or separated by commas.',
  });

/** A list of ids chosen by callers, which may contain commas: a repeated parameter is not split. */
export const callersIdsText = <T>(item: z.ZodType<T, string>, max: number): z.ZodType<T[]> =>
  items(item, max, {
    split: (sent) => (Array.isArray(sent) ? sent : partsOf(sent)),
    description:
      'Ids, as a repeated parameter or separated by commas. A repeated parameter is not split. In a single one, write `\\,` for a comma that belongs to an id, and `\\\\` for a backslash before a comma or a backslash.',
  });
