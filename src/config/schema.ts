/**
 * The shapes of what operators write: one strict zod schema per object, with the Admin API's field names and keys in place of ids.
 *
 * Schemas hold the rules that one object can be judged by alone; rules between objects are validate.ts. They put in no defaults, so
 * that a field left out can be told from one written down: defaults are stored.ts. `null` (an empty YAML value) of an optional field is
 * the same as leaving it out.
 *
 * Every message is the rest of a sentence that starts with the name of the field: "must be …", "is missing".
 */
import { z } from 'zod';
import { isDate } from '../calendar.js';
import { limits } from '../limits.js';

/** Characters of a boost's name (contract, CreatePointsBoostRequestItem). */
const maxBoostNameChars = 255;

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
const text = (maxChars: number = limits.maxTextChars) => checkedText('a text', (value) => textFault(value, maxChars));

/** A text that says something: a name, a URL. */
const filledText = (maxChars: number = limits.maxTextChars) =>
  checkedText('a text', (value) => (value.trim() === '' ? 'must not be empty' : textFault(value, maxChars)));

/** A user id, or an idempotency key (semantics.md, "Users"). */
const userId = checkedText('a text', (value) => {
  if (value === '') return 'must not be empty';
  return textFault(value, limits.maxIdChars) ?? (/\p{Cc}/u.test(value) ? 'holds a control character' : null);
});

/** A key that an operator chooses (contract, `key`). */
export const keySchema = checkedText('a text', (value) => {
  if (!/^[a-zA-Z\d-_]+$/.test(value)) return `may hold only letters, digits, - and _, and at least one of them, not ${shown(value)}`;
  return value.length > limits.maxKeyChars ? `is longer than ${grouped(limits.maxKeyChars)} characters` : null;
});

/** A calendar day, `YYYY-MM-DD`. Year 0 is left out: Postgres has none. */
const day = checkedText('a day written YYYY-MM-DD', (value) =>
  isDate(value) && !value.startsWith('0000') ? null : `must be a day of the calendar written YYYY-MM-DD, not ${shown(value)}`,
);

/** A number in a range, both ends included. `-0` becomes 0, which is what a document reads back as from Postgres. */
function number(from: number, to: number, whole: 'whole' | 'decimal') {
  const error = mustBe(`a ${whole === 'whole' ? 'whole ' : ''}number from ${grouped(from)} to ${grouped(to)}`);
  const base = whole === 'whole' ? z.number({ error }).int({ error }) : z.number({ error });
  return base
    .min(from, { error })
    .max(to, { error })
    .overwrite((value) => value + 0);
}
const whole = (from: number, to: number = limits.maxAbsoluteTotal) => number(from, to, 'whole');

/** Points that a trigger awards or, negative, deducts. A trigger of 0 would do nothing. */
const triggerPoints = whole(-limits.maxAbsoluteTotal).refine((value) => value !== 0, {
  error: 'must not be 0: a trigger awards points, or deducts them with a negative number',
});

const multiplierRange = `a number above 0 and below 100 with at most ${limits.maxMultiplierDecimals} decimal places`;
const multiplier = z
  .number({ error: mustBe(multiplierRange) })
  .refine((value) => value > 0 && value < 100 && Number(value.toFixed(limits.maxMultiplierDecimals)) === value, {
    error: mustBe(multiplierRange),
  });

function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: mustBe(values.join(' or ')) });
}

function object<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject(shape, { error: mustBe('a map of fields') });
}

function list<T extends z.ZodType>(element: T) {
  return z.array(element, { error: mustBe('a list') });
}

/** Lists whose elements are parsed one by one, so that a mistake in one doesn't hide those of the others. */
const rawList = list(z.unknown()).nullish();

const badge = object({ url: filledText() }).nullish();

export const attributeFilterSchema = object({ attributeKey: keySchema, attributeValue: text() });
const attributeFilters = list(attributeFilterSchema).nullish();

export const settingsSchema = object({ controlRatio: number(0, 1, 'decimal').nullish() });

export const attributeSchema = object({ key: keySchema, name: filledText(), type: oneOf(['user', 'event']) });

export const metricSchema = object({
  key: keySchema,
  name: filledText(),
  unitType: oneOf(['number', 'currency']).nullish(),
  units: text().nullish(),
});

export const levelSchema = object({
  key: keySchema,
  name: filledText(),
  points: whole(0),
  description: text().nullish(),
  badge,
});

export const triggerSchema = object({
  key: keySchema,
  type: oneOf(['metric']),
  metricKey: keySchema,
  metricThreshold: whole(1),
  points: triggerPoints,
  status: oneOf(['active', 'inactive']).nullish(),
  userAttributes: attributeFilters,
  eventAttributes: attributeFilters,
});

export const boostSchema = object({
  key: keySchema,
  name: filledText(maxBoostNameChars),
  start: day,
  end: day.nullish(),
  multiplier,
  rounding: oneOf(['down', 'up', 'nearest']).nullish(),
  userId: userId.nullish(),
  userAttributes: attributeFilters,
});

/** A points system without the elements of its lists, which levelSchema, triggerSchema and boostSchema parse. */
export const pointsSystemSchema = object({
  key: keySchema,
  name: filledText(),
  description: text().nullish(),
  badge,
  maxPoints: whole(1).nullish(),
  levels: rawList,
  triggers: rawList,
  boosts: rawList,
});

/** What each rankBy needs, and what belongs to the other one. */
const ranked = {
  metric: { needs: 'metricKey', excludes: 'pointsSystemKey' },
  points: { needs: 'pointsSystemKey', excludes: 'metricKey' },
} as const;

export const leaderboardSchema = object({
  key: keySchema,
  name: filledText(),
  description: text().nullish(),
  status: oneOf(['inactive', 'active']).nullish(),
  rankBy: oneOf(['metric', 'points']),
  metricKey: keySchema.nullish(),
  pointsSystemKey: keySchema.nullish(),
  maxParticipants: whole(1, limits.maxParticipants).nullish(),
  start: day.nullish(),
  end: day.nullish(),
}).superRefine(
  (board, context) => {
    if (!Object.hasOwn(ranked, board.rankBy)) return;
    const { needs, excludes } = ranked[board.rankBy];
    if ((board[needs] ?? null) === null) {
      context.addIssue({ code: 'custom', path: [needs], message: `is missing, which rankBy: ${board.rankBy} needs` });
    }
    if ((board[excludes] ?? null) !== null) {
      context.addIssue({ code: 'custom', path: [excludes], message: `does not go with rankBy: ${board.rankBy}` });
    }
  },
  // Whatever else is wrong with a leaderboard, say this too.
  { when: ({ value }) => typeof value === 'object' && value !== null },
);

/** The whole file, without the elements of its lists. */
export const configFileSchema = object({
  settings: z.unknown().optional(),
  attributes: rawList,
  metrics: rawList,
  points: rawList,
  leaderboards: rawList,
});

export type AttributeFilterInput = z.output<typeof attributeFilterSchema>;
export type SettingsInput = z.output<typeof settingsSchema>;
export type AttributeInput = z.output<typeof attributeSchema>;
export type MetricInput = z.output<typeof metricSchema>;
export type LevelInput = z.output<typeof levelSchema>;
export type TriggerInput = z.output<typeof triggerSchema>;
export type BoostInput = z.output<typeof boostSchema>;
export type PointsSystemInput = z.output<typeof pointsSystemSchema>;
export type LeaderboardInput = z.output<typeof leaderboardSchema>;
