export { Random } from '../../src/shared/random.js';

/** A whole number above 0 from the environment: a mistyped count must not become a run of nothing that passes. */
export function countFrom(variable: string, preset: number): number {
  const given = process.env[variable];
  const value = given === undefined ? preset : Number(given);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${variable} must be a whole number above 0, not "${given ?? ''}"`);
  return value;
}

/** A random seed for each run, unless SEED gives one. Tests have it in their names. */
export const runSeed = (): number => countFrom('SEED', 1 + Math.floor(Math.random() * (2 ** 31 - 1)));
