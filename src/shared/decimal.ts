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

/** Significant digits of a total (docs/rules/metrics.md), and the first whole number with more of them. */
const keptDigits = 15;
const tooLong = 10 ** keptDigits;
/** Up to here a power of ten is exact in a double. */
const maxScale = 1e22;

/** The decimal that a number shows, as digits and the power of ten of the last one. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const decimals = digits.split('.')[1] ?? '';
  return { digits: BigInt(digits.replace('.', '')), exponent: Number(exponent) - decimals.length };
}

/** The sum of two numbers, digit by digit. */
function addDigits(a: number, b: number): number {
  const [one, other] = [decimalOf(a), decimalOf(b)];
  const exponent = Math.min(one.exponent, other.exponent);
  const [digits = 0n, added = 0n] = [one, other].map((each) => each.digits * 10n ** BigInt(each.exponent - exponent));
  const sum = digits + added;
  const dropped = Math.max(String(sum < 0n ? -sum : sum).length - keptDigits, 0);
  const unit = 10n ** BigInt(dropped);
  // A half away from zero: BigInts divide towards zero.
  return Number(`${(sum + (sum < 0n ? -unit : unit) / 2n) / unit}e${exponent + dropped}`);
}

/**
 * The sum of two numbers as totals are kept: that of the decimals that they show, rounded once to 15 significant digits, a half away from zero
 * (docs/rules/metrics.md), as in lua/modules/decimal.lua. In doubles, 1000.1 - 1000 would leave 0.100000000000023.
 */
export function addDecimals(a: number, b: number): number {
  if (Number.isInteger(a) && Number.isInteger(b)) return a + b;
  // Nearly always both are whole numbers of a power of ten, few enough to be exact.
  for (let scale = 10; scale <= maxScale; scale *= 10) {
    const wholeA = Math.round(a * scale);
    const wholeB = Math.round(b * scale);
    const sum = wholeA + wholeB;
    if (Math.abs(wholeA) >= tooLong || Math.abs(wholeB) >= tooLong || Math.abs(sum) >= tooLong) break;
    if (wholeA / scale === a && wholeB / scale === b) return sum / scale;
  }
  return addDigits(a, b);
}
