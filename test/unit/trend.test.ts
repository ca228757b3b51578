import { expect } from 'chai';
import { judge } from '../../benchmarks/trials/trend.js';
import { Random } from '../support/random.js';

const mib = 1024 * 1024;
const random = new Random(1);
/** An hour of samples, one per second, with noise. */
const hour = (valueAt: (second: number) => number): { atS: number; value: number }[] =>
  Array.from({ length: 3_600 }, (_, atS) => ({ atS, value: valueAt(atS) + random.below(5) * mib }));

describe('A measured series (npm run soak)', () => {
  const cases: readonly (readonly [what: string, value: (second: number) => number, isFlat: boolean])[] = [
    ['stays', () => 200 * mib, true],
    ['goes up and down', (second) => (200 + 30 * Math.sin(second / 60)) * mib, true],
    ['falls', (second) => (200 - second / 60) * mib, true],
    ['grows while caches fill, in the first minutes', (second) => (100 + Math.min(second / 6, 100)) * mib, true],
    ['grows by 2 MiB a minute', (second) => (200 + second / 30) * mib, false],
    ['stays, and is higher for the last third', (second) => (second > 2_400 ? 300 : 200) * mib, false],
  ];
  for (const [what, value, isFlat] of cases) {
    it(`${what}: ${isFlat ? 'is flat' : 'is not flat'}`, () => {
      const trend = judge({ name: 'Memory', unit: [mib, 'MiB'], allowed: [0.1, 24 * mib], points: hour(value) });
      expect(trend.isFlat, trend.line).to.equal(isFlat);
    });
  }

  it('is not flat with fewer than three samples', () => {
    expect(judge({ name: 'Memory', unit: [1, 'bytes'], allowed: [0, 0], points: [{ atS: 0, value: 1 }] }).isFlat).to.be.false;
  });
});
