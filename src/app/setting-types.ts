/** The forms of settings that several variables share. Messages never repeat the value, since some variables hold secrets. */
import { z } from 'zod';

const whole = (min: number, max: number, hint = '') => ({
  error: `must be a whole number from ${min} to ${max}${hint}`,
});

/** Digits only: `1e3`, `0x50` and ` 80` are rejected. */
export const wholeNumber = (min: number, max: number, hint?: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, whole(min, max, hint))
    .transform(Number)
    .refine((value) => value >= min && value <= max, whole(min, max, hint));

/** A URL with a host. `redis://` alone is rejected, since the host was probably forgotten. */
export const address = (protocols: readonly string[], example: string) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol) && /:\/\/./.test(value), {
    error: `must be an address that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}, like ${example}`,
  });

/** `1` or `0`. */
export const onOrOff = (value: '0' | '1') =>
  z
    .enum(['0', '1'], { error: 'must be 1 (on) or 0 (off)' })
    .default(value)
    .transform((text) => text === '1');
