import { expect } from 'chai';
import type {
  AnalyticsAchievementResponse,
  AnalyticsDaysResponse,
  AnalyticsLevelsResponse,
  AnalyticsStreaksResponse,
} from '../../src/responses/analytics.js';
import { bodyOf, configText, read, track } from '../support/answers.js';
import { tenantForEachTest } from '../support/suites.js';
import { startWorld, type World } from '../support/world.js';

const levels = [
  { key: 'one', name: 'One', points: 2 },
  { key: 'two', name: 'Two', points: 4 },
];
const trigger = { key: 'cards', type: 'metric', metricKey: 'cards', metricThreshold: 5, points: 2, status: 'active' };
const achievement = { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' };
const config = {
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: 'unused', name: 'Unused' },
  ],
  points: [
    { key: 'xp', name: 'XP', levels, triggers: [trigger] },
    { key: 'flat', name: 'Flat' },
  ],
  achievements: [achievement],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
};

/** Nothing of `config` is left. */
const replaced = configText({ metrics: [{ key: 'new', name: 'New' }], streaks: { enabled: false, metrics: [] } });

interface Named {
  readonly id: string;
  readonly key: string;
}
const path = '/admin/v1/analytics';
const readDays = (world: World, query = ''): Promise<AnalyticsDaysResponse> => read(world, `${path}/days${query}`);
const idOf = async (world: World, list: string, key: string): Promise<string> => {
  const objects = await read<readonly Named[]>(world, `/admin/v1/${list}`);
  return objects.find((object) => object.key === key)?.id ?? '';
};

describe('Analytics', () => {
  let world: World;
  tenantForEachTest({ config: configText(config), now: '2040-03-01T20:00:00Z' }, (tenant) => (world = tenant));

  describe('by day', () => {
    it('count each user on the day of the user’s calendar, and are complete as soon as the event is acknowledged', async () => {
      await track(world, 'cards', { user: { id: 'ana', tz: 'Asia/Tokyo' }, value: 7.5 });
      await track(world, 'cards', { user: { id: 'ana' }, value: 5 });
      await track(world, 'cards', { user: { id: 'bo', tz: 'UTC' }, value: -1 });
      const { days, events, activeUsers, activeUsers30, newUsers, metrics, triggers, achievements } = await readDays(
        world,
        '?from=2040-02-29&until=2040-03-03',
      );
      expect(days).to.deep.equal(['2040-02-29', '2040-03-01', '2040-03-02', '2040-03-03']);
      expect({ events, activeUsers, activeUsers30, newUsers }).to.deep.equal({
        events: [0, 1, 2, 0],
        activeUsers: [0, 1, 1, 0],
        activeUsers30: [0, 1, 2, 2],
        newUsers: [0, 1, 1, 0],
      });
      const [cards, unused] = metrics;
      expect(cards).to.deep.include({ key: 'cards', name: 'Cards', archived: false, events: [0, 1, 2, 0], change: [0, -1, 12.5, 0] });
      expect(unused).to.deep.include({ key: 'unused', events: [0, 0, 0, 0], change: [0, 0, 0, 0] });
      expect(triggers).to.have.lengthOf(1);
      expect(triggers[0]).to.deep.include({ key: 'cards', type: 'metric', awards: [0, 0, 2, 0], points: [0, 0, 4, 0] });
      expect(triggers[0]?.system).to.include({ key: 'xp', name: 'XP' });
      expect(achievements[0]).to.deep.include({ key: 'ten', completions: [0, 0, 1, 0] });
    });

    it('count a user as active for 30 days, once, whatever the user does in them', async () => {
      await track(world, 'cards', { user: 'ana', value: 1 });
      await world.setClock('2040-03-11T20:00:00Z');
      await track(world, 'unused', { user: 'ana', value: 1 });
      const { activeUsers, activeUsers30 } = await readDays(world, '?from=2040-03-01&until=2040-04-10');
      expect(activeUsers.flatMap((users, i) => (users > 0 ? [i] : []))).to.deep.equal([0, 10]);
      expect(activeUsers30).to.deep.equal([...Array.from({ length: 40 }, () => 1), 0]);
    });

    it('keep what deleted users have done, and count a later user with the same id as another', async () => {
      await track(world, 'cards', { user: 'ana', value: 10 });
      expect((await world.request('DELETE', '/admin/v1/users/ana')).status).to.equal(200);
      await track(world, 'cards', { user: 'ana', value: 10 });
      const { events, activeUsers, activeUsers30, newUsers, achievements } = await readDays(world, '?from=2040-03-01&until=2040-03-02');
      expect({ events, activeUsers, activeUsers30, newUsers }).to.deep.equal({
        events: [2, 0],
        activeUsers: [2, 0],
        activeUsers30: [2, 2],
        newUsers: [2, 0],
      });
      expect(achievements[0]?.completions).to.deep.equal([2, 0]);
      const { rows } = await world.pool.query('select day::text from active_days where tenant = $1', [world.tenant]);
      expect(rows).to.deep.equal([{ day: '2040-03-01' }]);
    });

    it('list archived objects only where they have counts', async () => {
      await track(world, 'cards', { user: 'ana', value: 10 });
      await world.configure(replaced, { prune: true });
      const keysOf = async (query: string) => {
        const { metrics, triggers, achievements } = await readDays(world, query);
        return [metrics, triggers, achievements].map((list) => list.map(({ key, archived }) => `${key} ${String(archived)}`));
      };
      expect(await keysOf('?from=2040-03-01&until=2040-03-01')).to.deep.equal([['cards true', 'new false'], ['cards true'], ['ten true']]);
      expect(await keysOf('?from=2040-02-01&until=2040-02-29')).to.deep.equal([['new false'], [], []]);
    });

    it('are those of the last 30 days in UTC unless the caller asks for others', async () => {
      const usual = await readDays(world);
      expect([usual.from, usual.until, usual.days.length]).to.deep.equal(['2040-02-01', '2040-03-01', 30]);
      const before = await readDays(world, '?until=2040-01-30');
      expect([before.from, before.until, before.days.length]).to.deep.equal(['2040-01-01', '2040-01-30', 30]);
      const since = await readDays(world, '?from=2040-02-28');
      expect(since.days).to.deep.equal(['2040-02-28', '2040-02-29', '2040-03-01']);
      expect((await readDays(world, '?from=2038-11-28&until=2040-01-01')).days).to.have.lengthOf(400);
    });

    const refused: readonly (readonly [query: string, sentence: string])[] = [
      ['?from=2040-03-02', '`until` must not be before `from`.'],
      ['?from=2038-11-27&until=2040-01-01', '`until` must be at most 400 days after `from`, both included.'],
      ['?from=2040-02-30', '`from` must be a date such as 2026-01-31.'],
      ['?until=0000-01-01', '`until` must be a date from 0001-01-01 on.'],
    ];
    for (const [query, sentence] of refused) {
      it(`are refused for ${query}`, async () => {
        expect((await world.get(`${path}/days${query}`)).body).to.deep.equal({ error: sentence });
        expect((await world.get(`${path}/achievements/${await idOf(world, 'achievements', 'ten')}${query}`)).status).to.equal(422);
      });
    }
  });

  describe('of an achievement', () => {
    it('have completions and rarity up to each day, those before the first day included', async () => {
      await track(world, 'cards', { user: 'ana', value: 10 });
      await track(world, 'cards', { user: 'bo', value: 1 });
      await world.setClock('2040-03-02T20:00:00Z');
      await track(world, 'cards', { user: 'carl', value: 10 });
      const id = await idOf(world, 'achievements', 'ten');
      const since = await read<AnalyticsAchievementResponse>(world, `${path}/achievements/${id}?from=2040-02-29&until=2040-03-03`);
      expect(since).to.deep.include({ id, key: 'ten', name: 'Ten', archived: false, completions: [0, 1, 1, 0] });
      expect(since).to.deep.include({ completed: [0, 1, 2, 2], users: [0, 2, 3, 3], rarity: [0, 50, 66.67, 66.67] });
      const later = await read<AnalyticsAchievementResponse>(world, `${path}/achievements/${id}?from=2040-03-03&until=2040-03-03`);
      expect(later).to.deep.include({ completions: [0], completed: [2], users: [3], rarity: [66.67] });
    });

    it('are those of a backfill on the day on which it completed the achievement', async () => {
      await track(world, 'cards', { user: 'ana', value: 7 });
      await world.setClock('2040-03-05T20:00:00Z');
      await world.configure(
        configText({ ...config, achievements: [achievement, { ...achievement, key: 'five', name: 'Five', metricValue: 5 }] }),
      );
      await world.setClock('2040-03-05T21:00:00Z');
      const { achievements } = await readDays(world, '?from=2040-03-01&until=2040-03-05');
      expect(achievements.find(({ key }) => key === 'five')?.completions).to.deep.equal([0, 0, 0, 0, 1]);
    });

    it('return 404 for an unknown one', async () => {
      const id = '00000000-0000-4000-8000-000000000000';
      const reply = await world.get(`${path}/achievements/${id}`);
      expect([reply.status, reply.body]).to.deep.equal([404, { error: `There is no achievement with the id ${id}.` }]);
    });
  });

  describe('of streaks', () => {
    const usersOf = ({ lengths }: AnalyticsStreaksResponse): readonly string[] =>
      lengths.filter(({ users }) => users > 0).map(({ from, to, users }) => `${from}-${String(to)}: ${users}`);

    it('count the users who have one, by its length', async () => {
      for (const day of ['01', '02', '03', '04']) {
        await world.setClock(`2040-03-${day}T20:00:00Z`);
        await track(world, 'cards', { user: 'ana', value: 1 });
        if (day > '02') await track(world, 'cards', { user: 'bo', value: 1 });
        if (day === '01') await track(world, 'cards', { user: 'lost', value: 1 });
      }
      const answer = await read<AnalyticsStreaksResponse>(world, `${path}/streaks`);
      expect(answer).to.include({ frequency: 'daily', alive: 2, longest: 4 });
      expect(usersOf(answer)).to.deep.equal(['2-2: 1', '4-6: 1']);
      const ends = answer.lengths.map(({ from, to }) => [from, to]);
      expect(ends.slice(0, 4)).to.deep.equal([
        [1, 1],
        [2, 2],
        [3, 3],
        [4, 6],
      ]);
      expect(ends.at(-1)).to.deep.equal([365, null]);
    });

    it('count each length in one range', async () => {
      const long = [3, 6, 7, 13, 14, 29, 30, 59, 60, 99, 100, 199, 200, 364, 365, 4_000];
      await world.pool.query(
        `insert into user_streaks (tenant, user_id, daily, rev) select $1, 'u' || length, length, 1 from unnest($2::integer[]) as length`,
        [world.tenant, long],
      );
      const answer = await read<AnalyticsStreaksResponse>(world, `${path}/streaks`);
      expect(answer).to.include({ alive: long.length, longest: 4_000 });
      expect(usersOf(answer)).to.deep.equal([
        ...['3-3: 1', '4-6: 1', '7-13: 2', '14-29: 2', '30-59: 2', '60-99: 2', '100-199: 2', '200-364: 2', '365-null: 2'],
      ]);
    });

    it('are zeros while streaks are not enabled', async () => {
      await track(world, 'cards', { user: 'ana', value: 1 });
      await world.configure(configText({ streaks: { enabled: false } }));
      const answer = await read<AnalyticsStreaksResponse>(world, `${path}/streaks`);
      expect(answer).to.include({ alive: 0, longest: 0 });
      expect(usersOf(answer)).to.deep.equal([]);
    });
  });

  describe('of levels', () => {
    const readSystem = async (key: string): Promise<AnalyticsLevelsResponse> =>
      read(world, `${path}/levels/${await idOf(world, 'points', key)}`);
    const linesOf = (answer: AnalyticsLevelsResponse): string[] =>
      answer.levels.map(({ key, points, users }) => `${String(key)} ${String(points)}: ${users}`);

    it('count all users, those without a level first', async () => {
      await track(world, 'cards', { user: 'ana', value: 10 });
      await track(world, 'cards', { user: 'bo', value: 5 });
      await track(world, 'cards', { user: 'carl', value: 1 });
      bodyOf(await world.request('PUT', '/v1/users/dee', { body: {} }), 200);
      const answer = await readSystem('xp');
      expect(answer.system).to.include({ key: 'xp', name: 'XP' });
      expect(answer.users).to.equal(4);
      expect(linesOf(answer)).to.deep.equal(['null null: 2', 'one 2: 1', 'two 4: 1']);
      expect(linesOf(await readSystem('flat'))).to.deep.equal(['null null: 4']);
    });

    it('have no users without a level where the lowest begins at 0 points', async () => {
      await world.configure(
        configText({
          points: [{ key: 'xp', name: 'XP', levels: [...levels, { key: 'zero', name: 'Zero', points: 0 }], triggers: [trigger] }],
        }),
      );
      await world.setClock('2040-03-01T21:00:00Z');
      await track(world, 'cards', { user: 'ana', value: 5 });
      await track(world, 'cards', { user: 'bo', value: 1 });
      expect(linesOf(await readSystem('xp'))).to.deep.equal(['zero 0: 1', 'one 2: 1', 'two 4: 0']);
    });

    it('return 404 for a points system that is unknown or archived', async () => {
      const id = await idOf(world, 'points', 'xp');
      await world.configure(replaced, { prune: true });
      for (const gone of [id, '00000000-0000-4000-8000-000000000000']) {
        const reply = await world.get(`${path}/levels/${gone}`);
        expect([reply.status, reply.body]).to.deep.equal([404, { error: `There is no points system with the id ${gone}.` }]);
      }
    });
  });
});

describe('Analytics of a tenant', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config), now: '2040-03-01T20:00:00Z', roles: { api: true, worker: false } });
  });
  after(() => world.stop());

  it('return 503 while Postgres lacks what has happened', async () => {
    await track(world, 'cards', { user: 'ana', value: 1 });
    expect((await world.get(`${path}/days`)).status).to.equal(503);
  });
});
