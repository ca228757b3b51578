/**
 * The shapes of what operators write: one strict zod schema per object, with the Admin API's field names and keys in place of ids.
 *
 * Schemas hold what a field can be, and which fields an object has. Rules between fields and between objects are validate.ts; rules
 * between what an object was and what it becomes, transitions.ts. They put in no defaults, so that a field left out can be told from one
 * written down: defaults are stored.ts. `null` (an empty YAML value) of an optional field is the same as leaving it out, unless the field says otherwise.
 */
import { z } from 'zod';
import { limits } from '../shared/limits.js';
import {
  currencyUnits,
  day,
  dayOfMonth,
  endHour,
  evaluationMode,
  hourOfDay,
  fieldsOfKind,
  filledText,
  keySchema,
  type Kinds,
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
import { recapFrequencies, weekdays } from './model.js';
import { webhookKinds } from './webhook-kinds.js';

/** Lists whose elements are parsed one by one, so that a mistake in one doesn't hide those of the others. */
const rawList = list(z.unknown(), limits.maxListItems).nullish();

const badge = object({ url: filledText() }).nullish();

export const attributeFilterSchema = object({ attributeKey: keySchema, attributeValue: text() });
const attributeFilters = list(attributeFilterSchema, limits.maxFilters).nullish();

export const settingsSchema = object({
  controlRatio: number(0, 1, 'decimal').nullish(),
  weekStart: oneOf(['monday', 'sunday']).nullish(),
  defaultTimeZone: timeZone.nullish(),
  // Here null says something: for ever.
  idempotencyRetentionDays: retentionDays.nullish(),
  recapFrequency: oneOf(recapFrequencies).nullish(),
  emailHour: hourOfDay.nullish(),
  reactivationDays: reactivationDays.nullish(),
  streakReminderHour: hourOfDay.nullish(),
  streakReminderWeekday: oneOf(weekdays).nullish(),
  streakReminderDay: dayOfMonth.nullish(),
  achievementFromHour: hourOfDay.nullish(),
  achievementToHour: endHour.nullish(),
});

export const attributeSchema = object({ key: keySchema, name: filledText(), type: oneOf(['user', 'event']) });

export const metricSchema = object({
  key: keySchema,
  name: filledText(),
  unitType: oneOf(['number', 'currency']).nullish(),
  units: text().nullish(),
}).superRefine(currencyUnits);

export const levelSchema = object({
  key: keySchema,
  name: filledText(),
  points: whole(0),
  description: text().nullish(),
  badge,
});

export const triggerKinds = {
  metric: { needs: ['metricKey', 'metricThreshold'], may: ['eventAttributes', 'blockIfOutOfPoints'] },
  achievement: { needs: ['achievementKey'] },
  streak: { needs: ['streakLength'] },
  time: { needs: ['timeUnit', 'timeInterval'] },
  user_creation: { needs: [] },
} as const satisfies Kinds;

export const triggerSchema = object({
  key: keySchema,
  type: oneOf(['metric', 'achievement', 'streak', 'time', 'user_creation']),
  points: triggerPoints,
  status: oneOf(['active', 'inactive']).nullish(),
  userAttributes: attributeFilters,
  metricKey: keySchema.nullish(),
  metricThreshold: whole(1).nullish(),
  eventAttributes: attributeFilters,
  blockIfOutOfPoints: yesOrNo.nullish(),
  achievementKey: keySchema.nullish(),
  streakLength: whole(1).nullish(),
  timeUnit: oneOf(['hours', 'days']).nullish(),
  timeInterval: whole(1, limits.maxTriggerIntervalUnits).nullish(),
}).superRefine(fieldsOfKind('type', triggerKinds), whatever);

export const boostSchema = object({
  key: keySchema,
  name: filledText(limits.maxBoostNameChars),
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

export const achievementKinds = {
  metric: { needs: ['metricKey', 'metricValue'], may: ['eventAttributes'] },
  streak: { needs: ['streakLength'] },
  api: { needs: [] },
  achievement: { needs: ['achievementKeys'] },
} as const satisfies Kinds;

export const achievementSchema = object({
  key: keySchema,
  name: filledText(),
  description: text().nullish(),
  badge,
  status: oneOf(['inactive', 'active', 'locked']).nullish(),
  trigger: oneOf(['metric', 'streak', 'api', 'achievement']),
  userAttributes: attributeFilters,
  metricKey: keySchema.nullish(),
  metricValue: positive.nullish(),
  eventAttributes: attributeFilters,
  streakLength: whole(1).nullish(),
  achievementKeys: list(keySchema, limits.maxConfigObjects, 'must name at least one achievement').nullish(),
}).superRefine(fieldsOfKind('trigger', achievementKinds), whatever);

export const streakConditionSchema = object({ metricKey: keySchema, threshold: positive });

export const freezesSchema = object({
  initial: whole(0, limits.maxFreezes).nullish(),
  maximum: whole(0, limits.maxFreezes).nullish(),
  earnInterval: whole(0, limits.maxFreezeIntervalDays).nullish(),
  earnAmount: whole(0, limits.maxFreezes).nullish(),
});

export const streaksSchema = object({
  enabled: yesOrNo.nullish(),
  frequency: oneOf(['daily', 'weekly', 'monthly']).nullish(),
  evaluationMode: evaluationMode.nullish(),
  metrics: list(streakConditionSchema, limits.maxStreakConditions).nullish(),
  freezes: freezesSchema.nullish(),
  personalization: yesOrNo.nullish(),
});

export const leaderboardKinds = {
  metric: { needs: ['metricKey'] },
  points: { needs: ['pointsSystemKey'] },
  streak: { needs: [] },
} as const satisfies Kinds;

export const leaderboardSchema = object({
  key: keySchema,
  name: filledText(),
  description: text().nullish(),
  status: oneOf(['inactive', 'active', 'scheduled'], { finished: 'a leaderboard finishes after its end' }).nullish(),
  rankBy: oneOf(['metric', 'points', 'streak']),
  metricKey: keySchema.nullish(),
  pointsSystemKey: keySchema.nullish(),
  maxParticipants: whole(1, limits.maxParticipants).nullish(),
  start: day.nullish(),
  end: day.nullish(),
  startTime: timeOfDay.nullish(),
  endTime: timeOfDay.nullish(),
  breakdownAttributes: list(keySchema, limits.maxBreakdownAttributes).nullish(),
  runUnit: oneOf(['day', 'month', 'year']).nullish(),
  runInterval: whole(1, limits.maxRunUnits).nullish(),
})
  .superRefine(fieldsOfKind('rankBy', leaderboardKinds), whatever)
  .superRefine((board, context) => {
    for (const field of ['runUnit', 'runInterval'] as const) {
      if (board.rankBy !== 'streak' || (board[field] ?? null) === null) continue;
      context.addIssue({
        code: 'custom',
        path: [field],
        message: 'does not go with rankBy: streak: only leaderboards by metric or points repeat',
      });
    }
  }, whatever);

export const webhookSchema = object({
  key: keySchema,
  name: filledText(),
  url: webhookUrl,
  events: list(oneOf(webhookKinds), webhookKinds.length, 'must name at least one kind of event').refine(
    (kinds) => new Set(kinds).size === kinds.length,
    {
      error: 'must name each kind once',
    },
  ),
  status: oneOf(['active', 'inactive']).nullish(),
});

/** The whole file, without the elements of its lists. */
export const configFileSchema = object({
  settings: z.unknown().optional(),
  attributes: rawList,
  metrics: rawList,
  points: rawList,
  achievements: rawList,
  streaks: z.unknown().optional(),
  leaderboards: rawList,
  webhooks: rawList,
});

export type AttributeFilterInput = z.output<typeof attributeFilterSchema>;
export type SettingsInput = z.output<typeof settingsSchema>;
export type AttributeInput = z.output<typeof attributeSchema>;
export type MetricInput = z.output<typeof metricSchema>;
export type LevelInput = z.output<typeof levelSchema>;
export type TriggerInput = z.output<typeof triggerSchema>;
export type BoostInput = z.output<typeof boostSchema>;
export type PointsSystemInput = z.output<typeof pointsSystemSchema>;
export type AchievementInput = z.output<typeof achievementSchema>;
export type FreezesInput = z.output<typeof freezesSchema>;
export type StreaksInput = z.output<typeof streaksSchema>;
export type LeaderboardInput = z.output<typeof leaderboardSchema>;
export type WebhookInput = z.output<typeof webhookSchema>;
