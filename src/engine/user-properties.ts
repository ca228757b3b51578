import { z } from 'zod';
import { dotsFault } from '../config/schema/fields.js';
import type { Attribute } from '../config/schema/model.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { userFields } from '../redis/contract.js';
import { canonicalZone, dateToDay, isDate, utcDate } from '../shared/calendar.js';
import { LaurelError, andMore } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { boundedArray, boundedTexts } from '../shared/shapes.js';

const controlCharacter = /\p{Cc}/u;

/** Characters as a reader counts them: an emoji is one. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** What is wrong with an id or an idempotency key, or undefined (docs/rules/users.md). The sentence lacks its subject. */
export function idProblem(text: string): string | undefined {
  if (text.length === 0 || (text.length > limits.maxIdChars && characters(text) > limits.maxIdChars)) {
    return `must have 1 to ${limits.maxIdChars} characters`;
  }
  if (controlCharacter.test(text)) return 'must not contain control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode';
  return undefined;
}

/** An id that the caller chose: kept exactly as it was sent. */
const chosenId = (problem: (text: string) => string | null | undefined, description: string) =>
  z
    .string()
    .check((context) => {
      const message = problem(context.value);
      if (typeof message === 'string') context.issues.push({ code: 'custom', input: context.value, message });
    })
    .meta({ minLength: 1, maxLength: limits.maxIdChars, description });

/** An id that no path of the API contains: an idempotency key, an id of a tenant. */
export const callersIdSchema = chosenId(idProblem, 'An id that the caller chose, without control characters.');

/** What is wrong with the id of a user, or undefined. The sentence lacks its subject. */
export const userIdProblem = (text: string): string | null | undefined => idProblem(text) ?? dotsFault(text);

/** The id of a user. */
export const idSchema = chosenId(userIdProblem, 'An id that the caller chose, without control characters; not `.` or `..`.');

/** What is wrong with a text of the caller's, or undefined: Postgres takes no NUL and no half of a surrogate pair. */
function textProblem(text: string, maxChars: number): string | undefined {
  if (text.length > maxChars && characters(text) > maxChars) return `must have at most ${maxChars} characters`;
  return text.includes('\0') || !text.isWellFormed() ? 'must not contain NUL characters or broken Unicode' : undefined;
}

/** The same for a text of one line, which ends up in headers of emails and in lines of logs and lists. */
const lineProblem = (text: string, maxChars: number): string | undefined =>
  textProblem(text, maxChars) ?? (controlCharacter.test(text) ? 'must not contain control characters' : undefined);

/** A text of the caller's that Postgres can keep too. */
export const textSchema = (minChars: number, maxChars: number = limits.maxTextChars, problem = textProblem): z.ZodString =>
  z
    .string()
    .min(minChars, 'must not be empty')
    .superRefine((text, context) => {
      const message = problem(text, maxChars);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .meta({ maxLength: maxChars });

/** A name or an address of the caller's. */
export const lineSchema = (minChars: number, maxChars: number): z.ZodString => textSchema(minChars, maxChars, lineProblem);

const zoneSchema = z
  .string()
  .refine((name) => canonicalZone(name) !== undefined, 'must be an IANA time zone such as Europe/Paris')
  .overwrite((name) => canonicalZone(name) ?? name)
  .meta({ description: 'An IANA time zone such as `Europe/Paris`. Letter case does not matter; it is kept as the database writes it.' });

/** The date of a text that is one, or the UTC date of a date-time; undefined for any other, and for what is no date in Postgres. */
function signUpDateOf(text: string): string | undefined {
  const date = text.length > 10 && z.iso.datetime({ offset: true }).safeParse(text).success ? utcDate(Date.parse(text)) : text;
  return isDate(date) && date >= '0001-01-01' ? date : undefined;
}

const signUpDateSchema = z
  .string()
  .refine((text) => signUpDateOf(text) !== undefined, 'must be a date such as 2026-01-31')
  .overwrite((text) => signUpDateOf(text) ?? text)
  .meta({
    format: 'date',
    description: "The local date on which the user signed up, not after today in the user's time zone. Of a date-time, the date in UTC.",
  });

/** Attribute key → value. The keys are checked against the configuration later, so that all unknown ones can be named at once. */
export const attributesSchema = boundedTexts(limits.maxConfigObjects, (text) => textProblem(text, limits.maxTextChars)).meta({
  description: `Attribute key → value of at most ${limits.maxTextChars} characters. Every key must be one of the configuration.`,
});

/** Whether `attributesSchema` accepts a value, which it then leaves as it is. */
export function areAttributes(sent: unknown): sent is AttributeValues {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return false;
  const values: readonly unknown[] = Object.values(sent);
  if (values.length > limits.maxConfigObjects) return false;
  return values.every((value) => typeof value === 'string' && textProblem(value, limits.maxTextChars) === undefined);
}

/** The properties of a user that a caller may send (contract, UpdatedUser). A null clears, so a caller can send what a response contains. */
export const userPropertiesSchema = z.object({
  name: lineSchema(0, limits.maxTextChars).nullable().optional(),
  email: lineSchema(1, limits.maxEmailChars).nullable().optional(),
  tz: zoneSchema.nullable().optional(),
  signUpDate: signUpDateSchema.nullable().optional(),
  subscribeToEmails: z
    .boolean()
    .optional()
    .meta({ description: 'True needs an email address. An address that is sent together with false is not stored.' }),
  deviceTokens: boundedArray(textSchema(1, limits.maxDeviceTokenChars), limits.maxDeviceTokens).nullable().optional(),
  attributes: attributesSchema.optional(),
});

export type UserProperties = z.infer<typeof userPropertiesSchema>;

/** The names of the properties that a caller sent. */
export const propertiesIn = (user: object): string[] => Object.keys(user).filter((name) => name !== 'id');

export type AttributeValues = Readonly<Record<string, string>>;

/**
 * Refuses attribute keys that the configuration does not have, naming all of them at once (docs/rules/attributes.md). Each pair is what the
 * caller sent and where the allowed keys are.
 */
export function checkAttributeKeys(...sent: readonly (readonly [AttributeValues | undefined, ReadonlyMap<string, Attribute>])[]): void {
  const unknown = sent.flatMap(([values, known]) => Object.keys(values ?? {}).filter((key) => !known.has(key)));
  if (unknown.length === 0) return;
  const keys = [...new Set(unknown)];
  throw new LaurelError(
    'unprocessable',
    `Invalid attribute keys: ${keys.slice(0, limits.maxComplaints).join(', ')}${andMore(keys.length)}. Please ensure all attribute keys match those set up under \`attributes\` in the tenant's configuration file, or with POST /admin/v1/attributes.`,
  );
}

/** Pairs of attribute no and value, flat, for the function library. The keys have been checked. */
export function attributePairs(values: AttributeValues | undefined, known: ReadonlyMap<string, Attribute>, prefix = ''): string[] {
  const pairs: string[] = [];
  for (const [key, value] of Object.entries(values ?? {})) {
    const attribute = known.get(key);
    if (attribute) pairs.push(prefix + String(attribute.no), value);
  }
  return pairs;
}

/**
 * The properties that a caller sent, as flat pairs of field and text for the function library: only what was sent is touched, and what
 * was sent as null is cleared, which the library keeps as an empty text. Attribute keys have been checked. An address that is sent together with
 * `subscribeToEmails: false` is not stored (contract, `UpdatedUser`).
 */
export function userPatch(config: ActiveConfig, user: UserProperties): string[] {
  const pairs: string[] = [];
  if (user.name !== undefined) pairs.push(userFields.name, user.name ?? '');
  if (user.email === null) pairs.push(userFields.email, '');
  else if (user.email !== undefined && user.subscribeToEmails !== false) pairs.push(userFields.email, user.email);
  if (user.tz !== undefined) pairs.push(userFields.tz, user.tz ?? '');
  if (user.signUpDate !== undefined) pairs.push(userFields.signUpDay, user.signUpDate === null ? '' : String(dateToDay(user.signUpDate)));
  if (user.subscribeToEmails !== undefined) pairs.push(userFields.subscribeToEmails, user.subscribeToEmails ? '1' : '0');
  if (user.deviceTokens !== undefined) pairs.push(userFields.deviceTokens, user.deviceTokens ? JSON.stringify(user.deviceTokens) : '');
  return pairs.concat(attributePairs(user.attributes, config.userAttributes, userFields.attribute));
}
