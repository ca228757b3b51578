import { inTurn, type Stand } from '../measure/turns.js';
import { median } from '../measure/stats.js';
import type { Figures, Round } from '../measure/summary.js';

/** What a round measures. */
export interface Figure {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly decimals: number;
  /** The report draws it as a part of one bar, with the other parts of the same title. */
  readonly part?: { readonly of: string; readonly colour: string } | undefined;
}

/** Options of a run by their names: numbers, and the words that it was given. */
export type Values = Readonly<Record<string, number | string>>;

/** What a whole run has in common. */
export interface RunTools {
  /** The root of another checkout, whose figures are measured in turn with ours. */
  readonly against: string | undefined;
  /** Whether sizes are tiny and nothing is compared: a check that each kind works. */
  readonly isTiny: boolean;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

export interface RoundsOptions {
  readonly rounds: number;
  /** Rounds of each side before those, which are shown and do not count. */
  readonly warmUps?: number;
}

const caseWidth = 34;
const sideWidth = 14;

/** What a kind measures with: collects its rounds, and prints each as it comes. */
export class Bench<Name extends string = string> {
  readonly against: string | undefined;
  readonly isTiny: boolean;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  readonly measured: Round[] = [];
  failures = 0;
  private readonly figures: readonly Figure[];
  private readonly values: Values;

  constructor(figures: readonly Figure[], values: Values, { against, isTiny, signal, print }: RunTools) {
    this.figures = figures;
    this.values = values;
    this.against = against;
    this.isTiny = isTiny;
    this.signal = signal;
    this.print = print;
  }

  /** The value of an option of this run. */
  option(name: Name): number {
    const value = this.values[name];
    if (typeof value !== 'number') throw new Error(`There is no option ${name}.`);
    return value;
  }

  /** A word that this run was given. */
  word(name: string): string | undefined {
    const value = this.values[name];
    return value === undefined ? undefined : String(value);
  }

  /** Measures cases and sides in turn: A B, B A, A B … */
  async rounds(stands: readonly Stand<Figures>[], { rounds, warmUps = 0 }: RoundsOptions): Promise<void> {
    const show = (round: string, measured: Round): void => {
      this.signal.throwIfAborted();
      this.print(this.line(round, measured));
    };
    await inTurn(stands, warmUps, ({ case: name, side }, _, figures) => show('warm-up', { case: name, side, figures }));
    await inTurn(stands, rounds, ({ case: name, side }, round, figures) => {
      this.measured.push({ case: name, side, figures });
      show(String(round + 1), { case: name, side, figures });
    });
  }

  /** Counts requests without a 2xx: any makes the run fail. */
  fail(requests: number): void {
    this.failures += requests;
  }

  /** The median of a figure so far. */
  median(name: string, side: string, figure: string): number {
    return median(
      this.measured.filter((round) => round.case === name && round.side === side).flatMap(({ figures }) => figures[figure] ?? []),
    );
  }

  private line(round: string, { case: name, side, figures }: Round): string {
    const shown = this.figures.flatMap(({ key, title, unit, decimals }) => {
      const value = figures[key];
      return value === undefined ? [] : [`${title} ${value.toFixed(decimals)}${unit === '' ? '' : ` ${unit}`}`];
    });
    return `${name.padEnd(caseWidth)} ${round.padStart(7)}  ${side.padEnd(sideWidth)} ${shown.join(', ')}`;
  }
}
