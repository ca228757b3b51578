import { expect } from 'chai';
import { configText, readPoints, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

describe('Points systems', () => {
  const trigger = (key: string, metricKey: string, points: number): object => ({
    key,
    type: 'metric',
    metricKey,
    metricThreshold: 1,
    points,
    status: 'active',
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

  it('a trigger that is inactive for a while skips the events of that time, and continues from its old progress', async () => {
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
              key: 'purse',
              name: 'Purse',
              maxPoints,
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
