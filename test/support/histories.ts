import fc from 'fast-check';
import { progress } from './progress.js';

/** Random histories, and the property that each must have. */
export interface Plan<T> {
  /** Prefix of the progress lines. */
  readonly name: string;
  readonly arbitrary: fc.Arbitrary<T>;
  /** Throws when the history reveals a fault. */
  readonly play: (history: T) => Promise<void>;
  readonly histories: number;
  readonly seed: number;
  /** Whether to search for a shorter failing history. */
  readonly shrink?: boolean;
  readonly print: (history: T) => string;
}

/** Concurrent histories, each in a tenant of its own. Lane n uses the seed of the plan plus n. */
const lanes = 6;

/** Plays all histories. Prints progress, and each failure at once with its seed. Throws all failures at the end. */
export async function playHistories<T>({ name, arbitrary, play, histories, seed, shrink = false, print }: Plan<T>): Promise<void> {
  const perLane = Math.ceil(histories / lanes);
  const report = progress(`${name}, histories`, perLane * lanes);
  let played = 0;
  const property = fc.asyncProperty(arbitrary, async (history) => {
    await play(history);
    report((played += 1));
  });
  const lane = async (laneSeed: number): Promise<string[]> => {
    const result = await fc.check(property, { numRuns: perLane, seed: laneSeed, endOnFailure: !shrink });
    if (!result.failed) return [];
    const error = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
    const history = result.counterexample ? print(result.counterexample[0]) : '';
    const failure = `seed ${laneSeed}, path ${result.counterexamplePath}\n${error}\n${history}`;
    console.error(`${name}, after ${played} histories: ${failure}`);
    return [failure];
  };
  const failures = (await Promise.all(Array.from({ length: lanes }, (_, no) => lane(seed + no)))).flat();
  if (failures.length > 0) throw new Error(failures.join('\n\n'));
}
