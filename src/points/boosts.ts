import type { PointsBoost, PointsSystem } from '../config/model.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { known } from '../plan/active-config.js';
import type { ProfileFact } from '../ledger/entry.js';
import { userFields } from '../redis/contract.js';
import type { BoostResponse } from './shapes.js';

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
 * The boosts that apply to a user on the user's local date (semantics.md, "Points"): everybody's, those whose filters match, and the user's
 * own.
 */
export function boostsOf(config: ActiveConfig, system: PointsSystem, user: string, profile: ProfileFact, date: string): PointsBoost[] {
  return system.boosts.filter(
    (boost) =>
      !boost.archived &&
      (boost.userId === null || boost.userId === user) &&
      boostStatusOn(boost, date) === 'active' &&
      boost.userAttributes.every(({ attributeId, attributeValue }) => {
        const { no } = known(config.attributeById, attributeId, 'attribute');
        return profile[`${userFields.attribute}${no}`] === attributeValue;
      }),
  );
}
