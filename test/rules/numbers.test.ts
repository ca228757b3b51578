import { expect } from 'chai';
import fc from 'fast-check';
import { answer, bodyOf, configText, read, readBoard, readPoints, track, userPath } from '../support/answers.js';
import { pointPerUnit } from '../support/configs.js';
import { numberOf, sum, zero } from '../support/decimal.js';
import { startWorld, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

/** A system with a trigger on the metric of its name, and a boost. */
const boosted = (key: 'up' | 'down', points: number, multiplier: number): object => ({
  key,
  name: key,
  triggers: [{ key: 't', type: 'metric', metricKey: key, metricThreshold: 1, points, status: 'active' }],
  boosts: [{ key: 'b', name: 'B', start: '2020-01-01', multiplier, rounding: key }],
});

const config = {
  metrics: ['m', 'n', 'up', 'down'].map((key) => ({ key, name: key })),
  points: [pointPerUnit('m'), boosted('up', 10, 1.1), boosted('down', 100, 1.15)],
  leaderboards: [{ key: 'n', name: 'N', status: 'active', rankBy: 'metric', metricKey: 'n' }],
};

/** Numbers as in docs/rules/metrics.md: totals are decimal-clean, points are integers. (Boost arithmetic: points.test.ts.) */
describe('Numbers', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  /** The total after each of some events of one user. */
  async function totals(user: string, values: readonly number[]): Promise<number[]> {
    const found: number[] = [];
    for (const value of values) found.push((await track(world, 'n', { user, value })).total);
    return found;
  }

  const histories: readonly (readonly [what: string, values: readonly number[], total: number])[] = [
    ['ten tenths are 1', Array.from({ length: 10 }, () => 0.1), 1],
    ['a tenth and two tenths are three', [0.1, 0.2], 0.3],
    ['three tenths less two and one are 0', [0.3, -0.2, -0.1], 0],
    ['what is left of a large total has no digits of its own', [1000.1, -1000], 0.1],
    ['nor after many digits', [123_456_789.123456, -123_456_789], 0.123456],
    ['a hundredth is kept beside a billion', [1_000_000_000, 0.01], 1_000_000_000.01],
    ['fifteen digits are kept', [123_456_789_012, 0.345], 123_456_789_012.345],
    ['the sixteenth is rounded', [123_456_789_012.345, 0.0004], 123_456_789_012.345],
    ['the smallest parts count', [1e-7, 1e-7, 1e-7], 3e-7],
    ['the smallest number is a number', [5e-324], 5e-324],
    ['negative totals are totals', [-2.5, -2.5], -5],
    ['integers are exact up to 1e15', [999_999_999_999_998, 1, 1], 1e15],
    ['and down to -1e15', [-999_999_999_999_998, -1, -1], -1e15],
    ['and all the way between', [1e15, -1e15, -1e15, 999_999_999_999_999], -1],
    ['a minus sign before 0 is dropped', [-0], 0],
  ];
  describe('Totals are decimal-clean: after every addition a total is rounded to 15 significant digits; integers are exact up to 1e15:', () => {
    for (const [what, values, total] of histories) {
      it(what, async () => {
        expect((await totals(what, values)).at(-1)).to.equal(total);
        const metric = await read<{ current: number }>(world, userPath(what, '/metrics/n'));
        expect(Object.is(metric.current, total)).to.equal(true);
        await world.drain();
        const { rows } = await world.pool.query<{ total: number }>('select total from user_metrics where user_id = $1', [what]);
        expect(rows).to.deep.equal([{ total }]);
      });
    }
  });

  describe('A value or total beyond ±1e15 is a 422:', () => {
    const beyond = 'This event would take a total beyond ±1e15, where numbers are no longer exact; send a smaller value.';
    const steps: readonly (readonly [what: string, first: number, second: number])[] = [
      ['one more', 1e15, 1],
      ['one less', -1e15, -1],
      ['half of one more', 1e15, 0.5],
      ['twice as much', 1e15, 1e15],
      ['from below', 999_999_999_999_999, 2],
    ];
    for (const [what, first, second] of steps) {
      it(`${what} is refused, and changes nothing`, async () => {
        const user = `beyond ${what}`;
        await totals(user, [first]);
        await world.drain();
        const before = await world.snapshot();
        const reply = await world.event('n', { user: { id: user, name: 'Changed' }, value: second });
        expect(answer(reply)).to.deep.equal([422, { error: beyond }]);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
    }

    it('a value alone as well', async () => {
      for (const value of [1_000_000_000_000_001, -1_000_000_000_000_001, 1e16, -1e300]) {
        const reply = await world.event('n', { user: { id: 'value' }, value });
        bodyOf(reply, 422);
      }
    });
  });

  it('Points are integers, however the values fall', async () => {
    const added: number[] = [];
    for (const value of [0.5, 0.5, 1.999, 0.001, -0.7, 0.9]) {
      added.push((await track(world, 'm', { user: 'parts', value })).points['p']?.added ?? 0);
    }
    expect(added).to.deep.equal([0, 1, 1, 1, 0, 0]);
    expect((await readPoints(world, 'parts', 'p')).total).to.equal(3);
  });

  it('Boost arithmetic is exact: 10 points × 1.1 rounded up are 11, never 12, and 100 × 1.15 down are 115', async () => {
    const added = async (metric: string): Promise<number | undefined> =>
      (await track(world, metric, { user: 'boosted', value: 1 })).points[metric]?.added;
    expect([await added('up'), await added('down')]).to.deep.equal([11, 115]);
  });

  it('Totals are the same on a leaderboard, digit for digit', async () => {
    await totals('tiny', [0.1, 0.2]);
    const lines = await readBoard(world, 'n', '?limit=1&userId=tiny');
    expect(lines.map((line) => line.replace(/^\d+ /, ''))).to.deep.equal(['tiny 0.3']);
  });

  it('Totals are the decimal sum, whatever the history', async () => {
    const value = fc.record({ digits: fc.bigInt({ min: -(10n ** 8n), max: 10n ** 8n }), places: fc.integer({ min: 0, max: 5 }) });
    let users = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 12 }), async (values) => {
        const found = await totals(`history ${(users += 1)}`, values.map(numberOf));
        let total = zero;
        expect(found).to.deep.equal(values.map((next) => numberOf((total = sum(total, next)))));
      }),
      { numRuns: 15 },
    );
  });
});
