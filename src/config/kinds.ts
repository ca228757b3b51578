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
import { limits } from '../shared/limits.js';
import {
  currencyUnits,
  day,
  dayOfMonth,
  endHour,
  evaluationMode,
  fieldsOfVariant,
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
  type Variants,
  whole,
  yesOrNo,
} from './fields.js';
import {
  type Achievement,
  type Attribute,
  type AttributeFilter,
  type ConfigObject,
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

/** Kinds that others refer to, as sentences call them. */
export type ReferenceKind = 'metric' | 'points system' | 'achievement' | 'user attribute' | 'event attribute';
export type ObjectKind = ReferenceKind | 'level' | 'trigger' | 'boost' | 'leaderboard' | 'webhook';

/** Why a list may not refer to the same object twice. */
export type Repetition = 'named' | 'filtered' | 'two_conditions';

/** What the value of a field refers to: one object, a list of objects, or objects from inside the elements of a list. */
export interface Refers {
  readonly to: ReferenceKind;
  /** The field of each element that names the object, where elements have other fields too. */
  readonly inside?: { readonly file: string; readonly stored: string };
  /** Of lists: how long one may be, and why one object may not be given twice. */
  readonly most?: number;
  readonly repetition?: Repetition;
}

export interface Field {
  /** The name in files. */
  readonly file: string;
  /** The name in documents, and in the Admin API unless `wraps`. */
  readonly stored: string;
  /** What a file may give. */
  readonly schema: z.ZodType;
  /** What is stored where a file gives nothing; undefined if it must give something, or if the field keeps its stored value. */
  readonly absent: unknown;
  readonly refers: Refers | undefined;
  /** The value is one field of a map: `badge: {url}` is stored as `badgeUrl`. */
  readonly wraps: string | undefined;
  /** What is stored for a value, where that is not the value itself. */
  readonly store: ((value: never) => unknown) | undefined;
  readonly nullIsValue: boolean;
}

/** A field of a type of model.ts: `V` is what is stored. */
interface FieldSpec<V> {
  readonly schema: z.ZodType;
  readonly file?: string;
  readonly absent?: V;
  readonly refers?: Refers;
  readonly wraps?: string;
  readonly store?: (value: never) => V;
  readonly nullIsValue?: boolean;
}

type KeysOf<T> = T extends unknown ? keyof T : never;
type ValueOf<T, K extends PropertyKey> = T extends { readonly [P in K]: infer V } ? V : never;
/** Every field of every variant of an object, but what all objects have and the lists inside it. */
type Specs<T, Omitted extends PropertyKey = never> = {
  readonly [K in Exclude<KeysOf<T>, Omitted>]: FieldSpec<ValueOf<T, K>>;
};
type Common = Exclude<keyof ConfigObject, 'name'>;

const fieldsOf = (specs: object): Field[] =>
  Object.entries(specs as Record<string, FieldSpec<unknown>>).map(([stored, spec]) => ({
    ...{ file: stored, absent: undefined, refers: undefined, wraps: undefined, store: undefined, nullIsValue: false },
    ...spec,
    stored,
  }));

const given = (schema: z.ZodType): FieldSpec<never> => ({ schema });
const optional = <V>(schema: z.ZodType, absent: V): FieldSpec<V> => ({ schema, absent });
const badge: FieldSpec<string | null> = { schema: object({ url: filledText() }), file: 'badge', absent: null, wraps: 'url' };
const reference = (to: ReferenceKind, file: string): FieldSpec<string> => ({ schema: keySchema, file, refers: { to } });
const filters = (to: ReferenceKind): FieldSpec<readonly AttributeFilter[]> => ({
  schema: list(object({ attributeKey: keySchema, attributeValue: text() }), limits.maxFilters),
  absent: [],
  refers: { to, inside: { file: 'attributeKey', stored: 'attributeId' }, most: limits.maxFilters, repetition: 'filtered' },
});

/** A map that schemas of objects and of the two parts without a key are. */
export type MapSchema = z.ZodType<Readonly<Record<string, unknown>>> & { readonly shape: Readonly<Record<string, z.ZodType>> };

/** Values for required fields, put in where the file's were refused: the rules between objects are then checked all the same. */
export type StandIns = readonly Readonly<Record<string, unknown>>[];

export interface Kind<N extends ListName = ListName> {
  readonly list: N;
  /** The name of the list in a file. */
  readonly file: string;
  /** What sentences call one of them, whatever its type. */
  readonly name: string;
  /** The fields in the order of a file, without `key`. */
  readonly fields: readonly Field[];
  /** The field that decides which other fields an object has, and these by its value. */
  readonly by: string | undefined;
  readonly variants: Variants;
  /** An object of a file without the elements of the lists in it. */
  readonly schema: MapSchema;
  /** Each set makes another object, unless it makes the same. */
  readonly standIns: StandIns;
  /** The lists of objects inside it. */
  readonly inside: readonly ListName[];
  /** Whether an archived object comes back, with its data, when its key does. Otherwise the key then gets a new object. */
  readonly comesBack: boolean;
  /** How many there can be that are not archived: in all points systems together, for levels, triggers and boosts. */
  readonly most: number;
}

/** Lists whose elements are parsed one by one, so that a mistake in one doesn't hide those of the others. */
const rawList = list(z.unknown(), limits.maxListItems).nullish();

interface KindSpec {
  readonly name: string;
  readonly file?: string;
  readonly by?: string;
  readonly variants?: Variants;
  readonly check?: (schema: ReturnType<typeof object>) => ReturnType<typeof object>;
  readonly standIns: StandIns;
  readonly inside?: readonly ListName[];
  readonly comesBack?: boolean;
  readonly most?: number;
  readonly fields: object;
}

function kind<N extends ListName>(list: N, { check = (schema) => schema, ...spec }: KindSpec): Kind<N> {
  const fields = fieldsOf(spec.fields);
  const { by, variants = {}, inside = [] } = spec;
  const varying = new Set(Object.values(variants).flatMap(({ needs, may = [] }) => [...needs, ...may]));
  const shape = Object.fromEntries(
    fields.map(({ file, schema, absent }) => [file, varying.has(file) || absent !== undefined ? schema.nullish() : schema]),
  );
  const plain = object({ key: keySchema, ...shape, ...Object.fromEntries(inside.map((name) => [name, rawList])) });
  const schema = check(by === undefined ? plain : plain.superRefine(fieldsOfVariant(by, variants), whatever)) as unknown as MapSchema;
  return { file: list, comesBack: true, most: limits.maxConfigObjects, by, ...spec, list, variants, inside, fields, schema };
}

const name = 'unnamed';
const firstDay = '0001-01-01';
const status = oneOf(['active', 'inactive']);
const triggerTypes = ['metric', 'achievement', 'streak', 'time', 'user_creation'] as const;
const achievementTriggers = ['metric', 'streak', 'api', 'achievement'] as const;

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
      ...{ type, points: -1, metricThreshold: 1, streakLength: 1, timeUnit: 'days', timeInterval: 1 },
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
    } satisfies Specs<PointsBoost, Common>,
  }),
  achievements: kind('achievements', {
    name: 'achievement',
    standIns: achievementTriggers.map((trigger) => ({ name, trigger, metricValue: 1, streakLength: 1 })),
    by: 'trigger',
    variants: {
      metric: { needs: ['metricKey', 'metricValue'], may: ['eventAttributes'] },
      streak: { needs: ['streakLength'] },
      api: { needs: [] },
      achievement: { needs: ['achievementKeys'] },
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
    } satisfies Specs<Achievement, Common>,
  }),
  leaderboards: kind('leaderboards', {
    name: 'leaderboard',
    standIns: [{ name, start: firstDay }],
    // Its ranks and values are of a time that is over.
    comesBack: false,
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
          { error: 'must name each kind once' },
        ),
      ),
      // An endpoint that is configured is one to send to.
      status: optional(status, 'active'),
    } satisfies Specs<Webhook, Common>,
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

/** What there is one of, under no key. A field that a file leaves out keeps its stored value. */
export interface Single {
  readonly fields: readonly Field[];
  readonly schema: MapSchema;
}

function single(specs: object): Single {
  const fields = fieldsOf(specs);
  const schema = object(Object.fromEntries(fields.map(({ file, schema: value }) => [file, value.nullish()]))) as unknown as MapSchema;
  return { fields, schema };
}

export const singles = {
  settings: single({
    controlRatio: given(number(0, 1, 'decimal')),
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
    personalization: given(yesOrNo),
  } satisfies Specs<StreakSettings>),
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

/** Whether the object that these fields are of has a field: those of another variant are not its own. */
export function belongs({ by, variants }: Pick<Kind, 'by' | 'variants'>, { file }: Field, object: object): boolean {
  const variant = by === undefined ? undefined : variants[String((object as Record<string, unknown>)[by])];
  if (!variant || [...variant.needs, ...(variant.may ?? [])].includes(file)) return true;
  return !Object.values(variants).some(({ needs, may = [] }) => [...needs, ...may].includes(file));
}

/** What sentences and references call an object. The type of an attribute is part of what it is: two of different types may share a key. */
export const kindOf = ({ name: own }: Pick<Kind, 'name'>, object: object): ObjectKind =>
  (own === 'attribute' && 'type' in object ? `${String(object.type)} attribute` : own) as ObjectKind;

/** What an object of a file and one of a document have in common if they are the same. */
export const identityOf = (kind: Pick<Kind, 'name'>, object: { readonly key: string }): string => `${kindOf(kind, object)} ${object.key}`;

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
