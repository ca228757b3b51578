import { expect } from 'chai';
import { answer, bodyOf, configText, type HistoryDay, read, readBoard, readPlace, type Rankings, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const boards = ['page', 'names', 'days', 'days-drained', 'writes', 'small', 'one'];
const config = {
  metrics: boards.map((key) => ({ key, name: `Metric ${key}` })),
  points: [{ key: 'p', name: 'Points' }],
  leaderboards: [
    ...boards.map((key) => ({
      key,
      name: `Board ${key}`,
      description: key,
      status: 'active',
      rankBy: 'metric',
      metricKey: key,
      ...(['small', 'one'].includes(key) ? { maxParticipants: 1 } : {}),
    })),
    {
      key: 'by-points',
      name: 'By points',
      status: 'active',
      start: '2039-01-01',
      end: '2041-12-31',
      rankBy: 'points',
      pointsSystemKey: 'p',
    },
    { key: 'by-streak', name: 'By streak', status: 'active', rankBy: 'streak' },
  ],
};

describe('Reading a leaderboard', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
    // u1 has the most, u30 the least.
    for (let i = 1; i <= 30; i += 1) await track(world, 'page', { user: `u${i}`, value: 100 - i });
  });
  after(() => world.stop());

  /** The ranks from one to another, as the board of `page` has them. */
  const ranks = (from: number, to: number): string[] =>
    Array.from({ length: Math.max(to - from + 1, 0) }, (_, i) => `${from + i} u${from + i} ${100 - from - i}`);

  const pages: readonly (readonly [what: string, query: string, rows: readonly string[]])[] = [
    ['ten from the top, unless asked', '', ranks(1, 10)],
    ['as many as asked', '?limit=3', ranks(1, 3)],
    ['all there are', '?limit=1000', ranks(1, 30)],
    ['none', '?limit=0', []],
    ['from an offset', '?offset=5&limit=2', ranks(6, 7)],
    ['what is left at the end', '?offset=28&limit=10', ranks(29, 30)],
    ['nothing beyond the end', '?offset=30', []],
    ['nothing far beyond the end', '?offset=999999999999999&limit=1000', []],
    ['from a user on', '?userId=u12&limit=3', ranks(12, 14)],
    ['from below a user on', '?userId=u12&offset=2&limit=3', ranks(14, 16)],
    ['the first from the first user on', '?userId=u1', ranks(1, 10)],
    ['the last user alone', '?userId=u30', ranks(30, 30)],
    ['nothing for a user who is not on the board', '?userId=u31', []],
    ['nothing for none of a user’s rows', '?userId=u12&limit=0', []],
  ];
  for (const [what, query, rows] of pages) {
    it(`gives ${what}: ${query || 'no query'}`, async () => {
      expect(await readBoard(world, 'page', query)).to.deep.equal(rows);
    });
  }

  describe('of some users', () => {
    const lists: readonly (readonly [what: string, query: string, rows: readonly string[]])[] = [
      ['in the order of their ranks', 'userIds=u9,u2,u30', ['1: 2 u2 98', '2: 9 u9 91', '3: 30 u30 70']],
      ['each once', 'userIds=u2&userIds=u1&userIds=u2', ['1: 1 u1 99', '2: 2 u2 98']],
      ['without those who do not exist', 'userIds=nobody,u3', ['1: 3 u3 97']],
      ['none', 'userIds=nobody', []],
      ['a page of them', 'userIds=u1,u2,u3&offset=1&limit=1', ['2: 2 u2 98']],
      ['from one of them on', 'userIds=u1,u2,u3&userId=u2', ['2: 2 u2 98', '3: 3 u3 97']],
      ['none from a user who is not in the list', 'userIds=u1,u2&userId=u3', []],
    ];
    for (const [what, query, rows] of lists) {
      it(`ranks ${what}: ${query}`, async () => {
        const { rankings } = await read<Rankings>(world, `/v1/leaderboards/page?${query}`);
        expect(rankings.map(({ rank, userId, value, rankInList }) => `${rankInList}: ${rank} ${userId} ${value}`)).to.deep.equal(rows);
      });
    }

    it('leaves out those beyond the limit, and ranks 200 users in one request but not 201', async () => {
      for (const value of [1, 2]) await track(world, 'one', { user: `one-${value}`, value });
      const { rankings } = await read<Rankings>(world, '/v1/leaderboards/one?userIds=one-1,one-2');
      expect(rankings).to.deep.equal([{ userId: 'one-2', userName: null, rank: 1, value: 2, rankInList: 1 }]);
      const ids = (count: number): string => Array.from({ length: count }, (_, i) => `u${i + 1}`).join();
      const most = await read<Rankings>(world, `/v1/leaderboards/page?limit=1000&userIds=${ids(200)}`);
      expect(most.rankings.map(({ rank, rankInList }) => [rank, rankInList])).to.deep.equal(
        Array.from({ length: 30 }, (_, i) => [i + 1, i + 1]),
      );
      bodyOf(await world.request('GET', `/v1/leaderboards/page?userIds=${ids(201)}`), 422);
    });

    it('has no rank among users without a list', async () => {
      const { rankings } = await read<Rankings>(world, '/v1/leaderboards/page?limit=1');
      expect(rankings).to.deep.equal([{ userId: 'u1', userName: null, rank: 1, value: 99 }]);
    });
  });

  it('names users as they are called now, null for those without a name', async () => {
    await track(world, 'names', { user: { id: 'ana', name: 'Ana' }, value: 3 });
    await track(world, 'names', { user: 'ben', value: 2 });
    await track(world, 'names', { user: { id: 'carl', name: '' }, value: 1 });
    const names = async (): Promise<(string | null)[]> =>
      (await read<Rankings>(world, '/v1/leaderboards/names')).rankings.map(({ userName }) => userName);
    expect(await names()).to.deep.equal(['Ana', null, null]);
    bodyOf(await world.request('PUT', '/v1/users/ben', { body: { name: 'Benedikt' } }), 200);
    expect(await names()).to.deep.equal(['Ana', 'Benedikt', null]);
  });

  it('shows the board itself, by metric and by points', async () => {
    const common = { status: 'active', breakdownAttribute: null, breakdownAttributes: [], startTime: null, endTime: null };
    const perpetual = { runUnit: null, runInterval: 0 };
    const { id: _, ...byMetric } = await read<Rankings & { id: string }>(world, '/v1/leaderboards/small');
    expect(byMetric).to.deep.include({
      key: 'small',
      name: 'Board small',
      description: 'small',
      rankBy: 'metric',
      metricKey: 'small',
      metricName: 'Metric small',
      ...common,
      ...perpetual,
      maxParticipants: 1,
      end: null,
      rankings: [],
    });
    expect(byMetric).to.include({ pointsSystemKey: null, pointsSystemName: null });
    const byPoints = await read<Rankings>(world, '/v1/leaderboards/by-points');
    expect(byPoints).to.deep.include({
      key: 'by-points',
      description: null,
      rankBy: 'points',
      pointsSystemKey: 'p',
      pointsSystemName: 'Points',
      ...common,
      ...perpetual,
      maxParticipants: 1000,
      start: '2039-01-01',
      end: '2041-12-31',
      rankings: [],
    });
    expect(byPoints).to.include({ metricKey: null, metricName: null });
    const byStreak = await read<Rankings>(world, '/v1/leaderboards/by-streak');
    expect(byStreak).to.include({ rankBy: 'streak', metricKey: null, metricName: null, pointsSystemKey: null, pointsSystemName: null });
    bodyOf(await world.request('PUT', '/v1/users/zoe', { body: {} }), 200);
    expect(await readPlace(world, 'zoe', 'by-points')).to.include({ metricKey: null, metricName: null, pointsSystemKey: 'p' });
  });

  describe('for one user', () => {
    const day = (
      month: string,
      date: string,
      time: string,
      [previousRank, previousValue]: readonly [number | null, number | null],
      [rank, value]: readonly [number, number],
    ): HistoryDay => ({
      date: `2040-${month}-${date}`,
      timestamp: `2040-${month}-${time}:00.000Z`,
      previousRank,
      rank,
      previousValue,
      value,
    });

    // The history is the same whether Postgres gets the events of a day at once or one by one.
    const ways = [
      ['', 'days', '01', async () => Promise.resolve()],
      [', stored one by one', 'days-drained', '03', () => world.drain()],
    ] as const;
    for (const [how, board, month, afterEach] of ways) {
      it(`gives rank, value, and a history by the user’s own days, the oldest first${how}`, async () => {
        const ana = { id: 'ana', tz: 'Pacific/Kiritimati' };
        const play: readonly (readonly [when: string, user: typeof ana | string, value: number])[] = [
          ['02T12:00', ana, 10],
          ['02T12:30', ana, 5],
          ['02T13:00', 'ben', 20],
          // It is 10:00 UTC when the next day begins on Kiritimati.
          ['03T09:59', ana, 1],
          ['03T10:00', ana, 1],
          ['03T11:00', ana, 10],
          ['07T11:00', ana, -20],
        ];
        for (const [when, user, value] of play) {
          await world.setClock(`2040-${month}-${when}:00.000Z`);
          await track(world, board, { user, value });
          await afterEach();
        }
        const place = await readPlace(world, 'ana', board);
        expect(place).to.include({ rank: 2, value: 7, key: board, name: `Board ${board}` });
        expect(place.history).to.deep.equal([
          day(month, '03', '03T09:59', [null, null], [2, 16]),
          day(month, '04', '03T11:00', [2, 16], [1, 27]),
          day(month, '08', '07T11:00', [1, 27], [2, 7]),
        ]);
        const days = async (query: string): Promise<string[]> =>
          (await readPlace(world, 'ana', board, query)).history.map(({ date }) => date);
        expect(await days('?numEvents=2')).to.deep.equal([`2040-${month}-04`, `2040-${month}-08`]);
        expect(await days('?numEvents=1')).to.deep.equal([`2040-${month}-08`]);
        expect(await days('?numEvents=0')).to.deep.equal([]);
      });
    }

    it('returns null for a user who is not on the board, and keeps the history of one who has left', async () => {
      await track(world, 'small', { user: 'first', value: 1 });
      await track(world, 'small', { user: 'second', value: 2 });
      await track(world, 'small', { user: 'third', value: 1 });
      expect(await readPlace(world, 'first', 'small')).to.deep.include({ rank: null, value: null });
      expect((await readPlace(world, 'first', 'small')).history.map(({ rank, value }) => [rank, value])).to.deep.equal([[1, 1]]);
      expect(await readPlace(world, 'third', 'small')).to.deep.include({ rank: null, value: null, history: [] });
      // A returning participant has no previous rank, whatever the value was in between.
      await world.setClock('2040-04-01T12:00:00.000Z');
      await track(world, 'small', { user: 'first', value: 5 });
      expect((await readPlace(world, 'first', 'small')).history.at(-1)).to.include({
        previousRank: null,
        previousValue: null,
        rank: 1,
        value: 6,
      });
    });

    it('includes what the user has just written', async () => {
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          for (let n = 1; n <= 5; n += 1) {
            const { leaderboards } = await track(world, 'writes', { user: `w${i}`, value: 1 });
            const { history } = await readPlace(world, `w${i}`, 'writes');
            expect(history.at(-1), `event ${n} of user ${i}`).to.include({ value: n, rank: leaderboards['writes']?.rank });
          }
        }),
      );
    });

    it('says which of user and board is unknown', async () => {
      const unknown: readonly (readonly [path: string, error: string])[] = [
        ['/v1/users/nobody/leaderboards/page', 'There is no user with the id "nobody": identify the user with PUT first.'],
        ['/v1/users/ana/leaderboards/nothing', 'There is no leaderboard with the key "nothing".'],
        ['/v1/leaderboards/nothing', 'There is no leaderboard with the key "nothing".'],
      ];
      for (const [path, error] of unknown) {
        expect(answer(await world.get(path))).to.deep.equal([404, { error }]);
      }
    });
  });
});
