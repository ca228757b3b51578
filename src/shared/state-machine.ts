/** The modes that may follow on each mode. */
export type Moves<M extends string> = Readonly<Record<M, readonly M[]>>;

/** The mode of an object that is in one of a few. */
export class StateMachine<M extends string> {
  private readonly moves: Moves<M>;
  private current: M;

  constructor(moves: Moves<M>, first: M) {
    this.moves = moves;
    this.current = first;
  }

  get mode(): M {
    return this.current;
  }

  /** Throws when the mode may not follow on the current one: that is a bug. Nothing changes when it is the current one. */
  setMode(mode: M): void {
    if (mode !== this.current && !this.moves[this.current].includes(mode)) throw new Error(`cannot change from ${this.current} to ${mode}`);
    this.current = mode;
  }

  /** Throws unless the mode is one of those that a method requires on entry: another one is a bug. */
  require(...modes: readonly M[]): void {
    if (!modes.includes(this.current)) throw new Error(`requires ${modes.join(' or ')}, not ${this.current}`);
  }
}
