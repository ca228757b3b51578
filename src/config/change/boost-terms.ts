/**
 * Earlier terms of boosts. Awards store numbers of boosts and list a boost as it was, so a boost gets a new number with new terms. The moment of an
 * award doesn't tell its version: the test clock can stand still between two versions, and events go on between saving a version and activating it.
 */
import { isDeepStrictEqual } from 'node:util';
import { numbersOf, termsOf } from '../schema/boost-terms.js';
import type { BoostTerms, ConfigDocument, EarlierTerms, PointsBoost } from '../schema/model.js';
import { limits } from '../../shared/limits.js';

const areSame = (a: BoostTerms, b: BoostTerms): boolean => isDeepStrictEqual(termsOf(a), termsOf(b));

/** At most limits.maxEarlierTerms: of more, the two oldest become one. */
function bounded(earlier: readonly EarlierTerms[]): readonly EarlierTerms[] {
  const [oldest, next, ...others] = earlier;
  if (!oldest || !next || earlier.length <= limits.maxEarlierTerms) return earlier;
  return [{ ...next, numbers: [...oldest.numbers, ...next.numbers] }, ...others];
}

/** The boosts of `after` with the terms that they had in `before`, the version that it follows. Terms that return have their number again. */
export function keepTerms(before: ConfigDocument, after: ConfigDocument): ConfigDocument {
  if (after.pointsSystems === before.pointsSystems) return after;
  const known = new Map(before.pointsSystems.flatMap(({ boosts }) => boosts.map((boost) => [boost.id, boost] as const)));
  let { nextNo } = after;
  const kept = (boost: PointsBoost): PointsBoost => {
    const was = known.get(boost.id);
    if (!was || was === boost) return boost;
    const { numbers, earlier = [] } = was;
    if (areSame(was, boost)) return numbers ? { ...boost, numbers, earlier } : boost;
    const had = [...earlier, { ...termsOf(was), numbers: numbersOf(was) }];
    const returned = had.find((terms) => areSame(terms, boost));
    return { ...boost, numbers: returned?.numbers ?? [nextNo++], earlier: bounded(had.filter((terms) => terms !== returned)) };
  };
  const pointsSystems = after.pointsSystems.map((system) => ({ ...system, boosts: system.boosts.map(kept) }));
  return { ...after, pointsSystems, nextNo };
}
