import { expect } from 'chai';
import { configText, read, readPlace, track, userPath, type HistoryDay } from '../support/answers.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'other', name: 'Other' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  leaderboards: [{ key: 'all', name: 'All', status: 'active', rankBy: 'metric', metricKey: 'm' }],
};

interface Streak {
  readonly length: number;
  readonly streakHistory: readonly { readonly length: number }[];
}

describe('The history of a user', () => {
  let world: World;
  let worker: Worker | undefined;

  beforeEach(async () => {
    world = await startWorld({ config: configText(config), roles: { api: true, worker: false } });
  });
  afterEach(async () => {
    await stopWorker();
    await world.stop();
  });

  /** A worker commits everything, and stops. */
  async function commitAll(): Promise<void> {
    worker = startWorker(world);
    await world.drain();
    await stopWorker();
  }
  async function stopWorker(): Promise<void> {
    await worker?.stop();
    worker = undefined;
  }
  const event = (user: string, value: number, metric = 'm'): Promise<unknown> => track(world, metric, { user, value });
  const days = async (user: string): Promise<[HistoryDay['rank'], HistoryDay['value']][]> =>
    (await readPlace(world, user, 'all')).history.map(({ rank, value }) => [rank, value]);
  const streak = (user: string): Promise<Streak> => read(world, userPath(user, '/streak?historyPeriods=2'));

  it('does not wait for the entries of others', async () => {
    await event('ana', 5);
    await commitAll();
    await event('bo', 1);
    expect(await days('ana')).to.deep.equal([[1, 5]]);
    expect((await streak('ana')).streakHistory.map(({ length }) => length)).to.deep.equal([0, 1]);
  });

  it('is read from Postgres once for each change of the user', async () => {
    await event('ana', 5);
    await commitAll();
    expect(await days('ana')).to.deep.equal([[1, 5]]);
    expect((await streak('ana')).streakHistory.at(-1)?.length).to.equal(1);
    await world.pool.query('update leaderboard_history set rank = 9');
    await world.pool.query('update streak_periods set length = 9');
    expect(await days('ana')).to.deep.equal([[1, 5]]);
    expect((await streak('ana')).streakHistory.at(-1)?.length).to.equal(1);
    await event('ana', 1, 'other');
    await commitAll();
    expect(await days('ana')).to.deep.equal([[9, 5]]);
    expect((await streak('ana')).streakHistory.at(-1)?.length).to.equal(9);
  });

  it('is that of the user who has the id now, even if both were created in the same millisecond', async () => {
    await event('ana', 5);
    await event('bo', 3);
    worker = startWorker(world);
    expect(await days('ana')).to.deep.equal([[1, 5]]);
    expect((await streak('ana')).streakHistory.at(-1)?.length).to.equal(1);
    expect((await world.request('DELETE', `/admin/v1/users/ana`)).status).to.be.within(200, 204);
    await event('ana', 2, 'other');
    expect(await days('ana')).to.deep.equal([]);
    expect((await streak('ana')).streakHistory.at(-1)?.length).to.equal(0);
  });

  it('has an entry that Postgres took only when it was retried', async () => {
    await world.pool.query('alter table leaderboard_history add constraint no_poison check (value <> 5)');
    await event('ana', 5);
    await world.setClock('2040-01-03T12:00:00Z');
    await event('ana', 1);
    await commitAll();
    expect(await days('ana')).to.deep.equal([[1, 6]]);
    await world.pool.query('alter table leaderboard_history drop constraint no_poison');
    const [letter] = (await world.get('/admin/v1/dead-letters?limit=10')).body as { id: string }[];
    expect((await world.request('POST', `/admin/v1/dead-letters/${letter?.id}/retry`)).status).to.equal(200);
    expect(await days('ana')).to.deep.equal([
      [1, 5],
      [1, 6],
    ]);
  });
});
