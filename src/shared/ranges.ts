/** The ranges of histograms: all of one width, which is 1, 2 or 5 times a power of ten. */

/** No values lie further apart than twice limits.maxAbsoluteTotal. */
const highestPower = 15;

/** The widths, the smallest first. */
export const rangeWidths: readonly number[] = Array.from({ length: highestPower + 1 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** The smallest width with which so many ranges cover a span. */
export const rangeWidth = (span: number, ranges: number): number => rangeWidths.find((width) => width >= span / ranges) ?? Infinity;
