import { expect } from 'chai';
import { bodyOf, configText, type EventBody, readBoard, readPoints, readProfile, track } from './support/answers.js';
import { startWorld, type World } from './support/world.js';

const config = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: 'pages', name: 'Pages' },
  ],
  points: [
    {
      ...{ key: 'xp', name: 'XP' },
      triggers: [{ key: 't', type: 'metric', metricKey: 'cards', metricThreshold: 5, points: 10, status: 'active' }],
    },
  ],
  leaderboards: [{ key: 'most', name: 'Most', status: 'active', rankBy: 'metric', metricKey: 'cards' }],
};

describe('An Idempotency-Key', () => {
  let world: World;
  let users = 0;
  const fresh = (): string => `user ${(users += 1)}`;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  it('is answered with 201 and the key the first time, with 202 and the first event the next time', async () => {
    const user = fresh();
    const first = await track(world, 'cards', { user, value: 5, key: 'a' });
    expect(first).to.include({ total: 5, idempotencyKey: 'a', idempotentReplayed: false });
    expect(first.points['xp']?.added).to.equal(10);
    const second = await track(world, 'cards', { user, value: 5, key: 'a' }, 202);
    const { eventId, metricId, currentStreak } = first;
    expect(second).to.deep.equal({
      ...{ eventId, metricId, currentStreak, total: 5, achievements: [], points: {}, leaderboards: {} },
      ...{ idempotencyKey: 'a', idempotentReplayed: true },
    });
  });

  it('counts one event, however often it is sent, in Redis and in Postgres', async () => {
    const user = fresh();
    await track(world, 'cards', { user, value: 5, key: 'a' });
    await world.drain();
    const before = await world.snapshot();
    for (let i = 0; i < 5; i += 1) await track(world, 'cards', { user, value: 5, key: 'a' }, 202);
    expect(await world.snapshot()).to.equal(before);
    const { rows } = await world.pool.query<EventBody>('select value, total, idempotency_key from events where user_id = $1', [user]);
    expect(rows).to.deep.equal([{ value: 5, total: 5, idempotency_key: 'a' }]);
  });

  it('counts one event when it is sent many times at once', async () => {
    const user = fresh();
    const send = (): ReturnType<World['event']> => world.event('cards', { user: { id: user }, value: 5 }, { 'idempotency-key': 'a' });
    const replies = await Promise.all(Array.from({ length: 20 }, send));
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([201, ...Array.from({ length: 19 }, () => 202)]);
    expect(new Set(replies.map((reply) => (reply.body as EventBody).eventId)).size).to.equal(1);
    expect((await readPoints(world, user, 'xp')).total).to.equal(10);
  });

  it('is another one on another metric', async () => {
    const user = fresh();
    const first = await track(world, 'cards', { user, value: 1, key: 'a' });
    const second = await track(world, 'pages', { user, value: 2, key: 'a' });
    expect([second.total, second.eventId === first.eventId]).to.deep.equal([2, false]);
    expect((await track(world, 'pages', { user, value: 2, key: 'a' }, 202)).eventId).to.equal(second.eventId);
  });

  it('is another one for another user', async () => {
    const [ana, ben] = [fresh(), fresh()];
    await track(world, 'cards', { user: ana, value: 1, key: 'a' });
    expect((await track(world, 'cards', { user: ben, value: 2, key: 'a' })).total).to.equal(2);
    expect((await track(world, 'cards', { user: ben, value: 2, key: 'a' }, 202)).total).to.equal(2);
  });

  it('is the same one with any body: the replay counts nothing of it', async () => {
    const user = fresh();
    const first = await track(world, 'cards', { user, value: 5, key: 'a' });
    const bodies = [
      { user: { id: user }, value: 1_000 },
      { user: { id: user }, value: -3 },
      { user: { id: user, name: 'Changed', tz: 'Asia/Tokyo', attributes: { city: 'Tokyo' } }, value: 5 },
      // Alone it would be refused.
      { user: { id: user, subscribeToEmails: true }, value: 1e15 },
    ];
    for (const body of bodies) {
      const replay = bodyOf<EventBody>(await world.event('cards', body, { 'idempotency-key': 'a' }), 202);
      expect(replay).to.include({ eventId: first.eventId, total: 5 });
    }
    expect(await readProfile(world, user)).to.deep.include({ name: null, tz: null, attributes: {} });
    expect((await readBoard(world, 'most', `?userId=${encodeURIComponent(user)}&limit=1`))[0]).to.match(/ 5$/);
  });

  it('does not make a bad request a good one', async () => {
    const user = fresh();
    await track(world, 'cards', { user, value: 5, key: 'a' });
    for (const body of [{ user: { id: user } }, { user: { id: user, attributes: { town: 'x' } }, value: 5 }]) {
      expect((await world.event('cards', body, { 'idempotency-key': 'a' })).status).to.equal(422);
    }
  });

  it('gives the current total, not the one of the first event', async () => {
    const user = fresh();
    const first = await track(world, 'cards', { user, value: 5, key: 'a' });
    await track(world, 'cards', { user, value: 7, key: 'b' });
    await track(world, 'cards', { user, value: 0.5 });
    expect(await track(world, 'cards', { user, value: 5, key: 'a' }, 202)).to.include({ eventId: first.eventId, total: 12.5 });
  });

  it('holds for ever, and for every event of the user', async () => {
    const user = fresh();
    const ids: string[] = [];
    for (let i = 0; i < 200; i += 1) ids.push((await track(world, 'cards', { user, value: 1, key: `lesson ${i}` })).eventId);
    await world.setClock('2050-01-01T00:00:00.000Z');
    for (const i of [0, 99, 199]) {
      expect(await track(world, 'cards', { user, value: 1, key: `lesson ${i}` }, 202)).to.include({ eventId: ids[i], total: 200 });
    }
  });

  it('is free again after an event that was refused', async () => {
    const user = fresh();
    const refused = await world.event('cards', { user: { id: user, subscribeToEmails: true }, value: 1 }, { 'idempotency-key': 'a' });
    expect(refused.status).to.equal(422);
    expect(await track(world, 'cards', { user, value: 1, key: 'a' })).to.include({ total: 1, idempotentReplayed: false });
  });

  it('is not there when it was not sent: neither of its fields is', async () => {
    const user = fresh();
    for (const total of [1, 2]) {
      const body = await track(world, 'cards', { user, value: 1 });
      expect(body.total).to.equal(total);
      expect(body).not.to.have.any.keys('idempotencyKey', 'idempotentReplayed');
    }
  });
});
