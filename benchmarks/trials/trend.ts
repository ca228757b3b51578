import { median } from '../measure/stats.js';

/** A value sampled during a load. */
export interface Series {
  readonly name: string;
  /** Divisor and name of the unit in the output. */
  readonly unit: readonly [size: number, name: string];
  /** Allowed growth of the last third over the first: a share of the first, plus an amount. */
  readonly allowed: readonly [share: number, more: number];
  readonly points: readonly { readonly atS: number; readonly value: number }[];
}

export interface Trend {
  readonly isFlat: boolean;
  /** Median of the first third, and of the last. */
  readonly first: number;
  readonly last: number;
  readonly highest: number;
  /** By least squares, per hour. */
  readonly slope: number;
  readonly line: string;
}

/** Share of the time left out at the start, while caches and pools fill. */
const settlingShare = 0.2;

/**
 * Whether a series stays flat. The first fifth of the time is left out; of the rest, the median of the last third may exceed that of the
 * first third by `allowed`. Medians, because one full collection or one slow second of a shared machine means nothing.
 */
export function judge({ name, unit: [size, unit], allowed: [share, more], points }: Series): Trend {
  const endS = points.at(-1)?.atS ?? 0;
  const settled = points.filter(({ atS }) => atS >= endS * settlingShare);
  const third = Math.ceil(settled.length / 3);
  const values = settled.map(({ value }) => value);
  const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))];
  const highest = Math.max(...values);
  const slope = slopeOf(settled) * 3_600;
  const isFlat = settled.length >= 3 && last <= first * (1 + share) + more;
  const shown = (value: number): string => `${(value / size).toFixed(1)} ${unit}`;
  const line =
    `${name}: first third ${shown(first)}, last third ${shown(last)}, highest ${shown(highest)}, ` +
    `slope ${shown(slope)} an hour: ${isFlat ? 'flat' : `NOT FLAT (allowed: ${shown(first * (1 + share) + more)})`}`;
  return { isFlat, first, last, highest, slope, line };
}

/** Slope of the least-squares line, per second. */
function slopeOf(points: Series['points']): number {
  const mean = (of: (point: Series['points'][number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [meanAt, meanValue] = [mean(({ atS }) => atS), mean(({ value }) => value)];
  const covariance = mean(({ atS, value }) => (atS - meanAt) * (value - meanValue));
  return covariance / mean(({ atS }) => (atS - meanAt) ** 2);
}
