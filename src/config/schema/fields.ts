/**
 * The values that fields of a configuration can have, for kinds.ts and the requests of the Admin API.
 *
 * Every message is the rest of a sentence that starts with the name of the field: "must be …", "is missing".
 */
import { z } from 'zod';
import { canonicalZone, isDate } from '../../shared/calendar.js';
import { scaleMultiplier } from '../../shared/decimal.js';
import { limits } from '../../shared/limits.js';
import { urlFault } from './webhook-url.js';

/** A value as a sentence shows it: texts quoted and cut, everything else with its kind. */
function shown(value: unknown): string {
  if (value === null) return 'empty';
  if (typeof value === 'string') {
    const start = Array.from(value.slice(0, 121)).slice(0, 60).join('');
    return JSON.stringify(start) + (start.length < value.length ? '…' : '');
  }
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return `the boolean ${value}`;
  return Array.isArray(value) ? 'a list' : 'a map';
}

/** The message for a value that is not `what`. */
const mustBe =
  (what: string) =>
  (issue: { readonly code?: string | undefined; readonly input?: unknown }): string | undefined => {
    if (issue.code === 'unrecognized_keys') return undefined;
    if (issue.input === undefined) return 'is missing';
    const hint = what === 'a text' && ['number', 'boolean'].includes(typeof issue.input) ? ': put it in quotes' : '';
    return `must be ${what}, not ${shown(issue.input)}${hint}`;
  };

/** What a JSON Schema can say of a value besides what its Zod schema does (json-schema.ts). */
export interface FormHint {
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  /** Of a text that JSON Schema has no format for. */
  readonly 'x-format'?: string;
  readonly maxItems?: number;
}
export const formHints = z.registry<FormHint>();

/** Notes what forms should know of a schema that checks its values by a function. */
export function hinted<T extends z.ZodType>(schema: T, hint: FormHint): T {
  formHints.add(schema, hint);
  return schema;
}

const grouped = (value: number): string => value.toLocaleString('en-US');

const aboveZero = `a number above 0 and up to ${grouped(limits.maxAbsoluteTotal)}`;

/** A string that `fault` finds nothing wrong with. `fault` gives the message, or null. */
export function checkedText(what: string, fault: (value: string) => string | null) {
  return z.string({ error: mustBe(what) }).superRefine((value, context) => {
    const message = fault(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

/** Refuses what Postgres cannot store, and texts over the limit; characters are code points. */
function textFault(value: string, maxChars: number): string | null {
  if (value.includes('\0')) return 'must not contain a NUL character';
  if (!value.isWellFormed()) return 'must not contain an unpaired surrogate';
  // A code point is at most two units, so most texts need no counting.
  if (value.length > 2 * maxChars || (value.length > maxChars && Array.from(value).length > maxChars)) {
    return `is longer than ${grouped(maxChars)} characters`;
  }
  return null;
}

/** Any text of up to `maxChars` code points that Postgres can store. */
export const text = (maxChars: number = limits.maxTextChars) =>
  hinted(
    checkedText('a text', (value) => textFault(value, maxChars)),
    { maxLength: maxChars },
  );

/** A text with more than spaces: a name, a URL. */
export const filledText = (maxChars: number = limits.maxTextChars) =>
  hinted(
    checkedText('a text', (value) => (value.trim() === '' ? 'must not be empty' : textFault(value, maxChars))),
    { minLength: 1, maxLength: maxChars },
  );

/** Refuses two ids of users that clients resolve in URLs, percent-encoded or not. */
export const dotsFault = (value: string): string | null =>
  value === '.' || value === '..' ? 'must not be . or .., which a URL can’t contain as a part of its path' : null;

/** A user id (docs/rules/users.md). */
export const userId = hinted(
  checkedText('a text', (value) => {
    if (value === '') return 'must not be empty';
    return (
      dotsFault(value) ?? textFault(value, limits.maxIdChars) ?? (/\p{Cc}/u.test(value) ? 'must not contain control characters' : null)
    );
  }),
  { minLength: 1, maxLength: limits.maxIdChars },
);

/** A key that an operator chooses (contract, `key`). */
export const keySchema = hinted(
  checkedText('a text', (value) => {
    if (!/^[a-zA-Z\d-_]+$/.test(value)) return `must be one or more letters, digits, - and _, not ${shown(value)}`;
    if (value === '__proto__') return 'must not be __proto__, which many JSON parsers refuse: choose another key';
    return value.length > limits.maxKeyChars ? `is longer than ${grouped(limits.maxKeyChars)} characters` : null;
  }),
  { pattern: '^[a-zA-Z0-9_-]+$', maxLength: limits.maxKeyChars },
);

/** A calendar day, `YYYY-MM-DD`. Postgres has no year 0. */
export const day = hinted(
  checkedText('a date in the form YYYY-MM-DD', (value) =>
    isDate(value) && !value.startsWith('0000') ? null : `must be a valid date in the form YYYY-MM-DD, not ${shown(value)}`,
  ),
  { format: 'date' },
);

/** The URL of an image that browsers load. The URL parser would drop control characters, and spaces around it. */
export const imageUrl = hinted(
  checkedText('a text', (value) => {
    const isUrl = /^https?:\/\//i.test(value) && !/\p{Cc}| $/u.test(value) && URL.canParse(value);
    return isUrl ? textFault(value, limits.maxTextChars) : 'must be a URL that starts with https:// or http://';
  }),
  { format: 'uri', maxLength: limits.maxTextChars },
);

/** The URL of a webhook endpoint. Whether it may be private depends on the installation (apply.ts). */
export const webhookUrl = hinted(checkedText('a URL like https://example.com/webhooks', urlFault), {
  format: 'uri',
  maxLength: limits.maxWebhookUrlChars,
});

/** A time of the day, as the contract writes it. */
const timePattern = '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$';
export const timeOfDay = hinted(
  checkedText('a time in the form HH:MM or HH:MM:SS', (value) =>
    new RegExp(timePattern).test(value) ? null : `must be a valid time in the form HH:MM or HH:MM:SS, not ${shown(value)}`,
  ),
  { pattern: timePattern },
);

/** A time of the day with seconds: `09:00` and `09:00:00` are the same. */
export const withSeconds = (time: string): string => (time.length === 'HH:MM'.length ? `${time}:00` : time);

/** A time zone by its IANA name (docs/rules/users.md). */
export const timeZone = hinted(
  checkedText('a time zone such as Europe/Lisbon', (value) =>
    canonicalZone(value) === undefined ? `must be an IANA time zone such as Europe/Lisbon, not ${shown(value)}` : null,
  ).overwrite((value) => canonicalZone(value) ?? value),
  { 'x-format': 'time-zone' },
);

/** A number in a range, both ends included. `-0` becomes 0, which is what a document reads back as from Postgres. */
export function number(from: number, to: number, whole: 'whole' | 'decimal') {
  const error = mustBe(`a ${whole === 'whole' ? 'whole ' : ''}number from ${grouped(from)} to ${grouped(to)}`);
  const base = whole === 'whole' ? z.number({ error }).int({ error }) : z.number({ error });
  return base
    .min(from, { error })
    .max(to, { error })
    .overwrite((value) => value + 0);
}
export const whole = (from: number, to: number = limits.maxAbsoluteTotal) => number(from, to, 'whole');

/** For how many days idempotency keys are remembered. */
export const retentionDays = whole(1, limits.maxRetentionDays);

/** How many first days of a user count for activation (contract, `userActivationWindow`). */
export const activationWindow = whole(3, 30);

/** An hour of the day, and one at which something ends. */
export const hourOfDay = whole(0, 23);
export const endHour = whole(1, 24);

/** A day of the month; a shorter month uses its last day. */
export const dayOfMonth = whole(1, 31);

/** After how many days without an event reactivation emails are due. */
export const reactivationDays = list(whole(1, limits.maxReactivationDays), limits.maxReactivations).refine(
  (days) => days.every((day, at) => at === 0 || day > (days[at - 1] ?? 0)),
  { error: 'must be in ascending order, without duplicates' },
);

/** The last day of a week that starts with 0, Sunday. A streak needs one day that counts, so six days may be off. */
const saturday = 6;

/** The weekdays that do not count for daily streaks. */
export const daysOff = list(whole(0, saturday), saturday).refine((days) => new Set(days).size === days.length, {
  error: 'must not list a day twice',
});

/** A number above 0, decimals included. */
export const positive = z
  .number({ error: mustBe(aboveZero) })
  .gt(0, { error: mustBe(aboveZero) })
  .max(limits.maxAbsoluteTotal, { error: mustBe(aboveZero) });

/** Points that a trigger awards or, negative, deducts. A trigger of 0 would do nothing. */
export const triggerPoints = whole(-limits.maxAbsoluteTotal).refine((value) => value !== 0, {
  error: 'must not be 0: a trigger awards points, or deducts them with a negative number',
});

const multiplierRange = `a number above 0 and below 100 with at most ${limits.maxMultiplierDecimals} decimal places`;
/** A boost's multiplier: a number that the compiler can scale to an integer. */
export const multiplier = z
  .number({ error: mustBe(multiplierRange) })
  .refine((value) => scaleMultiplier(value) !== null, { error: mustBe(multiplierRange) })
  .refine((value) => value !== 1, { error: 'must not be 1: a boost multiplies what users earn' });

const currencies = new Set(Intl.supportedValuesOf('currency'));
/** A check of a metric: the units of a currency. */
export function currencyUnits(metric: { readonly unitType?: unknown; readonly units?: unknown }, context: z.core.$RefinementCtx): void {
  const { unitType, units } = metric;
  if (unitType !== 'currency' || typeof units !== 'string' || units === '' || currencies.has(units)) return;
  context.addIssue({
    code: 'custom',
    path: ['units'],
    message: `must be the ISO 4217 code of a currency, such as EUR, not ${shown(units)}`,
  });
}

/** One of some words. `hints` has advice for other words that operators may try. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T, hints: Readonly<Record<string, string>> = {}) {
  const message = mustBe(values.join(' or '));
  return z.enum(values, {
    error: (issue) => {
      const hint = typeof issue.input === 'string' && Object.hasOwn(hints, issue.input) ? `: ${hints[issue.input] ?? ''}` : '';
      return `${message(issue) ?? ''}${hint}`;
    },
  });
}

/** How streak conditions combine. `ALL` and `ANY` are synonyms of `AND` and `OR`, which are stored. */
export const evaluationMode = oneOf(['AND', 'OR', 'ALL', 'ANY']).transform((mode) =>
  mode === 'AND' || mode === 'ALL' ? ('AND' as const) : ('OR' as const),
);

export const yesOrNo = z.boolean({ error: mustBe('true or false') });

export function object<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject(shape, { error: mustBe('a map of fields') });
}

/** A list. Its length is checked before its elements. `ifEmpty` is the message for an empty list, where that is not allowed. */
export function list<T extends z.ZodType>(element: T, most: number = limits.maxConfigObjects, ifEmpty?: string) {
  const all = z.array(element, { error: mustBe('a list') });
  const bounded = z.preprocess(
    (value, context) => {
      if (!Array.isArray(value) || value.length <= most) return value;
      context.addIssue({ code: 'custom', message: `must have at most ${grouped(most)} items, not ${grouped(value.length)}` });
      return z.NEVER;
    },
    ifEmpty === undefined ? all : all.min(1, { error: ifEmpty }),
  );
  return hinted(bounded, { maxItems: most });
}

/** The fields that only some variants of an object have: for each variant the required and the optional ones. */
export type Variants = Readonly<Record<string, { readonly needs: readonly string[]; readonly may?: readonly string[] }>>;

/** Whether a value differs from leaving its field out. */
const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);

/**
 * A check that an object has the fields of its variant, which the field `by` names, and none of another variant. Use it with `whatever`, so
 * that it runs whatever else is wrong with the object.
 */
export function fieldsOfVariant(by: string, variants: Variants) {
  const all = [...new Set(Object.values(variants).flatMap(({ needs, may = [] }) => [...needs, ...may]))];
  return (given: unknown, context: z.core.$RefinementCtx): void => {
    const fields = given as Readonly<Record<string, unknown>>;
    const kind = fields[by];
    if (typeof kind !== 'string' || !Object.hasOwn(variants, kind)) return;
    const { needs = [], may = [] } = variants[kind] ?? {};
    for (const field of all) {
      const refuse = (message: string): void => context.addIssue({ code: 'custom', path: [field], message });
      if (needs.includes(field)) {
        if ((fields[field] ?? null) === null) refuse(`is required with ${by}: ${kind}`);
      } else if (!may.includes(field) && isGiven(fields[field])) {
        refuse(`is not allowed with ${by}: ${kind}`);
      }
    }
  };
}

/** Runs a check of an object even if some of its fields were refused. */
export const whatever = { when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null };
