import { z } from 'zod';
import type { ZodOpenApiOverrideMeta } from 'zod-openapi';

/*
 * Schemas of what stands in paths and queries. All of it is text; the reference tells what the text stands for, so each schema says that
 * from the same bounds that it checks.
 */

/** What the reference says of a text instead of what its schema does. */
const told = (override: ZodOpenApiOverrideMeta): { override: ZodOpenApiOverrideMeta } => ({ override });

/** The key of something in a path. */
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
      ...told(({ jsonSchema }) => {
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
      told(({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: min, maximum: max, default: fallback });
      }),
    );
}

/** `true` or `false` in a query string; false when it is absent. */
export const booleanText: z.ZodType<boolean> = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')
  .meta(
    told(({ jsonSchema }) => {
      delete jsonSchema.enum;
      Object.assign(jsonSchema, { type: 'boolean', default: false });
    }),
  );

/** True for `true` alone: any other text, and none, is false. */
export const onlyTrueText = (description: string): z.ZodType<boolean> =>
  z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((sent) => sent === 'true')
    .meta({
      description,
      ...told(({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        jsonSchema.type = 'string';
      }),
    });

/** The parts of a text between its commas; `\,` stands for a comma inside a part and `\\` for a backslash. Other backslashes are kept. */
function partsOf(text: string): string[] {
  const parts = [''];
  for (const token of text.match(/\\[\\,]|,|\\|[^\\,]+/g) ?? []) {
    if (token === ',') parts.push('');
    else parts.push((parts.pop() ?? '') + (/^\\./.test(token) ? token.slice(1) : token));
  }
  return parts;
}

/** `key:value` pairs. A part without a colon is no pair: it belongs to the value before it, with its comma. */
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

/** The pattern of a format says less to a reader than its name. */
function dropPattern({ jsonSchema }: { jsonSchema: { format?: unknown; pattern?: string } }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

/** A parameter that holds 1 to `max` items. `split` makes items of what was sent: one text, or several where the parameter is repeated. */
function items<T>(item: z.ZodType<T, string>, max: number, how: { split: (sent: string | string[]) => string[]; description: string }) {
  const list = z.array(item).min(1, 'must have at least 1 item').max(max, `must have at most ${max} items`);
  return z
    .union([z.string(), z.array(z.string())])
    .transform(how.split)
    .pipe(list)
    .meta({
      description: how.description,
      ...told(({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        const { $schema: _, ...told } = z.toJSONSchema(list, { io: 'input', override: dropPattern });
        Object.assign(jsonSchema, told);
      }),
    });
}

/** A list of ids that Laurel made, which hold no comma: the parameter may be repeated, and each of it separated by commas. */
export const idsText = <T>(item: z.ZodType<T, string>, max: number): z.ZodType<T[]> =>
  items(item, max, {
    split: (sent) => [sent].flat().flatMap((text) => text.split(',')),
    description: 'Ids, as a repeated parameter or separated by commas.',
  });

/** A list of ids that callers chose, which may hold commas: those of a repeated parameter are taken as they are. */
export const callersIdsText = <T>(item: z.ZodType<T, string>, max: number): z.ZodType<T[]> =>
  items(item, max, {
    split: (sent) => (Array.isArray(sent) ? sent : partsOf(sent)),
    description:
      'Ids, as a repeated parameter or separated by commas. A repeated parameter is taken as it is. In one that is sent once, write `\\,` for a comma that belongs to an id, and `\\\\` for a backslash before a comma or a backslash.',
  });
