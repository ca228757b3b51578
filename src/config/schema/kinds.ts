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
  type FieldSpec,
  type Specs,
  type Common,
  given,
  optional,
  badge,
  reference,
  filters,
  type Kind,
  type Permanent,
  rawList,
  kind,
  single,
} from './kind.js';
import { messageSettings, templateFields } from './message-fields.js';
import {
  type Achievement,
  type Attribute,
  type Leaderboard,
  type ListName,
  type Metric,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
  recapFrequencies,
  type Settings,
  type StreakCondition,
  type StreakSettings,
  type TopListName,
  type Webhook,
  weekdays,
} from './model.js';
import { webhookKinds } from './webhook-kinds.js';

const name = 'unnamed';
const firstDay = '0001-01-01';
const status = oneOf(['active', 'inactive']);
const triggerTypes = ['metric', 'achievement', 'streak', 'time', 'user_creation'] as const;
export const achievementTriggers = ['metric', 'streak', 'api', 'achievement', 'anniversary'] as const;

/** What stands in for a field that was refused is what breaks no rule. A key, a reference and the points of a level have no such value. */
export const kinds: { readonly [N in ListName]: Kind<N> } = {
  attributes: kind('attributes', {
    name: 'attribute',
    // An attribute of a type that does not exist may have been meant as either.
    standIns: (['user', 'event'] as const).map((type) => ({ name, type })),
    fields: { name: given(filledText()), type: given(oneOf(['user', 'event'])) } satisfies Specs<Attribute, Common>,
  }),
  metrics: kind('metrics', {
    name: 'metric',
    standIns: [{ name }],
    check: (schema) => schema.superRefine(currencyUnits),
    fields: {
      name: given(filledText()),
      unitType: optional(oneOf(['number', 'currency']), 'number'),
      units: optional(text(), ''),
    } satisfies Specs<Metric, Common>,
  }),
  pointsSystems: kind('pointsSystems', {
    name: 'points system',
    file: 'points',
    standIns: [{ name }],
    inside: ['levels', 'triggers', 'boosts'],
    fields: {
      name: given(filledText()),
      description: optional(text(), null),
      badgeUrl: badge,
      maxPoints: optional(whole(1), null),
    } satisfies Specs<PointsSystem, Common | 'levels' | 'triggers' | 'boosts'>,
  }),
  levels: kind('levels', {
    name: 'level',
    standIns: [{ name }],
    fields: {
      name: given(filledText()),
      points: given(whole(0)),
      // The contract requires a description of levels.
      description: optional(text(), ''),
      badgeUrl: badge,
    } satisfies Specs<PointsLevel, Common>,
  }),
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
    variants: {
      metric: { needs: ['metricKey', 'metricThreshold'], may: ['eventAttributes', 'blockIfOutOfPoints'] },
      achievement: { needs: ['achievementKey'] },
      streak: { needs: ['streakLength'] },
      time: { needs: ['timeUnit', 'timeInterval'] },
      user_creation: { needs: [] },
    },
    fields: {
      type: given(oneOf(triggerTypes)),
      points: given(triggerPoints),
      status: optional(status, 'inactive'),
      userAttributes: filters('user attribute'),
      metricId: reference('metric', 'metricKey'),
      metricThreshold: given(whole(1)),
      eventAttributes: filters('event attribute'),
      blockIfOutOfPoints: optional(yesOrNo, false),
      achievementId: reference('achievement', 'achievementKey'),
      streakLength: given(whole(1)),
      timeUnit: given(oneOf(['hours', 'days'])),
      timeInterval: given(whole(1, limits.maxTriggerIntervalUnits)),
    } satisfies Specs<PointsTrigger, Common | 'name'>,
  }),
  boosts: kind('boosts', {
    name: 'boost',
    standIns: [{ name, start: firstDay, multiplier: 2 }],
    fields: {
      name: given(filledText(limits.maxBoostNameChars)),
      start: given(day),
      end: optional(day, null),
      multiplier: given(multiplier),
      rounding: optional(oneOf(['down', 'up', 'nearest']), 'down'),
      userId: optional(userId, null),
      userAttributes: filters('user attribute'),
    } satisfies Specs<PointsBoost, Common | 'numbers' | 'earlier'>,
  }),
  achievements: kind('achievements', {
    name: 'achievement',
    standIns: achievementTriggers.map((trigger) => ({ name, trigger, metricValue: 1, streakLength: 1, anniversaryYears: 1 })),
    by: 'trigger',
    variants: {
      metric: { needs: ['metricKey', 'metricValue'], may: ['eventAttributes'] },
      streak: { needs: ['streakLength'] },
      api: { needs: [] },
      achievement: { needs: ['achievementKeys'] },
      anniversary: { needs: ['anniversaryYears'] },
    },
    fields: {
      name: given(filledText()),
      description: optional(text(), null),
      badgeUrl: badge,
      status: optional(oneOf(['inactive', 'active', 'locked']), 'inactive'),
      trigger: given(oneOf(achievementTriggers)),
      userAttributes: filters('user attribute'),
      metricId: reference('metric', 'metricKey'),
      metricValue: given(positive),
      eventAttributes: filters('event attribute'),
      streakLength: given(whole(1)),
      achievementIds: {
        schema: list(keySchema, limits.maxConfigObjects, 'must name at least one achievement'),
        file: 'achievementKeys',
        refers: { to: 'achievement', most: limits.maxConfigObjects, repetition: 'named' },
      },
      anniversaryYears: given(whole(1, limits.maxAnniversaryYears)),
    } satisfies Specs<Achievement, Common>,
  }),
  leaderboards: kind('leaderboards', {
    name: 'leaderboard',
    standIns: [{ name, start: firstDay }],
    // Its ranks and values are of a time that is over.
    comesBack: false,
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
    } satisfies Permanent<Leaderboard, Common>,
    by: 'rankBy',
    variants: { metric: { needs: ['metricKey'] }, points: { needs: ['pointsSystemKey'] }, streak: { needs: [] } },
    check: (schema) => schema.superRefine(streakRuns, whatever),
    fields: {
      name: given(filledText()),
      description: optional(text(), null),
      status: {
        schema: oneOf(['inactive', 'active', 'scheduled'], { finished: 'a leaderboard finishes after its end' }),
        absent: 'inactive',
        // The API shows one that is active from a day to come as scheduled (model.ts).
        store: (value: 'inactive' | 'active' | 'scheduled') => (value === 'scheduled' ? 'active' : value),
      },
      rankBy: given(oneOf(['metric', 'points', 'streak'])),
      metricId: reference('metric', 'metricKey'),
      pointsSystemId: reference('points system', 'pointsSystemKey'),
      maxParticipants: optional(whole(1, limits.maxParticipants), limits.maxParticipants),
      // apply.ts chooses the first day of one that names none.
      start: optional(day, ''),
      end: optional(day, null),
      startTime: optional(timeOfDay, null),
      endTime: optional(timeOfDay, null),
      breakdownAttributes: {
        schema: list(keySchema, limits.maxBreakdownAttributes),
        absent: [],
        refers: { to: 'user attribute', most: limits.maxBreakdownAttributes, repetition: 'named' },
      },
      runUnit: optional(oneOf(['day', 'month', 'year']), null),
      runInterval: optional(whole(1, limits.maxRunUnits), 0),
    } satisfies Specs<Leaderboard, Common>,
  }),
  webhooks: kind('webhooks', {
    name: 'webhook',
    standIns: [{ name, url: 'https://example.com/', events: ['points.changed'] }],
    // Its secret went with it.
    comesBack: false,
    most: limits.maxWebhooks,
    fields: {
      name: given(filledText()),
      url: given(webhookUrl),
      events: given(
        list(oneOf(webhookKinds), webhookKinds.length, 'must name at least one kind of event').refine(
          (events) => new Set(events).size === events.length,
          { error: 'must not list a kind twice' },
        ),
      ),
      // An endpoint that is configured is one to send to.
      status: optional(status, 'active'),
    } satisfies Specs<Webhook, Common>,
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

export const singles = {
  settings: single({
    controlRatio: given(number(0, 1, 'decimal')),
    activationWindowDays: given(activationWindow),
    weekStart: given(oneOf(['monday', 'sunday'])),
    defaultTimeZone: given(timeZone),
    // Null is for ever.
    idempotencyRetentionDays: { schema: retentionDays, nullIsValue: true },
    recapFrequency: given(oneOf(recapFrequencies)),
    emailHour: given(hourOfDay),
    reactivationDays: given(reactivationDays),
    streakReminderHour: given(hourOfDay),
    streakReminderWeekday: given(oneOf(weekdays)),
    streakReminderDay: given(dayOfMonth),
    achievementFromHour: given(hourOfDay),
    achievementToHour: given(endHour),
  } satisfies Specs<Settings>),
  streaks: single({
    enabled: given(yesOrNo),
    frequency: given(oneOf(['daily', 'weekly', 'monthly'])),
    evaluationMode: given(evaluationMode),
    metrics: {
      schema: list(object({ metricKey: keySchema, threshold: positive }), limits.maxStreakConditions),
      refers: { to: 'metric', inside: { file: 'metricKey', stored: 'metricId' }, repetition: 'two_conditions' },
    } satisfies FieldSpec<readonly StreakCondition[]>,
    freezes: {
      schema: freezesSchema,
      store: ({ initial, maximum, earnInterval, earnAmount }: z.output<typeof freezesSchema>) => ({
        initial: initial ?? 0,
        maximum: maximum ?? initial ?? 0,
        earnInterval: earnInterval ?? 0,
        earnAmount: earnAmount ?? 0,
      }),
    },
    daysOff: given(daysOff),
    personalization: given(yesOrNo),
  } satisfies Specs<StreakSettings>),
  messages: single(messageSettings),
};
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
