import type { PointsBoost, PointsLevel, PointsSystem, PointsTrigger } from '../config/model.js';
import type { AwardFact, PointsFact } from '../ledger/entry.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { instant } from '../users/response.js';
import { awardId } from '../ledger/award-id.js';

/** The contract's `PointsLevel`. */
export function levelResponse({ id, key, name, description, badgeUrl, points }: PointsLevel): object {
  return { id, key, name, description, badgeUrl, points };
}

/** Filters of a trigger as keys and values. */
function filters(config: ActiveConfig, list: PointsTrigger['userAttributes']): { key: string; value: string }[] {
  return list.map(({ attributeId, attributeValue }) => ({
    key: known(config.attributeById, attributeId, 'attribute').key,
    value: attributeValue,
  }));
}

/** The contract's `PointsTrigger`. `eventAttribute`, which the contract deprecates, is sent where there is exactly one. */
export function triggerResponse(config: ActiveConfig, trigger: PointsTrigger): object {
  const metric = known(config.metricById, trigger.metricId, 'metric');
  const eventAttributes = filters(config, trigger.eventAttributes);
  return {
    id: trigger.id,
    type: trigger.type,
    points: trigger.points,
    status: trigger.archived ? 'archived' : trigger.status,
    metricId: metric.id,
    metricName: metric.name,
    metricThreshold: trigger.metricThreshold,
    userAttributes: filters(config, trigger.userAttributes),
    ...(eventAttributes.length === 1 ? { eventAttribute: eventAttributes[0] } : {}),
    eventAttributes,
    created: trigger.created,
    updated: trigger.updated,
  };
}

/** The contract's `PointsBoost`, as it was when it applied. */
function appliedBoostResponse({ id, name, start, end, multiplier, rounding }: PointsBoost): object {
  return { id, name, status: 'active', start, end, multiplier, rounding };
}

/** The contract's `PointsAward`. `at` in milliseconds since 1970. */
export function awardResponse(config: ActiveConfig, eventId: string, at: number, award: AwardFact): object {
  return {
    id: awardId(eventId, award.ordinal),
    awarded: award.awarded,
    date: instant(at),
    total: award.total,
    trigger: triggerResponse(config, known(config.triggerByNo, award.trigger, 'trigger')),
    boosts: award.boosts.map((no) => appliedBoostResponse(known(config.boostByNo, no, 'boost'))),
  };
}

/** The contract's `PointsResponse`. */
export function systemResponse({ id, key, name, description, badgeUrl, maxPoints }: PointsSystem): object {
  return { id, key, name, description, badgeUrl, maxPoints };
}

/** A system's block in the response to an event; `level` is there only when the event changed it (spec, "Events" 6). */
export function eventPointsResponse(config: ActiveConfig, eventId: string, at: number, fact: PointsFact): object {
  const level = fact.level === 0 ? null : levelResponse(known(config.levelByNo, fact.level, 'level'));
  return {
    ...systemResponse(known(config.systemByNo, fact.no, 'points system')),
    total: fact.total,
    ...(fact.level === fact.levelBefore ? {} : { level }),
    added: fact.total - fact.before,
    awards: fact.awards.map((award) => awardResponse(config, eventId, at, award)),
  };
}

/** The highest level whose points are at most `total` (semantics.md, "Points"); null for none. */
export function levelAt(system: PointsSystem, total: number): PointsLevel | null {
  const reached = system.levels.filter((level) => !level.archived && level.points <= total);
  return reached.reduce<PointsLevel | null>((best, level) => (best && best.points > level.points ? best : level), null);
}
