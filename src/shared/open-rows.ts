/** Rows of a statement that is read in parts. */
export interface OpenRows<T> {
  /** The next rows; none after the last one. */
  next(): Promise<readonly T[]>;
  /** Ends the statement, also one that is running. Safe to repeat. */
  close(): Promise<void>;
}

/** Moments in milliseconds since 1970: from the one up to, but not at, the other. Undefined is unbounded. */
export interface Span {
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
}
