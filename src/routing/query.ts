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
