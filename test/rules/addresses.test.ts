import { expect } from 'chai';
import { answer, bodyOf, configText, readProfile } from '../support/answers.js';
import { cardsConfig } from '../support/configs.js';
import { startWorld, type World } from '../support/world.js';

const config = configText(cardsConfig);

/** Reads of the Application API. */
const reads = [
  '/users/ana',
  '/users/ana/metrics',
  '/users/ana/metrics/cards',
  '/users/ana/points/xp',
  '/users/ana/achievements',
  '/users/ana/streak',
  '/users/ana/preferences',
  '/users/ana/leaderboards/all',
  '/achievements',
  '/streaks?userIds=ana',
  '/leaderboards',
  '/leaderboards/all',
];

/** Calls of the Application API that change something, each with what it is answered with. `{user}` is another one for each base. */
const writes: readonly (readonly [method: string, path: string, body: object, status: number])[] = [
  ['POST', '/users', { id: '{user}' }, 201],
  ['PUT', '/users/{user}', { name: 'Ana' }, 200],
  ['PATCH', '/users/{user}', { name: 'Anna' }, 200],
  ['POST', '/metrics/cards/event', { user: { id: '{user}' }, value: 2 }, 201],
  ['POST', '/achievements/welcome/complete', { user: { id: '{user}' } }, 201],
  ['PATCH', '/users/{user}/preferences', { notifications: { recap: ['email'] } }, 200],
];

/** Addresses as in docs/rules/limits-and-errors.md. */
describe('Addresses', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config });
    bodyOf(await world.event('cards', { user: { id: 'ana' }, value: 2 }), 201);
  });
  after(() => world.stop());

  describe('Application API at `/v1`, and the same routes at `/api`:', () => {
    for (const path of reads) {
      it(`GET ${path}`, async () => {
        const [at, same] = [await world.get(`/v1${path}`), await world.get(`/api${path}`)];
        expect(at.status).to.equal(200);
        expect(answer(same)).to.deep.equal(answer(at));
      });
    }
    for (const base of ['/v1', '/api']) {
      for (const [method, path, body, expected] of writes) {
        it(`${method} ${base}${path}`, async () => {
          const user = `user of ${base.slice(1)}`;
          const sent = JSON.parse(JSON.stringify(body).replace('{user}', user)) as object;
          const { status } = await world.request(method, base + path.replace('{user}', encodeURIComponent(user)), { body: sent });
          expect(status).to.equal(expected);
        });
      }
      it(`stores the writes at ${base}`, async () => {
        expect(await readProfile(world, `user of ${base.slice(1)}`)).to.include({ name: 'Anna' });
      });
    }
  });

  describe('Admin API at `/admin/v1`:', () => {
    const body = { freezes: [{ userId: 'ana' }] };
    it('serves its routes', async () => {
      expect((await world.request('POST', '/admin/v1/streaks/freezes', { body })).status).to.equal(201);
      expect((await world.get('/admin/v1/clock')).status).to.equal(200);
    });
    for (const [method, path] of [
      ['POST', '/v1/streaks/freezes'],
      ['POST', '/api/streaks/freezes'],
      ['GET', '/v1/clock'],
      ['GET', '/admin/v1/users/ana/streak'],
      ['GET', '/admin/clock'],
      ['GET', '/users/ana'],
    ] as const) {
      it(`returns 404 elsewhere: ${method} ${path}`, async () => {
        expect((await world.request(method, path, method === 'POST' ? { body } : {})).status).to.equal(404);
      });
    }
  });

  it('Without `Tenant-ID` the account’s default tenant is meant; an unknown one is a 404', async () => {
    expect((await world.get('/v1/users/ana')).status).to.equal(200);
    expect((await world.request('GET', '/v1/users/ana', { headers: { 'Tenant-ID': 'no such tenant' } })).status).to.equal(404);
  });
});
