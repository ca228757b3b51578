import { limits } from '../limits.js';

/** What a range of a histogram may be wide: 1, 2 or 5 times a power of ten. */
const steps = [1, 2, 5, 10] as const;

/** The smallest such width with which limits.maxPointsRanges ranges reach the highest total. */
export function rangeWidth(highest: number): number {
  const atLeast = Math.max(Math.ceil(highest / limits.maxPointsRanges), 1);
  let power = 1;
  while (power * 10 <= atLeast) power *= 10;
  return power * (steps.find((step) => step * power >= atLeast) ?? 10);
}
