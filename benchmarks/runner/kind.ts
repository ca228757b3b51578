import type { Summaries } from '../measure/summary.js';
import type { Bench, Figure } from './bench.js';

/** A whole number that a run may be given. */
interface Option {
  readonly text: string;
  readonly value: number;
  /** The value of `--ci`, with which a kind takes a few seconds. */
  readonly tiny: number;
}

/** One of several words that a run may be given; without one, it does all. */
interface Choice {
  readonly text: string;
  readonly of: readonly string[];
}

/** A figure that a kind is to reach; without a limit, one that is worth a line. */
export interface Target {
  readonly title: string;
  readonly unit: string;
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
  /** Undefined when the run has not measured it. */
  readonly of: (summaries: Summaries) => number | undefined;
}

/** One benchmark: what it can be given, what it measures, and the work. The runner does rounds, medians, the output and the files. */
export interface Kind<Name extends string = string> {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<Name, Option>>;
  readonly choices?: Readonly<Record<string, Choice>>;
  readonly figures: readonly Figure[];
  readonly targets: readonly Target[];
  /** Measures all cases by `bench.rounds`. Throws when something can't be measured. */
  readonly run: (bench: Bench<Name>) => Promise<void>;
}

/** Declares a kind; its options type what `run` may ask for. */
export const defineKind = <const Name extends string>(kind: Kind<Name>): Kind => kind;
