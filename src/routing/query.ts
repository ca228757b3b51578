import { z } from 'zod';

/** A whole number in a query string, within bounds; `fallback` when it is absent. */
export function integerText(min: number, max: number, fallback: number): z.ZodType<number> {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^-?\d{1,15}$/, message)
    .transform(Number)
    .pipe(z.number().min(min, message).max(max, message))
    .default(fallback);
}

/** `true` or `false` in a query string; false when it is absent. */
export const booleanText: z.ZodType<boolean> = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

/** `userAttributes`: `key:value` pairs, separated by commas; a value may hold colons. An empty map when it is absent. */
export const attributeFilters: z.ZodType<ReadonlyMap<string, string>> = z
  .string()
  .regex(/^[^:,]+:[^,]*(,[^:,]+:[^,]*)*$/, 'must be attribute filters such as city:London,plan:pro')
  .transform(
    (text) => new Map(text.split(',').map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)] as const)),
  )
  .optional()
  .transform((filters) => filters ?? new Map<string, string>());
