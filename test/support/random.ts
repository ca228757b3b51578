/** Numbers that only depend on a seed, so that a failed run can be repeated. */
export class Random {
  readonly seed: number;
  private state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.state = seed >>> 0;
  }

  /** Mulberry32: a number from 0 up to below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** A whole number from 0 up to below `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }
}

/** A whole number above 0 from the environment: a mistyped count must not become a run of nothing that passes. */
export function countFrom(variable: string, preset: number): number {
  const given = process.env[variable];
  const value = given === undefined ? preset : Number(given);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${variable} must be a whole number above 0, not "${given ?? ''}"`);
  return value;
}

/** A random seed for each run, unless SEED gives one. Tests have it in their names. */
export const runSeed = (): number => countFrom('SEED', 1 + Math.floor(Math.random() * (2 ** 31 - 1)));
