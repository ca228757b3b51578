/**
 * Everything that a configuration holds, declared once: the lists and where they lie, the fields of their objects with the schema, the
 * default and the name that each has in a file, what a field refers to, and what comes back from the archive. Parsing (objects.ts),
 * storing and exporting (convert.ts), references.ts, changes.ts, merge.ts, validate.ts, edits.ts and the Admin API work from these tables.
 *
 * A schema holds what a field can be and which fields an object has. Rules between fields and between objects are validate.ts; rules
 * between what an object was and what it becomes, transitions.ts. Schemas put in no defaults, so that a field left out can be told from
 * one that is given. `null` (an empty YAML value) of an optional field is the same as leaving it out, unless `nullIsValue`.
 */
import { z } from 'zod';
import { limits } from '../../shared/limits.js';
import {
  activationWindow,
  currencyUnits,
  day,
  dayOfMonth,
  daysOff,
  endHour,
  evaluationMode,
  filledText,
  hourOfDay,
  keySchema,
  list,
  multiplier,
  number,
  object,
  oneOf,
  positive,
  reactivationDays,
  retentionDays,
  text,
  timeOfDay,
  timeZone,
  triggerPoints,
  userId,
  webhookUrl,
  whatever,
  whole,
  yesOrNo,
} from './fields.js';
import {
  badge,
  field,
  filters,
  given,
  type Kind,
  kind,
  optional,
  orNone,
  rawList,
  reference,
  setting,
  type SettingSpec,
  single,
  type Variations,
} from './kind.js';
import { type ListName, type TopListName } from './kind-names.js';
import { messageSettings, templateFields } from './message-fields.js';
import { webhookKinds } from './webhook-kinds.js';

const name = 'unnamed';
const firstDay = '0001-01-01';
const status = oneOf(['active', 'inactive']);

export const attributeFields = {
  name: given(filledText()),
  /** Keys are unique within a type: a user attribute and an event attribute may share one. */
  type: given(oneOf(['user', 'event'])),
};

export const metricFields = {
  name: given(filledText()),
  unitType: optional(oneOf(['number', 'currency']), 'number'),
  units: optional(text(), ''),
};

export const systemFields = {
  name: given(filledText()),
  description: optional(text(), null),
  badgeUrl: badge,
  maxPoints: optional(whole(1), null),
};

export const levelFields = {
  name: given(filledText()),
  /** The total from which a user has this level. No two levels of a system share it. */
  points: given(whole(0)),
  // The contract requires a description of levels.
  description: optional(text(), ''),
  badgeUrl: badge,
};

const triggerTypes = ['metric', 'achievement', 'streak', 'time', 'user_creation'] as const;
export const triggerFields = {
  type: given(oneOf(triggerTypes)),
  /** Negative deducts. */
  points: given(triggerPoints),
  status: optional(status, 'inactive'),
  userAttributes: filters('user attribute'),
  metricId: reference('metric', 'metricKey'),
  metricThreshold: given(whole(1)),
  eventAttributes: filters('event attribute'),
  /** Refuse an event for which this trigger (which deducts) would take the total below 0. */
  blockIfOutOfPoints: optional(yesOrNo, false),
  achievementId: reference('achievement', 'achievementKey'),
  streakLength: given(whole(1)),
  timeUnit: given(oneOf(['hours', 'days'])),
  timeInterval: given(whole(1, limits.maxTriggerIntervalUnits)),
};

export const triggerVariants = {
  /** Awarded at every multiple of the threshold that the total of the matching events passes. */
  metric: ['metricId', 'metricThreshold', 'eventAttributes', 'blockIfOutOfPoints'],
  /** Awarded once, with the achievement. */
  achievement: ['achievementId'],
  /** Awarded at every multiple of a streak length. */
  streak: ['streakLength'],
  /** Awarded every N hours (on the UTC hour) or days (at the user's local midnight) since the user was created. */
  time: ['timeUnit', 'timeInterval'],
  /** Awarded once, when the user is created. */
  user_creation: [],
} as const satisfies Variations<typeof triggerFields>;

export const boostFields = {
  name: given(filledText(limits.maxBoostNameChars)),
  /** Local dates of the user, `YYYY-MM-DD`, both inclusive; null has no end. */
  start: given(day),
  end: optional(day, null),
  /** Above 0 and below 100, with at most `limits.maxMultiplierDecimals` decimal places. */
  multiplier: given(multiplier),
  rounding: optional(oneOf(['down', 'up', 'nearest']), 'down'),
  /** The only user it applies to; null applies it to all users that match `userAttributes`. */
  userId: optional(userId, null),
  userAttributes: filters('user attribute'),
};

export const achievementTriggers = ['metric', 'streak', 'api', 'achievement', 'anniversary'] as const;
export const achievementFields = {
  name: given(filledText()),
  description: optional(text(), null),
  badgeUrl: badge,
  /** inactive → active ↔ locked. A locked achievement cannot be completed, and only users with it see it. */
  status: optional(oneOf(['inactive', 'active', 'locked']), 'inactive'),
  trigger: given(oneOf(achievementTriggers)),
  /** All must match, or the user can't complete it yet. */
  userAttributes: filters('user attribute'),
  metricId: reference('metric', 'metricKey'),
  metricValue: given(positive),
  eventAttributes: filters('event attribute'),
  streakLength: given(whole(1)),
  achievementIds: field<readonly string[]>({
    schema: list(keySchema, limits.maxConfigObjects, 'must name at least one achievement'),
    file: 'achievementKeys',
    refers: { to: 'achievement', most: limits.maxConfigObjects, repetition: 'named' },
  }),
  anniversaryYears: given(whole(1, limits.maxAnniversaryYears)),
};

export const achievementVariants = {
  /** Completed when the total of the metric, or of its matching events where there are filters, reaches the value. */
  metric: ['metricId', 'metricValue', 'eventAttributes'],
  /** Completed when the current streak reaches the length. */
  streak: ['streakLength'],
  /** Completed by a call that names its key. */
  api: [],
  /** Completed when all the others are. */
  achievement: ['achievementIds'],
  /** Completed on the local day of the user that is so many years after the user's `signUpDate`. */
  anniversary: ['anniversaryYears'],
} as const satisfies Variations<typeof achievementFields>;

export const leaderboardFields = {
  name: given(filledText()),
  description: optional(text(), null),
  /** The operator's choice. Responses show `active` as scheduled before its start and as finished after its end. */
  status: field<'inactive' | 'active'>({
    schema: oneOf(['inactive', 'active', 'scheduled'], { finished: 'a leaderboard finishes after its end' }),
    absent: 'inactive',
    store: (value: 'inactive' | 'active' | 'scheduled') => (value === 'scheduled' ? 'active' : value),
  }),
  rankBy: given(oneOf(['metric', 'points', 'streak'])),
  metricId: reference('metric', 'metricKey'),
  pointsSystemId: reference('points system', 'pointsSystemKey'),
  maxParticipants: optional(whole(1, limits.maxParticipants), limits.maxParticipants),
  /** Local dates of the user, `YYYY-MM-DD`, both inclusive. apply.ts chooses the first day of a leaderboard that names none. */
  start: optional(day, ''),
  end: optional(day, null),
  /**
   * The window of the user's local time, `HH:MM` or `HH:MM:SS`, in which events count: from `startTime` (midnight where it is null) up to but not at
   * `endTime` (the next midnight). A window whose end is before its start goes over midnight.
   */
  startTime: optional(timeOfDay, null),
  endTime: optional(timeOfDay, null),
  /** Ids of user attributes: one group for each combination of their values. */
  breakdownAttributes: field<readonly string[]>({
    schema: list(keySchema, limits.maxBreakdownAttributes),
    absent: [],
    refers: { to: 'user attribute', most: limits.maxBreakdownAttributes, repetition: 'named' },
  }),
  /** A repeating leaderboard starts anew every `runInterval` units, counted from `start`; a perpetual one, as each by streaks, has null and 0. */
  runUnit: optional(oneOf(['day', 'month', 'year']), null),
  runInterval: optional(whole(1, limits.maxRunUnits), 0),
};

export const leaderboardVariants = {
  metric: ['metricId'],
  points: ['pointsSystemId'],
  streak: [],
} as const satisfies Variations<typeof leaderboardFields>;

/** An endpoint's secret is in the table delivery_queues instead, because a configuration is shown, exported and stored in versions. */
export const webhookFields = {
  name: given(filledText()),
  /** http or https, without credentials. */
  url: given(webhookUrl),
  /** At least one kind, each once. */
  events: given(
    list(oneOf(webhookKinds), webhookKinds.length, 'must name at least one kind of event').refine(
      (events) => new Set(events).size === events.length,
      { error: 'must not list a kind twice' },
    ),
  ),
  // An endpoint that is configured is one to send to.
  status: optional(status, 'active'),
};

/** What stands in for a field that was refused is what breaks no rule. A key, a reference and the points of a level have no such value. */
export const kinds: { readonly [N in ListName]: Kind<N> } = {
  attributes: kind('attributes', {
    name: 'attribute',
    // An attribute of a type that does not exist may have been meant as either.
    standIns: (['user', 'event'] as const).map((type) => ({ name, type })),
    fields: attributeFields,
  }),
  metrics: kind('metrics', {
    name: 'metric',
    standIns: [{ name }],
    check: (schema) => schema.superRefine(currencyUnits),
    fields: metricFields,
  }),
  pointsSystems: kind('pointsSystems', {
    name: 'points system',
    file: 'points',
    standIns: [{ name }],
    inside: ['levels', 'triggers', 'boosts'],
    fields: systemFields,
  }),
  levels: kind('levels', { name: 'level', standIns: [{ name }], fields: levelFields }),
  // A trigger has no name of its own in the contract: its key is its name.
  triggers: kind('triggers', {
    name: 'trigger',
    // A trigger of a type that does not exist may have been meant as any that has its fields.
    standIns: triggerTypes.map((type) => ({
      type,
      points: -1,
      metricThreshold: 1,
      streakLength: 1,
      timeUnit: 'days',
      timeInterval: 1,
    })),
    by: 'type',
    variants: triggerVariants,
    fields: triggerFields,
  }),
  boosts: kind('boosts', { name: 'boost', standIns: [{ name, start: firstDay, multiplier: 2 }], fields: boostFields }),
  achievements: kind('achievements', {
    name: 'achievement',
    standIns: achievementTriggers.map((trigger) => ({ name, trigger, metricValue: 1, streakLength: 1, anniversaryYears: 1 })),
    by: 'trigger',
    variants: achievementVariants,
    fields: achievementFields,
  }),
  leaderboards: kind('leaderboards', {
    name: 'leaderboard',
    standIns: [{ name, start: firstDay }],
    // Its ranks and values are of a time that is over.
    comesBack: false,
    // A field that is not classified does not compile.
    permanent: {
      name: false,
      description: false,
      // transitions.ts has the rules for the status and the end.
      status: false,
      rankBy: true,
      metricId: true,
      pointsSystemId: true,
      maxParticipants: false,
      start: true,
      end: false,
      startTime: true,
      endTime: true,
      breakdownAttributes: true,
      runUnit: true,
      runInterval: true,
    } satisfies Readonly<Record<keyof typeof leaderboardFields, boolean>>,
    by: 'rankBy',
    variants: leaderboardVariants,
    check: (schema) => schema.superRefine(streakRuns, whatever),
    fields: leaderboardFields,
  }),
  webhooks: kind('webhooks', {
    name: 'webhook',
    standIns: [{ name, url: 'https://example.com/', events: ['points.changed'] }],
    // Its secret went with it.
    comesBack: false,
    most: limits.maxWebhooks,
    fields: webhookFields,
  }),
  templates: kind('templates', {
    name: 'template',
    // A type or a locale that stood in would break the rules between texts, types and templates.
    standIns: [{ name }],
    most: limits.maxTemplates,
    fields: templateFields,
  }),
};

/** A check of a leaderboard: one by streaks does not repeat. */
function streakRuns(board: Readonly<Record<string, unknown>>, context: z.core.$RefinementCtx): void {
  for (const field of ['runUnit', 'runInterval'] as const) {
    if (board['rankBy'] !== 'streak' || (board[field] ?? null) === null) continue;
    const message = 'is not allowed with rankBy: streak: only leaderboards by metric or points repeat';
    context.addIssue({ code: 'custom', path: [field], message });
  }
}

/** The freezes of a file, taken as a whole: everything defaults to 0 but `maximum`, which defaults to `initial`. */
export const freezesSchema = object({
  initial: whole(0, limits.maxFreezes).nullish(),
  maximum: whole(0, limits.maxFreezes).nullish(),
  earnInterval: whole(0, limits.maxFreezeIntervalDays).nullish(),
  earnAmount: whole(0, limits.maxFreezes).nullish(),
});

/** The days of a week, from Monday on. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

export const settingsFields = {
  /** The share of new users, from 0 to 1, that join the control group. */
  controlRatio: setting(number(0, 1, 'decimal'), 0),
  /** The first days of a user, from the first event on, by which operators judge activation. Changes nothing for users. */
  activationWindowDays: setting(activationWindow, 7),
  weekStart: setting(oneOf(['monday', 'sunday']), 'monday'),
  /** The IANA time zone of users without their own. */
  defaultTimeZone: setting(timeZone, 'UTC'),
  /** For how many days (of 24 hours) an idempotency key is remembered; null is for ever (docs/rules/idempotency.md). */
  idempotencyRetentionDays: orNone(retentionDays),
  /** How often a recap is due: after each day, week, month or year. */
  recapFrequency: setting(oneOf(['daily', 'weekly', 'monthly', 'yearly']), 'weekly'),
  /** The hour of the user's local time, from 0 to 23, at which recaps, reactivations and reminders of weekly and monthly streaks are due. */
  emailHour: setting(hourOfDay, 9),
  /** After how many days without an event a reactivation is due, in ascending order. */
  reactivationDays: setting(reactivationDays, [3, 5, 7, 14, 30]),
  /** The hour at which reminders of daily streaks are due. */
  streakReminderHour: setting(hourOfDay, 20),
  /** The day of the week on which reminders of weekly streaks are due. */
  streakReminderWeekday: setting(oneOf(weekdays), 'friday'),
  /** The day of the month, from 1 to 31, on which reminders of monthly streaks are due; the last day of a shorter month. */
  streakReminderDay: setting(dayOfMonth, 25),
  /** The hours between which emails about achievements are due; the end is from 1 to 24. */
  achievementFromHour: setting(hourOfDay, 17),
  achievementToHour: setting(endHour, 21),
};

/** The change of a metric inside a period, above 0, that meets a condition of a streak. */
interface StreakCondition {
  readonly metricId: string;
  readonly threshold: number;
}
const conditions: SettingSpec<readonly StreakCondition[]> = {
  schema: list(object({ metricKey: keySchema, threshold: positive }), limits.maxStreakConditions),
  refers: { to: 'metric', inside: { file: 'metricKey', stored: 'metricId' }, repetition: 'two_conditions' },
  initial: [],
};

interface Freezes {
  readonly initial: number;
  /** At most `limits.maxFreezes`. */
  readonly maximum: number;
  /** Local days; 0 earns none. */
  readonly earnInterval: number;
  readonly earnAmount: number;
}
const freezes: SettingSpec<Freezes> = {
  schema: freezesSchema,
  store: ({ initial, maximum, earnInterval, earnAmount }: z.output<typeof freezesSchema>) => ({
    initial: initial ?? 0,
    maximum: maximum ?? initial ?? 0,
    earnInterval: earnInterval ?? 0,
    earnAmount: earnAmount ?? 0,
  }),
  initial: { initial: 0, maximum: 0, earnInterval: 0, earnAmount: 0 },
};

/** Daily, weekly and monthly streaks are all tracked; `frequency` selects the one that is shown and counts. */
export const streakFields = {
  enabled: setting(yesOrNo, false),
  frequency: setting(oneOf(['daily', 'weekly', 'monthly']), 'daily'),
  /** AND: every condition; OR: any one. */
  evaluationMode: setting(evaluationMode, 'OR'),
  metrics: conditions,
  freezes,
  /** The weekdays, from 0 for Sunday to 6, that do not count; empty unless the frequency is daily. */
  daysOff: setting(daysOff, []),
  /** Whether users may set their own conditions and days off. */
  personalization: setting(yesOrNo, false),
};

export const singles = { settings: single(settingsFields), streaks: single(streakFields), messages: single(messageSettings) };
export type SingleName = keyof typeof singles;

/** The parts of a file, in its order, by the names that documents have for them. */
export const fileParts = [
  'settings',
  'attributes',
  'metrics',
  'pointsSystems',
  'achievements',
  'streaks',
  'leaderboards',
  'webhooks',
  'messages',
  'templates',
] as const;

export const isSingle = (part: SingleName | TopListName): part is SingleName => part in singles;

/** The lists of a document itself, in the order of a file. */
export const topLists: readonly TopListName[] = fileParts.filter((part) => !isSingle(part));

/** The name of a part in a file. */
export const fileNameOf = (part: SingleName | ListName): string => (part in singles ? part : kinds[part as ListName].file);

/** The whole file, without the elements of its lists. */
export const configFileSchema = object(
  Object.fromEntries(fileParts.map((part) => [fileNameOf(part), isSingle(part) ? z.unknown().optional() : rawList])),
);

/** The names that files have for fields and lists of documents, where they differ. */
export const fileNames: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.values(kinds).map((each): [string, string] => [each.list, each.file]),
  ...[...Object.values(kinds), ...Object.values(singles)]
    .flatMap(({ fields }) => fields)
    .flatMap(({ stored, file, refers }): [string, string][] => [
      [stored, file],
      ...(refers?.inside ? [[refers.inside.stored, refers.inside.file] as [string, string]] : []),
    ]),
]);
