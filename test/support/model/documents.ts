/** Small configuration documents, built from what varies between them: ids, numbers and keys are the same in every document. */
import { emptyConfig } from '../../../src/config/schema/model.js';
import type {
  Achievement,
  Attribute,
  AttributeFilter,
  ConfigDocument,
  ConfigObject,
  Leaderboard,
  MessageTemplate,
  Metric,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
  StreakSettings,
  Webhook,
} from '../../../src/config/schema/model.js';
import { dateOf } from './time.js';

/** The clock at the start of a history: a Monday, in UTC. */
export const baseMs = Date.parse('2040-01-02T12:00:00Z');
const baseDay = Math.floor(baseMs / 86_400_000);

/** A date so many days after the base date. */
export const dateAfter = (days: number): string => dateOf(baseDay + days);

/** Filters by the key of the attribute. */
export type Filters = Readonly<Record<string, string>>;

type Common = keyof ConfigObject;
/** Omit that keeps the members of a union apart. */
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** What varies between triggers, achievements and boards; references are keys. */
export type TriggerSpec = { readonly user?: Filters } & (
  | {
      readonly type: 'metric';
      readonly metric: string;
      readonly threshold: number;
      readonly points: number;
      readonly event?: Filters;
      readonly blocks?: boolean;
    }
  | { readonly type: 'streak'; readonly length: number; readonly points: number }
  | { readonly type: 'achievement'; readonly achievement: string; readonly points: number }
  | { readonly type: 'time'; readonly unit: 'hours' | 'days'; readonly interval: number; readonly points: number }
  | { readonly type: 'user_creation'; readonly points: number }
) & { readonly inactive?: boolean };

export interface BoostSpec {
  readonly start: string;
  readonly end: string | null;
  readonly multiplier: number;
  readonly rounding: 'down' | 'up' | 'nearest';
  readonly userId?: string | null;
  readonly user?: Filters;
}

export interface SystemSpec {
  readonly key?: string;
  readonly maxPoints?: number | null;
  /** The points of the levels. */
  readonly levels?: readonly number[];
  readonly triggers?: readonly TriggerSpec[];
  readonly boosts?: readonly BoostSpec[];
}

export type AchievementSpec = { readonly key?: string; readonly status?: Achievement['status']; readonly user?: Filters } & (
  | { readonly trigger: 'metric'; readonly metric: string; readonly value: number; readonly event?: Filters }
  | { readonly trigger: 'streak'; readonly length: number }
  | { readonly trigger: 'api' }
  | { readonly trigger: 'achievement'; readonly needs: readonly string[] }
  | { readonly trigger: 'anniversary'; readonly years: number }
);

export interface BoardSpec {
  readonly key?: string;
  readonly rankBy: { readonly metric: string } | { readonly points: string } | 'streak';
  readonly status?: 'active' | 'inactive';
  readonly max?: number;
  readonly start?: string;
  readonly end?: string | null;
  readonly window?: readonly [from: string | null, to: string | null] | null;
  readonly breakdown?: readonly string[];
  readonly every?: readonly [count: number, unit: 'day' | 'month' | 'year'] | null;
}

export interface StreaksSpec {
  readonly frequency?: StreakSettings['frequency'];
  readonly mode?: StreakSettings['evaluationMode'];
  /** Thresholds by the key of the metric. */
  readonly conditions: Readonly<Record<string, number>>;
  readonly freezes?: Partial<StreakSettings['freezes']>;
  readonly daysOff?: readonly number[];
  readonly personalization?: boolean;
}

/**
 * Objects without a key are keyed `m1 …`, `p1 …`, `a1 …`, `b1 …` in the order of their lists; those of a system `p1-t1 …`, `p1-l1 …`,
 * `p1-x1 …`.
 */
export interface DocumentSpec {
  readonly weekStart?: 'monday' | 'sunday';
  readonly controlRatio?: number;
  /** How many, or their keys. */
  readonly metrics: number | readonly string[];
  readonly defaultZone?: string;
  readonly retentionDays?: number | null;
  readonly systems?: readonly SystemSpec[];
  readonly achievements?: readonly AchievementSpec[];
  readonly streaks?: StreaksSpec;
  readonly boards?: readonly BoardSpec[];
  /** A user attribute that nothing refers to, an inactive webhook, and a template. */
  readonly messages?: boolean;
}

export const userAttributeValues = { city: ['Lisbon', 'Nuuk'], plan: ['free', 'pro'] } as const;
export const eventAttributeValues = { device: ['phone', 'desk'], mode: ['day', 'night'] } as const;

/** Gives every object its identity, and every key its id. */
class Builder {
  private no = 0;
  private readonly ids = new Map<string, string>();

  /** What every object has. `kind` keeps keys of different lists apart. */
  identity(kind: string, key: string): Pick<ConfigObject, Common> {
    this.no += 1;
    const created = new Date(baseMs).toISOString();
    return { id: this.id(kind, key), no: this.no, key, name: `The ${key}`, created, updated: created, archived: false };
  }

  id(kind: string, key: string): string {
    const name = `${kind} ${key}`;
    const known = this.ids.get(name) ?? `00000000-0000-4000-8000-${String(this.ids.size + 1).padStart(12, '0')}`;
    this.ids.set(name, known);
    return known;
  }

  filters(kind: string, filters: Filters | undefined): AttributeFilter[] {
    return Object.entries(filters ?? {}).map(([key, attributeValue]) => ({ attributeId: this.id(kind, key), attributeValue }));
  }

  get nextNo(): number {
    return this.no + 1;
  }
}

function attributes(builder: Builder): Attribute[] {
  const of = (type: 'user' | 'event', keys: object): Attribute[] =>
    Object.keys(keys).map((key) => ({ ...builder.identity(type, key), type }));
  return [...of('user', userAttributeValues), ...of('event', eventAttributeValues)];
}

function triggerKind(builder: Builder, spec: TriggerSpec): Without<PointsTrigger, Common | 'points' | 'status' | 'userAttributes'> {
  switch (spec.type) {
    case 'metric':
      return {
        type: 'metric',
        metricId: builder.id('metric', spec.metric),
        metricThreshold: spec.threshold,
        eventAttributes: builder.filters('event', spec.event),
        blockIfOutOfPoints: spec.blocks ?? false,
      };
    case 'streak':
      return { type: 'streak', streakLength: spec.length };
    case 'achievement':
      return { type: 'achievement', achievementId: builder.id('achievement', spec.achievement) };
    case 'time':
      return { type: 'time', timeUnit: spec.unit, timeInterval: spec.interval };
    case 'user_creation':
      return { type: 'user_creation' };
  }
}

function system(builder: Builder, spec: SystemSpec, key: string): PointsSystem {
  const triggers = (spec.triggers ?? []).map((trigger, index): PointsTrigger => ({
    ...builder.identity('trigger', `${key}-t${index + 1}`),
    points: trigger.points,
    status: trigger.inactive === true ? 'inactive' : 'active',
    userAttributes: builder.filters('user', trigger.user),
    ...triggerKind(builder, trigger),
  }));
  const levels = (spec.levels ?? []).map((points, index): PointsLevel => ({
    ...builder.identity('level', `${key}-l${index + 1}`),
    description: '',
    badgeUrl: null,
    points,
  }));
  const boosts = (spec.boosts ?? []).map(({ start, end, multiplier, rounding, userId, user }, index): PointsBoost => ({
    ...builder.identity('boost', `${key}-x${index + 1}`),
    ...{ start, end, multiplier, rounding, userId: userId ?? null },
    userAttributes: builder.filters('user', user),
  }));
  const maxPoints = spec.maxPoints ?? null;
  return { ...builder.identity('system', key), description: null, badgeUrl: null, maxPoints, levels, triggers, boosts };
}

function achievementKind(
  builder: Builder,
  spec: AchievementSpec,
): Without<Achievement, Common | 'description' | 'badgeUrl' | 'status' | 'userAttributes'> {
  switch (spec.trigger) {
    case 'metric':
      return {
        trigger: 'metric',
        metricId: builder.id('metric', spec.metric),
        metricValue: spec.value,
        eventAttributes: builder.filters('event', spec.event),
      };
    case 'streak':
      return { trigger: 'streak', streakLength: spec.length };
    case 'api':
      return { trigger: 'api' };
    case 'achievement':
      return { trigger: 'achievement', achievementIds: spec.needs.map((key) => builder.id('achievement', key)) };
    case 'anniversary':
      return { trigger: 'anniversary', anniversaryYears: spec.years };
  }
}

const achievement = (builder: Builder, spec: AchievementSpec, key: string): Achievement => ({
  ...builder.identity('achievement', key),
  ...{ description: null, badgeUrl: null, status: spec.status ?? 'active' },
  userAttributes: builder.filters('user', spec.user),
  ...achievementKind(builder, spec),
});

function board(builder: Builder, spec: BoardSpec, key: string): Leaderboard {
  const base = {
    ...builder.identity('leaderboard', key),
    ...{ description: null, status: spec.status ?? 'active', maxParticipants: spec.max ?? 1000 },
    ...{ start: spec.start ?? dateAfter(-10), end: spec.end ?? null },
    ...{ startTime: spec.window?.[0] ?? null, endTime: spec.window?.[1] ?? null },
    breakdownAttributes: (spec.breakdown ?? []).map((attribute) => builder.id('user', attribute)),
  };
  const [runInterval, runUnit] = spec.every ?? ([0, null] as const);
  if (spec.rankBy === 'streak') return { ...base, rankBy: 'streak', runUnit: null, runInterval: 0 };
  if ('metric' in spec.rankBy)
    return { ...base, rankBy: 'metric', metricId: builder.id('metric', spec.rankBy.metric), runUnit, runInterval };
  return { ...base, rankBy: 'points', pointsSystemId: builder.id('system', spec.rankBy.points), runUnit, runInterval };
}

function streakSettings(builder: Builder, spec: StreaksSpec | undefined): StreakSettings {
  return {
    enabled: spec !== undefined,
    frequency: spec?.frequency ?? 'daily',
    evaluationMode: spec?.mode ?? 'OR',
    metrics: Object.entries(spec?.conditions ?? {}).map(([key, threshold]) => ({ metricId: builder.id('metric', key), threshold })),
    freezes: { initial: 0, maximum: 0, earnInterval: 0, earnAmount: 0, ...spec?.freezes },
    daysOff: spec?.frequency === undefined || spec.frequency === 'daily' ? (spec?.daysOff ?? []) : [],
    personalization: spec?.personalization ?? false,
  };
}

const webhook = (builder: Builder): Webhook => ({
  ...builder.identity('webhook', 'w1'),
  ...{ url: 'https://example.com/hook', events: ['points.changed'], status: 'inactive' },
});

const template = (builder: Builder): MessageTemplate => ({
  ...builder.identity('template', 't1'),
  ...{ type: 'recap', locale: 'en', subject: 'Hello', heading: null, body: null, button: null, buttonUrl: null },
  ...{ pushTitle: null, pushBody: null },
});

/** The document of a specification. Everything in it was created and last changed at the base date. */
export function buildDocument(spec: DocumentSpec): ConfigDocument {
  const builder = new Builder();
  const keyed = <T extends { readonly key?: string }, R>(
    list: readonly T[] | undefined,
    letter: string,
    build: (builder: Builder, item: T, key: string) => R,
  ): R[] => (list ?? []).map((item, index) => build(builder, item, item.key ?? `${letter}${index + 1}`));
  const metrics =
    typeof spec.metrics === 'number' ? Array.from({ length: spec.metrics }, () => ({})) : spec.metrics.map((key) => ({ key }));
  const metric = (_: Builder, __: unknown, key: string): Metric => ({ ...builder.identity('metric', key), unitType: 'number', units: '' });
  const document = {
    settings: {
      ...emptyConfig.settings,
      controlRatio: spec.controlRatio ?? 0,
      weekStart: spec.weekStart ?? ('monday' as const),
      defaultTimeZone: spec.defaultZone ?? 'UTC',
      idempotencyRetentionDays: spec.retentionDays ?? null,
    },
    attributes: [
      ...attributes(builder),
      ...(spec.messages === true ? [{ ...builder.identity('user', 'tier'), type: 'user' as const }] : []),
    ],
    metrics: keyed(metrics, 'm', metric),
    pointsSystems: keyed(spec.systems, 'p', system),
    achievements: keyed(spec.achievements, 'a', achievement),
    streaks: streakSettings(builder, spec.streaks),
    leaderboards: keyed(spec.boards, 'b', board),
    webhooks: spec.messages === true ? [webhook(builder)] : [],
    messages: emptyConfig.messages,
    templates: spec.messages === true ? [template(builder)] : [],
  };
  return { nextNo: builder.nextNo, ...document };
}
