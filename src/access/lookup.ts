import type { StoredKey } from './key.js';
import { limits } from '../shared/limits.js';

interface Waiting {
  readonly resolve: (key: StoredKey | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks keys up that are not in memory. One query at a time, for all that have been asked for meanwhile: callers with keys that don't exist
 * take one connection to Postgres at most, however many they are.
 */
export class KeyLookup {
  private readonly load: (prefixes: readonly string[]) => Promise<readonly StoredKey[]>;
  private waiting = new Map<string, readonly Waiting[]>();
  private isRunning = false;

  /** `load` answers with those of the prefixes that are keys which may call. */
  constructor(load: (prefixes: readonly string[]) => Promise<readonly StoredKey[]>) {
    this.load = load;
  }

  /** The key with a prefix, read after this was called; undefined when there is none that may call. */
  find(prefix: string): Promise<StoredKey | undefined> {
    const others = this.waiting.get(prefix);
    return new Promise((resolve, reject) => {
      this.waiting.set(prefix, [...(others ?? []), { resolve, reject }]);
      void this.run();
    });
  }

  private async run(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    while (this.waiting.size > 0) {
      const asked = [...this.waiting].slice(0, limits.keyLookupBatch);
      for (const [prefix] of asked) this.waiting.delete(prefix);
      try {
        const found = new Map((await this.load(asked.map(([prefix]) => prefix))).map((key) => [key.prefix, key]));
        for (const [prefix, callers] of asked) for (const { resolve } of callers) resolve(found.get(prefix));
      } catch (error) {
        for (const [, callers] of asked) for (const { reject } of callers) reject(error);
      }
    }
    this.isRunning = false;
  }
}
