/**
 * Exact amounts: totals, gains and sums as whole numbers of 10^-30, so that nothing that a test sends is ever rounded by accident.
 */
export type Amount = bigint;

const places = 30;
const one = 10n ** BigInt(places);

/** Rule "Numbers": a total is rounded to this many significant digits after every addition. */
const significantDigits = 15;
/** Rule "Numbers": a value or total beyond this, in either direction, is refused. */
const largest = amount(1e15);

/** The amount that a JSON number is written as: its shortest decimal text, not the binary fraction behind it. */
export function amount(number: number): Amount {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number)) ?? [];
  const shift = places - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const units = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  return sign === '-' ? -units : units;
}

/** The amount as an answer shows it. */
export const shown = (value: Amount): number => Number(`${value}e-${places}`);

/** Rule "Numbers": the sum, rounded to 15 significant digits, a half away from zero. */
export function add(a: Amount, b: Amount): Amount {
  const sum = a + b;
  const dropped = String(sum < 0n ? -sum : sum).length - significantDigits;
  if (dropped <= 0) return sum;
  const step = 10n ** BigInt(dropped);
  const half = sum < 0n ? -step / 2n : step / 2n;
  return ((sum + half) / step) * step;
}

/** Whether a value or total may be kept. */
export const isInRange = (value: Amount): boolean => value <= largest && value >= -largest;

/** How many whole multiples of `step` fit into a value that is not negative. */
export const multiples = (value: Amount, step: number): number => Number(value / (BigInt(step) * one));

/** -1, 0 or 1, for sorting. */
export const compare = (a: Amount, b: Amount): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * `points` × all `multipliers` at once, then rounded as `rounding` says (rule "Points": boost arithmetic is exact). The result is a
 * whole number; `nearest` takes a half up.
 */
export function boosted(points: number, multipliers: readonly number[], rounding: 'down' | 'up' | 'nearest'): number {
  let product = BigInt(points);
  let scale = 1n;
  for (const multiplier of multipliers) {
    product *= amount(multiplier);
    scale *= one;
  }
  const down = product / scale;
  const rest = product % scale;
  switch (rounding) {
    case 'down':
      return Number(down);
    case 'up':
      return Number(rest > 0n ? down + 1n : down);
    case 'nearest':
      return Number(rest * 2n >= scale ? down + 1n : down);
  }
}
