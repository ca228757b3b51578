import { expect } from 'chai';
import { isOpen } from '../src/http/access.js';
import { adminRoutes, applicationRoutes } from '../src/http/app.js';
import type { Api, Route } from '../src/routing/route.js';
import { batchOf, errorOf, first, itemOf, type AdminItem } from './support/admin.js';
import { startWorld, type Reply, type World } from './support/world.js';

const config = JSON.stringify({
  metrics: [{ key: 'k', name: 'K' }],
  achievements: [{ key: 'k', name: 'K', trigger: 'api', status: 'active' }],
  points: [{ key: 'k', name: 'K' }],
  leaderboards: [{ key: 'k', name: 'K', rankBy: 'metric', metricKey: 'k', status: 'active' }],
});

/** A request that is well-formed and about a user: for the routes that take the user from their query or body. */
interface Sample {
  readonly query?: string;
  readonly body?: unknown;
}
const summary = '?aggregation=daily&startDate=2040-01-01&endDate=2040-01-02';
const samples: Readonly<Record<string, (user: string) => Sample>> = {
  'post /metrics/{key}/event': (id) => ({ body: { user: { id }, value: 1 } }),
  'post /users': (id) => ({ body: { id } }),
  'put /users/{id}': () => ({ body: {} }),
  'patch /users/{id}': () => ({ body: {} }),
  'post /achievements/{key}/complete': (id) => ({ body: { user: { id } } }),
  'patch /users/{id}/preferences': () => ({ body: {} }),
  'get /streaks': (id) => ({ query: `?userIds=${id}` }),
  'get /users/{id}/metrics/{key}/event-summary': () => ({ query: summary }),
  'get /users/{id}/points/{key}/event-summary': () => ({ query: summary }),
  'get /leaderboards/{key}': (id) => ({ query: `?userId=${id}` }),
};

type Caller =
  'no key' | 'a wrong key' | 'a revoked key' | 'the key of another user' | 'the key of another tenant' | 'the user’s key' | 'an admin key';
type Verdict = 'unauthorized' | 'forbidden' | 'let in';

const every: readonly { readonly base: string; readonly api: Api; readonly route: Route }[] = [
  ...applicationRoutes.flatMap((route) => ['/v1', '/api'].map((base) => ({ base, api: 'application', route }) as const)),
  ...adminRoutes.map((route) => ({ base: '/admin/v1', api: 'admin', route }) as const),
];

function expected(caller: Caller, api: Api, route: Route): Verdict {
  switch (caller) {
    case 'no key':
    case 'a wrong key':
    case 'a revoked key':
      return 'unauthorized';
    case 'the key of another tenant':
      return 'forbidden';
    case 'the key of another user':
      return isOpen(api, route) && route.access === 'anyone' ? 'let in' : 'forbidden';
    case 'the user’s key':
      return isOpen(api, route) ? 'let in' : 'forbidden';
    case 'an admin key':
      return 'let in';
  }
}

describe('Who may call', function () {
  this.timeout(60_000);
  let world: World;
  let tenant: string;
  const keys = new Map<Caller, string | null>([
    ['no key', null],
    ['a wrong key', '0123456789ab.0123456789abcdef0123456789abcdef'],
  ]);
  const callers: readonly Caller[] = [
    ...(['no key', 'a wrong key', 'a revoked key', 'the key of another user', 'the key of another tenant'] as const),
    ...(['the user’s key', 'an admin key'] as const),
  ];

  before(async () => {
    world = await startWorld({ config });
    const post = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<readonly AdminItem[]> =>
      batchOf(await world.request('POST', `/admin/v1${path}`, { body, headers })).created;
    tenant = first(await post('/tenants', [{ customerId: 'other', name: 'Other' }])).id;
    const keyOf = async (userId: string, headers?: Record<string, string>): Promise<AdminItem> =>
      first(await post('/application-api-keys', [{ userId }], headers));
    const [ana, ben, revoked] = [await keyOf('ana'), await keyOf('ben'), await keyOf('ana')];
    const theirs = await keyOf('ana', { 'tenant-id': tenant });
    await world.request('DELETE', `/admin/v1/application-api-keys?ids=${revoked.id}`);
    keys.set('the user’s key', ana.key).set('the key of another user', ben.key).set('a revoked key', revoked.key);
    keys.set('the key of another tenant', theirs.key);
    for (const id of ['ana', 'ben']) await world.request('PUT', `/v1/users/${id}`, { body: {} });
  });
  after(() => world.stop());

  async function call(caller: Caller, base: string, { method, path }: Route): Promise<Reply> {
    const { query = '', body } = samples[`${method} ${path}`]?.('ana') ?? {};
    // Operators may delete: whom they name here is nobody whose keys are used.
    const filled = path.replace('{id}', base === '/admin/v1' ? 'carl' : 'ana').replace(/\{\w+\}/g, 'k');
    const key = keys.get(caller);
    return world.request(method.toUpperCase(), `${base}${filled}${query}`, {
      ...(key === undefined ? {} : { key }),
      ...(body === undefined ? {} : { body }),
    });
  }

  function verdict({ status }: Reply): Verdict {
    if (status === 401) return 'unauthorized';
    return status === 403 ? 'forbidden' : 'let in';
  }

  for (const { base, api, route } of every) {
    it(`${route.method.toUpperCase()} ${base}${route.path}`, async () => {
      for (const caller of callers) {
        const reply = await call(caller, base, route);
        expect(verdict(reply), `${caller}: ${reply.status} ${JSON.stringify(reply.body)}`).to.equal(expected(caller, api, route));
        expect(reply.status, caller).to.be.below(500);
        if (verdict(reply) !== 'let in') expect(errorOf(reply)).to.be.a('string');
      }
    });
  }

  it('lets in an application key of another tenant with that one’s Tenant-ID', async () => {
    const key = keys.get('the key of another tenant')!;
    const own = { key, headers: { 'tenant-id': tenant } };
    expect((await world.request('PUT', '/v1/users/ana', { ...own, body: { name: 'Ana' } })).status).to.equal(200);
    expect((await world.request('GET', '/v1/users/ben', own)).status).to.equal(403);
    expect(
      (await world.request('GET', '/v1/users/ana', { key: keys.get('the user’s key')!, headers: { 'tenant-id': tenant } })).status,
    ).to.equal(403);
    expect(itemOf(await world.get('/v1/users/ana')).name).to.be.oneOf([null, undefined]);
  });

  it('says what to do', async () => {
    const said = async (caller: Caller, path: string): Promise<string> =>
      errorOf(await world.request('GET', path, { key: keys.get(caller)! }));
    expect(await said('the key of another user', '/v1/users/ana')).to.equal(
      'This key is for the data of user "ben" only: use an admin key for others.',
    );
    expect(await said('the user’s key', '/v1/streaks?userIds=ana&userIds=ben')).to.equal(
      'This key is for the data of user "ana" only: use an admin key for others.',
    );
    expect(await said('the user’s key', '/admin/v1/tenants')).to.equal('An application key can’t call the Admin API: use an admin key.');
    expect(await said('the key of another tenant', '/v1/users/ana')).to.equal(
      'This key belongs to another tenant: send that one’s id in the Tenant-ID header.',
    );
  });

  it('is closed to application keys where a route does not say it, and always in the Admin API', () => {
    expect([isOpen('application', {}), isOpen('application', { access: 'admin' }), isOpen('admin', { access: 'anyone' })]).to.deep.equal([
      false,
      false,
      false,
    ]);
  });

  // Each of these is closed to application keys until it says what it is.
  for (const { method, path } of applicationRoutes.filter(({ access }) => access === undefined)) {
    it(`is still to be said of ${method.toUpperCase()} ${path}`);
  }
});
