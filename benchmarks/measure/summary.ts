import { median, range } from './stats.js';

/** Figures of one round, by their keys. A figure that a side does not have is left out. */
export type Figures = Readonly<Record<string, number>>;

/** A measured round of one side. */
export interface Round {
  /** What was measured, such as `full load` or `a page of 100`. */
  readonly case: string;
  /** `ours`, `theirs` (the checkout of --against) or `floor`. */
  readonly side: string;
  readonly figures: Figures;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Ours ÷ another side. */
export interface Ratio {
  /** Of the medians. */
  readonly ofMedians: number;
  /** The median of the ratios of the two measurements of each round, which a machine that gets slower or faster disturbs least. */
  readonly ofPairs: number;
}

export interface CaseSummary {
  readonly case: string;
  readonly rounds: number;
  /** By side, then by figure. */
  readonly sides: Readonly<Record<string, Readonly<Record<string, Spread>>>>;
  /** Ours ÷ each other side, by that side, then by figure. */
  readonly ratios: Readonly<Record<string, Readonly<Record<string, Ratio>>>>;
}

const ours = 'ours';

const unique = (values: readonly string[]): string[] => [...new Set(values)];
const spreadOf = (values: readonly number[]): Spread => {
  const [min, max] = range(values);
  return { median: median(values), min, max };
};

/** Medians, ranges and ratios of the rounds that count, case by case, in the order in which the cases were measured. */
export function summarize(rounds: readonly Round[]): CaseSummary[] {
  return unique(rounds.map((round) => round.case)).map((name) => {
    const own = rounds.filter((round) => round.case === name);
    const of = (side: string): Figures[] => own.filter((round) => round.side === side).map(({ figures }) => figures);
    const sides = unique(own.map(({ side }) => side));
    return {
      case: name,
      rounds: Math.max(...sides.map((side) => of(side).length)),
      sides: Object.fromEntries(sides.map((side) => [side, spreads(of(side))])),
      ratios: Object.fromEntries(sides.filter((side) => side !== ours).map((side) => [side, ratios(of(ours), of(side))])),
    };
  });
}

/** The values of a figure; empty when not every round has it. */
const valuesOf = (all: readonly Figures[], figure: string): number[] => {
  const values = all.flatMap((figures) => figures[figure] ?? []);
  return values.length === all.length ? values : [];
};

const keysOf = (all: readonly Figures[]): string[] => unique(all.flatMap((figures) => Object.keys(figures)));

function spreads(all: readonly Figures[]): Record<string, Spread> {
  return Object.fromEntries(
    keysOf(all).flatMap((figure) => {
      const values = valuesOf(all, figure);
      return values.length > 0 ? [[figure, spreadOf(values)]] : [];
    }),
  );
}

function ratios(ourRounds: readonly Figures[], others: readonly Figures[]): Record<string, Ratio> {
  return Object.fromEntries(
    keysOf(ourRounds).flatMap((figure) => {
      const [a, b] = [valuesOf(ourRounds, figure), valuesOf(others, figure)];
      if (a.length === 0 || b.length === 0) return [];
      const pairs = a.slice(0, b.length).map((value, round) => value / (b[round] ?? NaN));
      return [[figure, { ofMedians: median(a) / median(b), ofPairs: median(pairs) }]];
    }),
  );
}

/** The summaries of a kind, to look figures up in. A figure that was not measured is undefined. */
export class Summaries {
  readonly cases: readonly CaseSummary[];

  constructor(cases: readonly CaseSummary[]) {
    this.cases = cases;
  }

  median(name: string, figure: string, side: string = ours): number | undefined {
    return this.find(name)?.sides[side]?.[figure]?.median;
  }

  /** Ours ÷ another side, of pairs. */
  ratio(name: string, figure: string, side: string): number | undefined {
    return this.find(name)?.ratios[side]?.[figure]?.ofPairs;
  }

  private find(name: string): CaseSummary | undefined {
    return this.cases.find((summary) => summary.case === name);
  }
}
