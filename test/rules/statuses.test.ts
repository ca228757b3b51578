import { expect } from 'chai';
import { adminRoutes } from '../../src/api/router.js';
import { configText, track } from '../support/answers.js';
import { cardsConfig } from '../support/configs.js';
import { OwnRedis } from '../support/own-redis.js';
import { startWorld, type Reply, type RequestOptions, type World } from '../support/world.js';

const config = configText(cardsConfig);

/** Every error body is `{"error": "<one sentence that says what to do>"}`. */
function expectSentence({ body, headers }: Reply): void {
  expect(Object.keys(body as object)).to.deep.equal(['error']);
  expect((body as { error: string }).error).to.match(/^[A-Z`].+\.$/s);
  expect(headers.get('content-type')).to.match(/^application\/json/);
}

/** Of errors other than 503, test/api/bad-input.test.ts has the statuses and the sentences. */
describe('Statuses', () => {
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
        '/points/{system}/adjustments',
        [
          { userId: 'ana', amount: 1, reason: 'Kind' },
          { userId: 'nobody', amount: 1, reason: 'Kind' },
        ],
        'adjustments',
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
        const send = async (...items: object[]): Promise<readonly [status: number, issues: number[]]> => {
          const body = wrapped === undefined ? items : { [wrapped]: items };
          const reply = await loser.request('POST', `/admin/v1${path.replace('{system}', system)}`, { body });
          return [reply.status, (reply.body as { issues: { index: number }[] }).issues.map(({ index }) => index)];
        };
        expect(await send(done, refused)).to.deep.equal([201, [1]]);
        expect(await send(refused)).to.deep.equal([200, [0]]);
      });
    }

    it('but 200 for resets of streaks, where a user without one is a warning and an unknown user an error', async () => {
      await track(loser, 'cards', { user: 'runs', value: 1 });
      const reset = async (...ids: string[]): Promise<unknown[]> => {
        const response = await loser.request('POST', '/admin/v1/streaks/reset', { body: { users: ids.map((id) => ({ id })) } });
        const { resetUsers, issues } = response.body as {
          resetUsers: string[];
          issues: { userId: string; severity: string; level: string }[];
        };
        return [response.status, resetUsers, ...issues.map(({ userId, severity, level }) => [userId, severity, level])];
      };
      expect(await reset('nobody', 'runs', 'runs')).to.deep.equal([
        200,
        ['runs'],
        ['nobody', 'error', 'error'],
        ['runs', 'warning', 'warning'],
      ]);
      expect(await reset('runs')).to.deep.equal([200, [], ['runs', 'warning', 'warning']]);
      for (const users of [[], Array.from({ length: 101 }, () => ({ id: 'runs' })), [{}]]) {
        const reply = await loser.request('POST', '/admin/v1/streaks/reset', { body: { users } });
        expect(reply.status).to.equal(422);
        expectSentence(reply);
      }
    });
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
    it('the table lists every batch of the Admin API that may create objects', () => {
      const stated = adminRoutes.filter(({ path, responses }) => 201 in responses && !path.endsWith('/correction'));
      expect(stated.every(({ responses }) => 200 in responses)).to.equal(true);
      expect(stated.map(({ path }) => path.replace('systemId', 'system')).sort()).to.deep.equal(
        [...batches.map(([path]) => path), '/achievements/{id}/completions', '/application-api-keys', '/admin-api-keys/rotate'].sort(),
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
      ['an event', 'POST /v1/metrics/cards/event', { body: { user: { id: 'ana' }, value: 1 } }],
      ['a read', 'GET /v1/users/ana'],
      ['a call of the Admin API', 'POST /admin/v1/streaks/freezes', { body: { freezes: [{ userId: 'ana' }] } }],
    ] as readonly (readonly [what: string, request: string, options?: RequestOptions])[]) {
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
