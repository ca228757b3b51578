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

/** `userAttributes`: `key:value` pairs, separated by commas; a value may hold colons. An empty map when it is absent. */
export const attributeFilters: z.ZodType<ReadonlyMap<string, string>> = z
  .string()
  .regex(/^[^:,]+:[^,]*(,[^:,]+:[^,]*)*$/, 'must be attribute filters such as city:London,plan:pro')
  .transform(
    (text) => new Map(text.split(',').map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)] as const)),
  )
  .optional()
  .transform((filters) => filters ?? new Map<string, string>())
  .meta({ description: 'Attribute keys and values such as `city:London,plan:pro`, all of which must match.' });

/** The pattern of a format says less to a reader than its name. */
function dropPattern({ jsonSchema }: { jsonSchema: { format?: unknown; pattern?: string } }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

/** A parameter that may be repeated: 1 to `max` items. */
export function repeated<T>(item: z.ZodType<T, string>, max: number): z.ZodType<T[]> {
  const items = z.array(item).min(1, 'must have at least 1 item').max(max, `must have at most ${max} items`);
  return z
    .union([z.string(), z.array(z.string())])
    .transform((sent) => [sent].flat())
    .pipe(items)
    .meta(
      told(({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        const { $schema: _, ...list } = z.toJSONSchema(items, { io: 'input', override: dropPattern });
        Object.assign(jsonSchema, list);
      }),
    );
}
