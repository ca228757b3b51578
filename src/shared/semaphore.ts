/** Lets at most so many work at the same time; the others wait their turn, first come, first served. */
export class Turns {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.free = atOnce;
  }

  /** Does `work` when its turn has come. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The turn passes on to the next, so that nobody who comes meanwhile is served before.
      const next = this.waiting.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}
