/** Runs at most `maxRunning` promises concurrently; the first failure is thrown at the next call. */
export class Prefetch {
  private readonly running: Promise<unknown>[] = [];

  constructor(private readonly maxRunning: number) {}

  /** Waits until there is room for more work. Throws the error of earlier work. */
  async add(work: Promise<unknown>): Promise<void> {
    // Awaited later: until then a failure must not count as unhandled.
    work.catch(() => undefined);
    this.running.push(work);
    while (this.running.length >= this.maxRunning) await this.running.shift();
  }

  /** Waits for all work. Throws the first error. */
  async drain(): Promise<void> {
    while (this.running.length > 0) await this.running.shift();
  }

  /** Waits for all work and ignores errors. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.running);
  }
}
