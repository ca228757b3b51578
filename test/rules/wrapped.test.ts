import { expect } from 'chai';
import { bodyOf, read, track, userPath } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';
import { wrappedConfig, type Wrapped } from '../support/wrapped.js';

/** A year of Ana's, who lives in Tokyo from the second line on, and of two others. */
const history: readonly (readonly [at: string, user: string, metric: string, value: number, device?: string])[] = [
  ['2040-01-10T08:00:00Z', 'ana', 'cards', 10, 'phone'],
  ['2040-01-11T08:00:00Z', 'ben', 'cards', 50],
  ['2040-01-12T08:00:00Z', 'ana', 'cards', 20, 'desk'],
  // A Monday in Tokyo, and the most active day: three events.
  ['2040-05-06T20:00:00Z', 'ana', 'cards', 40, 'phone'],
  ['2040-05-06T21:00:00Z', 'ana', 'minutes', 2.5],
  ['2040-05-06T22:00:00Z', 'ana', 'cards', -10, 'phone'],
  ['2040-05-08T20:00:00Z', 'ana', 'cards', 30],
  ['2040-05-09T20:00:00Z', 'ana', 'cards', 10],
  ['2040-05-10T08:00:00Z', 'ben', 'cards', 5],
  ['2040-05-10T09:00:00Z', 'carl', 'cards', 200],
  ['2040-12-31T16:00:00Z', 'ana', 'cards', 1],
];

const nothing = { metrics: {}, points: {}, achievements: [], leaderboards: {} };

describe('The year in review', () => {
  let world: World;
  let year: Wrapped['activity'];
  before(async () => {
    world = await startWorld({ config: wrappedConfig });
    for (const [at, id, metric, value, device] of history) {
      await world.setClock(at);
      const user = id === 'ana' && at > '2040-01-10T09' ? { id, tz: 'Asia/Tokyo' } : { id };
      await track(world, metric, { user, value, attributes: device === undefined ? undefined : { device } });
    }
    ({ activity: year } = await read<Wrapped>(world, userPath('ana', '/wrapped?year=2040')));
  });
  after(() => world.stop());

  it('counts active days, weeks and months of the local calendar', () => {
    const { daysActive, weeksActive, monthsActive } = year;
    expect({ daysActive, weeksActive, monthsActive }).to.deep.equal({ daysActive: 5, weeksActive: 2, monthsActive: 2 });
  });

  it('has the day with the most events, without a percentile', () => {
    const { date, metrics, points, achievements, leaderboards } = year.mostActiveDay;
    expect(date).to.equal('2040-05-07');
    expect(metrics).to.deep.equal({
      cards: {
        name: 'Cards',
        units: 'cards',
        currentTotal: 60,
        changeThisPeriod: 30,
        percentChange: 100,
        byAttribute: {
          device: { phone: { name: 'Cards', units: 'cards', currentTotal: 40, changeThisPeriod: 30, percentChange: 300 } },
        },
      },
      minutes: { name: 'Minutes', units: null, currentTotal: 2.5, changeThisPeriod: 2.5, percentChange: 100, byAttribute: {} },
    });
    expect(points).to.deep.equal({
      p: { name: 'P', description: 'Points', currentTotal: 7, changeThisPeriod: 4, percentChange: 133.33 },
    });
    expect(achievements).to.deep.equal([]);
    expect(leaderboards['board']).to.include({ rank: 1, value: 60, key: 'board' });
  });

  it('has the week with the most events, and how many of the others who were active in it did less', () => {
    const { start, end, metrics, achievements } = year.mostActiveWeek;
    expect([start, end]).to.deep.equal(['2040-05-07', '2040-05-13']);
    expect(metrics['cards']).to.include({ currentTotal: 100, changeThisPeriod: 70, percentChange: 233.33, percentileThisPeriod: 50 });
    expect(metrics['minutes']).to.include({ percentileThisPeriod: 100 });
    expect(achievements.map(({ key }) => key)).to.deep.equal(['hundred']);
  });

  it('has the month with the most events', () => {
    const { month, metrics, leaderboards } = year.mostActiveMonth;
    expect(month).to.equal(4);
    expect(metrics['cards']).to.include({ changeThisPeriod: 70, percentileThisPeriod: 50 });
    expect(leaderboards['board']).to.include({ rank: 1, value: 100 });
  });

  it('has the whole year, with its longest streak', () => {
    const { metrics, points, achievements, leaderboards, longestStreak } = year.entireYear;
    expect(metrics['cards']).to.include({ currentTotal: 100, changeThisPeriod: 100, percentChange: 100, percentileThisPeriod: 50 });
    expect(metrics['cards']?.byAttribute).to.deep.equal({
      device: {
        phone: { name: 'Cards', units: 'cards', currentTotal: 40, changeThisPeriod: 40, percentChange: 100 },
        desk: { name: 'Cards', units: 'cards', currentTotal: 20, changeThisPeriod: 20, percentChange: 100 },
      },
    });
    expect(points['p']).to.include({ currentTotal: 10, changeThisPeriod: 10, percentileThisPeriod: 50 });
    expect(achievements.map(({ key }) => key)).to.deep.equal(['ten', 'hundred']);
    // She was first with 10, 60, 90 and 100.
    expect(leaderboards['board']).to.include({ rank: 1, value: 100 });
    expect(longestStreak).to.deep.equal({
      length: 2,
      frequency: 'daily',
      started: '2040-05-09',
      periodStart: '2040-05-10',
      periodEnd: '2040-05-10',
    });
  });

  it('is that of the local calendar: a new year in Tokyo begins earlier', async () => {
    const { activity } = await read<Wrapped>(world, userPath('ana', '/wrapped'));
    expect(activity.mostActiveDay.date).to.equal('2041-01-01');
    expect(activity.mostActiveWeek).to.include({ start: '2041-01-01', end: '2041-01-06' });
    expect(activity.entireYear.metrics['cards']).to.include({
      currentTotal: 101,
      changeThisPeriod: 1,
      percentChange: 1,
      percentileThisPeriod: 100,
    });
  });

  it('has a change of -100 percent where a total fell from 0', async () => {
    await track(world, 'minutes', { user: 'emil', value: -2 });
    const { activity } = await read<Wrapped>(world, userPath('emil', '/wrapped'));
    const fallen = { currentTotal: -2, changeThisPeriod: -2, percentChange: -100 };
    for (const { metrics } of [activity.mostActiveDay, activity.entireYear]) expect(metrics['minutes']).to.include(fallen);
  });

  it('has changes that agree with the totals beyond 15 digits, where each sum is rounded', async () => {
    await track(world, 'minutes', { user: 'dora', value: 1e14 });
    for (let i = 0; i < 30; i += 1) await track(world, 'minutes', { user: 'dora', value: 0.4 });
    const { activity } = await read<Wrapped>(world, userPath('dora', '/wrapped'));
    const exact = { currentTotal: 1e14, changeThisPeriod: 1e14, percentChange: 100 };
    for (const { metrics } of [activity.mostActiveDay, activity.entireYear]) expect(metrics['minutes']).to.include(exact);
  });

  it('ranks among the others: the share of them who changed less', async () => {
    const percentile = async (user: string): Promise<number | undefined> =>
      (await read<Wrapped>(world, userPath(user, '/wrapped?year=2040'))).activity.entireYear.metrics['cards']?.percentileThisPeriod;
    expect([await percentile('ben'), await percentile('ana'), await percentile('carl')]).to.deep.equal([0, 50, 100]);
  });

  it('has the year that a user who moved west had reached before', async () => {
    await track(world, 'cards', { user: { id: 'west', tz: 'Asia/Tokyo' }, value: 1 });
    await track(world, 'cards', { user: { id: 'west', tz: 'America/New_York' }, value: 1 });
    for (const year of [2040, 2041]) {
      const { activity } = await read<Wrapped>(world, userPath('west', `/wrapped?year=${year}`));
      expect([year, activity.daysActive]).to.deep.equal([year, 1]);
    }
  });

  it('is empty for a year without events', async () => {
    const { user, activity } = await read<Wrapped>(world, userPath('ana', '/wrapped?year=1'));
    expect(user.id).to.equal('ana');
    expect(activity).to.deep.equal({
      daysActive: 0,
      weeksActive: 0,
      monthsActive: 0,
      mostActiveDay: { date: '0001-01-01', ...nothing },
      mostActiveWeek: { start: '0001-01-01', end: '0001-01-07', ...nothing },
      mostActiveMonth: { month: 0, ...nothing },
      entireYear: {
        ...nothing,
        longestStreak: { length: 0, frequency: 'daily', periodStart: null, periodEnd: null, started: null },
      },
    });
  });

  it('has what was written just before', async () => {
    for (let i = 1; i <= 5; i += 1) {
      await track(world, 'minutes', { user: 'writer', value: 1 });
      const { activity } = await read<Wrapped>(world, userPath('writer', '/wrapped'));
      expect(activity.entireYear.metrics['minutes']).to.include({ currentTotal: i });
    }
  });

  it('has the longest streak also if an operator has ended it by a reset', async () => {
    const host = await startWorld({ config: wrappedConfig });
    const change = async (what: 'reset' | 'restore', id: string): Promise<void> => {
      bodyOf(await host.request('POST', `/admin/v1/streaks/${what}`, { body: { users: [{ id }] } }), what === 'reset' ? 200 : 201);
    };
    const longest = async (user: string): Promise<object> =>
      (await read<Wrapped>(host, userPath(user, '/wrapped?year=2040'))).activity.entireYear.longestStreak;
    try {
      await track(host, 'cards', { user: 'again', value: 1 });
      await track(host, 'cards', { user: 'once', value: 1 });
      await change('reset', 'once');
      await host.setClock('2040-01-03T09:00:00Z');
      await track(host, 'cards', { user: 'again', value: 1 });
      await change('reset', 'again');
      await track(host, 'cards', { user: 'again', value: 1 });
      await change('reset', 'again');
      const before = { frequency: 'daily', started: '2040-01-02' };
      expect(await longest('again')).to.deep.equal({ ...before, length: 2, periodStart: '2040-01-03', periodEnd: '2040-01-03' });
      expect(await longest('once')).to.deep.equal({ ...before, length: 1, periodStart: '2040-01-02', periodEnd: '2040-01-02' });
      await change('restore', 'once');
      await track(host, 'cards', { user: 'once', value: 1 });
      await host.setClock('2040-01-09T09:00:00Z');
      expect(await longest('once')).to.deep.equal({ ...before, length: 2, periodStart: '2040-01-03', periodEnd: '2040-01-03' });
    } finally {
      await host.stop();
    }
  });

  const whole = '`year` must be a whole number from 1 to 9999.';
  const refused: readonly (readonly [path: string, status: number, error: string])[] = [
    ['/v1/users/nobody/wrapped', 404, 'There is no user with the id "nobody": identify the user with PUT first.'],
    ...['0', '-1', '10000', '2040.5', 'x', '', '1e3'].map((text) => [`/v1/users/ana/wrapped?year=${text}`, 422, whole] as const),
    ['/v1/users/ana/wrapped?year=2042', 422, '`year` is 2042, which has not begun for this user: send 2041 or an earlier year.'],
    ['/v1/users/carl/wrapped?year=2041', 422, '`year` is 2041, which has not begun for this user: send 2040 or an earlier year.'],
    ['/v1/users/ana/wrapped?year=2040&year=2041', 422, '`year` must be a string.'],
    ['/v1/users/%00/wrapped', 422, '`id` must not contain control characters.'],
  ];
  for (const [path, status, error] of refused) {
    it(`is refused: ${path}`, async () => {
      const reply = await world.get(path);
      expect([reply.status, reply.body]).to.deep.equal([status, { error }]);
    });
  }
});
