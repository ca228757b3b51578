import { expect } from 'chai';
import { adminRoutes } from '../../src/api/router.js';
import { bodyOf, configText, read, readBoard, readPlace, readPoints, readProfile, track, type EventBody } from '../support/answers.js';
import { cardsConfig } from '../support/configs.js';
import { startWorld, type World } from '../support/world.js';

const config = configText(cardsConfig);

interface Streak {
  readonly length: number;
  readonly streakHistory: readonly { readonly length: number }[];
  readonly pauses: readonly { readonly start: string }[];
}
interface Achieved {
  readonly key: string;
  readonly achievedAt: string | null;
}

/** What a user reads after `total` cards on one day: from Redis alone, and from Postgres, which gets them a moment later. */
const reads: Readonly<Record<string, (world: World, user: string) => Promise<unknown>>> = {
  'the total (Redis)': async (world, user) => (await read<{ current: number }>(world, `/v1/users/${user}/metrics/cards`)).current,
  'points and awards (Redis)': async (world, user) => {
    const { total, awards } = await readPoints(world, user, 'xp');
    return [total, awards[0]?.total];
  },
  'the achievements (Redis)': async (world, user) =>
    (await read<Achieved[]>(world, `/v1/users/${user}/achievements`)).map(({ key }) => key).join(' '),
  'the achievements of a metric (Redis)': async (world, user) =>
    (await read<{ achievements: Achieved[] }>(world, `/v1/users/${user}/metrics/cards`)).achievements.map(
      ({ key, achievedAt }) => `${key} ${achievedAt === null ? 'no' : 'yes'}`,
    ),
  'the streak (Redis) with its history (Postgres)': async (world, user) => {
    const { length, streakHistory } = await read<Streak>(world, `/v1/users/${user}/streak?historyPeriods=1`);
    return [length, streakHistory[0]?.length];
  },
  'the place (Redis) with its history (Postgres)': async (world, user) => {
    const { value, history } = await readPlace(world, user, 'all');
    return [value, history[0]?.value];
  },
  'the board (Redis)': async (world, user) => (await readBoard(world, 'all')).find((line) => line.split(' ')[1] === user)?.split(' ')[2],
};

/** The reads after one, and after twelve cards. */
const expected: Readonly<Record<string, readonly [one: unknown, twelve: unknown]>> = {
  'the total (Redis)': [1, 12],
  'points and awards (Redis)': [
    [2, 2],
    [24, 24],
  ],
  'the achievements (Redis)': ['', 'ten'],
  'the achievements of a metric (Redis)': [['ten no'], ['ten yes']],
  'the streak (Redis) with its history (Postgres)': [
    [1, 1],
    [1, 1],
  ],
  'the place (Redis) with its history (Postgres)': [
    [1, 1],
    [12, 12],
  ],
  'the board (Redis)': ['1', '12'],
};

/** Reads as in docs/rules/limits-and-errors.md. What `event-summary` gives is a test of its own. */
describe('Reads', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config, now: '2040-01-02T12:00:00.000Z' });
  });
  after(() => world.stop());

  describe('A client that got a response sees its own write in every later read:', () => {
    for (const [what, look] of Object.entries(reads)) {
      it(`${what}, right after each of twelve events, for five users at once`, async () => {
        const users = Array.from({ length: 5 }, (_, i) => `${what.replace(/\W+/g, '-')}-${i}`);
        await Promise.all(
          users.map(async (user) => {
            for (let cards = 1; cards <= 12; cards += 1) {
              await track(world, 'cards', { user, value: 1 });
              if (cards === 1) expect(await look(world, user)).to.deep.equal(expected[what]?.[0]);
            }
            expect(await look(world, user)).to.deep.equal(expected[what]?.[1]);
          }),
        );
      });
    }

    it('a profile, and preferences', async () => {
      for (const name of ['Ana', 'Anna', 'Anne']) {
        bodyOf(await world.request('PUT', '/v1/users/profile', { body: { name } }), 200);
        expect(await readProfile(world, 'profile')).to.include({ name });
      }
      for (const recap of [['email'], [], ['email', 'push']]) {
        bodyOf(await world.request('PATCH', '/v1/users/profile/preferences', { body: { notifications: { recap } } }), 200);
        expect((await read<{ notifications: object }>(world, '/v1/users/profile/preferences')).notifications).to.deep.equal({ recap });
      }
    });

    it('a completed achievement, with how many have it', async () => {
      const completions = async (): Promise<number> =>
        (await read<(Achieved & { completions: number })[]>(world, '/v1/achievements')).find(({ key }) => key === 'welcome')?.completions ??
        NaN;
      for (const count of [1, 2, 3]) {
        bodyOf<EventBody>(
          await world.request('POST', '/v1/achievements/welcome/complete', { body: { user: { id: `welcome-${count}` } } }),
          201,
        );
        expect(await completions()).to.equal(count);
      }
    });

    it('a pause, and its end', async () => {
      await track(world, 'cards', { user: 'pause', value: 1 });
      const pauses = async (): Promise<string[]> => (await read<Streak>(world, '/v1/users/pause/streak')).pauses.map(({ start }) => start);
      const body = { pauses: [{ userId: 'pause', start: '2040-01-03', end: '2040-01-05' }] };
      const { created } = bodyOf<{ created: { id: string }[] }>(await world.request('POST', '/admin/v1/streaks/pauses', { body }), 201);
      expect(await pauses()).to.deep.equal(['2040-01-03']);
      bodyOf(await world.request('DELETE', `/admin/v1/streaks/pauses?ids=${created[0]?.id}`), 200);
      expect(await pauses()).to.deep.equal([]);
    });

    it('achievements that are not completed for `includeIncomplete=true` alone', async () => {
      await track(world, 'cards', { user: 'incomplete', value: 10 });
      const keys = async (query: string): Promise<string[]> =>
        (await read<Achieved[]>(world, `/v1/users/incomplete/achievements${query}`)).map(({ key }) => key);
      expect(await keys('?includeIncomplete=true')).to.deep.equal(['ten', 'welcome']);
      const others = ['false', 'TRUE', '1', 'yes', '', 'true&includeIncomplete=true'].map((value) => `?includeIncomplete=${value}`);
      for (const query of ['', ...others]) expect(await keys(query), query).to.deep.equal(['ten']);
    });

    it('an issue of a pause or a restore that can not be, and nothing of it', async () => {
      const before = await read<unknown>(world, '/v1/users/pause/streak');
      const refused: readonly (readonly [path: string, body: object, message: string])[] = [
        [
          'pauses',
          { pauses: [{ userId: 'pause', start: '2040-01-01', end: '2040-01-05' }] },
          "A pause must not start before today's date in the user's time zone.",
        ],
        ['restore', { users: [{ id: 'pause' }] }, 'The user has no lost streak to restore.'],
      ];
      for (const [path, body, message] of refused) {
        const reply = await world.request('POST', `/admin/v1/streaks/${path}`, { body });
        expect((reply.body as { issues: { message: string }[] }).issues.map((issue) => issue.message)).to.deep.equal([message]);
      }
      expect(await read(world, '/v1/users/pause/streak')).to.deep.equal(before);
    });
  });

  describe('The ranking of streaks:', () => {
    it('the longest first, unknown users with 0', async () => {
      await track(world, 'cards', { user: 'short', value: 1 });
      await track(world, 'cards', { user: 'gone', value: 1 });
      const ranked = await read<object[]>(world, '/v1/streaks?userIds=nobody&userIds=short');
      expect(ranked).to.deep.equal([
        { userId: 'short', streakLength: 1, extended: '2040-01-02T12:00:00.000Z' },
        { userId: 'nobody', streakLength: 0, extended: null },
      ]);
    });
  });

  describe('`ids` and `userIds` may be repeated or comma-separated:', () => {
    const ranked = async (query: string): Promise<string[]> =>
      (await read<{ userId: string }[]>(world, `/v1/streaks?${query}`)).map(({ userId }) => userId).sort();
    const rows: readonly (readonly [query: string, ids: readonly string[]])[] = [
      ['userIds=a,b', ['a', 'b']],
      ['userIds=a%2Cb', ['a', 'b']],
      ['userIds=a&userIds=b', ['a', 'b']],
      // Repeated parameters are taken as they are: a user id may hold commas and backslashes.
      ['userIds=a%2Cb&userIds=c%5C', ['a,b', 'c\\']],
      ['userIds=a%5C%2Cb,c', ['a,b', 'c']],
      ['userIds=a%5C%5C,b%5Cc', ['a\\', 'b\\c']],
    ];
    for (const [query, ids] of rows) {
      it(`the streaks of users: ${query}`, async () => expect(await ranked(query)).to.deep.equal(ids));
    }
    it('an empty one is refused', async () => {
      for (const query of ['userIds=', 'userIds=a,', 'userIds=,a', 'userIds=a,,b']) {
        expect((await world.get(`/v1/streaks?${query}`)).status, query).to.equal(422);
      }
    });

    // A suppression is named by its address, and there is one of each.
    const deletes = adminRoutes.filter(({ method, path }) => method === 'delete' && !path.includes('{id}') && path !== '/suppressions');
    for (const { path } of deletes) {
      it(`DELETE ${path}`, async () => {
        const [system] = await read<{ id: string }[]>(world, '/admin/v1/points');
        const [a, b, c] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
        const address = `/admin/v1${path.replace('{systemId}', system?.id ?? '')}`;
        const named = async (query: string): Promise<(string | undefined)[]> =>
          bodyOf<{ issues: { id: string }[] }>(await world.request('DELETE', `${address}?${query}`), 200).issues.map(({ id }) => id);
        expect(await named(`ids=${a},${b}`)).to.deep.equal([a, b]);
        expect(await named(`ids=${a}&ids=${b}%2C${c}`)).to.deep.equal([a, b, c]);
        const many = Array<string>(101)
          .fill(a ?? '')
          .join(',');
        expect((await world.request('DELETE', `${address}?ids=${many}`)).status).to.equal(422);
      });
    }
    it('is accepted by every delete of several objects', () => expect(deletes).to.have.lengthOf(15));
  });

  // It moves the clock, so it comes last.
  describe('A run that has just been finalised is read as it was:', () => {
    it('by its date, as a whole and by user', async () => {
      await track(world, 'cards', { user: 'early', value: 1000 });
      await track(world, 'cards', { user: 'later', value: 999 });
      const before = await readBoard(world, 'day', '?run=2040-01-02&limit=5');
      expect(before.slice(0, 2)).to.deep.equal(['1 early 1000', '2 later 999']);
      await world.setClock('2040-01-03T12:00:00.000Z');
      await track(world, 'cards', { user: 'later', value: 5 });
      expect(await readBoard(world, 'day', '?run=2040-01-02&limit=5')).to.deep.equal(before);
      expect(await readPlace(world, 'later', 'day', '?run=2040-01-02')).to.include({ rank: 2, value: 999 });
      expect(await readBoard(world, 'day')).to.deep.equal(['1 later 5']);
    });
  });
});
