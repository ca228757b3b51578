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

/** Up to here the sum of two whole numbers is exact. */
const exact = Number.MAX_SAFE_INTEGER / 4;

/** How many decimal places the 15 significant digits of a number have. */
function places(value: number): number {
  const [digits = '', exponent = '0'] = value.toExponential(14).split('e');
  return Math.max((digits.split('.')[1] ?? '').replace(/0+$/, '').length - Number(exponent), 0);
}

/**
 * The sum of two numbers as totals are kept: rounded to 15 significant digits (docs/rules/metrics.md). It is the sum of the decimals that
 * they show, as in lua/modules/decimal.lua: in doubles, 1000.1 - 1000 would leave 0.100000000000023.
 */
export function addDecimals(a: number, b: number): number {
  const sum = a + b;
  if (Number.isInteger(a) && Number.isInteger(b)) return sum;
  const scale = 10 ** Math.max(places(a), places(b));
  const [scaledA, scaledB] = [a * scale, b * scale];
  const inRange = Math.abs(scaledA) < exact && Math.abs(scaledB) < exact;
  return Number((inRange ? (Math.round(scaledA) + Math.round(scaledB)) / scale : sum).toPrecision(15));
}
