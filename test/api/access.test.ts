import { expect } from 'chai';
import { isOpen, isOpenToBound, isRead } from '../../src/api/auth.js';
import { adminRoutes, applicationRoutes } from '../../src/api/router.js';
import type { Api, Route } from '../../src/api/route.js';
import { batchOf, errorOf, first, itemOf, itemsOf, type AdminItem } from '../support/admin.js';
import { routeConfig, sampleRequest } from '../support/route-samples.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const callers = [
  ...(['no key', 'a wrong key', 'a revoked key', 'the key of another user', 'the key of another tenant'] as const),
  ...(['the user’s key', 'an admin key', 'a read-only admin key', 'an admin key bound to a tenant'] as const),
] as const;
type Caller = (typeof callers)[number];
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
    case 'a read-only admin key':
      return isRead(route) ? 'let in' : 'forbidden';
    case 'an admin key bound to a tenant':
      return isOpenToBound(api, route) ? 'let in' : 'forbidden';
  }
}

/** The routes about the whole account, which are closed to admin keys that are bound to a tenant. */
const ofAccount = [
  ...['get /clock', 'put /clock', 'get /status'],
  ...['get /tenants', 'get /tenants/{id}', 'post /tenants', 'patch /tenants', 'delete /tenants'],
  ...['get /admin-api-keys', 'get /admin-api-keys/{id}', 'post /admin-api-keys', 'post /admin-api-keys/rotate'],
  ...['patch /admin-api-keys', 'delete /admin-api-keys'],
];
const unknownTenant = '00000000-0000-4000-8000-000000000000';

describe('Access control', () => {
  let world: World;
  let tenant: string;
  let defaultId: string;
  const elsewhere =
    'This key is bound to one tenant, and the Tenant-ID header names another: send the id of the key’s tenant, or leave the header out.';
  const nowhere = 'This key belongs to a user of another tenant: send the id of that tenant in the Tenant-ID header.';
  const keys = new Map<Caller, string | null>([
    ['no key', null],
    ['a wrong key', '0123456789ab.0123456789abcdef0123456789abcdef'],
  ]);
  before(async () => {
    world = await startWorld({ config: routeConfig });
    const post = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<readonly AdminItem[]> =>
      batchOf(await world.request('POST', `/admin/v1${path}`, { body, headers })).created;
    const made = await post('/tenants', [
      { customerId: 'other', name: 'Other' },
      { customerId: 'third', name: 'Third' },
    ]);
    tenant = first(made).id;
    defaultId = (await world.pool.query<{ id: string }>('select id from tenants where no = 1')).rows[0]!.id;
    const keyOf = async (userId: string, headers?: Record<string, string>): Promise<AdminItem> =>
      first(await post('/application-api-keys', [{ userId }], headers));
    const [ana, ben, revoked] = [await keyOf('ana'), await keyOf('ben'), await keyOf('ana')];
    const theirs = await keyOf('ana', { 'tenant-id': tenant });
    await world.request('DELETE', `/admin/v1/application-api-keys?ids=${revoked.id}`);
    keys.set('the user’s key', ana.key).set('the key of another user', ben.key).set('a revoked key', revoked.key);
    keys.set('the key of another tenant', theirs.key);
    const bound = first(await post('/admin-api-keys', [{ name: 'Bound', tenantId: 'other' }]));
    keys.set('an admin key bound to a tenant', bound.key);
    keys.set('a read-only admin key', first(await post('/admin-api-keys', [{ name: 'Reader', access: 'read' }])).key);
    for (const id of ['ana', 'ben']) await world.request('PUT', `/v1/users/${id}`, { body: {} });
  });
  after(() => world.stop());

  async function call(caller: Caller, base: string, { method, path }: Route, headers: Record<string, string> = {}): Promise<Reply> {
    // Operators may delete users: this one has no key.
    const { address, body } = sampleRequest({ method, path }, base === '/admin/v1' ? 'carl' : 'ana');
    const key = keys.get(caller);
    return world.request(method.toUpperCase(), `${base}${address}`, {
      ...(key === undefined ? {} : { key }),
      ...(body === undefined ? {} : { body }),
      headers,
    });
  }

  function verdict({ status }: Reply): Verdict {
    if (status === 401) return 'unauthorized';
    return status === 403 ? 'forbidden' : 'let in';
  }

  for (const { base, api, route } of every) {
    it(`allows exactly the callers that ${route.method.toUpperCase()} ${base}${route.path} names`, async () => {
      for (const caller of callers) {
        const reply = await call(caller, base, route);
        expect(verdict(reply), `${caller}: ${reply.status} ${JSON.stringify(reply.body)}`).to.equal(expected(caller, api, route));
        expect(reply.status, caller).to.be.below(500);
        if (verdict(reply) !== 'let in') expect(errorOf(reply)).to.be.a('string');
      }
      // A key of one tenant can't distinguish a tenant that exists from one that does not.
      for (const caller of ['the user’s key', 'the key of another tenant', 'an admin key bound to a tenant'] as const) {
        for (const named of [...(caller === 'the user’s key' ? [tenant, 'other'] : [defaultId]), 'third', unknownTenant, 'nobody', '']) {
          const reply = await call(caller, base, route, { 'tenant-id': named });
          expect([reply.status, errorOf(reply)], `${caller} for "${named}"`).to.deep.equal([
            403,
            caller === 'the key of another tenant' ? nowhere : elsewhere,
          ]);
        }
      }
    });
  }

  it('accepts an application key of another tenant with that tenant’s Tenant-ID', async () => {
    const key = keys.get('the key of another tenant')!;
    const own = { key, headers: { 'tenant-id': tenant } };
    expect((await world.request('PUT', '/v1/users/ana', { ...own, body: { name: 'Ana' } })).status).to.equal(200);
    expect((await world.request('GET', '/v1/users/ben', own)).status).to.equal(403);
    expect(
      (await world.request('GET', '/v1/users/ana', { key: keys.get('the user’s key')!, headers: { 'tenant-id': tenant } })).status,
    ).to.equal(403);
    expect(itemOf(await world.get('/v1/users/ana')).name).to.be.oneOf([null, undefined]);
  });

  it('counts every GET as a read, and of the other routes only those that declare it', () => {
    const declared = every
      .filter(({ route }) => route.method !== 'get' && isRead(route))
      .map(({ route }) => `${route.method} ${route.path}`);
    expect([...new Set(declared)]).to.deep.equal(['post /live-tokens', 'post /configuration/dry-run', 'post /messages/preview']);
    expect([isRead({ method: 'get' }), isRead({ method: 'post' }), isRead({ method: 'post', reads: true })]).to.deep.equal([
      true,
      false,
      true,
    ]);
  });

  it('tells a refused caller what to do', async () => {
    const said = async (caller: Caller, path: string): Promise<string> =>
      errorOf(await world.request('GET', path, { key: keys.get(caller)! }));
    expect(await said('the key of another user', '/v1/users/ana')).to.equal(
      'This key is for the data of user "ben" only: use an admin key for others.',
    );
    expect(await said('the user’s key', '/v1/streaks?userIds=ana&userIds=ben')).to.equal(
      'This key is for the data of user "ana" only: use an admin key for others.',
    );
    expect(await said('the user’s key', '/admin/v1/tenants')).to.equal('An application key can’t call the Admin API: use an admin key.');
    expect(await said('the key of another tenant', '/v1/users/ana')).to.equal(nowhere);
    const change = await world.request('PUT', '/v1/users/ana', { key: keys.get('a read-only admin key')!, body: {} });
    expect(errorOf(change)).to.equal('This key is read-only, and this operation changes something: use an admin key with full access.');
    expect(await said('an admin key bound to a tenant', '/admin/v1/tenants')).to.equal(
      'This operation concerns the whole account, and this key is bound to a tenant: use an admin key of the account.',
    );
  });

  it('closes the account, and routes without a declared scope, to admin keys that are bound to a tenant', () => {
    const closed = every.filter(({ api, route }) => !isOpenToBound(api, route)).map(({ route }) => `${route.method} ${route.path}`);
    expect(closed.sort()).to.deep.equal([...ofAccount].sort());
    expect([isOpenToBound('admin', {}), isOpenToBound('application', {})]).to.deep.equal([false, true]);
  });

  it('lets a bound admin key work for its own tenant, named or not, and see and change nothing of others', async () => {
    const key = keys.get('an admin key bound to a tenant')!;
    const as = (method: string, path: string, body?: unknown, headers = {}): Promise<Reply> =>
      world.request(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
    expect((await as('POST', '/admin/v1/metrics', [{ key: 'own', name: 'Own' }])).status).to.equal(201);
    expect((await as('POST', '/v1/metrics/own/event', { user: { id: 'dora' }, value: 2 })).status).to.equal(201);
    for (const headers of [{}, { 'tenant-id': tenant }, { 'tenant-id': 'other' }]) {
      expect(itemsOf(await as('GET', '/admin/v1/metrics', undefined, headers)).map(({ name }) => name)).to.deep.equal(['Own']);
      expect((await as('GET', '/v1/users/dora', undefined, headers)).status).to.equal(200);
    }
    expect((await world.get('/v1/users/dora')).status).to.equal(404);
    expect(itemsOf(await world.get('/admin/v1/metrics')).map(({ name }) => name)).to.deep.equal(['K']);
  });

  it('refuses application keys on routes that do not allow them, and always in the Admin API', () => {
    expect([isOpen('application', {}), isOpen('application', { access: 'admin' }), isOpen('admin', { access: 'anyone' })]).to.deep.equal([
      false,
      false,
      false,
    ]);
  });

  // Each of these is closed to application keys until it says what it is.
  for (const { method, path } of applicationRoutes.filter(({ access }) => access === undefined)) {
    it(`has a row for ${method.toUpperCase()} ${path}`);
  }
});
