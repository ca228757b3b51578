/** Numbers that only depend on a seed, so that what was drawn from them can be repeated. */
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

  /** An item of a list, each as often as its share of all; the shares add up to 1. */
  pickByShare<T extends { readonly share: number }>(list: readonly [T, ...T[]]): T {
    let drawn = this.next();
    for (const item of list) {
      drawn -= item.share;
      if (drawn < 0) return item;
    }
    return list[0];
  }
}
