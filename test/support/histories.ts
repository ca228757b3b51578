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
  /** Of a history that failed, with its seed: plays only this one. */
  readonly path?: string | undefined;
  /** Makes a failing history shorter. */
  readonly shrink?: (history: T, fails: (candidate: T) => Promise<boolean>) => Promise<T>;
  readonly print: (history: T) => string;
}

/** Concurrent histories, each in a tenant of its own. Lane n uses the seed of the plan plus n. */
const lanes = 6;

/** Plays all histories. Prints progress, and each failure at once with its seed. Throws all failures at the end. */
export async function playHistories<T>({ name, arbitrary, play, histories, seed, path, shrink, print }: Plan<T>): Promise<void> {
  const perLane = Math.ceil(histories / lanes);
  const report = progress(`${name}, histories`, perLane * lanes);
  let played = 0;
  const property = fc.asyncProperty(arbitrary, async (history) => {
    await play(history);
    played += 1;
    report(played);
  });
  const errorOf = async (history: T): Promise<string | undefined> =>
    play(history).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  const lane = async (laneSeed: number): Promise<string[]> => {
    const result = await fc.check(property, {
      numRuns: perLane,
      seed: laneSeed,
      endOnFailure: true,
      ...(path === undefined ? {} : { path }),
    });
    if (!result.failed) return [];
    const failed = result.counterexample?.[0];
    const error = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
    let text = failed ? `${error}\n${print(failed)}` : error;
    if (failed && shrink) {
      const again = await errorOf(failed);
      const short = again === undefined ? failed : await shrink(failed, async (candidate) => (await errorOf(candidate)) !== undefined);
      text = again === undefined ? `${error}\nIt does not fail again.` : `${await errorOf(short)}\n${print(short)}`;
    }
    const failure = `seed ${laneSeed}, path ${result.counterexamplePath}\n${text}`;
    console.error(`${name}, after ${played} histories: ${failure}\n`);
    return [failure];
  };
  const failures = (await Promise.all(Array.from({ length: path === undefined ? lanes : 1 }, (_, no) => lane(seed + no)))).flat();
  if (failures.length > 0) throw new Error(failures.join('\n\n'));
}
