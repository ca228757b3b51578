import { expect } from 'chai';
import { configText, read, readBoard, readPlace, track, until } from '../support/answers.js';
import { tenantForEachTest } from '../support/suites.js';
import { type World } from '../support/world.js';

interface Board {
  readonly key: string;
  readonly status?: 'active' | 'inactive';
  readonly by?: 'metric' | 'points';
  readonly maxParticipants?: number;
  readonly start?: string;
  readonly end?: string;
}

const base = {
  metrics: [{ key: 'm', name: 'M' }],
  points: [
    {
      key: 'p',
      name: 'P',
      triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 10, points: 1, status: 'active' }],
    },
  ],
};

const withBoards = (...boards: readonly Board[]): string =>
  configText({
    ...base,
    leaderboards: boards.map(({ key, status = 'active', by = 'metric', ...rest }) => ({
      key,
      name: key,
      status,
      rankBy: by,
      ...rest,
      ...(by === 'metric' ? { metricKey: 'm' } : { pointsSystemKey: 'p' }),
    })),
  });

describe('A leaderboard that becomes active', () => {
  let world: World;
  let minute = 0;
  tenantForEachTest({ config: configText(base) }, (tenant) => {
    world = tenant;
    minute = 0;
  });
  /** Users who add a value one after the other, a minute apart. */
  async function play(...steps: readonly (readonly [user: string, value: number])[]): Promise<void> {
    for (const [user, value] of steps) {
      minute += 1;
      await world.setClock(new Date(Date.UTC(2040, 0, 2, 12, minute)).toISOString());
      await track(world, 'm', { user, value });
    }
  }
  /** Applies boards, and returns when the users who already have a value are on those that are active. */
  async function activate(...boards: readonly Board[]): Promise<void> {
    await world.configure(withBoards(...boards));
    const active = boards.filter(({ status }) => status !== 'inactive').length;
    await until('the boards are filled', async () => {
      const { rowCount } = await world.pool.query('select from activations where tenant = $1 and completed is not null', [world.tenant]);
      return rowCount === active;
    });
  }

  it('has the users who already have a value, by metric and by points', async () => {
    await play(['ana', 10], ['ben', 31], ['carl', 5], ['dora', -3]);
    await activate({ key: 'totals' }, { key: 'points', by: 'points' });
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ben 31', '2 ana 10', '3 carl 5', '4 dora -3']);
    expect(await readBoard(world, 'points')).to.deep.equal(['1 ben 3', '2 ana 1']);
    expect(await readPlace(world, 'ana', 'totals')).to.include({ rank: 2, value: 10 });
  });

  it('ranks ties in the order in which the values were reached', async () => {
    await play(['zoe', 20], ['abe', 10], ['mia', 20], ['abe', 10], ['leo', 19], ['leo', 1]);
    await activate({ key: 'totals' }, { key: 'points', by: 'points' });
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 zoe 20', '2 mia 20', '3 abe 20', '4 leo 20']);
    expect(await readBoard(world, 'points')).to.deep.equal(['1 zoe 2', '2 mia 2', '3 abe 2', '4 leo 2']);
    // A user who reaches the value now ranks behind them; participants continue from their values.
    await play(['new', 20], ['mia', 1]);
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 mia 21', '2 zoe 20', '3 abe 20', '4 leo 20', '5 new 20']);
  });

  it('takes the highest, as many as fit', async () => {
    await play(['ana', 10], ['ben', 30], ['carl', 20], ['dora', 20], ['emil', 20]);
    await activate({ key: 'totals', maxParticipants: 3 });
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ben 30', '2 carl 20', '3 dora 20']);
    const { leaderboards } = await track(world, 'm', { user: 'ana', value: 11 });
    expect(leaderboards['totals']).to.include({ rank: 2, previousRank: null, threshold: 20 });
  });

  it('ranks users by their current values, changed during the activation', async () => {
    await play(['ana', 10], ['ben', 20]);
    await world.configure(withBoards({ key: 'totals' }));
    await track(world, 'm', { user: 'ana', value: 100 });
    await activate({ key: 'totals' });
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ana 110', '2 ben 20']);
  });

  it('enters no user while it is inactive, and all users once it is active', async () => {
    await play(['ana', 10]);
    await activate({ key: 'totals', status: 'inactive' }, { key: 'other' });
    await play(['ben', 20]);
    expect((await world.get('/v1/leaderboards/totals')).status).to.equal(404);
    await activate({ key: 'totals' }, { key: 'other' });
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ben 20', '2 ana 10']);
  });

  it('keeps its users when something else is configured', async () => {
    await play(['ana', 10], ['ben', 20]);
    await activate({ key: 'totals' });
    await activate({ key: 'totals' }, { key: 'second', maxParticipants: 1 });
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ben 20', '2 ana 10']);
    expect(await readBoard(world, 'second')).to.deep.equal(['1 ben 20']);
  });

  it('has the same rankings in Postgres as in Redis', async () => {
    await play(['ana', 10], ['ben', 20], ['carl', 20]);
    await activate({ key: 'totals', maxParticipants: 2 });
    await world.drain();
    const { rows } = await world.pool.query('select user_id, value from leaderboard_entries where tenant = $1 order by value desc, seq', [
      world.tenant,
    ]);
    expect(rows).to.deep.equal([
      { user_id: 'ben', value: 20 },
      { user_id: 'carl', value: 20 },
      { user_id: 'ana', value: 10 },
    ]);
  });

  describe('in the history of its users', () => {
    const history = async (user: string, board: string): Promise<unknown[]> =>
      (await readPlace(world, user, board)).history.map(({ date, previousRank, rank, previousValue, value }) => [
        date,
        [previousRank, rank],
        [previousValue, value],
      ]);

    it('has the rank after the filling and none before it, and nothing of users outside', async () => {
      await play(['low', 5], ['out', 3], ['high', 20], ['mid', 10]);
      await activate({ key: 'totals' }, { key: 'three', maxParticipants: 3 });
      for (const [user, rank, value] of [
        ['high', 1, 20],
        ['mid', 2, 10],
        ['low', 3, 5],
      ] as const) {
        const day = [['2040-01-02', [null, rank], [null, value]]];
        expect(await history(user, 'totals'), user).to.deep.equal(day);
        expect(await history(user, 'three'), user).to.deep.equal(day);
      }
      expect(await history('out', 'totals')).to.deep.equal([['2040-01-02', [null, 4], [null, 3]]]);
      expect(await history('out', 'three')).to.deep.equal([]);
    });

    it('has the same for a scheduled one that goes live', async () => {
      await play(['low', 5], ['out', 3], ['high', 20]);
      await world.configure(withBoards({ key: 'totals', maxParticipants: 2, start: '2040-01-05' }));
      await world.setClock('2040-01-05T06:00:00.000Z');
      expect(await history('low', 'totals')).to.deep.equal([['2040-01-05', [null, 2], [null, 5]]]);
      expect(await history('high', 'totals')).to.deep.equal([['2040-01-05', [null, 1], [null, 20]]]);
      expect(await history('out', 'totals')).to.deep.equal([]);
      const { activity } = await read<{ activity: { entireYear: { leaderboards: Record<string, { rank: number; value: number }> } } }>(
        world,
        '/v1/users/low/wrapped?year=2040',
      );
      expect(activity.entireYear.leaderboards['totals']).to.include({ rank: 2, value: 5 });
    });

    it('is written once, whenever the filling was cut off', async () => {
      await play(['low', 5], ['high', 20]);
      await activate({ key: 'totals' });
      await world.pool.query('update activations set completed = null where tenant = $1', [world.tenant]);
      await play(['high', 1]);
      await activate({ key: 'totals' }, { key: 'other' });
      expect(await history('low', 'totals')).to.deep.equal([['2040-01-02', [null, 2], [null, 5]]]);
      expect(await history('high', 'totals')).to.deep.equal([['2040-01-02', [null, 1], [null, 21]]]);
    });
  });
});

describe('A limit that is changed', () => {
  let world: World;
  tenantForEachTest({ config: withBoards({ key: 'totals', maxParticipants: 5 }) }, (tenant) => (world = tenant));
  beforeEach(async () => {
    for (const [i, user] of ['ana', 'ben', 'carl', 'dora', 'emil'].entries()) await track(world, 'm', { user, value: 10 * (5 - i) });
  });

  const limit = (maxParticipants: number): Promise<unknown> => world.configure(withBoards({ key: 'totals', maxParticipants }));
  const entries = async (): Promise<unknown[]> => {
    await world.drain();
    const { rows } = await world.pool.query<{ user_id: string }>(
      'select user_id from leaderboard_entries where tenant = $1 order by value desc',
      [world.tenant],
    );
    return rows.map(({ user_id: user }) => user);
  };

  it('to less leaves the last places outside at once', async () => {
    await limit(3);
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ana 50', '2 ben 40', '3 carl 30']);
    expect(await readPlace(world, 'dora', 'totals')).to.include({ rank: null, value: null });
    expect(await entries()).to.deep.equal(['ana', 'ben', 'carl', 'dora', 'emil']);
  });

  it('to less asks those outside for more than the lowest', async () => {
    await limit(3);
    expect((await track(world, 'm', { user: 'dora', value: 10 })).leaderboards).to.deep.equal({});
    const { leaderboards } = await track(world, 'm', { user: 'dora', value: 1 });
    expect(leaderboards['totals']).to.include({ rank: 3, previousRank: null, threshold: 31 });
    expect(await entries()).to.deep.equal(['ana', 'ben', 'dora', 'carl', 'emil']);
  });

  it('to more has the best of those who were outside at once', async () => {
    await limit(3);
    await track(world, 'm', { user: 'dora', value: 11 });
    await limit(4);
    expect(await readBoard(world, 'totals')).to.deep.equal(['1 ana 50', '2 ben 40', '3 dora 31', '4 carl 30']);
    expect(await readPlace(world, 'carl', 'totals')).to.include({ rank: 4, value: 30 });
    expect((await track(world, 'm', { user: 'emil', value: 1 })).leaderboards).to.deep.equal({});
    await limit(5);
    const { leaderboards } = await track(world, 'm', { user: 'emil', value: 1 });
    expect(leaderboards['totals']).to.include({ rank: 5, previousRank: 5, threshold: 12 });
  });
});
