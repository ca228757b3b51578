import { expect } from 'chai';
import { keyNames } from '../../src/redis/contract.js';
import { limits } from '../../src/shared/limits.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, type Reply, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const most = 20;
const config = {
  metrics: [{ key: 'm', name: 'M' }],
  achievements: [{ key: 'called', name: 'Called', trigger: 'api', status: 'active' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], personalization: true },
};

/** Everything that changes something, of a user whom it would change. */
const writes: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ['POST', '/v1/metrics/m/event', { user: { id: 'ana' }, value: 1 }],
  ['POST', '/v1/metrics/m/event', { user: { id: 'nobody' }, value: 1 }],
  ['POST', '/v1/users', { id: 'nobody' }],
  ['PUT', '/v1/users/ana', { name: 'Anna' }],
  ['PATCH', '/v1/users/ana', { name: 'Anna' }],
  ['POST', '/v1/achievements/called/complete', { user: { id: 'ana' } }],
  ['PATCH', '/v1/users/ana/preferences', { notifications: { recap: [] } }],
  ['POST', '/admin/v1/metrics/events', [{ key: 'm', user: { id: 'ana' }, value: 1 }]],
  ['POST', '/admin/v1/streaks/freezes', { freezes: [{ userId: 'ana' }] }],
];

/** Those that Redis answers: the others wait for Postgres, as always. */
const reads: readonly string[] = ['/v1/users/ana', '/v1/users/ana/metrics', '/v1/streaks?userIds=ana', '/v1/achievements'];

function expectFull({ status, headers, body }: Reply, what: string): void {
  expect(status, `${what}: ${JSON.stringify(body)}`).to.equal(503);
  expect(headers.get('retry-after'), what).to.equal(String(limits.ledgerFullRetryS));
  expect(body).to.deep.equal({
    error: 'Writes are temporarily unavailable: Postgres is unavailable or slow, and the ledger is at its limit. Retry in 5 s.',
  });
}

describe('A full ledger', () => {
  let world: World;
  let worker: Worker | undefined;
  const length = (): Promise<number> => world.redis.xlen(world.partition + keyNames.ledger);
  const event = (id: string, key?: string): Promise<Reply> =>
    world.event('m', { user: { id }, value: 1 }, key === undefined ? {} : { 'idempotency-key': key });

  const start = async (): Promise<void> => {
    world = await startWorld({ config: JSON.stringify(config), roles: { api: true, worker: false }, settings: { maxLedgerEntries: most } });
    expect((await event('ana', 'first')).status).to.equal(201);
    while ((await length()) < most) expect((await event('ana')).status).to.equal(201);
  };
  const stop = async (): Promise<void> => {
    await worker?.stop();
    worker = undefined;
    await world.stop();
  };

  const work = (): void => {
    worker = startWorker(world);
  };

  describe('while nothing drains it', () => {
    before(start);
    after(stop);

    for (const [method, path, body] of writes) {
      it(`refuses ${method} ${path} with a 503 and leaves no trace of it`, async () => {
        const before = await world.snapshot();
        expectFull(await world.request(method, path, { body }), path);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
    }

    it('is named by the readiness', async () => {
      const reply = await world.get('/health/ready');
      expect(reply.status).to.equal(503);
      expect(JSON.stringify(reply.body)).to.include('the ledger is at its limit');
    });

    it('serves reads, and replays of counted events', async () => {
      for (const path of reads) expect((await world.get(path)).status, path).to.equal(200);
      const replay = await event('ana', 'first');
      expect(replay.status).to.equal(202);
      expect(replay.body).to.include({ idempotentReplayed: true, total: most });
      expect(await length()).to.equal(most);
    });
  });

  describe('once Postgres is back', () => {
    beforeEach(start);
    afterEach(stop);

    it('accepts everything again when Postgres has caught up, and loses and doubles nothing', async () => {
      expectFull(await event('ana', 'late'), 'event');
      work();
      await world.drain();
      expect((await event('ana', 'late')).body).to.include({ idempotentReplayed: false, total: most + 1 });
      await world.drain();
      const { rows } = await world.pool.query('select count(*)::int, sum(value)::int, max(total)::int from events');
      expect(rows).to.deep.equal([{ count: most + 1, sum: most + 1, max: most + 1 }]);
    });

    it('is not made longer by time triggers, which run when there is room: reads of those users wait for that', async () => {
      work();
      await world.drain();
      await worker?.stop();
      worker = undefined;
      await event('bo');
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-05T12:00:00Z'));
      while ((await length()) < most) expect((await event(`u${await length()}`)).status).to.equal(201);
      expect((await world.get('/v1/users/u1')).status).to.equal(200);
      expectFull(await world.get('/v1/users/bo/streak'), 'a read of a user whose streak is over');
      expectFull(await world.request('PUT', '/admin/v1/clock', { body: { now: '2040-01-06T12:00:00Z' } }), 'the sweep');
      expect(await length()).to.equal(most);
      work();
      await world.drain();
      const streak = await world.get('/v1/users/bo/streak');
      expect(streak.status).to.equal(200);
      expect(streak.body).to.include({ length: 0 });
    });
  });
});

describe('A batch that reaches the limit of the ledger', () => {
  let world: World;
  let worker: Worker | undefined;
  before(async () => {
    world = await startWorld({ config: JSON.stringify(config), roles: { api: true, worker: false }, settings: { maxLedgerEntries: 40 } });
  });
  after(async () => {
    await worker?.stop();
    await world.stop();
  });

  it('counts what is before it, and the rest when it is sent again with the same keys', async () => {
    const body = Array.from({ length: 100 }, (_, i) => ({ key: 'm', user: { id: 'ana' }, value: 1, idempotencyKey: `k${i}` }));
    const send = (): Promise<Reply> => world.request('POST', '/admin/v1/metrics/events', { body });
    expectFull(await send(), 'batch');
    expect(await world.redis.xlen(world.partition + keyNames.ledger)).to.equal(40);
    worker = startWorker(world);
    for (let status = 503; status !== 202;) {
      await world.drain();
      ({ status } = await send());
    }
    await world.drain();
    const { rows } = await world.pool.query('select count(*)::int, max(total)::int from events');
    expect(rows).to.deep.equal([{ count: 100, max: 100 }]);
  });
});
