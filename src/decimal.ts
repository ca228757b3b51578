import { limits } from './limits.js';

/** A decimal number as an integer over a power of ten: 1.25 is 125 / 10^2. */
export interface ScaledInteger {
  readonly mantissa: number;
  readonly scale: number;
}

/**
 * A boost's multiplier, exactly as the operator wrote it, or null when it has more than `limits.maxMultiplierDecimals` decimal places
 * or is not between 0 and 100 (contract, CreatePointsBoostRequestItem).
 */
export function scaleMultiplier(multiplier: number): ScaledInteger | null {
  if (!(multiplier > 0 && multiplier < 100)) return null;
  for (let scale = 0; scale <= limits.maxMultiplierDecimals; scale += 1) {
    const mantissa = Math.round(multiplier * 10 ** scale);
    if (mantissa / 10 ** scale === multiplier) return { mantissa, scale };
  }
  return null;
}

/** A number as totals are kept: rounded to 15 significant digits (semantics.md, "Numbers"). */
export function clean(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(15));
}
