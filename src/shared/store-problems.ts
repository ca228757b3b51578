import type { NotReadyReason } from './errors.js';

/** One thing that a store can have, as a start, a command, a response or a log line says it. */
export interface StoreProblem {
  /** Of the 503 while the service runs. */
  readonly reason: NotReadyReason;
  /** What is wrong: a sentence without its full stop, that a detail can follow in parentheses. */
  readonly cause: string;
  /** What to do about it: one or more sentences. */
  readonly cure: string;
}

/** `Cause (detail). Cure.` */
export const sentenceOf = ({ cause, cure }: StoreProblem, detail?: string): string =>
  `${cause}${detail === undefined ? '' : ` (${detail})`}. ${cure}`;

/*
 * Every sentence about a store. docs/operations/store-problems.md shows the same rows (test/unit/store-problems.test.ts); test/long/redis-problems.test.ts
 * and test/long/postgres-problems.test.ts meet each of them with a real server.
 */

export const redisProblems = {} as const satisfies Readonly<Record<string, StoreProblem>>;

export const postgresProblems = {} as const satisfies Readonly<Record<string, StoreProblem>>;
