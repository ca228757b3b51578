import { expect } from 'chai';
import { dateToDay } from '../../src/calendar.js';
import { bodyOf, configText, read, track, userPath } from '../support/answers.js';
import { numberOf, writePast, type PastEvent } from '../support/past.js';
import { startWorld, type World } from '../support/world.js';

interface Sum {
  readonly currentTotal: number;
  readonly changeThisPeriod: number;
  readonly percentChange: number;
  readonly percentileThisPeriod?: number;
}
interface Period {
  readonly metrics: Readonly<Record<string, Sum & { readonly byAttribute: Readonly<Record<string, Readonly<Record<string, Sum>>>> }>>;
  readonly points: Readonly<Record<string, Sum>>;
  readonly achievements: readonly { readonly key: string }[];
  readonly leaderboards: Readonly<Record<string, { readonly rank: number; readonly value: number }>>;
}
interface Wrapped {
  readonly user: { readonly id: string };
  readonly activity: {
    readonly daysActive: number;
    readonly weeksActive: number;
    readonly monthsActive: number;
    readonly mostActiveDay: Period & { readonly date: string };
    readonly mostActiveWeek: Period & { readonly start: string; readonly end: string };
    readonly mostActiveMonth: Period & { readonly month: number };
    readonly entireYear: Period & { readonly longestStreak: object };
  };
}

const config = configText({
  attributes: [{ key: 'device', name: 'Device', type: 'event' }],
  metrics: [
    { key: 'cards', name: 'Cards', units: 'cards' },
    { key: 'minutes', name: 'Minutes' },
  ],
  points: [
    {
      ...{ key: 'p', name: 'P', description: 'Points' },
      triggers: [{ key: 'per-ten', type: 'metric', metricKey: 'cards', metricThreshold: 10, points: 1, status: 'active' }],
    },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' },
    { key: 'hundred', name: 'Hundred', trigger: 'metric', metricKey: 'cards', metricValue: 100, status: 'active' },
  ],
  leaderboards: [{ key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'cards' }],
});

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
    world = await startWorld({ config });
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
        ...{ name: 'Cards', units: 'cards', currentTotal: 60, changeThisPeriod: 30, percentChange: 100 },
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
      ...{ length: 2, frequency: 'daily', started: '2040-05-09', periodStart: '2040-05-10', periodEnd: '2040-05-10' },
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
      ...{ daysActive: 0, weeksActive: 0, monthsActive: 0 },
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

describe('The year in review of somebody with 100,000 events, among thousands', () => {
  const first = dateToDay('2038-01-01');
  const others = 3_000;
  let world: World;
  before(async () => {
    world = await startWorld({ config });
    const metric = await numberOf(world, 'metrics', 'cards');
    const device = String(await numberOf(world, 'attributes', 'device'));
    const busy = Array.from({ length: 100_000 }, (_, i): PastEvent => {
      return { user: 'busy', metric, value: 1, day: first + (i % 365), attributes: [[device, `device ${i % 150}`]] };
    });
    const rest = Array.from({ length: others * 10 }, (_, i): PastEvent => {
      return { user: `u${i % others}`, metric, value: 1 + (i % others) * 10, day: first + Math.floor(i / others) };
    });
    bodyOf(await world.request('PUT', userPath('busy'), { body: {} }), 200);
    await writePast(world, [...busy, ...rest]);
    await world.pool.query('analyze');
  });
  after(() => world.stop());

  it('is answered within a second', async () => {
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

  it('has exact percentiles up to a limit, and beyond it those of an even part of the users', async () => {
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
