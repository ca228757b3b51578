/** The numbers that awards have of a boost, which tell under which terms it applied. */
import type { BoostTerms, PointsBoost } from './model.js';

export const termsOf = ({ name, start, end, multiplier, rounding }: BoostTerms): BoostTerms => ({ name, start, end, multiplier, rounding });

/** The numbers of a boost under its present terms; new awards get the last one. */
export const numbersOf = ({ no, numbers = [no] }: PointsBoost): readonly number[] => numbers;

/** Each number of a boost, with the boost as it was under that number. */
export function boostByNumber(boost: PointsBoost): (readonly [number: number, boost: PointsBoost])[] {
  const states = [boost, ...(boost.earlier ?? []).map((terms) => ({ ...boost, ...terms }))];
  return states.flatMap((state) => numbersOf(state).map((number) => [number, state] as const));
}
