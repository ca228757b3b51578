/** A decimal number: `digits` over 10^`places`. */
export interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

/** Significant digits of a total (docs/rules/metrics.md). */
const kept = 15;

export const zero: Decimal = { digits: 0n, places: 0 };

export const numberOf = ({ digits, places }: Decimal): number => Number(`${digits}e${-places}`);

/** The decimal that a double of at most 17 digits shows. */
export function decimalOf(number: number): Decimal {
  const [digits = '0', exponent = '0'] = number.toExponential().split('e');
  const places = (digits.split('.')[1] ?? '').length - Number(exponent);
  const whole = BigInt(digits.replace('.', ''));
  return places < 0 ? { digits: whole * 10n ** BigInt(-places), places: 0 } : { digits: whole, places };
}

const scaledTo = (places: number, { digits, places: own }: Decimal): bigint => digits * 10n ** BigInt(places - own);

/** The sum, rounded to the digits of a total, half away from zero. */
export function sum(a: Decimal, b: Decimal): Decimal {
  const places = Math.max(a.places, b.places);
  const digits = scaledTo(places, a) + scaledTo(places, b);
  const excess = Math.max(String(digits).replace('-', '').length - kept, 0);
  const unit = 10n ** BigInt(excess);
  const rounded = (digits + (digits < 0n ? -unit : unit) / 2n) / unit;
  return places < excess ? { digits: rounded * 10n ** BigInt(excess - places), places: 0 } : { digits: rounded, places: places - excess };
}
