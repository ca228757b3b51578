import { expect } from 'chai';
import { dateToDay } from '../../src/shared/calendar.js';
import { bodyOf, read, userPath } from '../support/answers.js';
import { numberOf, writePast, type PastEvent } from '../support/past.js';
import { startWorld, type World } from '../support/world.js';
import { wrappedConfig, type Wrapped } from '../support/wrapped.js';

describe('The year in review of a user with 100,000 events, among thousands', () => {
  const first = dateToDay('2038-01-01');
  const others = 3_000;
  let world: World;
  before(async () => {
    world = await startWorld({ config: wrappedConfig });
    const metric = await numberOf(world, 'metrics', 'cards');
    const device = String(await numberOf(world, 'attributes', 'device'));
    const busy = Array.from({ length: 100_000 }, (_, i): PastEvent => {
      return { user: 'busy', metric, value: 1, day: first + Math.floor((i * 365) / 100_000), attributes: [[device, `device ${i % 150}`]] };
    });
    const rest = Array.from({ length: others * 10 }, (_, i): PastEvent => {
      return { user: `u${i % others}`, metric, value: 1 + (i % others) * 10, day: first + Math.floor(i / others) };
    });
    bodyOf(await world.request('PUT', userPath('busy'), { body: {} }), 200);
    await writePast(world, [...busy, ...rest]);
    await world.pool.query('analyze');
  });
  after(() => world.stop());

  it('responds within a second', async () => {
    const times: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const began = performance.now();
      const { activity } = await read<Wrapped>(world, userPath('busy', '/wrapped?year=2038'));
      times.push(performance.now() - began);
      expect(activity.daysActive).to.equal(365);
      expect(activity.entireYear.metrics['cards']).to.include({ changeThisPeriod: 100_000 });
      expect(Object.keys(activity.entireYear.metrics['cards']?.byAttribute['device'] ?? {})).to.have.lengthOf(100);
    }
    expect(Math.min(...times)).to.be.below(1_000);
  });

  it('has exact percentiles up to a limit, and beyond it percentiles of an even sample', async () => {
    const { activity } = await read<Wrapped>(world, userPath('busy', '/wrapped?year=2038'));
    // User n has changed by 10 + 100 n in the year: 1,000 of the others by less than 100,000.
    const exact = Math.round((1_000 * 10_000) / others) / 100;
    expect(activity.entireYear.metrics['cards']?.percentileThisPeriod).to.equal(exact);
    const { rows } = await world.pool.query<{ users: number }>('select count(*)::integer as users from user_years where sample < 512');
    expect(rows[0]?.users).to.be.within(others * 0.45, others * 0.55);
    // Of January, with ten rows of each: 30,000 rows are more than are looked at.
    expect(activity.mostActiveMonth.month).to.equal(0);
    expect(activity.mostActiveMonth.metrics['cards']?.changeThisPeriod).to.be.within(8_000, 9_000);
    const lower = Math.ceil(((activity.mostActiveMonth.metrics['cards']?.changeThisPeriod ?? 0) - 10) / 100);
    expect(activity.mostActiveMonth.metrics['cards']?.percentileThisPeriod).to.be.closeTo((lower * 100) / others, 2);
  });
});
