/**
 * From what operators write to what is stored: the defaults of optional fields (contract, Create…RequestItem), and ids for keys. Every
 * function takes an object that its schema (schema.ts) has parsed, and throws nothing unless it says so.
 */
import { dateToDay, dayToDate, weekShiftOf } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import {
  type Achievement,
  type Attribute,
  type AttributeFilter,
  type ConfigObject,
  type Leaderboard,
  type Metric,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
  type Settings,
  type StreakSettings,
  type Webhook,
} from './model.js';
import {
  type AchievementInput,
  type AttributeFilterInput,
  type AttributeInput,
  type BoostInput,
  type FreezesInput,
  type LeaderboardInput,
  type LevelInput,
  type MetricInput,
  type PointsSystemInput,
  type SettingsInput,
  type StreaksInput,
  type TriggerInput,
  type WebhookInput,
} from './schema.js';

/** What an object has whatever it is. Its name is its own field. */
export type Identity = Omit<ConfigObject, 'name'>;

export type ReferenceKind = 'metric' | 'points system' | 'achievement' | 'user attribute' | 'event attribute';

/** The id of the object with a key. `field` is where, in the object that refers to it, the key stands. */
export type Resolve = (kind: ReferenceKind, key: string, field: readonly (string | number)[]) => string;

/** A setting that the input doesn't mention stays as it is. */
export const storedSettings = (input: SettingsInput, existing: Settings): Settings => ({
  controlRatio: input.controlRatio ?? existing.controlRatio,
  weekStart: input.weekStart ?? existing.weekStart,
  defaultTimeZone: input.defaultTimeZone ?? existing.defaultTimeZone,
  idempotencyRetentionDays:
    input.idempotencyRetentionDays === undefined ? existing.idempotencyRetentionDays : input.idempotencyRetentionDays,
  recapFrequency: input.recapFrequency ?? existing.recapFrequency,
  emailHour: input.emailHour ?? existing.emailHour,
  reactivationDays: input.reactivationDays ?? existing.reactivationDays,
  streakReminderHour: input.streakReminderHour ?? existing.streakReminderHour,
  streakReminderWeekday: input.streakReminderWeekday ?? existing.streakReminderWeekday,
  streakReminderDay: input.streakReminderDay ?? existing.streakReminderDay,
  achievementFromHour: input.achievementFromHour ?? existing.achievementFromHour,
  achievementToHour: input.achievementToHour ?? existing.achievementToHour,
});

/** An attribute has no optional fields. */
export const storedAttribute = (identity: Identity, { name, type }: AttributeInput): Attribute => ({ ...identity, name, type });

/** `unitType` defaults to number, `units` to an empty text. */
export const storedMetric = (identity: Identity, { name, unitType, units }: MetricInput): Metric => ({
  ...identity,
  name,
  unitType: unitType ?? 'number',
  units: units ?? '',
});

/** `description` defaults to an empty text, as the contract requires one of levels; `badge` to none. */
export const storedLevel = (identity: Identity, { name, points, description, badge }: LevelInput): PointsLevel => ({
  ...identity,
  name,
  description: description ?? '',
  badgeUrl: badge?.url ?? null,
  points,
});

/**
 * A trigger has no name of its own in the contract: it is called by its key. `status` defaults to inactive, filters to none,
 * `blockIfOutOfPoints` to false. Throws if the input lacks a field that its type needs, which triggerSchema refuses.
 */
export function storedTrigger(identity: Identity, input: TriggerInput, resolve: Resolve): PointsTrigger {
  const base = {
    ...identity,
    name: input.key,
    points: input.points,
    status: input.status ?? 'inactive',
    userAttributes: storedFilters('user attribute', input.userAttributes, 'userAttributes', resolve),
  };
  switch (input.type) {
    case 'metric':
      return {
        ...base,
        type: 'metric',
        metricId: resolve('metric', present(input.metricKey), ['metricKey']),
        metricThreshold: present(input.metricThreshold),
        eventAttributes: storedFilters('event attribute', input.eventAttributes, 'eventAttributes', resolve),
        blockIfOutOfPoints: input.blockIfOutOfPoints ?? false,
      };
    case 'achievement':
      return { ...base, type: 'achievement', achievementId: resolve('achievement', present(input.achievementKey), ['achievementKey']) };
    case 'streak':
      return { ...base, type: 'streak', streakLength: present(input.streakLength) };
    case 'time':
      return { ...base, type: 'time', timeUnit: present(input.timeUnit), timeInterval: present(input.timeInterval) };
    case 'user_creation':
      return { ...base, type: 'user_creation' };
  }
}

/** `end` defaults to none, `rounding` to down, `userId` and filters to everybody. */
export const storedBoost = (identity: Identity, input: BoostInput, resolve: Resolve): PointsBoost => ({
  ...identity,
  name: input.name,
  start: input.start,
  end: input.end ?? null,
  multiplier: input.multiplier,
  rounding: input.rounding ?? 'down',
  userId: input.userId ?? null,
  userAttributes: storedFilters('user attribute', input.userAttributes, 'userAttributes', resolve),
});

/** `description`, `badge` and `maxPoints` default to none. The system's lists are merged apart: here they are those of `existing`, or empty. */
export const storedPointsSystem = (identity: Identity, input: PointsSystemInput, existing: PointsSystem | undefined): PointsSystem => ({
  ...identity,
  name: input.name,
  description: input.description ?? null,
  badgeUrl: input.badge?.url ?? null,
  maxPoints: input.maxPoints ?? null,
  levels: existing?.levels ?? [],
  triggers: existing?.triggers ?? [],
  boosts: existing?.boosts ?? [],
});

/**
 * `description` and `badge` default to none, `status` to inactive, filters to everybody and every event. Throws if the input lacks a field
 * that its trigger needs, which achievementSchema refuses.
 */
export function storedAchievement(identity: Identity, input: AchievementInput, resolve: Resolve): Achievement {
  const base = {
    ...identity,
    name: input.name,
    description: input.description ?? null,
    badgeUrl: input.badge?.url ?? null,
    status: input.status ?? 'inactive',
    userAttributes: storedFilters('user attribute', input.userAttributes, 'userAttributes', resolve),
  };
  switch (input.trigger) {
    case 'metric':
      return {
        ...base,
        trigger: 'metric',
        metricId: resolve('metric', present(input.metricKey), ['metricKey']),
        metricValue: present(input.metricValue),
        eventAttributes: storedFilters('event attribute', input.eventAttributes, 'eventAttributes', resolve),
      };
    case 'streak':
      return { ...base, trigger: 'streak', streakLength: present(input.streakLength) };
    case 'api':
      return { ...base, trigger: 'api' };
    case 'achievement': {
      const keys = present(input.achievementKeys);
      return { ...base, trigger: 'achievement', achievementIds: storedReferences('achievement', keys, 'achievementKeys', resolve) };
    }
  }
}

/** A field that the input doesn't mention stays as it is; `metrics` and `freezes`, where it does, are taken as a whole. */
export const storedStreaks = (input: StreaksInput, existing: StreakSettings, resolve: Resolve): StreakSettings => ({
  enabled: input.enabled ?? existing.enabled,
  frequency: input.frequency ?? existing.frequency,
  evaluationMode: input.evaluationMode ?? existing.evaluationMode,
  metrics:
    input.metrics?.map(({ metricKey, threshold }, index) => ({
      metricId: resolve('metric', metricKey, ['metrics', index, 'metricKey']),
      threshold,
    })) ?? existing.metrics,
  freezes: input.freezes ? storedFreezes(input.freezes) : existing.freezes,
  personalization: input.personalization ?? existing.personalization,
});

/** Everything defaults to 0 but `maximum`, which defaults to `initial`. */
const storedFreezes = ({ initial, maximum, earnInterval, earnAmount }: FreezesInput): StreakSettings['freezes'] => ({
  initial: initial ?? 0,
  maximum: maximum ?? initial ?? 0,
  earnInterval: earnInterval ?? 0,
  earnAmount: earnAmount ?? 0,
});

/**
 * `status` defaults to inactive, `maxParticipants` to limits.maxParticipants, `start` to `firstDay` (`YYYY-MM-DD`), runs, window and
 * breakdown to none. Throws if the input lacks a field that its rankBy needs, which leaderboardSchema refuses.
 */
export function storedLeaderboard(identity: Identity, input: LeaderboardInput, firstDay: string, resolve: Resolve): Leaderboard {
  const base = {
    ...identity,
    name: input.name,
    description: input.description ?? null,
    // One that is active from a day to come on is what the API shows as scheduled (model.ts).
    status: input.status === 'scheduled' ? ('active' as const) : (input.status ?? 'inactive'),
    maxParticipants: input.maxParticipants ?? limits.maxParticipants,
    start: input.start ?? firstDay,
    end: input.end ?? null,
    startTime: input.startTime ?? null,
    endTime: input.endTime ?? null,
    breakdownAttributes: storedReferences('user attribute', input.breakdownAttributes, 'breakdownAttributes', resolve),
  };
  const runs = { runUnit: input.runUnit ?? null, runInterval: input.runInterval ?? 0 };
  switch (input.rankBy) {
    case 'metric':
      return { ...base, ...runs, rankBy: 'metric', metricId: resolve('metric', present(input.metricKey), ['metricKey']) };
    case 'points': {
      const pointsSystemId = resolve('points system', present(input.pointsSystemKey), ['pointsSystemKey']);
      return { ...base, ...runs, rankBy: 'points', pointsSystemId };
    }
    case 'streak':
      return { ...base, rankBy: 'streak', runUnit: null, runInterval: 0 };
  }
}

/** `status` defaults to active: an endpoint that is written down is one to send to. */
export const storedWebhook = (identity: Identity, { name, url, events, status }: WebhookInput): Webhook => ({
  ...identity,
  name,
  url,
  events,
  status: status ?? 'active',
});

/** Days of a week. */
const weekDays = 7;

/**
 * The first day of a new leaderboard that names none: `today` (`YYYY-MM-DD`), and for a weekly one the next day on which a week starts,
 * which today can be (docs/rules/leaderboards.md).
 */
export function firstDayOf(input: LeaderboardInput, today: string, weekStart: Settings['weekStart']): string {
  if (input.runUnit !== 'day' || input.runInterval !== weekDays) return today;
  const day = dateToDay(today);
  const dayOfWeek = (day + weekShiftOf({ weekStart })) % weekDays;
  return dayToDate(day + ((weekDays - dayOfWeek) % weekDays));
}

function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('an object without a field that its kind needs has passed its schema');
  return value;
}

const storedReferences = (
  kind: ReferenceKind,
  keys: readonly string[] | null | undefined,
  field: string,
  resolve: Resolve,
): readonly string[] => (keys ?? []).map((key, index) => resolve(kind, key, [field, index]));

const storedFilters = (
  kind: ReferenceKind,
  filters: readonly AttributeFilterInput[] | null | undefined,
  field: string,
  resolve: Resolve,
): AttributeFilter[] =>
  (filters ?? []).map(({ attributeKey, attributeValue }, index) => ({
    attributeId: resolve(kind, attributeKey, [field, index, 'attributeKey']),
    attributeValue,
  }));
