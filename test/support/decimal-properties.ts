import { expect } from 'chai';
import fc from 'fast-check';
import { addDecimals } from '../../src/shared/decimal.js';
import { limits } from '../../src/shared/limits.js';
import { decimalOf, numberOf, sum } from './decimal.js';
import { loadLuaFunctions, type LuaFunctions } from './lua-functions.js';

type Rounding = 'down' | 'up' | 'nearest';

/** What a product of integers over a power of ten is, rounded: the same in BigInts. */
function oracle(factors: readonly bigint[], scale: number, rounding: Rounding): bigint {
  const product = factors.reduce((all, factor) => all * factor, 1n);
  const divisor = 10n ** BigInt(scale);
  const whole = product / divisor;
  const rest = product % divisor;
  switch (rounding) {
    case 'down':
      return whole;
    case 'up':
      return rest > 0n ? whole + 1n : whole;
    case 'nearest':
      return rest * 2n >= divisor ? whole + 1n : whole;
  }
}

/** Defines the tests of the module's arithmetic, each property tried so many times. fast-check prints the seed of a run that fails. */
export function describeDecimal(numRuns: number): void {
  describe('Products of points and boosts', () => {
    let decimal: LuaFunctions;
    before(async () => {
      decimal = await loadLuaFunctions({
        product: `local factors = {}
        for i = 3, #args do factors[i - 2] = tonumber(args[i]) end
        return string.format('%.0f', require('decimal').scaled_product(factors, tonumber(args[1]), args[2]))`,
      });
    });
    after(() => decimal.stop());

    const product = async (factors: readonly (number | bigint)[], scale: number, rounding: Rounding): Promise<bigint> =>
      BigInt(await decimal.call('product', [scale, rounding, ...factors.map(String)]));

    const rounding = fc.constantFrom<Rounding>('down', 'up', 'nearest');
    /** A multiplier as a boost has it: up to six decimal places, below 100. */
    const multiplier = fc
      .tuple(fc.integer({ min: 0, max: 6 }), fc.nat())
      .map(([scale, n]) => ({ scale, mantissa: 1 + (n % (100 * 10 ** scale - 1)) }));
    const points = fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 1e15 }));
    const times = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1e15 }));

    it('of one boost and a few points are exact', () =>
      fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 10_000 }), multiplier, rounding, async (base, { mantissa, scale }, mode) => {
          expect(await product([1, base, mantissa], scale, mode)).to.equal(oracle([BigInt(base), BigInt(mantissa)], scale, mode));
        }),
        { numRuns },
      ));

    it('of any number of boosts are exact as far as a total reaches, and no smaller beyond', () =>
      fc.assert(
        fc.asyncProperty(times, points, fc.array(multiplier, { maxLength: 6 }), rounding, async (count, base, boosts, mode) => {
          const factors = [count, base, ...boosts.map(({ mantissa }) => mantissa)];
          const scale = boosts.reduce((sum, boost) => sum + boost.scale, 0);
          const expected = oracle(factors.map(BigInt), scale, mode);
          const found = await product(factors, scale, mode);
          if (expected <= 2n ** 53n) expect(found).to.equal(expected);
          else expect(found > 10n ** 15n, `${found} is beyond every cap, as ${expected} is`).to.equal(true);
        }),
        { numRuns },
      ));

    it('round exactly at and around a half', () =>
      fc.assert(
        fc.asyncProperty(
          fc.nat({ max: 1_000_000 }),
          fc.integer({ min: 1, max: 9 }),
          fc.constantFrom(-1n, 0n, 1n),
          rounding,
          async (n, scale, off, mode) => {
            const half = BigInt(n) * 10n ** BigInt(scale) + 5n * 10n ** BigInt(scale - 1) + off;
            expect(await product([half], scale, mode)).to.equal(oracle([half], scale, mode));
          },
        ),
        { numRuns: numRuns / 3 },
      ));

    const examples: readonly (readonly [what: string, factors: readonly (number | bigint)[], scale: number, mode: Rounding, is: bigint])[] =
      [
        ['10 × 1.1 up', [10, 11], 1, 'up', 11n],
        ['the largest double that is exact', [9_007_199_254_740_991n], 0, 'up', 9_007_199_254_740_991n],
        [
          'a product that a double would round, brought back by the scale',
          [999_999_999_999_999, 99_999_999],
          8,
          'down',
          999_999_989_999_999n,
        ],
        ['thirteen places of nothing but a last one, up', [10_000_000_000_001n], 13, 'up', 2n],
        ['more decimal places than digits, down', [1, 1], 30, 'down', 0n],
        ['more decimal places than digits, up', [1, 1], 30, 'up', 1n],
        ['limbs of zeros', [10_000_000, 10_000_000, 10_000_000], 14, 'down', 10_000_000n],
      ];
    for (const [what, factors, scale, mode, is] of examples) {
      it(what, async () => {
        expect(await product(factors, scale, mode)).to.equal(is);
      });
    }
  });

  describe('Sums of decimal numbers', () => {
    let decimal: LuaFunctions;
    before(async () => {
      decimal = await loadLuaFunctions({
        totals: `local decimal, total, texts = require('decimal'), 0, {}
        for i = 1, #args do
          total = decimal.add(total, tonumber(args[i]))
          texts[i] = decimal.text(total)
        end
        return table.concat(texts, ' ')`,
      });
    });
    after(() => decimal.stop());

    /** The total after each of some values: of the function library, and of the processes. */
    async function totals(values: readonly number[]): Promise<{ library: number[]; processes: number[] }> {
      let total = 0;
      const processes = values.map((value) => {
        total = addDecimals(total, value);
        return total;
      });
      return { library: (await decimal.call('totals', values)).split(' ').map(Number), processes };
    }
    /** The same, rounded once after each addition, and kept as a number: next to zero, these have fewer digits. */
    function exactTotals(values: readonly number[]): number[] {
      let total = 0;
      return values.map((value) => {
        total = numberOf(sum(decimalOf(total), decimalOf(value)));
        return total;
      });
    }
    /** Values, and how large they may be for their total to be one that is kept. */
    const maxValues = 20;
    const largest = limits.maxAbsoluteTotal / maxValues;
    const valueOf = (maxDigits: number, maxPlaces: number): fc.Arbitrary<number> =>
      fc
        .record({
          digits: fc
            .integer({ min: 1, max: maxDigits })
            .chain((n) => fc.bigInt({ min: 1n - 10n ** BigInt(n), max: 10n ** BigInt(n) - 1n })),
          places: fc.integer({ min: 0, max: maxPlaces }),
        })
        .map((value) => numberOf(value))
        .filter((value) => Math.abs(value) <= largest);

    const histories: readonly (readonly [what: string, value: fc.Arbitrary<number>])[] = [
      ['of few digits', valueOf(8, 5)],
      ['of money, up to the largest totals', fc.oneof(valueOf(15, 2), valueOf(9, 6))],
      ['of as many digits as a total has', valueOf(15, 20)],
      ['of as many digits as a number has', valueOf(17, 25)],
      ['next to zero', fc.double({ min: -1e-305, max: 1e-305, noNaN: true })],
      ['of any size', fc.oneof(fc.double({ min: -largest, max: largest, noNaN: true }), valueOf(3, 300))],
    ];
    for (const [what, value] of histories) {
      it(`${what} are rounded once`, () =>
        fc.assert(
          fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: maxValues }), async (values) => {
            const expected = exactTotals(values);
            expect(await totals(values)).to.deep.equal({ library: expected, processes: expected });
          }),
          { numRuns },
        ));
    }

    const examples: readonly (readonly [what: string, values: readonly number[], total: number])[] = [
      ['just above a half', [17_941_205_337_421.7, 350.450148], 17_941_205_337_772.2],
      ['a half', [1_234_567_890.12345, 0.000005], 1_234_567_890.12346],
      ['a half below zero', [-1_234_567_890.12345, -0.000005], -1_234_567_890.12346],
      ['just below a power of ten', [100_000_000_000_000, -0.0500001], 99_999_999_999_999.9],
      ['one digit more than before', [9.99999999999999, 0.00000000000000501], 9.99999999999999 + 1e-14],
      ['of numbers with fewer digits than others, next to zero', [-7e-323, -7e-323, -7e-323], -2.1e-322],
    ];
    for (const [what, values, total] of examples) {
      it(what, async () => {
        const { library, processes } = await totals(values);
        expect([library.at(-1), processes.at(-1)]).to.deep.equal([total, total]);
      });
    }
  });
}
