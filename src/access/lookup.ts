import { limits } from '../shared/limits.js';

interface Waiting<T> {
  readonly resolve: (found: T | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks up keys or sessions that are not in memory, with one query at a time for all callers that wait: requests with invented ones use at most one
 * connection to Postgres, however many they are.
 */
export class Lookup<T> {
  private readonly load: (names: readonly string[]) => Promise<ReadonlyMap<string, T>>;
  private readonly waiting = new Map<string, Waiting<T>[]>();
  private isRunning = false;

  constructor(load: (names: readonly string[]) => Promise<ReadonlyMap<string, T>>) {
    this.load = load;
  }

  /** What has a name, read after this call; undefined when there is nothing. */
  find(name: string): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const others = this.waiting.get(name);
      if (others) others.push({ resolve, reject });
      else this.waiting.set(name, [{ resolve, reject }]);
      void this.run();
    });
  }

  private async run(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    while (this.waiting.size > 0) {
      const batch = [...this.waiting].slice(0, limits.keyLookupBatch);
      for (const [name] of batch) this.waiting.delete(name);
      try {
        const found = await this.load(batch.map(([name]) => name));
        for (const [name, callers] of batch) for (const { resolve } of callers) resolve(found.get(name));
      } catch (error) {
        for (const [, callers] of batch) for (const { reject } of callers) reject(error);
      }
    }
    this.isRunning = false;
  }
}
