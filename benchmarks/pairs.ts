import { median, range } from './stats.js';

/**
 * Measures sides in turn for a number of rounds. Which of them comes first changes from round to round. Returns the results of each side, by the
 * order of the sides and of the rounds.
 */
export async function inTurn<Side, Result>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side, round: number) => Promise<Result>,
): Promise<Result[][]> {
  const results = sides.map((): Result[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = [...sides.entries()];
    if (round % 2 === 1) order.reverse();
    for (const [no, side] of order) results[no]?.push(await measure(side, round));
  }
  return results;
}

/** A figure that every round has. */
export interface Measure<Result> {
  readonly title: string;
  readonly decimals: number;
  readonly of: (result: Result) => number;
}

const titleWidth = 44;
const figureWidth = 32;

/**
 * Median and range of each figure for ours and, where there is one, the other side. With the other side, also the ratio ours ÷ theirs of the
 * medians, and the median of the ratios of each two measurements that stand in the same round.
 */
export function pairReport<Result>([ours = [], theirs]: readonly (readonly Result[])[], measures: readonly Measure<Result>[]): string {
  const header = [''.padEnd(titleWidth), 'ours'.padEnd(figureWidth), ...(theirs ? ['theirs'.padEnd(figureWidth), 'ratio   of pairs'] : [])];
  const rows = measures.map(({ title, decimals, of }) => {
    const summary = (results: readonly Result[]): string => {
      const values = results.map(of);
      const [median_, min, max] = [median(values), ...range(values)].map((value) => value.toFixed(decimals));
      return `${median_} (${min} to ${max})`.padEnd(figureWidth);
    };
    const ofPairs = (theirs ?? []).map((result, round) => of(ours[round] as Result) / of(result));
    const ratio = theirs && `${ratioOf(ours.map(of), theirs.map(of)).toFixed(3)}   ${median(ofPairs).toFixed(3)}`;
    return [title.padEnd(titleWidth), summary(ours), ...(theirs ? [summary(theirs), ratio] : [])].join('');
  });
  return ['', header.join(''), ...rows].map((line) => line.trimEnd()).join('\n');
}

function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours) / median(theirs);
}
