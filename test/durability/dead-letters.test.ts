import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import { keyNames } from '../../src/redis/contract.js';
import { packMessage } from '../../src/redis/encoding.js';
import { differences } from '../support/differences.js';
import { until } from '../support/stage.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, tenant, type Reply, type World } from '../support/world.js';

const config = {
  attributes: [{ key: 'device', name: 'Device', type: 'event' }],
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], personalization: true },
  achievements: [{ key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'm', metricValue: 10, status: 'active' }],
  points: [
    {
      key: 'p',
      name: 'P',
      levels: [{ key: 'one', name: 'One', points: 5 }],
      triggers: [{ key: 'earn', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' }],
    },
  ],
  leaderboards: [
    { key: 'all', name: 'All', status: 'active', rankBy: 'metric', metricKey: 'm', maxParticipants: 2 },
    { key: 'day', name: 'Day', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01', runUnit: 'day', runInterval: 1 },
  ],
};

/** The value that Postgres is made to refuse. */
const poison = 666;
const refusePoison = `alter table events add constraint no_poison check (value <> ${poison})`;
const takePoison = 'alter table events drop constraint no_poison';

interface Letter {
  readonly id: string;
  readonly kind: string | null;
  readonly userId: string | null;
  readonly sqlstate: string | null;
  readonly reason: string;
}

describe('An entry that Postgres refuses', () => {
  let world: World;
  let worker: Worker | undefined;

  beforeEach(async () => {
    world = await startWorld({ config: JSON.stringify(config), roles: { api: true, worker: false } });
  });
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
    await world.stop();
  });

  const work = (): Worker => (worker = startWorker(world));
  const letters = async (): Promise<Letter[]> => (await world.get('/admin/v1/dead-letters?limit=100')).body as Letter[];
  const retry = (id: string): Promise<Reply> => world.request('POST', `/admin/v1/dead-letters/${id}/retry`);
  const append = (...fields: (string | Buffer)[]): Promise<unknown> => world.redis.xadd(world.partition + keyNames.ledger, '*', ...fields);

  async function event(user: string, value: number): Promise<void> {
    const body = { user: { id: user }, value, attributes: { device: 'phone' } };
    expect((await world.event('m', body, { 'idempotency-key': `${user} ${Math.random()}` })).status).to.equal(201);
  }

  async function count(table: string): Promise<number> {
    const { rows } = await world.pool.query<{ count: number }>(`select count(*)::int from ${table}`);
    return rows[0]?.count ?? -1;
  }

  /** Sends events of five users, of which those at some places are refused. */
  async function send(events: number, refused: readonly number[]): Promise<void> {
    for (let i = 0; i < events; i += 1) await event(`u${i % 5}`, refused.includes(i) ? poison : 1);
  }

  it('becomes a dead letter, alone, and all before and behind it are committed', async () => {
    await world.pool.query(refusePoison);
    await send(100, [0, 41, 42, 99]);
    const { said, writeBehind } = work();
    await world.drain();
    expect(await count('events')).to.equal(96);
    const found = await letters();
    expect(found.map(({ userId }) => userId)).to.deep.equal(['u0', 'u1', 'u2', 'u4']);
    for (const { kind, sqlstate, reason } of found) {
      expect({ kind, sqlstate }).to.deep.equal({ kind: 'event', sqlstate: '23514' });
      expect(reason).to.contain('no_poison');
    }
    expect(said.filter((line) => line.startsWith('Postgres refused a ledger entry'))).to.have.length(4);
    expect(said.filter((line) => line.startsWith('write-behind failed'))).to.deep.equal([]);
    expect(writeBehind.progress.of(tenant).deadLetters).to.equal(4);
    // The next event is committed again.
    await event('u0', 1);
    await world.drain();
    expect(await count('events')).to.equal(97);
  });

  it('is found in a ledger that is several batches behind', async () => {
    await world.pool.query(refusePoison);
    const refused = [0, 999, 1_000, 1_700, 3_999];
    for (let first = 0; first < 4_000; first += 1_000) {
      const body = Array.from({ length: 1_000 }, (_, i) => ({
        key: 'm',
        user: { id: `u${(first + i) % 50}` },
        value: refused.includes(first + i) ? poison : 1,
      }));
      expect((await world.request('POST', '/admin/v1/metrics/events', { body })).status).to.equal(202);
    }
    const { said } = work();
    await world.drain();
    expect(await count('events')).to.equal(3_995);
    expect((await letters()).map(({ userId }) => userId)).to.deep.equal(['u0', 'u49', 'u0', 'u0', 'u49']);
    expect(said.filter((line) => line.startsWith('write-behind failed'))).to.deep.equal([]);
    // Every total is that of the user's newest entry, but for the users of those that are dead letters.
    const { rows } = await world.pool.query(
      `select count(*)::int from user_metrics as stored
        where total <> (select total from events where events.user_id = stored.user_id order by at desc, total desc limit 1)`,
    );
    expect(rows).to.deep.equal([{ count: 0 }]);
  });

  it('is written when it is tried again after its reason is gone: then nothing is missing, and nothing newer is lost', async () => {
    await world.pool.query(refusePoison);
    work();
    await send(30, [3, 9, 14, 22]);
    await world.drain();
    await send(30, []);
    await world.drain();
    const found = await letters();
    expect(found).to.have.length(4);
    for (const { id } of found) {
      const refused = await retry(id);
      expect(refused.status).to.equal(422);
      expect((refused.body as { error: string }).error).to.match(/^The entry was refused again: .*no_poison/);
    }
    await world.pool.query(takePoison);
    for (const { id } of found) {
      expect((await retry(id)).status).to.equal(200);
      expect((await retry(id)).status).to.equal(404);
    }
    expect(await letters()).to.deep.equal([]);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
    const { rows } = await world.pool.query(
      `select total = (select sum(value) from events where user_id = 'u3')
          and change = total and events = (select count(*) from events where user_id = 'u3') as right
         from user_days where user_id = 'u3' and object in (select metric from events)`,
    );
    expect(rows).to.deep.equal([{ right: true }]);
  });

  it('can be discarded', async () => {
    await world.pool.query(refusePoison);
    work();
    await event('ana', poison);
    await world.drain();
    const [letter] = await letters();
    const discard = (): Promise<Reply> => world.request('DELETE', `/admin/v1/dead-letters/${letter!.id}`);
    expect((await discard()).status).to.equal(200);
    expect((await discard()).status).to.equal(404);
    expect(await letters()).to.deep.equal([]);
  });

  for (const [what, fields] of [
    ['is no MessagePack', ['e', Buffer.from([0xc1])]],
    ['is something else', ['e', packMessage('text')]],
    ['lacks what an event has', ['e', packMessage({ kind: 'event', user: 'ana', at: 1, rev: 1 })]],
    [
      'has no moment',
      ['e', packMessage({ kind: 'event', id: 'x', user: 'a\0', points: [], boards: [], triggers: [], sums: [], at: 'never' })],
    ],
  ] as const) {
    it(`is a dead letter too if it ${what}`, async () => {
      await event('ana', 1);
      await append(...fields);
      await event('ana', 1);
      work();
      await world.drain();
      expect(await count('events')).to.equal(2);
      const [letter] = await letters();
      expect(letter).to.include({ sqlstate: null });
      expect((await retry(letter!.id)).status).to.equal(422);
    });
  }

  it('is not searched for when Postgres fails for another reason: the batch is retried until that is fixed', async () => {
    await send(10, []);
    await world.pool.query('alter table events rename to elsewhere');
    const { writeBehind } = work();
    await until('three failures', () => Promise.resolve(writeBehind.progress.of(tenant).failures >= 3));
    await world.pool.query('alter table elsewhere rename to events');
    await world.drain();
    expect(await count('events')).to.equal(10);
    expect(await count('dead_letters')).to.equal(0);
  });

  it('is not set aside when many entries in a row are refused: the ledger waits until that is fixed', async () => {
    await world.pool.query('alter table events add constraint no_poison check (value > 1)');
    const refused = limits.maxDeadLettersInARow + 20;
    await world.request('POST', '/admin/v1/metrics/events', {
      body: Array.from({ length: refused }, () => ({ key: 'm', user: { id: 'ana' }, value: 1 })),
    });
    const { writeBehind } = work();
    await until('two failures', () => Promise.resolve(writeBehind.progress.of(tenant).failures >= 2));
    expect(await count('dead_letters')).to.equal(limits.maxDeadLettersInARow);
    await world.pool.query(takePoison);
    await world.drain();
    expect(await count('events')).to.equal(20);
    for (const { id } of await letters()) expect((await retry(id)).status).to.equal(200);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('is deleted with its user, also if only the id of the user can be read', async () => {
    await world.pool.query(refusePoison);
    work();
    await event('zoe-4711', 5);
    await event('bo', 6);
    await event('zoe-4711', poison);
    await event('bo', poison);
    await append('e', Buffer.concat([Buffer.from([0xc1]), Buffer.from('zoe-4711')]));
    await world.drain();
    expect(await count('dead_letters')).to.equal(3);
    expect((await world.request('DELETE', '/admin/v1/users/zoe-4711')).status).to.equal(200);
    const { rows } = await world.pool.query<{ user_id: string }>('select user_id from dead_letters');
    expect(rows).to.deep.equal([{ user_id: 'bo' }]);
  });
});
