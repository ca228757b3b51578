import { z } from 'zod';
import { eventFiltersShape } from '../achievements/shapes.js';
import { attributeShape, dateShape, instantShape } from '../shapes.js';

/** The contract's `PointsLevel`. */
export const levelShape = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    description: z.string(),
    badgeUrl: z.string().nullable(),
    points: z.number().int().meta({ description: 'The total from which a user has this level.' }),
  })
  .meta({ id: 'PointsLevel' });
export type LevelResponse = z.infer<typeof levelShape>;

/** The contract's `PointsTrigger`. */
export const triggerShape = z
  .object({
    id: z.string(),
    type: z.enum(['metric', 'streak', 'achievement', 'time', 'user_creation']),
    points: z.number().int().meta({ description: 'Negative deducts.' }),
    status: z.enum(['active', 'inactive', 'archived']),
    metricId: z.string().optional(),
    metricName: z.string().optional(),
    metricThreshold: z.number().optional(),
    ...eventFiltersShape.partial().shape,
    streakLengthThreshold: z.number().int().optional(),
    achievementId: z.string().optional(),
    achievementName: z.string().optional(),
    timeUnit: z.enum(['hour', 'day']).optional(),
    timeInterval: z.number().int().optional(),
    userAttributes: z.array(attributeShape),
    created: instantShape,
    updated: instantShape,
  })
  .meta({ id: 'PointsTrigger' });
export type TriggerResponse = z.infer<typeof triggerShape>;

/** The contract's `PointsBoost`. */
export const boostShape = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'scheduled', 'finished']),
    start: dateShape,
    end: dateShape.nullable(),
    multiplier: z.number(),
    rounding: z.enum(['down', 'up', 'nearest']),
  })
  .meta({ id: 'PointsBoost' });
export type BoostResponse = z.infer<typeof boostShape>;

/** The contract's `PointsAward`. */
export const awardShape = z
  .object({
    id: z.string(),
    awarded: z.number().int().meta({ description: 'What was really added; negative for a deduction.' }),
    date: instantShape,
    total: z.number().int().meta({ description: 'The total after the award.' }),
    trigger: triggerShape,
    boosts: z.array(boostShape).meta({ description: 'The boosts that applied.' }),
  })
  .meta({ id: 'PointsAward' });
export type AwardResponse = z.infer<typeof awardShape>;

/** The contract's `PointsResponse`. */
export const systemShape = z.object({
  id: z.string(),
  key: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  badgeUrl: z.string().nullable(),
  maxPoints: z.number().int().nullable().meta({ description: 'The most that a user can have; null for no cap.' }),
});
export type SystemResponse = z.infer<typeof systemShape>;

/** The contract's `GetUserPointsResponse`. */
export const userPointsShape = systemShape
  .extend({
    total: z.number().int(),
    level: levelShape.nullable(),
    awards: z.array(awardShape).meta({ description: 'Newest first.' }),
  })
  .meta({ id: 'UserPoints' });
export type UserPointsResponse = z.infer<typeof userPointsShape>;

/** The contract's `MetricEventPointsResponse`. */
export const eventPointsShape = systemShape
  .extend({
    total: z.number().int(),
    level: levelShape.nullable().optional().meta({ description: 'The level that the user has now, only if the event changed it.' }),
    added: z.number().int().meta({ description: 'What the event added; negative when it deducted.' }),
    awards: z.array(awardShape),
  })
  .meta({ id: 'EventPoints' });
export type EventPointsResponse = z.infer<typeof eventPointsShape>;

/** Points system key → what the event did there; only the systems that it changed. */
export const pointsBlockShape = z.record(z.string(), eventPointsShape);

/** The contract's `PointsSystemResponse`. */
export const systemWithTriggersShape = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    badgeUrl: z.string().nullable(),
    maxPoints: z.number().int().nullable().meta({ description: 'The most that a user can have; null for no cap.' }),
    triggers: z.array(triggerShape).meta({ description: 'Those that are active.' }),
  })
  .meta({ id: 'PointsSystem' });
export type SystemWithTriggersResponse = z.infer<typeof systemWithTriggersShape>;

/** An item of the contract's `PointsLevelSummaryResponse`. */
export const levelCountShape = z
  .object({ level: levelShape, users: z.number().int().meta({ description: 'How many users have this level now.' }) })
  .meta({ id: 'PointsLevelCount' });
export type LevelCountResponse = z.infer<typeof levelCountShape>;

/** The contract's `PointsRange`. */
export const rangeShape = z
  .object({
    from: z.number().int().meta({ description: 'Inclusive.' }),
    to: z.number().int().meta({ description: 'Inclusive.' }),
    users: z.number().int().meta({ description: 'How many users have a total in this range.' }),
  })
  .meta({ id: 'PointsRange' });
export type RangeResponse = z.infer<typeof rangeShape>;
