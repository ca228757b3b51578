import { expect } from 'chai';
import { configText, readPoints, track } from './support/answers.js';
import { startWorld, type World } from './support/world.js';

/** So many points per so much of the metric. */
interface Trigger {
  readonly per: number;
  readonly points: number;
  readonly status?: 'inactive';
}

interface Rule {
  readonly rule: string;
  readonly triggers: readonly Trigger[];
  readonly maxPoints?: number;
  /** What happens to one user, event by event: the value, and the points that each award of the event adds. */
  readonly steps: readonly (readonly [value: number, ...awarded: number[]])[];
}

const tenPerFive: readonly Trigger[] = [{ per: 5, points: 10 }];

const multiples: readonly Rule[] = [
  { rule: 'pays at every multiple, and at nothing between', triggers: tenPerFive, steps: [[4], [1, 10], [4], [1, 10], [4], [2, 10]] },
  { rule: 'pays once for each of several multiples passed by one event', triggers: tenPerFive, steps: [[23, 40], [1], [1, 10], [50, 100]] },
  { rule: 'pays at every step with a threshold of 1', triggers: [{ per: 1, points: 3 }], steps: [[1, 3], [2, 6], [0], [1, 3]] },
  { rule: 'pays nothing for an event of 0', triggers: tenPerFive, steps: [[0], [5, 10], [0], [0]] },
  { rule: 'pays for parts of numbers once they are whole', triggers: [{ per: 1, points: 1 }], steps: [[0.4], [0.3], [0.3, 1], [1.75, 1], [0.25, 1]] },
  {
    rule: 'finds the tenth of ten tenths',
    triggers: [{ per: 1, points: 1 }],
    steps: [[0.1], [0.1], [0.1], [0.1], [0.1], [0.1], [0.1], [0.1], [0.1], [0.1, 1]],
  },
  { rule: 'does nothing while it is inactive', triggers: [{ per: 5, points: 10, status: 'inactive' }, { per: 5, points: 1 }], steps: [[10, 2]] },
];

const downAndUp: readonly Rule[] = [
  { rule: 'going down costs nothing', triggers: tenPerFive, steps: [[10, 20], [-10], [-10]] },
  { rule: 'going down and up again over the same multiple pays once', triggers: tenPerFive, steps: [[10, 20], [-8], [8], [-1], [1], [4], [1, 10]] },
  { rule: 'coming from below zero counts from zero', triggers: tenPerFive, steps: [[-12], [12], [4], [1, 10]] },
  { rule: 'a jump from below pays for what is new alone', triggers: tenPerFive, steps: [[7, 10], [-20], [30, 20]] },
  { rule: 'parts of numbers go down and up as well', triggers: [{ per: 1, points: 1 }], steps: [[1.1, 1], [-0.2], [0.2], [-1.1], [2.9, 1], [0.1, 1]] },
];

const bounds: readonly Rule[] = [
  { rule: 'a cap takes what still fits', triggers: tenPerFive, maxPoints: 25, steps: [[5, 10], [15, 15]] },
  { rule: 'at the cap an award is 0, and not listed', triggers: tenPerFive, maxPoints: 20, steps: [[10, 20], [5], [50]] },
  { rule: 'each award of an event takes what the one before has left', triggers: [{ per: 5, points: 7 }, { per: 5, points: 7 }], maxPoints: 10, steps: [[5, 7, 3], [5]] },
  { rule: 'a deduction takes no more than there is', triggers: [{ per: 5, points: 10 }, { per: 1, points: -3 }], steps: [[4], [1, 10, -3], [3, -7], [1]] },
  { rule: 'at 0 a deduction is not listed', triggers: [{ per: 1, points: -4 }], steps: [[1], [3]] },
  { rule: 'below the cap there is room again', triggers: [{ per: 10, points: 10 }, { per: 7, points: -4 }], maxPoints: 10, steps: [[7], [3, 10], [4, -4], [6, 4]] },
  { rule: 'points may be as many as 1e15', triggers: [{ per: 1, points: 1 }], steps: [[1e15, 1e15], [-1e15]] },
  { rule: 'and no more than 1e15', triggers: [{ per: 1, points: 1e15 }], steps: [[1, 1e15], [1e14]] },
  { rule: 'and are exact up to there', triggers: [{ per: 1, points: 3 }], steps: [[333_333_333_333_333, 999_999_999_999_999], [1, 1]] },
];

const several: readonly Rule[] = [
  { rule: 'all triggers pay, in the order of the configuration', triggers: [{ per: 5, points: 10 }, { per: 2, points: 1 }, { per: 10, points: 25 }], steps: [[4, 2], [6, 20, 3, 25]] },
  { rule: 'deductions come in their place', triggers: [{ per: 1, points: -2 }, { per: 1, points: 10 }, { per: 1, points: -3 }], steps: [[1, 10, -3], [1, -2, 10, -3]] },
  { rule: 'each counts for itself', triggers: [{ per: 3, points: 1 }, { per: 5, points: 100 }], steps: [[3, 1], [2, 100], [1, 1], [4, 1, 100]] },
];

const tables = { 'A metric trigger': multiples, 'Nobody farms points:': downAndUp, 'A total stays within 0 and the cap:': bounds, 'Several triggers:': several };
const rules = Object.values(tables).flat();

/** One metric and one points system for each rule. */
const config = {
  metrics: rules.map((_, i) => ({ key: `m${i}`, name: `Metric ${i}` })),
  points: rules.map(({ triggers, maxPoints }, i) => ({
    key: `p${i}`,
    name: `System ${i}`,
    ...(maxPoints === undefined ? {} : { maxPoints }),
    triggers: triggers.map(({ per, points, status }, n) => ({
      key: `t${n}`,
      type: 'metric',
      metricKey: `m${i}`,
      metricThreshold: per,
      points,
      status: status ?? 'active',
    })),
  })),
};

describe('Points', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  for (const [guarantee, table] of Object.entries(tables)) {
    describe(guarantee, () => {
      for (const { rule, steps } of table) {
        it(rule, async () => {
          const system = `p${rules.findIndex((other) => other.rule === rule)}`;
          const metric = system.replace('p', 'm');
          let total = 0;
          for (const [value, ...awarded] of steps) {
            const { points } = await track(world, metric, { user: 'ana', value });
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
    for (let i = 1; i <= 135; i += 1) {
      const { points } = await track(world, 'read', { user: 'carl', value: 1 });
      ids.push(points['xp']?.awards[0]?.id ?? '');
    }
    const newest = async (query: string): Promise<string[]> => (await readPoints(world, 'carl', 'xp', query)).awards.map(({ id }) => id);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(await newest('')).to.deep.equal(ids.slice(-10).reverse());
    expect(await newest('?awards=1')).to.deep.equal(ids.slice(-1));
    expect(await newest('?awards=100')).to.deep.equal(ids.slice(-100).reverse());
    expect((await readPoints(world, 'carl', 'xp')).awards[0]).to.include({ awarded: 2, total: 270, date: '2040-01-02T12:00:00.000Z' });
  });

  it('show a user without points with none', async () => {
    await track(world, 'skip', { user: 'dora', value: 0 });
    expect(await readPoints(world, 'dora', 'xp')).to.deep.include({ total: 0, level: null, awards: [] });
  });
});

describe('A trigger that is added later', () => {
  const reading = { key: 'read', name: 'Read' };
  const trigger = { key: 't', type: 'metric', metricKey: 'read', metricThreshold: 5, points: 10, status: 'active' };
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText({ metrics: [reading], points: [{ key: 'xp', name: 'XP' }] }) });
  });
  after(() => world.stop());

  it('counts what happens from then on, not what the user had', async () => {
    await track(world, 'read', { user: 'ana', value: 12 });
    await world.configure(configText({ points: [{ key: 'xp', name: 'XP', triggers: [trigger] }] }));
    const first = await track(world, 'read', { user: 'ana', value: 4 });
    expect([first.total, first.points]).to.deep.equal([16, {}]);
    const second = await track(world, 'read', { user: 'ana', value: 1 });
    expect([second.total, second.points['xp']?.added]).to.deep.equal([17, 10]);
  });

  it('does not count what happens while it is inactive, and goes on from where it was', async () => {
    const becomes = (status: string): Promise<void> =>
      world.configure(configText({ points: [{ key: 'xp', name: 'XP', triggers: [{ ...trigger, status }] }] }));
    await track(world, 'read', { user: 'ben', value: 3 });
    await becomes('inactive');
    await track(world, 'read', { user: 'ben', value: 30 });
    await becomes('active');
    expect((await track(world, 'read', { user: 'ben', value: 1 })).points).to.deep.equal({});
    expect((await track(world, 'read', { user: 'ben', value: 1 })).points['xp']?.added).to.equal(10);
  });
});
