import { z } from 'zod';
import type { PointsBoost, PointsLevel, PointsSystem, PointsTrigger } from '../config/schema/model.js';
import { type AwardFact, type PointsFact, type ProfileFact, awardId, noTrigger } from '../ledger/entry.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { userFields } from '../redis/contract.js';
import { attributeShape, dateShape, instantShape } from '../shared/shapes.js';
import { eventFilters, eventFiltersShape, filterList } from './achievements.js';
import { instant } from './users.js';

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
const triggerShape = z
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
const awardShape = z
  .object({
    id: z.string(),
    awarded: z.number().int().meta({ description: 'What was really added; negative for a deduction.' }),
    date: instantShape,
    total: z.number().int().meta({ description: 'The total after the award.' }),
    trigger: triggerShape.optional().meta({ description: 'Absent where an operator adjusted the points.' }),
    boosts: z.array(boostShape).meta({ description: 'The boosts that applied, as they were then.' }),
  })
  .meta({ id: 'PointsAward' });
export type AwardResponse = z.infer<typeof awardShape>;

/** The contract's `PointsResponse`. */
const systemShape = z.object({
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

/** The contract's `MetricEventPointsResponse`. */
const eventPointsShape = systemShape
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

/** What a boost is on a date, `YYYY-MM-DD`; its first and last day are within it. */
export function boostStatusOn({ start, end }: PointsBoost, date: string): BoostResponse['status'] {
  if (date < start) return 'scheduled';
  return end !== null && date > end ? 'finished' : 'active';
}

/** The contract's `PointsBoost`, as it is on a date. */
export function boostResponse(boost: PointsBoost, date: string): BoostResponse {
  const { id, name, start, end, multiplier, rounding } = boost;
  return { id, name, status: boostStatusOn(boost, date), start, end, multiplier, rounding };
}

/** The boosts of a system that are not one user's own. */
export const sharedBoosts = (system: PointsSystem): PointsBoost[] =>
  system.boosts.filter(({ archived, userId }) => !archived && userId === null);

/**
 * The boosts that apply to a user on the user's local date (docs/rules/points.md): those of all users, those whose filters match, and the user's
 * own.
 */
export function boostsOf(
  config: ActiveConfig,
  system: PointsSystem,
  user: { readonly id: string; readonly profile: ProfileFact },
  date: string,
): PointsBoost[] {
  return system.boosts.filter(
    (boost) =>
      !boost.archived &&
      (boost.userId === null || boost.userId === user.id) &&
      boostStatusOn(boost, date) === 'active' &&
      boost.userAttributes.every(({ attributeId, attributeValue }) => {
        const { no } = mustGet(config.attributeById, attributeId, 'attribute');
        return user.profile[`${userFields.attribute}${no}`] === attributeValue;
      }),
  );
}

/** The contract's `PointsLevel`. */
export function levelResponse({ id, key, name, description, badgeUrl, points }: PointsLevel): LevelResponse {
  return { id, key, name, description, badgeUrl, points };
}

/** What the contract's `PointsTrigger` has for each kind. */
function byKind(config: ActiveConfig, trigger: PointsTrigger): Partial<TriggerResponse> {
  switch (trigger.type) {
    case 'metric': {
      const metric = mustGet(config.metricById, trigger.metricId, 'metric');
      const counted = { metricId: metric.id, metricName: metric.name, metricThreshold: trigger.metricThreshold };
      return { ...counted, ...eventFilters(config, trigger.eventAttributes) };
    }
    case 'streak':
      return { streakLengthThreshold: trigger.streakLength };
    case 'achievement': {
      const achievement = mustGet(config.achievementById, trigger.achievementId, 'achievement');
      return { achievementId: achievement.id, achievementName: achievement.name };
    }
    case 'time':
      return { timeUnit: trigger.timeUnit === 'hours' ? 'hour' : 'day', timeInterval: trigger.timeInterval };
    case 'user_creation':
      return {};
  }
}

/** The contract's `PointsTrigger`. */
export function triggerResponse(config: ActiveConfig, trigger: PointsTrigger): TriggerResponse {
  return {
    id: trigger.id,
    type: trigger.type,
    points: trigger.points,
    status: trigger.archived ? 'archived' : trigger.status,
    ...byKind(config, trigger),
    userAttributes: filterList(config, trigger.userAttributes),
    created: trigger.created,
    updated: trigger.updated,
  };
}

/** The contract's `PointsBoost`, as it was when it applied. */
export function appliedBoostResponse({ id, name, start, end, multiplier, rounding }: PointsBoost): BoostResponse {
  return { id, name, status: 'active', start, end, multiplier, rounding };
}

/**
 * The contract's `PointsAward`. `entryId` is that of the ledger entry that it came with. A boost that the configuration does not know was for this one
 * user, who is being deleted: it goes first (jobs/deletion.ts).
 */
export function awardResponse(config: ActiveConfig, entryId: string, award: AwardFact): AwardResponse {
  return {
    id: awardId(entryId, award.ordinal),
    awarded: award.awarded,
    date: instant(award.at),
    total: award.total,
    ...(award.trigger === noTrigger ? {} : { trigger: triggerResponse(config, mustGet(config.triggerByNo, award.trigger, 'trigger')) }),
    boosts: award.boosts.flatMap((no) => config.boostByNo.get(no) ?? []).map(appliedBoostResponse),
  };
}

/** The contract's `PointsResponse`. */
export function systemResponse({ id, key, name, description, badgeUrl, maxPoints }: PointsSystem): SystemResponse {
  return { id, key, name, description, badgeUrl, maxPoints };
}

/** A system's block in the response to an event; `level` is there only when the event changed it (docs/rules/points.md). */
export function eventPointsResponse(config: ActiveConfig, entryId: string, fact: PointsFact): EventPointsResponse {
  const level = fact.level === 0 ? null : levelResponse(mustGet(config.levelByNo, fact.level, 'level'));
  return {
    ...systemResponse(mustGet(config.systemByNo, fact.no, 'points system')),
    total: fact.total,
    ...(fact.level === fact.levelBefore ? {} : { level }),
    added: fact.total - fact.before,
    awards: fact.awards.map((award) => awardResponse(config, entryId, award)),
  };
}

/** The highest level whose points are at most `total` (docs/rules/points.md); null for none. */
export function levelAt(system: PointsSystem, total: number): PointsLevel | null {
  const reached = system.levels.filter((level) => !level.archived && level.points <= total);
  return reached.reduce<PointsLevel | null>((best, level) => (best && best.points > level.points ? best : level), null);
}
