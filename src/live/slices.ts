import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../shared/limits.js';

/** How many items are worked on between two looks at the clock. */
const sliceItems = 16;

/** Work in many parts, of which each turn of the event loop does as many as take limits.liveTurnMs. */
export class Turns {
  private startedAt = performance.now();

  /** Waits for the next turn if this one has taken long enough. To be awaited between two parts. */
  async next(): Promise<void> {
    if (performance.now() - this.startedAt < limits.liveTurnMs) return;
    await nextTurn();
    this.startedAt = performance.now();
  }
}

/**
 * Calls `work` with each item: for limits.liveTurnMs in this turn of the event loop, then in later ones. A write to each of 10,000 connections would
 * block the process for longer than an event takes.
 */
export async function inSlices<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  const turns = new Turns();
  for (let first = 0; first < items.length; first += sliceItems) {
    if (first > 0) await turns.next();
    for (const item of items.slice(first, first + sliceItems)) work(item);
  }
}
