import { expect } from 'chai';
import { answer, bodyOf, configText, read, readBoard, readPoints, track } from '../support/answers.js';
import { startHost, startTenant, type World } from '../support/world.js';

const config = (zone: string): string =>
  configText({
    settings: { defaultTimeZone: zone },
    metrics: [{ key: 'cards', name: 'Cards' }],
    points: [
      {
        key: 'xp',
        name: 'XP',
        triggers: [
          { key: 't', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 10, status: 'active' },
          { key: 'd', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' },
        ],
        boosts: [{ key: 'b', name: 'B', start: '2040-01-03', end: '2040-01-03', multiplier: 2 }],
      },
    ],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
    leaderboards: [
      {
        key: 'night',
        name: 'Night',
        rankBy: 'metric',
        metricKey: 'cards',
        start: '2040-01-01',
        status: 'active',
        startTime: '00:00',
        endTime: '06:00',
      },
    ],
  });

interface Streak {
  readonly length: number;
  readonly expires: string | null;
}

describe('The default time zone', () => {
  let host: World;
  let world: World;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());
  afterEach(() => world.stop());
  const start = async (zone: string, now: string): Promise<void> => {
    world = await startTenant(host, { config: config(zone), now });
  };
  const streak = (user: string): Promise<Streak> => read(world, `/v1/users/${user}/streak`);
  const move = async (zone: string): Promise<void> => {
    bodyOf(await world.request('PATCH', '/admin/v1/settings', { body: { defaultTimeZone: zone } }), 200);
  };

  it('applies to users without one: their days, boosts, windows and time triggers follow it', async () => {
    // 01:00 on the 3rd in Tokyo.
    await start('Asia/Tokyo', '2040-01-02T16:00:00Z');
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.added).to.equal(20);
    expect((await track(world, 'cards', { user: { id: 'ben', tz: 'UTC' }, value: 1 })).points['xp']?.added).to.equal(10);
    expect((await track(world, 'cards', { user: { id: 'cyd', tz: null }, value: 1 })).points['xp']?.added).to.equal(20);
    expect(await readBoard(world, 'night')).to.deep.equal(['1 ana 1', '2 cyd 1']);
    expect((await streak('ana')).expires).to.equal('2040-01-04');
    expect((await streak('ben')).expires).to.equal('2040-01-03');
    // Midnight in Tokyo, of the 4th.
    await world.setClock('2040-01-03T14:59:59Z');
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(20);
    await world.setClock('2040-01-03T15:00:00Z');
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(21);
    expect(await read(world, '/v1/users/ana')).to.include({ tz: null });
  });

  it('is one that a user leaves and comes back to like any other zone', async () => {
    await start('Asia/Tokyo', '2040-01-02T12:00:00Z');
    await track(world, 'cards', { user: 'ana', value: 1 });
    // East: it is the 3rd there, and the streak of the 2nd is kept.
    expect((await track(world, 'cards', { user: { id: 'ana', tz: 'Pacific/Kiritimati' }, value: 1 })).currentStreak.length).to.equal(2);
    expect((await track(world, 'cards', { user: { id: 'ana', tz: null }, value: 1 })).currentStreak.length).to.equal(2);
    await world.setClock('2040-01-03T16:00:00Z');
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).currentStreak.length).to.equal(3);
  });

  // At 12:00 UTC it is the 2nd in Honolulu, in UTC and in Tokyo, and the 3rd in Kiritimati.
  it('is no move for a user whose own zone it was', async () => {
    await start('Asia/Tokyo', '2040-01-02T16:00:00Z');
    await track(world, 'cards', { user: { id: 'ana', tz: 'Pacific/Honolulu' }, value: 1 });
    for (const tz of ['Asia/Tokyo', null]) bodyOf(await world.request('PATCH', '/v1/users/ana', { body: { tz } }), 200);
    // The 3rd has not ended in Honolulu.
    await world.setClock('2040-01-04T09:59:59Z');
    expect((await streak('ana')).length).to.equal(1);
    await world.setClock('2040-01-04T10:00:00Z');
    expect((await streak('ana')).length).to.equal(0);
  });

  const moves: readonly (readonly [from: string, to: string])[] = [
    ['UTC', 'Pacific/Kiritimati'],
    ['UTC', 'Pacific/Honolulu'],
    ['Asia/Tokyo', 'UTC'],
    ['Pacific/Kiritimati', 'Pacific/Honolulu'],
    ['Pacific/Honolulu', 'Pacific/Kiritimati'],
  ];
  for (const [from, to] of moves) {
    it(`neither ends nor extends a streak when it changes from ${from} to ${to}`, async () => {
      await start(from, '2040-01-01T12:00:00Z');
      for (const user of ['ana', 'ben']) await track(world, 'cards', { user, value: 1 });
      await world.setClock('2040-01-02T12:00:00Z');
      await track(world, 'cards', { user: 'ben', value: 1 });
      await world.setClock('2040-01-02T23:30:00Z');
      const kept = await Promise.all(['ana', 'ben'].map(async (user) => (await streak(user)).length));
      await move(to);
      expect(await Promise.all(['ana', 'ben'].map(async (user) => (await streak(user)).length))).to.deep.equal(kept);
      const before = kept[1] ?? 0;
      const extended = (await track(world, 'cards', { user: 'ben', value: 1 })).currentStreak.length;
      expect(extended).to.be.within(before, before + 1);
      expect((await track(world, 'cards', { user: 'ben', value: 1 })).currentStreak.length).to.equal(extended);
      // Without further events it is lost in the new zone as well.
      await world.setClock('2040-01-06T12:00:00Z');
      expect((await streak('ben')).length).to.equal(0);
    });
  }

  it('leaves users with a zone of their own alone when it changes', async () => {
    await start('UTC', '2040-01-02T12:00:00Z');
    await track(world, 'cards', { user: { id: 'ana', tz: 'Europe/Lisbon' }, value: 1 });
    const before = [answer(await world.get('/v1/users/ana')), await streak('ana')];
    await move('Pacific/Kiritimati');
    expect([answer(await world.get('/v1/users/ana')), await streak('ana')]).to.deep.equal(before);
  });
});
