import { z } from 'zod';
import { isKnownZone } from '../calendar.js';
import { limits } from '../limits.js';

const controlCharacter = /\p{Cc}/u;

/** Characters as a reader counts them: an emoji is one. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** What is wrong with an id or an idempotency key, or undefined (semantics.md, "Users"). The sentence lacks its subject. */
export function idProblem(text: string): string | undefined {
  if (text.length === 0 || (text.length > limits.maxIdChars && characters(text) > limits.maxIdChars)) {
    return `must have 1 to ${limits.maxIdChars} characters`;
  }
  if (controlCharacter.test(text)) return 'must not contain control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode';
  return undefined;
}

/** An id that the caller chose: kept exactly as it was sent. */
export const idSchema = z
  .string()
  .check((context) => {
    const message = idProblem(context.value);
    if (message !== undefined) context.issues.push({ code: 'custom', input: context.value, message });
  })
  .meta({ minLength: 1, maxLength: limits.maxIdChars, description: 'An id that the caller chose, without control characters.' });

/** A text of the caller's that Postgres can keep too: it takes no NUL and no half of a surrogate pair. */
export const textSchema = (minChars: number, maxChars: number = limits.maxTextChars): z.ZodString =>
  z
    .string()
    .min(minChars, 'must not be empty')
    .refine((text) => text.length <= maxChars || characters(text) <= maxChars, `must have at most ${maxChars} characters`)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must not contain NUL characters or broken Unicode')
    .meta({ maxLength: maxChars });

export const zoneSchema = z
  .string()
  .refine(isKnownZone, 'must be an IANA time zone such as Europe/Paris')
  .meta({ description: 'An IANA time zone such as `Europe/Paris`.' });

/** Attribute key → value. The keys are checked against the configuration later, so that all unknown ones can be named at once. */
export const attributesSchema = z
  .record(z.string(), textSchema(0))
  .meta({ description: 'Attribute key → value. Every key must be one of the configuration.' });

/** The properties of a user that a caller may send (contract, UpdatedUser). */
export const userPropertiesSchema = z.object({
  name: textSchema(0).optional(),
  email: textSchema(1, limits.maxEmailChars).optional(),
  tz: zoneSchema.nullable().optional(),
  subscribeToEmails: z.boolean().optional().meta({ description: 'True needs an email address.' }),
  deviceTokens: z
    .array(textSchema(1, limits.maxDeviceTokenChars))
    .max(limits.maxDeviceTokens, `must have at most ${limits.maxDeviceTokens} items`)
    .nullable()
    .optional(),
  attributes: attributesSchema.optional(),
});

export type UserProperties = z.infer<typeof userPropertiesSchema>;
