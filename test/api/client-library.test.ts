import { type TrophyApi, TrophyApiClient, TrophyApiError } from '@trophyso/node';
import { expect } from 'chai';
import { runExample } from '../../examples/client-library.js';
import { configText } from '../support/answers.js';
import { everything } from '../support/valid-input.js';
import { adminKey, startWorld, type World } from '../support/world.js';

/** What a call of the library was rejected with. */
async function rejection(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => expect.fail('nothing was thrown'),
    (error: unknown) => error,
  );
}

describe('The example with the client library', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  async function run(): Promise<string[]> {
    const lines: string[] = [];
    await runExample({ baseUrl: world.address, apiKey: adminKey, print: (line) => lines.push(line) });
    return lines;
  }

  it('prints events, changes of level and the leaderboard', async () => {
    expect(await run()).to.deep.equal([
      'Ada has viewed 4 flashcards.',
      'Grace has viewed 3 flashcards.',
      'Edsger has viewed 2 flashcards.',
      'Ada has viewed 8 flashcards and earned 10 points.',
      'Ada has reached the level Novice!',
      'Grace has viewed 6 flashcards and earned 10 points.',
      'Grace has reached the level Novice!',
      'Edsger has viewed 4 flashcards.',
      '',
      'All-time flashcards',
      'Rank  User         Value',
      '   1  Ada              8',
      '   2  Grace            6',
      '   3  Edsger           4',
    ]);
  });

  it('goes on from there when it is run again', async () => {
    const lines = await run();
    expect(lines.slice(0, 2)).to.deep.equal(['Ada has viewed 12 flashcards and earned 10 points.', 'Grace has viewed 9 flashcards.']);
    expect(lines).to.include('Edsger has reached the level Novice!');
    expect(lines.at(-1)).to.match(/^ {3}3 {2}Edsger +\d+$/);
  });
});

describe('The client library', () => {
  const metric = 'flashcards-viewed';
  let world: World;
  let trophy: TrophyApiClient;
  before(async () => {
    world = await startWorld();
    trophy = new TrophyApiClient({ apiKey: adminKey, environment: { api: `${world.address}/v1`, admin: `${world.address}/admin/v1` } });
  });
  after(() => world.stop());

  it('creates, identifies, changes and reads users', async () => {
    const created = await trophy.users.create({
      id: 'ana',
      name: 'Ana',
      email: 'ana@example.com',
      tz: 'Europe/Lisbon',
      attributes: { city: 'Lisbon' },
    });
    expect(created).to.include({ id: 'ana', name: 'Ana', subscribeToEmails: true, control: false });
    const identified = await trophy.users.identify('ana', { name: 'Anna' });
    expect(identified).to.deep.include({ name: 'Anna', email: 'ana@example.com', attributes: { city: 'Lisbon' } });
    const updated = await trophy.users.update('ana', { attributes: { city: 'Porto' }, deviceTokens: ['token'] });
    expect(updated).to.deep.include({ name: 'Anna', attributes: { city: 'Porto' }, deviceTokens: ['token'] });
    expect(await trophy.users.get('ana')).to.deep.equal(updated);
    expect(updated.created).to.deep.equal(new Date('2040-01-02T12:00:00.000Z'));
  });

  it('sends events, and the same event again', async () => {
    const request = {
      idempotencyKey: 'lesson 1',
      user: { id: 'ben', attributes: { city: 'Lisbon' } },
      value: 55,
      attributes: { device: 'mobile' },
    };
    const first = await trophy.metrics.event(metric, request);
    expect(first).to.deep.include({ total: 55, idempotentReplayed: false, idempotencyKey: 'lesson 1' });
    expect(first.points['points']).to.include({ total: 135, added: 135 });
    expect(first.points['points']?.awards.map(({ awarded, trigger }) => [awarded, trigger?.metricThreshold])).to.deep.equal([
      [110, 5],
      [25, 50],
    ]);
    expect(first.leaderboards['all-time']).to.include({ rank: 1, threshold: 0, metricKey: metric });
    const second = await trophy.metrics.event(metric, request);
    expect(second).to.deep.include({ eventId: first.eventId, total: 55, idempotentReplayed: true, points: {}, leaderboards: {} });
  });

  it('reads metrics, points and places of a user', async () => {
    expect(await trophy.users.allMetrics('ben')).to.have.lengthOf(1);
    expect(await trophy.users.singleMetric('ben', metric)).to.include({ key: metric, current: 55 });
    const points = await trophy.users.points('ben', 'points', { awards: 1 });
    expect(points).to.deep.include({ key: 'points', total: 135 });
    expect(points.awards).to.have.lengthOf(1);
    const place = await trophy.users.leaderboard('ben', 'top-points', { numEvents: 5 });
    expect(place).to.include({ rank: 1, value: 135, pointsSystemKey: 'points' });
    expect(place.history[0]).to.include({ rank: 1, value: 135 });
  });

  it('reads leaderboards', async () => {
    await trophy.metrics.event(metric, { user: { id: 'carl', name: 'Carl' }, value: 10 });
    expect((await trophy.leaderboards.all()).map(({ key, status }) => [key, status])).to.deep.equal([
      ['all-time', 'active'],
      ['top-points', 'active'],
      ['weekly', 'active'],
    ]);
    const rows = async (request?: TrophyApi.LeaderboardsGetRequest): Promise<unknown> =>
      (await trophy.leaderboards.get('all-time', request)).rankings;
    const ben = { userId: 'ben', userName: undefined, rank: 1, value: 55 };
    const carl = { userId: 'carl', userName: 'Carl', rank: 2, value: 10 };
    expect(await rows()).to.deep.equal([ben, carl]);
    expect(await rows({ offset: 1, limit: 1 })).to.deep.equal([carl]);
    expect(await rows({ userId: 'carl' })).to.deep.equal([carl]);
  });

  it('sums up events and points', async () => {
    const january = { aggregation: 'monthly', startDate: '2040-01-01', endDate: '2040-01-31' } as const;
    expect(await trophy.users.metricEventSummary('ben', metric, january)).to.deep.equal([{ date: '2040-01-01', total: 55, change: 55 }]);
    expect(await trophy.users.pointsEventSummary('ben', 'points', january)).to.deep.equal([
      { date: '2040-01-01', total: 135, change: 135 },
    ]);
    const ranges = await trophy.points.summary('points', { userAttributes: 'city:Lisbon' });
    expect(ranges[0]).to.deep.equal({ from: 0, to: 0, users: 0 });
    expect(ranges.at(-1)).to.deep.equal({ from: 121, to: 140, users: 1 });
  });

  it('reads a points system', async () => {
    const { name, triggers } = await trophy.points.system('points');
    expect(name).to.be.a('string');
    expect(triggers.every(({ status, created }) => status === 'active' && created instanceof Date)).to.equal(true);
  });

  it('reads a year in review', async () => {
    const { user, activity } = await trophy.users.wrapped('ben', { year: 2040 });
    expect(user).to.include({ id: 'ben' });
    expect(activity).to.include({ daysActive: 1, weeksActive: 1, monthsActive: 1 });
    expect(activity.entireYear.metrics[metric]).to.include({ currentTotal: 55, changeThisPeriod: 55 });
    expect(activity.mostActiveDay.metrics[metric]?.byAttribute['device']?.['mobile']).to.include({ changeThisPeriod: 55 });
    expect(activity.mostActiveWeek.points['points']).to.include({ changeThisPeriod: 135 });
    expect(activity.mostActiveMonth.leaderboards['all-time']).to.include({ rank: 1 });
  });

  it('throws what was refused, with the sentence', async () => {
    const wrong = new TrophyApiClient({ apiKey: 'wrong', environment: { api: `${world.address}/v1`, admin: `${world.address}/admin/v1` } });
    const refused: readonly (readonly [status: number, sentence: RegExp, call: () => Promise<unknown>])[] = [
      [401, /^This API key is not valid/, () => wrong.users.get('ana')],
      [404, /^There is no user with the id "nobody"/, () => trophy.users.points('nobody', 'points')],
      [404, /^There is no metric with the key "nothing"/, () => trophy.metrics.event('nothing', { user: { id: 'ana' }, value: 1 })],
      [422, /^Invalid attribute keys: town\. /, () => trophy.users.update('ana', { attributes: { town: 'x' } })],
      [422, /^A user with the id "ana" already exists/, () => trophy.users.create({ id: 'ana' })],
    ];
    for (const [status, sentence, call] of refused) {
      const error = await rejection(call());
      expect(error).to.be.instanceOf(TrophyApiError);
      const { statusCode, body } = error as TrophyApiError;
      expect(statusCode).to.equal(status);
      expect(body).to.have.property('error').that.matches(sentence);
    }
  });
});

/** The methods of the library, by their names: those of the client's parts, and of the parts of these. */
function methodsOf(part: object, path: readonly string[] = []): string[] {
  const names = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(part) as object));
  return names.flatMap(([name, property]) => {
    if (name === 'constructor' || name.startsWith('_')) return [];
    if (property.get) return methodsOf((part as Record<string, object>)[name] ?? {}, [...path, name]);
    return typeof property.value === 'function' ? [[...path, name].join('.')] : [];
  });
}

/** A call of each method, what of its typed answer is looked at, and what that must be. The order matters: each builds on those before. */
type Row = readonly [method: string, call: (trophy: TrophyApiClient) => Promise<unknown>, expected: unknown];

const days = { aggregation: 'daily', startDate: '2040-01-01', endDate: '2040-01-02' } as const;

const rows: readonly Row[] = [
  ['users.create', async (trophy) => (await trophy.users.create({ id: 'ana', tz: 'Europe/Lisbon' })).control, false],
  ['users.identify', async (trophy) => (await trophy.users.identify('ben', { name: 'Ben', attributes: { city: 'Porto' } })).name, 'Ben'],
  ['users.update', async (trophy) => (await trophy.users.update('ana', { name: 'Ana', attributes: { city: 'Lisbon' } })).name, 'Ana'],
  ['users.get', async (trophy) => (await trophy.users.get('ana')).created, new Date('2040-01-02T12:00:00.000Z')],
  [
    'metrics.event',
    async (trophy) => {
      const { total, achievements, currentStreak, points, leaderboards } = await trophy.metrics.event('m', {
        user: { id: 'ana' },
        value: 7.5,
      });
      return [total, achievements.map(({ key }) => key), currentStreak.length, points['p']?.added, leaderboards['l']?.rank];
    },
    [7.5, ['by-metric'], 1, 22, 1],
  ],
  ['users.allMetrics', async (trophy) => (await trophy.users.allMetrics('ana')).map(({ key, current }) => [key, current]), [['m', 7.5]]],
  ['users.singleMetric', async (trophy) => (await trophy.users.singleMetric('ana', 'm')).current, 7.5],
  [
    'users.metricEventSummary',
    async (trophy) => (await trophy.users.metricEventSummary('ana', 'm', days)).map(({ total, change }) => [total, change]),
    [
      [0, 0],
      [7.5, 7.5],
    ],
  ],
  [
    'users.achievements',
    async (trophy) => (await trophy.users.achievements('ana', { includeIncomplete: 'true' })).map(({ key, rarity }) => [key, rarity]),
    [
      ['by-call', 0],
      ['by-metric', 50],
      ['far', 0],
      ['year', 0],
    ],
  ],
  [
    'users.streak',
    async (trophy) => (await trophy.users.streak('ana', { historyPeriods: 2 })).streakHistory?.map(({ length }) => length),
    [0, 1],
  ],
  [
    'users.points',
    async (trophy) => (await trophy.users.points('ana', 'p', { awards: 1 })).awards.map(({ trigger, awarded }) => [trigger?.type, awarded]),
    [['metric', 22]],
  ],
  [
    'users.pointsEventSummary',
    async (trophy) => (await trophy.users.pointsEventSummary('ana', 'p', days)).map(({ total }) => total),
    [0, 22],
  ],
  ['users.leaderboard', async (trophy) => (await trophy.users.leaderboard('ana', 'l', { numEvents: 5 })).history[0]?.value, 7.5],
  [
    'users.wrapped',
    async (trophy) => {
      const { user, activity } = await trophy.users.wrapped('ana', { year: 2040 });
      return [user.id, activity.daysActive, activity.entireYear.metrics['m']?.changeThisPeriod];
    },
    ['ana', 1, 7.5],
  ],
  [
    'users.updatePreferences',
    async (trophy) => (await trophy.users.updatePreferences('ana', { notifications: { recap: ['email'] } })).notifications.recap,
    ['email'],
  ],
  ['users.getPreferences', async (trophy) => (await trophy.users.getPreferences('ana')).notifications.recap, ['email']],
  ['achievements.all', async (trophy) => (await trophy.achievements.all()).map(({ completions }) => completions), [0, 1, 0, 0]],
  [
    'achievements.complete',
    async (trophy) => (await trophy.achievements.complete('by-call', { user: { id: 'ben' } })).achievement.achievedAt,
    new Date('2040-01-02T12:00:00.000Z'),
  ],
  ['streaks.list', async (trophy) => (await trophy.streaks.list({ userIds: ['ben', 'ana'] })).map(({ userId }) => userId), ['ana', 'ben']],
  [
    'streaks.rankings',
    async (trophy) => (await trophy.streaks.rankings({ limit: 1 })).map(({ userId, name, streakLength }) => [userId, name, streakLength]),
    [['ana', 'Ana', 1]],
  ],
  [
    'points.summary',
    async (trophy) => (await trophy.points.summary('p', { userAttributes: 'city:Lisbon' })).reduce((sum, { users }) => sum + users, 0),
    1,
  ],
  ['points.system', async (trophy) => (await trophy.points.system('p')).triggers.map(({ points }) => points), [10]],
  [
    'leaderboards.all',
    async (trophy) => (await trophy.leaderboards.all()).map(({ key, status }) => [key, status]),
    [
      ['l', 'active'],
      ['weekly', 'active'],
    ],
  ],
  [
    'leaderboards.get',
    async (trophy) => (await trophy.leaderboards.get('l', { userId: 'ana' })).rankings.map(({ userName, value }) => [userName, value]),
    [['Ana', 7.5]],
  ],
  [
    'admin.streaks.freezes.create',
    async (trophy) => (await trophy.admin.streaks.freezes.create({ freezes: [{ userId: 'ana' }] })).issues,
    [],
  ],
  [
    'admin.streaks.restore',
    async (trophy) => (await trophy.admin.streaks.restore({ users: [{ id: 'ana' }] })).issues.map(({ userId, level }) => [userId, level]),
    [['ana', 'error']],
  ],
];

describe('Every method of the client library', () => {
  let world: World;
  let trophy: TrophyApiClient;
  before(async () => {
    world = await startWorld({ config: configText(everything) });
    trophy = new TrophyApiClient({ apiKey: adminKey, environment: { api: `${world.address}/v1`, admin: `${world.address}/admin/v1` } });
  });
  after(() => world.stop());

  it('has one row in the table', () => {
    expect(rows.map(([method]) => method).sort()).to.deep.equal(methodsOf(trophy).sort());
  });

  for (const [method, call, expected] of rows) {
    it(`${method} gets a typed answer`, async () => expect(await call(trophy)).to.deep.equal(expected));
  }
});
