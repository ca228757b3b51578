/**
 * The values that fields of a configuration file can have: what schema.ts is made of.
 *
 * Every message is the rest of a sentence that starts with the name of the field: "must be …", "is missing".
 */
import { z } from 'zod';
import { canonicalZone, isDate } from '../shared/calendar.js';
import { scaleMultiplier } from '../shared/decimal.js';
import { limits } from '../shared/limits.js';
import { urlFault } from './webhook-url.js';

/** A value as a sentence shows it: texts quoted and cut, everything else with its kind. */
function shown(value: unknown): string {
  if (value === null) return 'empty';
  if (typeof value === 'string') {
    const start = Array.from(value.slice(0, 121)).slice(0, 60).join('');
    return JSON.stringify(start) + (start.length < value.length ? '…' : '');
  }
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return `the yes/no value ${value}`;
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

const grouped = (value: number): string => value.toLocaleString('en-US');

const aboveZero = `a number above 0 and up to ${grouped(limits.maxAbsoluteTotal)}`;

/** A string that `fault` finds nothing wrong with. `fault` gives the message, or null. */
function checkedText(what: string, fault: (value: string) => string | null) {
  return z.string({ error: mustBe(what) }).superRefine((value, context) => {
    const message = fault(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

/** What Postgres can't store, and what is too long; characters are code points. */
function textFault(value: string, maxChars: number): string | null {
  if (value.includes('\0')) return 'holds a NUL character';
  if (!value.isWellFormed()) return 'holds half of a surrogate pair, which is no character';
  // A code point takes at most two units, so most texts are judged without counting.
  if (value.length > 2 * maxChars || (value.length > maxChars && Array.from(value).length > maxChars)) {
    return `is longer than ${grouped(maxChars)} characters`;
  }
  return null;
}

/** Any text of up to `maxChars` code points that Postgres can store. */
export const text = (maxChars: number = limits.maxTextChars) => checkedText('a text', (value) => textFault(value, maxChars));

/** A text that says something: a name, a URL. */
export const filledText = (maxChars: number = limits.maxTextChars) =>
  checkedText('a text', (value) => (value.trim() === '' ? 'must not be empty' : textFault(value, maxChars)));

/** A user id, or an idempotency key (docs/rules/users.md). */
export const userId = checkedText('a text', (value) => {
  if (value === '') return 'must not be empty';
  return textFault(value, limits.maxIdChars) ?? (/\p{Cc}/u.test(value) ? 'holds a control character' : null);
});

/** A key that an operator chooses (contract, `key`). */
export const keySchema = checkedText('a text', (value) => {
  if (!/^[a-zA-Z\d-_]+$/.test(value)) return `may hold only letters, digits, - and _, and at least one of them, not ${shown(value)}`;
  return value.length > limits.maxKeyChars ? `is longer than ${grouped(limits.maxKeyChars)} characters` : null;
});

/** A calendar day, `YYYY-MM-DD`. Year 0 is left out: Postgres has none. */
export const day = checkedText('a day written YYYY-MM-DD', (value) =>
  isDate(value) && !value.startsWith('0000') ? null : `must be a day of the calendar written YYYY-MM-DD, not ${shown(value)}`,
);

/** The URL of a webhook endpoint. Whether it may be a private one is a rule of the installation: merge of apply.ts. */
export const webhookUrl = checkedText('a URL like https://example.com/webhooks', urlFault);

/** A time of the day, as the contract writes it. */
export const timeOfDay = checkedText('a time written HH:MM or HH:MM:SS', (value) =>
  /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(value) ? null : `must be a time of the day written HH:MM or HH:MM:SS, not ${shown(value)}`,
);

/** A time of the day in the longer way to write it: `09:00` and `09:00:00` are the same. */
export const withSeconds = (time: string): string => (time.length === 'HH:MM'.length ? `${time}:00` : time);

/** A time zone by its IANA name (docs/rules/users.md). */
export const timeZone = checkedText('a time zone such as Europe/Lisbon', (value) =>
  canonicalZone(value) === undefined ? `must be an IANA time zone such as Europe/Lisbon, not ${shown(value)}` : null,
).overwrite((value) => canonicalZone(value) ?? value);

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

/** For how many days idempotency keys are kept. */
export const retentionDays = whole(1, limits.maxRetentionDays);

/** An hour of the day, and one at which something ends. */
export const hourOfDay = whole(0, 23);
export const endHour = whole(1, 24);

/** A day of the month; the last one stands for those that a shorter month lacks. */
export const dayOfMonth = whole(1, 31);

/** After how many days without an event users are written to. */
export const reactivationDays = list(whole(1, limits.maxReactivationDays), limits.maxReactivations).refine(
  (days) => days.every((day, at) => at === 0 || day > (days[at - 1] ?? 0)),
  { error: 'must go up, each number of days once' },
);

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
/** What a boost multiplies by: what the compiler can scale to an integer. */
export const multiplier = z
  .number({ error: mustBe(multiplierRange) })
  .refine((value) => scaleMultiplier(value) !== null, { error: mustBe(multiplierRange) })
  .refine((value) => value !== 1, { error: 'must not be 1: a boost multiplies what users earn' });

const currencies = new Set(Intl.supportedValuesOf('currency'));
/** A check of a metric: what it counts in, where that is a currency. */
export function currencyUnits(metric: { readonly unitType?: unknown; readonly units?: unknown }, context: z.core.$RefinementCtx): void {
  const { unitType, units } = metric;
  if (unitType !== 'currency' || typeof units !== 'string' || units === '' || currencies.has(units)) return;
  context.addIssue({
    code: 'custom',
    path: ['units'],
    message: `must be the ISO 4217 code of a currency, such as EUR, not ${shown(units)}`,
  });
}

/** One of some words. `hints` says of words that are none of them what to do instead. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T, hints: Readonly<Record<string, string>> = {}) {
  const message = mustBe(values.join(' or '));
  return z.enum(values, {
    error: (issue) => {
      const hint = typeof issue.input === 'string' && Object.hasOwn(hints, issue.input) ? `: ${hints[issue.input] ?? ''}` : '';
      return `${message(issue) ?? ''}${hint}`;
    },
  });
}

/** How streak conditions combine. `ALL` and `ANY` are other words for `AND` and `OR`, which are stored. */
export const evaluationMode = oneOf(['AND', 'OR', 'ALL', 'ANY']).transform((mode) =>
  mode === 'AND' || mode === 'ALL' ? ('AND' as const) : ('OR' as const),
);

export const yesOrNo = z.boolean({ error: mustBe('true or false') });

export function object<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject(shape, { error: mustBe('a map of fields') });
}

/** A list. Its length is checked before its elements. `ifEmpty` is the message for one without any, where there must be one. */
export function list<T extends z.ZodType>(element: T, most: number = limits.maxConfigObjects, ifEmpty?: string) {
  const all = z.array(element, { error: mustBe('a list') });
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value) || value.length <= most) return value;
      context.addIssue({ code: 'custom', message: `has ${grouped(value.length)} items: ${grouped(most)} is the most` });
      return z.NEVER;
    },
    ifEmpty === undefined ? all : all.min(1, { error: ifEmpty }),
  );
}

/** Which fields only some kinds of an object have: for each kind those that it needs, and those that it may have as well. */
export type Kinds = Readonly<Record<string, { readonly needs: readonly string[]; readonly may?: readonly string[] }>>;

/** Whether a value says more than leaving its field out. */
const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);

/**
 * A check that an object has the fields of its kind, which the field `by` names, and none of another kind. Goes with `whatever`, so that
 * this is said whatever else is wrong with the object.
 */
export function fieldsOfKind(by: string, kinds: Kinds) {
  const all = [...new Set(Object.values(kinds).flatMap(({ needs, may = [] }) => [...needs, ...may]))];
  return (given: unknown, context: z.core.$RefinementCtx): void => {
    const fields = given as Readonly<Record<string, unknown>>;
    const kind = fields[by];
    if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) return;
    const { needs = [], may = [] } = kinds[kind] ?? {};
    for (const field of all) {
      const say = (message: string): void => context.addIssue({ code: 'custom', path: [field], message });
      if (needs.includes(field)) {
        if ((fields[field] ?? null) === null) say(`is missing, which ${by}: ${kind} needs`);
      } else if (!may.includes(field) && isGiven(fields[field])) {
        say(`does not go with ${by}: ${kind}`);
      }
    }
  };
}

/** For a check of an object that is made even if some of its fields were refused. */
export const whatever = { when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null };
