import { type LoadResult } from './load.js';
import { median, range } from './stats.js';

/** Columns of the table of rounds: their titles and widths. */
const columns = [
  ['round', 8],
  ['server', 8],
  ['events/s', 9],
  ['p50 ms', 8],
  ['p99 ms', 8],
  ['events', 8],
  ['not 2xx', 8],
  ['bytes', 7],
  ['drain ms', 9],
] as const;

const line = (cells: readonly string[]): string => columns.map(([, width], i) => (cells[i] ?? '').padStart(width)).join(' ');

export const roundsHeader = line(columns.map(([title]) => title));

/** A row of the table of rounds. `drainedMs`: how long the write-behind took after the round until all of it was in Postgres. */
export function roundLine(round: string, server: string, result: LoadResult, drainedMs?: number): string {
  return line([
    round,
    server,
    result.eventsPerS.toFixed(0),
    result.p50Ms.toFixed(1),
    result.p99Ms.toFixed(1),
    String(result.answered),
    String(result.failed),
    result.answerBytes.toFixed(0),
    drainedMs === undefined ? '' : drainedMs.toFixed(0),
  ]);
}

const measures = [
  ['events/s', 0, (result: LoadResult) => result.eventsPerS],
  ['p50 ms', 1, (result: LoadResult) => result.p50Ms],
  ['p99 ms', 1, (result: LoadResult) => result.p99Ms],
] as const;

/** Median and range of each measure for both sides, and the ratio of the medians of events a second. */
export function comparison(laurel: readonly LoadResult[], bare: readonly LoadResult[]): string {
  const rows = measures.map(([title, decimals, measure]) => {
    const summary = (results: readonly LoadResult[]): string => {
      const values = results.map(measure);
      const [min, max] = range(values);
      return `${median(values).toFixed(decimals)} (${min.toFixed(decimals)} to ${max.toFixed(decimals)})`;
    };
    return `${title.padEnd(10)}${summary(laurel).padEnd(28)}${summary(bare)}`;
  });
  const rate = (results: readonly LoadResult[]): number => median(results.map((result) => result.eventsPerS));
  return [
    '',
    `${'median'.padEnd(10)}${'Laurel'.padEnd(28)}bare`,
    ...rows,
    '',
    `Laurel / bare, medians of events/s: ${(rate(laurel) / rate(bare)).toFixed(2)}`,
  ].join('\n');
}
