import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../shared/limits.js';

/** How many items are worked on between two looks at the clock. */
const sliceItems = 16;

/**
 * Calls `work` with each item: for limits.liveTurnMs in this turn of the event loop, then in later ones. A write to each of 10,000 connections would
 * block the process for longer than an event takes.
 */
export async function inSlices<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  let startedAt = performance.now();
  for (let first = 0; first < items.length; first += sliceItems) {
    if (performance.now() - startedAt >= limits.liveTurnMs) {
      await nextTurn();
      startedAt = performance.now();
    }
    for (const item of items.slice(first, first + sliceItems)) work(item);
  }
}
