/** Work that is under way at the same time, at most so many pieces; the first that fails is heard of at the next chance. */
export class Prefetch {
  private readonly running: Promise<unknown>[] = [];

  constructor(private readonly most: number) {}

  /** Waits until there is room for more. Throws what an earlier piece has thrown. */
  async add(work: Promise<unknown>): Promise<void> {
    // It is waited for later: until then its failure must not count as one that nobody handles.
    work.catch(() => undefined);
    this.running.push(work);
    while (this.running.length >= this.most) await this.running.shift();
  }

  /** Waits for all. Throws what one has thrown. */
  async end(): Promise<void> {
    while (this.running.length > 0) await this.running.shift();
  }

  /** Waits until nothing is under way any more, whatever has become of it. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.running);
  }
}
