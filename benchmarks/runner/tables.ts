import type { CaseSummary, Ratio, Spread } from '../measure/summary.js';
import type { Figure } from './bench.js';
import type { TargetResult } from './run-file.js';

/** Columns of text, each as wide as its longest cell; the first ones are aligned left. */
function table(rows: readonly (readonly string[])[], left: number): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

const spreadText = (spread: Spread | undefined, decimals: number): string =>
  spread ? `${spread.median.toFixed(decimals)} (${spread.min.toFixed(decimals)} to ${spread.max.toFixed(decimals)})` : '';
const ratioText = (ratio: Ratio | undefined): string => (ratio ? ratio.ofPairs.toFixed(3) : '');

/** Median and range of each figure of each case for every side, and ours ÷ the others by pairs. */
export function summaryTable(cases: readonly CaseSummary[], figures: readonly Figure[]): string[] {
  const sides = [...new Set(cases.flatMap((summary) => Object.keys(summary.sides)))];
  const others = [...new Set(cases.flatMap((summary) => Object.keys(summary.ratios)))];
  const header = ['median (range)', 'figure', 'unit', ...sides, ...others.map((other) => `ours ÷ ${other}`)];
  const rows = cases.flatMap((summary) =>
    figures
      .filter(({ key }) => Object.values(summary.sides).some((side) => side[key]))
      .map(({ key, title, unit, decimals }) => [
        ...[summary.case, title, unit],
        ...sides.map((side) => spreadText(summary.sides[side]?.[key], decimals)),
        ...others.map((other) => ratioText(summary.ratios[other]?.[key])),
      ]),
  );
  return ['', ...table([header, ...rows], 3)];
}

/** The limit of a target; empty without one. */
export function limitText({ atLeast, atMost }: Pick<TargetResult, 'atLeast' | 'atMost'>): string {
  if (atLeast !== undefined) return `≥ ${atLeast}`;
  return atMost === undefined ? '' : `≤ ${atMost}`;
}

/** Empty without a limit. */
const verdictOf = (target: TargetResult): string => (limitText(target) === '' ? '' : target.isMet ? 'met' : 'missed');

/** The targets that the run has measured. */
export function targetTable(targets: readonly TargetResult[]): string[] {
  if (targets.length === 0) return [];
  const rows = targets.map((target) => [target.title, target.value.toFixed(2), target.unit, limitText(target), verdictOf(target)]);
  return ['', ...table([['target', 'measured', 'unit', 'limit', ''], ...rows], 1)];
}
