import { expect } from 'chai';
import { Redis } from 'ioredis';
import { engineAlone } from '../../benchmarks/sides/engine-alone.js';
import { statsOf } from '../../benchmarks/measure/command-stats.js';
import type { Engine } from '../../src/engine/engine.js';
import { trackEvent, type EventRequest } from '../../src/engine/events.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { inside, Monitor, wordsOf } from '../support/monitor.js';
import { OwnRedis } from '../support/own-redis.js';

/** `unused` is a metric on which nothing hangs, in a configuration in which everything hangs on `cards`. */
const config = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: 'unused', name: 'Unused' },
  ],
  points: [
    {
      key: 'xp',
      name: 'Experience',
      levels: [{ key: 'one', name: 'One', points: 10 }],
      triggers: [
        { key: 'cards', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 7, status: 'active' },
        { key: 'days', type: 'streak', streakLength: 7, points: 50, status: 'active' },
      ],
      boosts: [{ key: 'always', name: 'Always', start: '2020-01-01', multiplier: 1.1, rounding: 'up' }],
    },
  ],
  achievements: [{ key: 'ten', name: 'Ten', status: 'active', trigger: 'metric', metricKey: 'cards', metricValue: 10 }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
  leaderboards: [
    { key: 'cards', name: 'Cards', status: 'active', start: '2020-01-01', rankBy: 'metric', metricKey: 'cards' },
    { key: 'xp', name: 'Experience', status: 'active', start: '2020-01-01', rankBy: 'points', pointsSystemKey: 'xp' },
    { key: 'days', name: 'Days', status: 'active', start: '2020-01-01', rankBy: 'streak' },
    {
      key: 'week',
      name: 'Week',
      status: 'active',
      start: '2024-01-01',
      rankBy: 'metric',
      metricKey: 'cards',
      runUnit: 'day',
      runInterval: 7,
      breakdownAttributes: ['city'],
      maxParticipants: 50,
    },
  ],
};

const noonMs = Date.parse('2040-01-02T12:00:00Z');
const dayMs = 86_400_000;
/** Every command that an event made below, which takes the same time however many users there are, or grows with their logarithm. */
const cheap = ['get', 'hget', 'hincrby', 'hmget', 'hset', 'lpush', 'xadd', 'zadd', 'zrem', 'zrevrank', 'zrevrange', 'zscore'];

describe('The commands of a function call', () => {
  let server: OwnRedis;
  let redis: Redis;
  let engine: Engine;
  /** Each test works in a tenant of its own. */
  let tenant = 0;

  before(async () => {
    server = await OwnRedis.start();
    redis = new Redis(server.url, { enableAutoPipelining: true });
    engine = engineAlone(redis, config, { testClock: true });
    await engine.loadLibrary();
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    tenant += 1;
    await setNow(noonMs);
  });

  const setNow = (ms: number): Promise<unknown> => engine.call(tenant, 'clock', () => ({ args: { to: ms } }));
  const event = (metricKey: string, id: string, more: Partial<EventRequest> = {}): Promise<unknown> =>
    trackEvent(engine, tenant, { metricKey, value: 1, user: { id }, attributes: undefined, idempotencyKey: undefined, ...more });
  const inLisbon = (count: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        event('cards', `user-${i}`, { value: 10 + i, user: { id: `user-${i}`, attributes: { city: 'Lisbon' } } }),
      ),
    );
  /**
   * How often each command ran inside the one call that `work` makes. Two are in every call: `get` of the test clock, and the `hget` that looks
   * whether the server is the one that was compared with Postgres.
   */
  async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
    const stats = await statsOf(redis, work);
    expect(stats.get('fcall')?.calls).to.equal(1);
    return Object.fromEntries([...stats].filter(([name]) => name !== 'fcall').map(([name, { calls }]) => [name, calls] as const));
  }
  const sweep = (): Promise<unknown> =>
    engine.call(tenant, 'sweep', () => ({ args: { upTo: '' }, pairs: ['00000000-0000-4000-8000-000000000001'] }));

  for (const [whose, prepare] of [
    ['a user of whom nothing else is known', () => event('unused', 'user-0')],
    ['a user with points, a running streak, achievements and places', () => inLisbon(1)],
  ] as const) {
    it(`an event on a metric on which nothing hangs is one HMGET, one HSET and one XADD, for ${whose}`, async () => {
      await prepare();
      expect(await commandsOf(() => event('unused', 'user-0'))).to.deep.equal({ get: 1, hget: 1, hmget: 1, hset: 1, xadd: 1 });
    });
  }

  it('an idempotency key adds one HGET and one HSET, and a replay writes nothing', async () => {
    await event('unused', 'user-0');
    const once = () => event('unused', 'user-0', { idempotencyKey: 'key' });
    expect(await commandsOf(once)).to.deep.equal({ get: 1, hget: 2, hmget: 1, hset: 2, xadd: 1 });
    expect(await commandsOf(once)).to.deep.equal({ get: 1, hget: 2, hmget: 1 });
  });

  it('a changed place on a leaderboard takes five commands, and one number for all places', async () => {
    await inLisbon(3);
    // Two boards of totals and a run move; the streak has been extended today.
    expect(await commandsOf(() => event('cards', 'user-1'))).to.deep.equal({
      get: 1,
      hget: 1,
      hmget: 1,
      hset: 1,
      xadd: 1,
      lpush: 1,
      hincrby: 1,
      zrevrank: 6,
      zrem: 3,
      zadd: 3,
      zrevrange: 3,
    });
  });

  const onFullBoards = { get: 1, hget: 1, hmget: 1, hset: 1, xadd: 1, lpush: 1, hincrby: 1, zrem: 3, zadd: 3 };

  for (const count of [1_100, 1_500]) {
    it(`an event makes the same commands on boards that are full, among ${count} users`, async () => {
      await inLisbon(count);
      // The first of all three.
      const commands = await commandsOf(() => event('cards', `user-${count - 1}`));
      expect(commands).to.deep.equal({ ...onFullBoards, zrevrank: 6, zrevrange: 3 });
      expect(Object.keys(commands).filter((name) => !cheap.includes(name))).to.deep.equal([]);
    });
  }

  it('a user who was outside of full boards and stays there needs no rank', async () => {
    await inLisbon(1_500);
    expect(await commandsOf(() => event('cards', 'user-0'))).to.deep.equal({ ...onFullBoards, zrevrange: 3, zscore: 3 });
  });

  it('no page of a sorted set that an event reads is longer than one member, and nothing is read whole', async () => {
    await inLisbon(1_500);
    const monitor = await Monitor.start(server.url);
    try {
      const commands = await monitor.during(
        (mark) => redis.echo(mark),
        () => event('cards', 'user-1499'),
      );
      const pages = wordsOf(inside(commands)).filter(([name]) => name === 'ZREVRANGE');
      expect(pages).to.have.length(3);
      for (const [, , first, last] of pages) expect(first).to.equal(last);
    } finally {
      monitor.stop();
    }
  });

  for (const groups of [2, 2_000]) {
    it(`a configuration that changes a participant limit looks at no place, with ${groups} groups`, async () => {
      const users = Array.from({ length: groups }, (_, i) => ({ id: `user-${i}`, attributes: { city: `City ${i}` } }));
      await Promise.all(users.map((user) => event('cards', user.id, { user })));
      const { document, version } = await engine.config(tenant);
      const leaderboards = document.leaderboards.map((board) => ({ ...board, maxParticipants: 5 }));
      const next = new ActiveConfig({ tenant, version: version + 1, document: { ...document, leaderboards } });
      expect(await commandsOf(() => engine.activate(next))).to.deep.equal({
        get: 1,
        hget: 2,
        hmget: 1,
        set: 1,
        expire: 1,
        xadd: 1,
        hset: 1,
        publish: 1,
      });
    });
  }

  it('a page of a leaderboard is one look at the sorted set, and a name of each row', async () => {
    await inLisbon(200);
    const leaderboard = (await engine.config(tenant)).leaderboards.get('cards')?.no ?? 0;
    const page = { leaderboard, run: '', group: '', offset: 0, limit: 100, user: '' };
    expect(await commandsOf(() => engine.call(tenant, 'readBoard', () => ({ args: page })))).to.deep.equal({
      get: 1,
      hget: 101,
      zrevrange: 1,
    });
  });

  it('a list of users of a leaderboard reads four things of each', async () => {
    await inLisbon(200);
    const leaderboard = (await engine.config(tenant)).leaderboards.get('cards')?.no ?? 0;
    const list = { args: { leaderboard, run: '', group: '' }, pairs: Array.from({ length: 50 }, (_, i) => `user-${i}`) };
    expect(await commandsOf(() => engine.call(tenant, 'readPlaces', () => list))).to.deep.equal({
      get: 1,
      hget: 101,
      zrevrank: 50,
      zscore: 50,
    });
  });

  it('the sweep reads the clock and the first who is due, however many users are not', async () => {
    for (const count of [1, 1_000]) {
      await inLisbon(count);
      expect(await commandsOf(sweep)).to.deep.equal({ get: 1, hget: 1, zrange: 1 });
    }
  });

  it('the sweep does not look at users to whom nothing is due while it settles one to whom something is', async () => {
    await event('cards', 'early');
    await setNow(noonMs + dayMs);
    await inLisbon(500);
    // The streak of `early` is lost at the end of this day, those of the others a day later.
    await setNow(noonMs + dayMs + dayMs / 2);
    const { hmget, xadd, zrange } = await commandsOf(sweep);
    expect({ hmget, xadd, zrange }).to.deep.equal({ hmget: 1, xadd: 1, zrange: 1 });
    expect((await engine.call(tenant, 'sweep', () => ({ args: { upTo: '' }, pairs: ['x'] }))).values).to.deep.equal([0, 1, 0]);
  });
});
