import type { PointsBoost, PointsLevel, PointsSystem, PointsTrigger } from '../config/model.js';
import type { AwardFact, PointsFact } from '../ledger/entry.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { instant } from '../users/response.js';
import { eventFilters, filterList } from '../achievements/response.js';
import { awardId } from '../ledger/award-id.js';
import type { AwardResponse, BoostResponse, EventPointsResponse, LevelResponse, SystemResponse, TriggerResponse } from './shapes.js';

/** The contract's `PointsLevel`. */
export function levelResponse({ id, key, name, description, badgeUrl, points }: PointsLevel): LevelResponse {
  return { id, key, name, description, badgeUrl, points };
}

/** What the contract's `PointsTrigger` has for each kind. */
function byKind(config: ActiveConfig, trigger: PointsTrigger): Partial<TriggerResponse> {
  switch (trigger.type) {
    case 'metric': {
      const metric = known(config.metricById, trigger.metricId, 'metric');
      const counted = { metricId: metric.id, metricName: metric.name, metricThreshold: trigger.metricThreshold };
      return { ...counted, ...eventFilters(config, trigger.eventAttributes) };
    }
    case 'streak':
      return { streakLengthThreshold: trigger.streakLength };
    case 'achievement': {
      const achievement = known(config.achievementById, trigger.achievementId, 'achievement');
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
function appliedBoostResponse({ id, name, start, end, multiplier, rounding }: PointsBoost): BoostResponse {
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
    trigger: triggerResponse(config, known(config.triggerByNo, award.trigger, 'trigger')),
    boosts: award.boosts.flatMap((no) => config.boostByNo.get(no) ?? []).map(appliedBoostResponse),
  };
}

/** The contract's `PointsResponse`. */
export function systemResponse({ id, key, name, description, badgeUrl, maxPoints }: PointsSystem): SystemResponse {
  return { id, key, name, description, badgeUrl, maxPoints };
}

/** A system's block in the response to an event; `level` is there only when the event changed it (spec, "Events" 6). */
export function eventPointsResponse(config: ActiveConfig, entryId: string, fact: PointsFact): EventPointsResponse {
  const level = fact.level === 0 ? null : levelResponse(known(config.levelByNo, fact.level, 'level'));
  return {
    ...systemResponse(known(config.systemByNo, fact.no, 'points system')),
    total: fact.total,
    ...(fact.level === fact.levelBefore ? {} : { level }),
    added: fact.total - fact.before,
    awards: fact.awards.map((award) => awardResponse(config, entryId, award)),
  };
}

/** The highest level whose points are at most `total` (semantics.md, "Points"); null for none. */
export function levelAt(system: PointsSystem, total: number): PointsLevel | null {
  const reached = system.levels.filter((level) => !level.archived && level.points <= total);
  return reached.reduce<PointsLevel | null>((best, level) => (best && best.points > level.points ? best : level), null);
}
