import { expect } from 'chai';
import { configText, readPoints, track } from './support/answers.js';
import { startWorld, type World } from './support/world.js';

/**
 * A rule, what it is shown with, and what happens to one user.
 *
 * `10 per 5, at most 25` is a trigger that pays 10 points per 5 of the metric, in a system with a cap of 25.
 * `4, 1 → 10, 3 → -7 2` are events of value 4, which changes no points, of value 1, which is awarded 10, and of value 3 with two awards.
 */
type Rule = readonly [rule: string, triggers: string, events: string];

const multiples: readonly Rule[] = [
  ['pays at every multiple, and at nothing between', '10 per 5', '4, 1 → 10, 4, 1 → 10, 4, 2 → 10'],
  ['pays for all of several multiples that one event passes', '10 per 5', '23 → 40, 1, 1 → 10, 50 → 100'],
  ['pays at every step with a threshold of 1', '3 per 1', '1 → 3, 2 → 6, 0, 1 → 3'],
  ['pays nothing for an event of 0', '10 per 5', '0, 5 → 10, 0, 0'],
  ['pays for parts of numbers once they are whole', '1 per 1', '0.4, 0.3, 0.3 → 1, 1.75 → 1, 0.25 → 1'],
  ['finds the tenth of ten tenths', '1 per 1', '0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 → 1'],
  ['does nothing while it is inactive', '10 per 5 inactive, 1 per 5', '10 → 2'],
];

const downAndUp: readonly Rule[] = [
  ['going down costs nothing', '10 per 5', '10 → 20, -10, -10'],
  ['going down and up again over the same multiple pays once', '10 per 5', '10 → 20, -8, 8, -1, 1, 4, 1 → 10'],
  ['coming from below zero counts from zero', '10 per 5', '-12, 12, 4, 1 → 10'],
  ['a jump from below pays for what is new alone', '10 per 5', '7 → 10, -20, 30 → 20'],
  ['parts of numbers go down and up as well', '1 per 1', '1.1 → 1, -0.2, 0.2, -1.1, 2.9 → 1, 0.1 → 1'],
];

const bounds: readonly Rule[] = [
  ['a cap takes what still fits', '10 per 5, at most 25', '5 → 10, 15 → 15'],
  ['at the cap an award is 0, and not listed', '10 per 5, at most 20', '10 → 20, 5, 50'],
  ['each award of an event takes what the one before has left', '7 per 5, 7 per 5, at most 10', '5 → 7 3, 5'],
  ['a deduction takes no more than there is', '10 per 5, -3 per 1', '4, 1 → 10 -3, 3 → -7, 1'],
  ['at 0 a deduction is not listed', '-4 per 1', '1, 3'],
  ['below the cap there is room again', '10 per 10, -4 per 7, at most 10', '7, 3 → 10, 4 → -4, 6 → 4'],
  ['points may be as many as 1e15', '1 per 1', '1e15 → 1e15, -1e15'],
  ['and no more than 1e15', '1e15 per 1', '1 → 1e15, 1e14'],
  ['and are exact up to there', '3 per 1', '333333333333333 → 999999999999999, 1 → 1'],
];

const several: readonly Rule[] = [
  ['all of them pay, in the order of the configuration', '10 per 5, 1 per 2, 25 per 10', '4 → 2, 6 → 20 3 25'],
  ['deductions come in their place', '-2 per 1, 10 per 1, -3 per 1', '1 → 10 -3, 1 → -2 10 -3'],
  ['each counts for itself', '1 per 3, 100 per 5', '3 → 1, 2 → 100, 1 → 1, 4 → 1 100'],
];

const tables = {
  'A metric trigger': multiples,
  'Nobody farms points:': downAndUp,
  'A total stays within 0 and the cap:': bounds,
  'Several triggers:': several,
};
const rules = Object.values(tables).flat();

/** The triggers and the cap of a rule, on the metric of the rule. */
function pointsSystem([, text]: Rule, index: number): object {
  const parts = text.split(', ');
  const cap = parts.find((part) => part.startsWith('at most '))?.slice('at most '.length);
  const triggers = parts.filter((part) => part.includes(' per ')).map((part) => part.split(/ per | /));
  return {
    ...{ key: `p${index}`, name: `System ${index}` },
    ...(cap === undefined ? {} : { maxPoints: Number(cap) }),
    triggers: triggers.map(([points, threshold, status = 'active'], n) => ({
      ...{ key: `t${n}`, type: 'metric', metricKey: `m${index}`, status },
      ...{ points: Number(points), metricThreshold: Number(threshold) },
    })),
  };
}

/** The events of a rule: value and awards. */
const eventsOf = ([, , text]: Rule): { readonly value: number; readonly awarded: readonly number[] }[] =>
  text.split(', ').map((event) => {
    const [value, awarded = ''] = event.split(' → ');
    return { value: Number(value), awarded: awarded.split(' ').filter(Boolean).map(Number) };
  });

const config = {
  metrics: rules.map((_, i) => ({ key: `m${i}`, name: `Metric ${i}` })),
  points: rules.map(pointsSystem),
};

describe('Points', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  for (const [guarantee, table] of Object.entries(tables)) {
    describe(guarantee, () => {
      for (const rule of table) {
        it(`${rule[0]}: ${rule[1]}`, async () => {
          const index = rules.indexOf(rule);
          const system = `p${index}`;
          let total = 0;
          for (const { value, awarded } of eventsOf(rule)) {
            const { points } = await track(world, `m${index}`, { user: 'ana', value });
            const block = points[system];
            expect(Object.keys(points), 'the systems that changed').to.deep.equal(awarded.length > 0 ? [system] : []);
            expect(block?.awards.map((award) => award.awarded) ?? [], `the awards of ${value}`).to.deep.equal(awarded);
            // Each award shows the total after it.
            for (const award of block?.awards ?? []) expect(award.total).to.equal((total += award.awarded));
            expect(block?.total ?? total).to.equal(total);
            expect(block?.added ?? 0, `what ${value} added`).to.equal(awarded.reduce((sum, one) => sum + one, 0));
          }
          expect((await readPoints(world, 'ana', system)).total).to.equal(total);
        });
      }
    });
  }
});

describe('Points systems', () => {
  const trigger = (key: string, metricKey: string, points: number): object => ({
    ...{ key, type: 'metric', metricKey, metricThreshold: 1, points, status: 'active' },
  });
  const two = {
    metrics: ['read', 'write', 'skip'].map((key) => ({ key, name: key })),
    points: [
      { key: 'xp', name: 'XP', triggers: [trigger('x', 'read', 2), trigger('y', 'write', 5)] },
      { key: 'energy', name: 'Energy', triggers: [trigger('e', 'write', -1), trigger('f', 'read', 1)] },
      { key: 'coins', name: 'Coins', triggers: [trigger('c', 'skip', 1)] },
    ],
  };
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(two) });
  });
  after(() => world.stop());

  /** What an event added, by system. */
  async function added(user: string, metric: string, value: number): Promise<Record<string, number>> {
    const { points } = await track(world, metric, { user, value });
    return Object.fromEntries(Object.entries(points).map(([key, block]) => [key, block.added]));
  }

  it('each keep their own total, and only those that changed are in the answer', async () => {
    expect(await added('ana', 'read', 3)).to.deep.equal({ xp: 6, energy: 3 });
    expect(await added('ana', 'write', 1)).to.deep.equal({ xp: 5, energy: -1 });
    expect(await added('ana', 'skip', 1)).to.deep.equal({ coins: 1 });
    expect(await added('ben', 'write', 2)).to.deep.equal({ xp: 10 });
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(11);
    expect((await readPoints(world, 'ana', 'energy')).total).to.equal(2);
    expect((await readPoints(world, 'ben', 'energy')).total).to.equal(0);
  });

  it('show the newest awards first, ten unless asked, a hundred at most', async () => {
    const ids: string[] = [];
    const newest = async (query: string): Promise<string[]> => (await readPoints(world, 'carl', 'xp', query)).awards.map(({ id }) => id);
    for (let i = 1; i <= 135; i += 1) {
      const { points } = await track(world, 'read', { user: 'carl', value: 1 });
      ids.push(points['xp']?.awards[0]?.id ?? '');
      if (i > 95) expect(await newest('?awards=100'), `after ${i}`).to.deep.equal(ids.slice(-100).reverse());
    }
    expect(new Set(ids).size).to.equal(ids.length);
    expect(await newest('')).to.deep.equal(ids.slice(-10).reverse());
    expect(await newest('?awards=1')).to.deep.equal(ids.slice(-1));
    expect((await readPoints(world, 'carl', 'xp')).awards[0]).to.include({ awarded: 2, total: 270, date: '2040-01-02T12:00:00.000Z' });
  });

  it('show a user without points with none', async () => {
    await track(world, 'skip', { user: 'dora', value: 0 });
    expect(await readPoints(world, 'dora', 'xp')).to.deep.include({ total: 0, level: null, awards: [] });
  });
});

describe('A configuration that changes:', () => {
  const reading = { key: 'read', name: 'Read' };
  const trigger = { key: 't', type: 'metric', metricKey: 'read', metricThreshold: 5, points: 10, status: 'active' };
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText({ metrics: [reading], points: [{ key: 'xp', name: 'XP' }] }) });
  });
  after(() => world.stop());

  it('a trigger that is added counts what happens from then on, not what the user had', async () => {
    await track(world, 'read', { user: 'ana', value: 12 });
    await world.configure(configText({ points: [{ key: 'xp', name: 'XP', triggers: [trigger] }] }));
    const first = await track(world, 'read', { user: 'ana', value: 4 });
    expect([first.total, first.points]).to.deep.equal([16, {}]);
    const second = await track(world, 'read', { user: 'ana', value: 1 });
    expect([second.total, second.points['xp']?.added]).to.deep.equal([17, 10]);
  });

  it('a trigger whose threshold changes never pays twice for the same ground', async () => {
    const becomes = (metricThreshold: number): Promise<void> =>
      world.configure(configText({ points: [{ key: 'xp', name: 'XP', triggers: [{ ...trigger, metricThreshold }] }] }));
    const added = async (value: number): Promise<number> => (await track(world, 'read', { user: 'carl', value })).points['xp']?.added ?? 0;
    await becomes(5);
    expect(await added(12)).to.equal(20);
    await becomes(3);
    // 12 is the fourth multiple of 3 already; 15 is the next.
    expect([await added(1), await added(1), await added(1)]).to.deep.equal([0, 0, 10]);
    await becomes(10);
    expect([await added(4), await added(1)]).to.deep.equal([0, 10]);
  });

  it('a trigger that is inactive for a while does not count what happens then, and goes on from where it was', async () => {
    const becomes = (status: string): Promise<void> =>
      world.configure(configText({ points: [{ key: 'xp', name: 'XP', triggers: [{ ...trigger, status }] }] }));
    await track(world, 'read', { user: 'ben', value: 3 });
    await becomes('inactive');
    await track(world, 'read', { user: 'ben', value: 30 });
    await becomes('active');
    expect((await track(world, 'read', { user: 'ben', value: 1 })).points).to.deep.equal({});
    expect((await track(world, 'read', { user: 'ben', value: 1 })).points['xp']?.added).to.equal(10);
  });

  it('a cap below what a user has takes nothing away, and adds nothing until there is room', async () => {
    const becomes = (maxPoints: number): Promise<void> =>
      world.configure(
        configText({
          metrics: [{ key: 'pay', name: 'Pay' }],
          points: [
            {
              ...{ key: 'purse', name: 'Purse', maxPoints },
              triggers: [
                { ...trigger, key: 'in', metricThreshold: 1, points: 1 },
                { ...trigger, key: 'out', metricKey: 'pay', metricThreshold: 1, points: -1 },
              ],
            },
          ],
        }),
      );
    await becomes(100);
    await track(world, 'read', { user: 'dora', value: 50 });
    await becomes(20);
    expect((await readPoints(world, 'dora', 'purse')).total).to.equal(50);
    expect((await track(world, 'read', { user: 'dora', value: 5 })).points['purse']).to.equal(undefined);
    expect((await track(world, 'pay', { user: 'dora', value: 35 })).points['purse']).to.include({ total: 15, added: -35 });
    expect((await track(world, 'read', { user: 'dora', value: 50 })).points['purse']).to.include({ total: 20, added: 5 });
  });
});
