import { expect } from 'chai';
import { adminRoutes } from '../../src/api/router.js';
import { configText, track } from '../support/answers.js';
import { OwnRedis } from '../support/own-redis.js';
import { startWorld, type Reply, type RequestOptions, type World } from '../support/world.js';

const config = configText({
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [{ key: 'cards', name: 'Cards' }],
  points: [{ key: 'xp', name: 'XP' }],
  achievements: [{ key: 'welcome', name: 'Welcome', trigger: 'api', status: 'active' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
  leaderboards: [{ key: 'all', name: 'All', status: 'active', rankBy: 'metric', metricKey: 'cards' }],
});

type Row = readonly [what: string, request: string, options?: RequestOptions];

const event = 'POST /v1/metrics/cards/event';
const good = { user: { id: 'ana' }, value: 1 };

/**
 * By status, as in docs/rules/limits-and-errors.md. What each case is told to the letter is in bad-input.test.ts and bad-requests.test.ts, which also
 * sends any JSON there is: no input gives a 500.
 */
const statuses: Readonly<Record<string, readonly Row[]>> = {
  '400 body that is not JSON': [
    ['half of a body', event, { raw: '{"user":' }],
    ['no body', event, { raw: '' }],
    ['a form', 'PUT /v1/users/ana', { raw: 'name=Ana' }],
    ['for the Admin API', 'PUT /admin/v1/clock', { raw: 'tomorrow' }],
  ],
  '401 no key or a wrong one': [
    ['no key', event, { body: good, key: null }],
    ['a wrong one', event, { body: good, key: 'wrong.key' }],
    ['whatever else is wrong', 'POST /v1/metrics/nothing/event', { raw: '{', key: null }],
    ['for a read', 'GET /v1/users/ana', { key: null }],
    ['for the Admin API', 'GET /admin/v1/clock', { key: 'wrong.key' }],
  ],
  '404 an unknown thing named in the path': [
    ['a metric', 'POST /v1/metrics/nothing/event', { body: good }],
    ['a user', 'GET /v1/users/nobody'],
    ['a user with a streak', 'GET /v1/users/nobody/streak'],
    ['a user with preferences', 'PATCH /v1/users/nobody/preferences', { body: {} }],
    ['a user to be changed', 'PATCH /v1/users/nobody', { body: { name: 'Nobody' } }],
    ['a points system', 'GET /v1/users/ana/points/nothing'],
    ['an achievement', 'POST /v1/achievements/nothing/complete', { body: { user: { id: 'ana' } } }],
    ['a leaderboard', 'GET /v1/leaderboards/nothing'],
    ['a leaderboard of a user', 'GET /v1/users/ana/leaderboards/nothing'],
    ['a route', 'GET /v1/nothing'],
  ],
  '422 well-formed JSON that breaks a rule': [
    ['no user', event, { body: { value: 1 } }],
    ['a value that is a text', event, { body: { ...good, value: '1' } }],
    ['a value beyond ±1e15', event, { body: { ...good, value: 1e16 } }],
    ['an unknown zone', event, { body: { user: { id: 'ana', tz: 'Mars/Olympus' }, value: 1 } }],
    ['an unknown attribute', event, { body: { ...good, attributes: { device: 'phone' } } }],
    ['emails without an address', 'PUT /v1/users/ana', { body: { subscribeToEmails: true } }],
    ['a user who exists', 'POST /v1/users', { body: { id: 'ana' } }],
    ['a channel that there is not', 'PATCH /v1/users/ana/preferences', { body: { notifications: { recap: ['fax'] } } }],
    ['a query', 'GET /v1/users/ana/points/xp?awards=0'],
    ['a clock that goes backward', 'PUT /admin/v1/clock', { body: { now: '2040-01-01T00:00:00Z' } }],
    ['a list that is empty', 'POST /admin/v1/streaks/freezes', { body: { freezes: [] } }],
  ],
};

/** Every error body is `{"error": "<one sentence that says what to do>"}`. */
function expectSentence({ body, headers }: Reply): void {
  expect(Object.keys(body as object)).to.deep.equal(['error']);
  expect((body as { error: string }).error).to.match(/^[A-Z`].+\.$/s);
  expect(headers.get('content-type')).to.match(/^application\/json/);
}

describe('Statuses', () => {
  let world: World;
  let untouched: string;
  before(async () => {
    world = await startWorld({ config });
    await track(world, 'cards', { user: 'ana', value: 3 });
    await world.drain();
    untouched = await world.snapshot();
  });
  after(() => world.stop());

  for (const [status, rows] of Object.entries(statuses)) {
    describe(`${status}; every error body is \`{"error": "<one sentence that says what to do>"}\`, and nothing changes:`, () => {
      for (const [what, request, options] of rows) {
        it(`${what}: ${request}`, async () => {
          const [method = '', path = ''] = request.split(' ');
          const reply = await world.request(method, path, options);
          expect(reply.status).to.equal(Number.parseInt(status));
          expectSentence(reply);
          expect(await world.snapshot()).to.equal(untouched);
        });
      }
    });
  }

  describe('An unknown thing named in the body of a batch:', () => {
    it('is reported, and the rest is done', async () => {
      const reply = await world.request('POST', '/admin/v1/streaks/freezes', {
        body: { freezes: [{ userId: 'nobody' }, { userId: 'ana' }] },
      });
      expect(reply.status).to.equal(201);
      expect((reply.body as { issues: { index: number }[] }).issues.map(({ index }) => index)).to.deep.equal([0]);
    });
  });

  describe('Admin batch POSTs: 201 when at least one object was created (restored, granted), 200 when none was:', () => {
    const date = { start: '2040-01-10', end: '2040-01-11' };
    let system: string;
    let loser: World;
    before(async () => {
      loser = await startWorld({ config });
      const systems = (await loser.get('/admin/v1/points')).body as readonly { id: string }[];
      system = systems[0]?.id ?? '';
      await loser.request('PUT', '/v1/users/ana', { body: {} });
      await track(loser, 'cards', { user: 'lost', value: 1 });
      await loser.setClock('2040-01-06T12:00:00Z');
    });
    after(() => loser.stop());
    /** The second of two items is never done. The first is done once. */
    const nothing = '00000000-0000-4000-8000-000000000000';
    const batches: readonly (readonly [path: string, items: readonly [done: object, refused: object], wrapped?: string])[] = [
      [
        '/attributes',
        [
          { key: 'plan', name: 'Plan', type: 'user' },
          { key: 'city', name: 'City', type: 'user' },
        ],
      ],
      [
        '/metrics',
        [
          { key: 'steps', name: 'Steps' },
          { key: 'cards', name: 'Cards' },
        ],
      ],
      [
        '/points',
        [
          { key: 'gold', name: 'Gold' },
          { key: 'xp', name: 'XP' },
        ],
      ],
      [
        '/points/{system}/levels',
        [
          { key: 'a', name: 'A', points: 5 },
          { key: 'b', name: 'B', points: 5 },
        ],
      ],
      [
        '/points/{system}/boosts',
        [
          { name: 'A', start: '2040-01-01', multiplier: 2 },
          { name: 'B', start: '2040-01-02', end: '2040-01-01', multiplier: 2 },
        ],
      ],
      [
        '/points/{system}/triggers',
        [
          { type: 'user_creation', points: 1 },
          { type: 'metric', metricId: nothing, metricThreshold: 1, points: 1 },
        ],
      ],
      [
        '/achievements',
        [
          { key: 'a', name: 'A', trigger: 'api' },
          { key: 'welcome', name: 'B', trigger: 'api' },
        ],
      ],
      [
        '/leaderboards',
        [
          { key: 's', name: 'S', rankBy: 'streak' },
          { key: 'all', name: 'All', rankBy: 'streak' },
        ],
      ],
      [
        '/webhooks',
        [
          { key: 'w', name: 'W', url: 'http://127.0.0.1/', events: ['points.changed'] },
          { key: 'w', name: 'W', url: 'http://127.0.0.1/', events: ['points.changed'] },
        ],
      ],
      [
        '/templates',
        [
          { key: 't', name: 'T', type: 'recap', locale: 'en', subject: 'Hello' },
          { key: 't', name: 'T', type: 'recap', locale: 'en', subject: 'Hello' },
        ],
      ],
      [
        '/tenants',
        [
          { customerId: 'c', name: 'C' },
          { customerId: 'c', name: 'C' },
        ],
      ],
      ['/admin-api-keys', [{ name: 'A' }, { name: 'B', tenantId: nothing }]],
      ['/streaks/freezes', [{ userId: 'ana' }, { userId: 'nobody' }], 'freezes'],
      [
        '/streaks/pauses',
        [
          { userId: 'ana', ...date },
          { userId: 'nobody', ...date },
        ],
        'pauses',
      ],
      ['/streaks/restore', [{ id: 'lost' }, { id: 'nobody' }], 'users'],
    ];
    for (const [path, [done, refused], wrapped] of batches) {
      it(`POST ${path}`, async () => {
        const send = async (...items: object[]): Promise<readonly [status: number, issues: number]> => {
          const body = wrapped === undefined ? items : { [wrapped]: items };
          const reply = await loser.request('POST', `/admin/v1${path.replace('{system}', system)}`, { body });
          return [reply.status, (reply.body as { issues: unknown[] }).issues.length];
        };
        expect(await send(done, refused)).to.deep.equal([201, 1]);
        expect(await send(refused)).to.deep.equal([200, 1]);
      });
    }
    it('POST /application-api-keys', async () => {
      const send = async (count: number): Promise<number> =>
        (await loser.request('POST', '/admin/v1/application-api-keys', { body: Array(count).fill({ userId: 'ana' }) })).status;
      expect([await send(100), await send(1)]).to.deep.equal([201, 200]);
    });
    it('POST /admin-api-keys/rotate', async () => {
      const [key] = (await loser.get('/admin/v1/admin-api-keys')).body as readonly { id: string }[];
      const send = async (...ids: (string | undefined)[]): Promise<number> =>
        (await loser.request('POST', '/admin/v1/admin-api-keys/rotate', { body: ids.map((id) => ({ id })) })).status;
      expect([await send(key?.id, nothing), await send(nothing)]).to.deep.equal([201, 200]);
    });
    it('is every batch of the Admin API that may create', () => {
      const stated = adminRoutes.filter(({ responses }) => 201 in responses);
      expect(stated.every(({ responses }) => 200 in responses)).to.equal(true);
      expect(stated.map(({ path }) => path.replace('systemId', 'system')).sort()).to.deep.equal(
        [...batches.map(([path]) => path), '/application-api-keys', '/admin-api-keys/rotate'].sort(),
      );
    });
  });

  describe('503 not ready (restoring, Redis away), with `Retry-After`:', () => {
    let redis: OwnRedis;
    let lonely: World;
    before(async () => {
      redis = await OwnRedis.start();
      lonely = await startWorld({ config, redisUrl: redis.url });
      await redis.kill();
    });
    after(async () => {
      await redis.startAgain();
      await lonely.stop();
      await redis.stop();
    });
    for (const [what, request, options] of [
      ['an event', event, { body: good }],
      ['a read', 'GET /v1/users/ana'],
      ['a call of the Admin API', 'POST /admin/v1/streaks/freezes', { body: { freezes: [{ userId: 'ana' }] } }],
    ] as readonly Row[]) {
      it(`${what}: ${request}`, async () => {
        const [method = '', path = ''] = request.split(' ');
        const reply = await lonely.request(method, path, options);
        expect(reply.status).to.equal(503);
        expect(Number(reply.headers.get('retry-after'))).to.be.greaterThan(0);
        expectSentence(reply);
      });
    }
  });
});
