/** Plants a fault in the function library and plays histories on it and on the model until they differ. */
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { bundleLibrary, type FunctionLibrary } from '../../../src/redis/library.js';
import { startArena, type Arena } from '../../support/engine-subject.js';
import { historyArbitrary } from '../../support/model/arbitraries.js';
import { playHistory } from '../../support/model-histories.js';
import type { History } from '../../support/model/history.js';
import type { Fault } from './table.js';

/** A history that takes longer has caught the fault: the engine loops. */
const hangMs = 60_000;

/** A history, and how to make it again. */
export interface Candidate {
  readonly seed: number;
  /** Its place among the histories of the seed, from 1. */
  readonly nth: number;
  readonly history: History;
}

/** `perSeed` histories of each seed, the first of every seed first. */
export function candidates(seeds: readonly number[], perSeed: number, maxSteps: number): Candidate[] {
  const lists = seeds.map((seed) => fc.sample(historyArbitrary({ maxSteps }), { seed, numRuns: perSeed }));
  return Array.from({ length: perSeed }, (_, index) =>
    seeds.flatMap((seed, at) => {
      const history = lists[at]?.[index];
      return history ? [{ seed, nth: index + 1, history }] : [];
    }),
  ).flat();
}

/** The library with a fault. Throws when the text of the fault is not in the module, or more than once. */
export function plant({ name, module, text, by }: Fault): FunctionLibrary {
  let planted = 0;
  const library = bundleLibrary((file, source) => {
    if (file !== `modules/${module}.lua`) return source;
    planted = source.split(text).length - 1;
    return source.replace(text, () => by);
  });
  if (planted !== 1) {
    throw new Error(
      `"${name}": lua/modules/${module}.lua has the text ${planted} times, and not once: ${text}. Adapt the fault to the module.`,
    );
  }
  return library;
}

export interface Verdict {
  /** The first history that caught it; undefined when none did. */
  readonly by: Candidate | undefined;
  /** Number of histories played, including the one that caught it. */
  readonly played: number;
  /** What differed first. */
  readonly difference: string;
  /** Whether the engine did not answer any more, so that its Redis may not either. */
  readonly hung: boolean;
}

interface Found {
  readonly index: number;
  readonly difference: string;
  readonly hung: boolean;
}

/** What differs, or undefined. */
async function playOne(arena: Arena, history: History): Promise<Omit<Found, 'index'> | undefined> {
  const end = new AbortController();
  const hang = delay(hangMs, { difference: `no end within ${hangMs / 1_000} s`, hung: true }, { signal: end.signal });
  hang.catch(() => undefined);
  try {
    return await Promise.race([playHistory(arena, history).then(() => undefined), hang]);
  } catch (error) {
    return { difference: error instanceof Error ? error.message : String(error), hung: false };
  } finally {
    end.abort();
  }
}

/**
 * Plays the histories in their order, `lanes` at once, until one notices that the library is not what it should be. Without a library it is
 * the service's, which nothing should be noticed about.
 */
export async function tryHistories(
  histories: readonly Candidate[],
  lanes: number,
  options: { readonly library?: FunctionLibrary; readonly redisUrl?: string },
): Promise<Verdict> {
  const arena = await startArena(options);
  const found: Found[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (found.length === 0 && next < histories.length) {
      const index = next;
      next += 1;
      const candidate = histories[index];
      const result = candidate && (await playOne(arena, candidate.history));
      if (result) found.push({ index, ...result });
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    await arena.stop();
  }
  // Those before it have been played to their end, so this is the first whatever the lanes were doing.
  const [first] = found.sort((a, b) => a.index - b.index);
  return {
    by: first && histories[first.index],
    played: first ? first.index + 1 : histories.length,
    difference: first?.difference ?? '',
    hung: found.some(({ hung }) => hung),
  };
}
