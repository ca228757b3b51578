import type { Summaries } from '../measure/summary.js';
import type { Bench, Figure } from './bench.js';

/** A whole number that a run may be given. */
interface Option {
  readonly text: string;
  readonly value: number;
  /** The value of `--ci`, with which a kind takes a few seconds. */
  readonly tiny: number;
}

/** A text that a run may be given. */
interface Word {
  readonly text: string;
  /** What it can be; anything without it. */
  readonly of?: readonly string[];
  /** Whether it is kept out of the files of the run. */
  readonly isSecret?: boolean;
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
  readonly words?: Readonly<Record<string, Word>>;
  readonly figures: readonly Figure[];
  readonly targets: readonly Target[];
  /** Measures all cases by `bench.rounds`. Throws when something can't be measured. */
  readonly run: (bench: Bench<Name>) => Promise<void>;
}

/** Declares a kind; its options type what `run` may ask for. */
export const defineKind = <const Name extends string>(kind: Kind<Name>): Kind => kind;
