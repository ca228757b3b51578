import { expect } from 'chai';
import { isOpenToBound, isRead } from '../../src/api/auth.js';
import { networkOf } from '../../src/dashboard/sign-in.js';
import { createLog } from '../../src/logging/log.js';
import { dashboardEndpoints } from '../../src/dashboard/dashboard.js';
import { limits } from '../../src/shared/limits.js';
import { type AdminItem, batchOf, errorOf, first } from '../support/admin.js';
import { asPage, buildPage, cookieOf, ofPage, signedIn, signIn } from '../support/dashboard.js';
import { routeConfig, sampleRequest } from '../support/route-samples.js';
import { startSecond } from '../support/second.js';
import { until } from '../support/stage.js';
import { adminKey, keysOf, startWorld, type Reply, type World } from '../support/world.js';

const session = ['GET', '/dashboard/session'] as const;

async function create(world: World, path: string, item: object): Promise<AdminItem> {
  return first(batchOf(await world.request('POST', `/admin/v1${path}`, { body: [item] })).created);
}

describe('A request of the dashboard', () => {
  let world: World;
  const cookies = new Map<'full' | 'read' | 'bound', string>();
  let boundKey: string;
  before(async () => {
    world = await startWorld({ config: routeConfig });
    await create(world, '/tenants', { customerId: 'other', name: 'Other' });
    const { key: reader } = await create(world, '/admin-api-keys', { name: 'Reader', access: 'read' });
    ({ key: boundKey } = await create(world, '/admin-api-keys', { name: 'Bound', tenantId: 'other' }));
    cookies
      .set('full', await signedIn(world))
      .set('read', await signedIn(world, reader))
      .set('bound', await signedIn(world, boundKey));
    await world.request('PUT', '/v1/users/ana', { body: {} });
  });
  after(() => world.stop());

  const verdict = ({ status }: Reply): number | 'let in' => ([401, 403].includes(status) ? status : 'let in');

  it('reaches every endpoint of both APIs, and no other', () => {
    const patterns = dashboardEndpoints.map(({ pattern }) => pattern);
    expect(patterns.filter((pattern) => !/^\/dashboard\/api\/(?:admin\/)?v1\//.test(pattern))).to.deep.equal([]);
    expect(dashboardEndpoints.length).to.be.at.least(100);
  });

  for (const { api, route, pattern } of dashboardEndpoints) {
    const base = pattern.slice(0, pattern.indexOf(route.path.replace(/\{(\w+)\}/g, ':$1')));
    it(`${route.method.toUpperCase()} ${base}${route.path} needs a session, the header of the page, and a key that may call it`, async () => {
      const { address, body } = sampleRequest(route, api === 'admin' ? 'carl' : 'ana');
      const to = [route.method.toUpperCase(), `${base}${address}`] as const;
      const options = body === undefined ? {} : { body };
      const call = async (cookie: string | null, headers: Record<string, string> = {}): Promise<number | 'let in'> => {
        const reply = await asPage(world, cookie, to, { ...options, headers });
        expect(reply.status, JSON.stringify(reply.body)).to.be.below(500);
        return verdict(reply);
      };
      expect(await call(null), 'no session').to.equal(401);
      expect(await call(null, { 'x-api-key': adminKey }), 'an API key').to.equal(401);
      expect(await call('laurel_session=x'), 'an invented session').to.equal(401);
      const full = cookies.get('full')!;
      expect(await call(full, { 'x-laurel-dashboard': '' }), 'without the header').to.equal(403);
      expect(await call(full, { 'sec-fetch-site': 'same-site' }), 'from another origin').to.equal(403);
      expect(await call(full), 'full').to.equal('let in');
      expect(await call(full, { 'x-api-key': 'wrong' }), 'full, with a wrong API key').to.equal('let in');
      expect(await call(cookies.get('read')!), 'read-only').to.equal(isRead(route) ? 'let in' : 403);
      expect(await call(cookies.get('bound')!), 'bound').to.equal(isOpenToBound(api, route) ? 'let in' : 403);
      const byKey = await world.request(to[0], to[1].replace('/dashboard/api', ''), { ...options, key: boundKey });
      expect(await call(cookies.get('bound')!), 'bound, as with the key').to.equal(verdict(byKey));
    });
  }

  it('is about the tenant that it names, and a bound session only about its own', async () => {
    const path = ['GET', '/dashboard/api/admin/v1/metrics'] as const;
    const keysOf = ({ body }: Reply): string[] => (body as { key: string }[]).map(({ key }) => key);
    expect(keysOf(await asPage(world, cookies.get('full')!, path))).to.deep.equal(['k']);
    expect(keysOf(await asPage(world, cookies.get('full')!, path, { headers: { 'tenant-id': 'other' } }))).to.deep.equal([]);
    expect(keysOf(await asPage(world, cookies.get('bound')!, path))).to.deep.equal([]);
    const defaultId = (await world.pool.query<{ id: string }>('select id from tenants where no = 1')).rows[0]!.id;
    expect((await asPage(world, cookies.get('bound')!, path, { headers: { 'tenant-id': defaultId } })).status).to.equal(403);
  });

  it('is checked however its path is written', async () => {
    const ways = [
      ['/dashboard/api/v1/users/%61na', 401, 200],
      ['/DASHBOARD/API/V1/users/ana', 404, 404],
      ['/dashboard/api/v1/users/ana/', 404, 404],
    ] as const;
    for (const [path, without, withSession] of ways) {
      expect((await asPage(world, null, ['GET', path])).status, path).to.equal(without);
      expect((await asPage(world, cookies.get('full')!, ['GET', path])).status, path).to.equal(withSession);
      const head = await fetch(world.address + path, { method: 'HEAD', headers: ofPage });
      expect(head.status, path).to.equal(without);
    }
    const unknown = await asPage(world, cookies.get('full')!, ['GET', '/dashboard/api/v1/nothing']);
    expect(unknown.status).to.equal(404);
    expect(errorOf(unknown)).to.equal('No route matches GET /dashboard/api/v1/nothing.');
  });

  it('counts for the key in RATE_LIMIT, and is closed to the origins of CORS_ORIGINS', async () => {
    const limited = await startWorld({
      config: routeConfig,
      now: null,
      settings: { rateLimit: 4, rateLimitWindowS: 600, corsOrigins: ['*'] },
    });
    try {
      const foreign = { origin: 'https://app.example.com', 'access-control-request-method': 'PUT' };
      for (const path of ['/dashboard/api/v1/users/ana', '/dashboard/session', '/dashboard']) {
        const preflight = await limited.request('OPTIONS', path, { key: null, headers: foreign });
        expect(preflight.headers.get('access-control-allow-origin'), path).to.equal(null);
      }
      const cookie = await signedIn(limited);
      for (const left of ['3', '2']) {
        const reply = await asPage(limited, cookie, ['GET', '/dashboard/api/v1/users/ana']);
        expect(reply.headers.get('ratelimit-remaining')).to.equal(left);
      }
      expect((await limited.get('/v1/users/ana')).headers.get('ratelimit-remaining')).to.equal('1');
      await limited.get('/v1/users/ana');
      expect((await asPage(limited, cookie, ['GET', '/dashboard/api/v1/users/ana'])).status).to.equal(429);
    } finally {
      await limited.stop();
    }
  });
});

describe('Signing in to the dashboard', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: routeConfig, settings: { trustedProxies: 1 } });
  });
  after(() => world.stop());
  let addresses = 0;
  /** Each test has an address of its own. */
  const address = (): Record<string, string> => ({ 'x-forwarded-for': `10.0.0.${(addresses += 1)}` });

  it('shows whose session it is, and gives the browser a cookie that scripts and other sites can’t use', async () => {
    const { id, key, prefix } = await create(world, '/admin-api-keys', { name: 'Ops', access: 'read' });
    const reply = await signIn(world, key, address());
    expect(reply.status).to.equal(201);
    const body = reply.body as { expires: string; version: string };
    expect(body).to.deep.include({ key: { id, name: 'Ops', prefix, access: 'read', tenantId: null }, testClock: true });
    expect(Date.parse(body.expires) - Date.now()).to.be.within(limits.sessionMs - 60_000, limits.sessionMs);
    expect(body.version).to.match(/^\d+\.\d+\.\d+$/);
    const [cookie = ''] = reply.headers.getSetCookie();
    expect(cookie).to.match(/^laurel_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=strict; httponly$/);
    expect(reply.headers.get('cache-control')).to.equal('no-store');
    expect(await asPage(world, cookieOf(reply), session)).to.deep.include({ status: 200, body });
    const token = cookieOf(reply).slice('laurel_session='.length);
    const { rows } = await world.pool.query<{ row: string }>('select session::text as row from dashboard_sessions as session');
    expect(rows.map(({ row }) => row).join()).to.not.contain(token);
    expect(rows.map(({ row }) => row).join()).to.not.contain(Buffer.from(token).toString('hex'));
  });

  it('binds the cookie to this host and to HTTPS when the browser uses it', async () => {
    for (const headers of [{ 'x-forwarded-proto': 'https' }, { origin: 'https://laurel.example.com', 'sec-fetch-site': 'same-origin' }]) {
      const reply = await signIn(world, adminKey, { ...address(), ...(headers as Record<string, string>) });
      const [cookie = ''] = reply.headers.getSetCookie();
      expect(cookie).to.match(/^__Host-laurel_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=strict; secure; httponly$/);
      expect((await asPage(world, cookieOf(reply), session)).status).to.equal(200);
    }
  });

  it('rejects every invalid key in the same way and after the same time, whether it once was or belongs to a user', async () => {
    const gone = await create(world, '/admin-api-keys', { name: 'Gone' });
    await world.request('PATCH', '/admin/v1/admin-api-keys', { body: [{ id: gone.id, status: 'revoked' }] });
    const user = await create(world, '/application-api-keys', { userId: 'ana' });
    const from = address();
    const wrong = ['nonsense', '0123456789ab.0123456789abcdef0123456789abcdef', `${adminKey.split('.')[0]!}.wrongwrongwrongwrong`];
    for (const key of [...wrong, gone.key, user.key]) {
      const begun = performance.now();
      const reply = await signIn(world, key, from);
      expect([reply.status, errorOf(reply)], key).to.deep.equal([401, 'This key can’t sign in: check it, or use another admin key.']);
      expect(performance.now() - begun).to.be.at.least(limits.signInFailureMs - 2);
      expect(reply.headers.getSetCookie()).to.deep.equal([]);
    }
  });

  it('needs the header of the page and a body with a key', async () => {
    for (const headers of [{ 'x-laurel-dashboard': '0' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'none' }]) {
      const reply = await signIn(world, adminKey, { ...address(), ...(headers as Record<string, string>) });
      expect([reply.status, reply.headers.getSetCookie()]).to.deep.equal([403, []]);
    }
    for (const raw of ['', '{}', '{"key":""}', '{"key":7}', '[]', `{"key":"${'x'.repeat(2_000)}"}`, 'null']) {
      const reply = await asPage(world, null, ['POST', '/dashboard/session'], { raw });
      expect(reply.status, raw).to.be.oneOf([400, 422]);
      expect(errorOf(reply)).to.be.a('string');
      if (raw === '') expect(errorOf(reply)).to.equal('The body must be an object.');
    }
  });

  it('is open to valid keys after any number of failures from one address, while further wrong keys are a 429 in every process', async () => {
    const second = await startSecond(world);
    try {
      const [from, elsewhere] = [address(), address()];
      const failures = await Promise.all(Array.from({ length: limits.signInFailures }, () => signIn(world, 'wrong.key', from)));
      expect(failures.map(({ status }) => status)).to.deep.equal(failures.map(() => 401));
      const refused = await signIn(world, 'wrong.key', from);
      const retryAfter = refused.headers.get('retry-after');
      expect([refused.status, errorOf(refused)]).to.deep.equal([
        429,
        `Too many keys that can’t sign in: a valid key signs in at once, and others are tried again after ${retryAfter} s.`,
      ]);
      expect(Number(retryAfter)).to.be.within(limits.signInWindowS - 30, limits.signInWindowS);
      const there = (key: string): Promise<Response> =>
        fetch(`${second.address!}/dashboard/session`, { method: 'POST', headers: { ...ofPage, ...from }, body: JSON.stringify({ key }) });
      expect([(await there('wrong.key')).status, (await there(adminKey)).status]).to.deep.equal([429, 201]);
      // What a client adds to the left of the trusted proxy's address changes nothing.
      const spoofed = { 'x-forwarded-for': `9.9.9.9, ${from['x-forwarded-for']!}` };
      expect((await signIn(world, 'wrong.key', spoofed)).status).to.equal(429);
      expect((await signIn(world, adminKey, from)).status).to.equal(201);
      expect((await signIn(world, 'wrong.key', elsewhere)).status).to.equal(401);
      expect((await world.request('GET', '/v1/users/nobody', { headers: from })).status).to.equal(404);
    } finally {
      await second.stop();
    }
  });

  it('is open to valid keys after any number of failures from all addresses, which store no more addresses than are counted', async () => {
    const crowded = await startWorld({ config: routeConfig, settings: { trustedProxies: 1 } });
    try {
      let sent = 0;
      const statuses = new Map<number, number>();
      const attempt = async (): Promise<void> => {
        while (sent < limits.allSignInFailures + 200) {
          sent += 1;
          const { status } = await signIn(crowded, 'wrong.key', { 'x-forwarded-for': `crowd-${sent}` });
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: 100 }, attempt));
      expect([...statuses]).to.deep.equal([[401, limits.allSignInFailures + 200]]);
      const counters = (await keysOf(crowded.redis, '')).filter((key) => key.includes('sign-in'));
      // A process counts by itself for a moment if Redis is too slow for it.
      expect(counters.length).to.be.at.most(limits.allSignInFailures + 100);
      const begun = performance.now();
      expect((await signIn(crowded, 'wrong.key', { 'x-forwarded-for': 'one more' })).status).to.equal(401);
      expect(performance.now() - begun, 'slowed').to.be.at.least(limits.signInSlowedMs - 2);
      expect((await signIn(crowded, adminKey, { 'x-forwarded-for': 'crowd-1' })).status).to.equal(201);
    } finally {
      await crowded.stop();
    }
  });

  it('counts a whole network of IPv6 as one address, and an address with a port as the address', () => {
    expect(['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '[2001:db8:1:2::7]:4711'].map(networkOf)).to.deep.equal(
      Array(3).fill('2001:db8:1:2::'),
    );
    expect(['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1:4711'].map(networkOf)).to.deep.equal(Array(3).fill('192.0.2.1'));
    expect(['2001:db8:1:3::1', '192.0.2.2', 'unknown', ''].map(networkOf)).to.deep.equal(['2001:db8:1:3::', '192.0.2.2', 'unknown', '']);
  });

  it('counts by the address of the connection when no proxy is trusted, and reports a proxy in the log and in the status', async () => {
    const lines: string[] = [];
    const log = createLog('warn', { write: (line: string) => lines.push(line) });
    const direct = await startWorld({ config: routeConfig, log });
    const proxies = async (): Promise<string[]> => {
      const { problems } = (await direct.get('/admin/v1/status')).body as { problems: string[] };
      return problems.filter((problem) => problem.includes('TRUSTED_PROXIES'));
    };
    try {
      await Promise.all(Array.from({ length: limits.signInFailures }, () => signIn(direct, 'wrong.key', address())));
      expect((await signIn(direct, 'wrong.key', address())).status).to.equal(429);
      expect((await signIn(direct, adminKey)).status).to.equal(201);
      expect([await proxies(), lines.filter((line) => line.includes('X-Forwarded-For'))]).to.deep.equal([[], []]);
      for (let i = 0; i < 3; i += 1) expect((await signIn(direct, adminKey, address())).status).to.equal(201);
      expect((await proxies()).join()).to.match(/X-Forwarded-For in the last hour while TRUSTED_PROXIES is 0/);
      expect(lines.filter((line) => line.includes('X-Forwarded-For is ignored'))).to.have.length(1);
    } finally {
      await direct.stop();
    }
  });

  it('needs no Redis with a valid key', async () => {
    const alone = await startWorld({ config: routeConfig });
    try {
      await alone.redis.set(`${alone.settings.redisPrefix}:sign-in:all`, 'no number');
      expect((await signIn(alone, adminKey)).status).to.equal(201);
      expect((await signIn(alone, 'wrong.key')).status).to.equal(401);
    } finally {
      await alone.stop();
    }
  });
});

describe('A session of the dashboard', () => {
  let world: World;
  let aheadMs = 0;
  before(async () => {
    world = await startWorld({ config: routeConfig, overrides: { sessionAheadMs: () => aheadMs } });
  });
  after(() => world.stop());
  afterEach(() => {
    aheadMs = 0;
  });

  const statusOf = async (cookie: string): Promise<number> => (await asPage(world, cookie, session)).status;
  const read = async (cookie: string): Promise<number> => (await asPage(world, cookie, ['GET', '/dashboard/api/admin/v1/metrics'])).status;
  const newKey = (fields: object = {}): Promise<AdminItem> => create(world, '/admin-api-keys', { name: 'Key', ...fields });

  it('ends when the operator signs out, and the browser loses its cookie', async () => {
    const cookie = await signedIn(world);
    const reply = await asPage(world, cookie, ['DELETE', '/dashboard/session']);
    expect(reply.status).to.equal(204);
    expect(reply.headers.getSetCookie()[0]).to.match(/^laurel_session=; path=\/; expires=Thu, 01 Jan 1970/);
    expect([await statusOf(cookie), await read(cookie)]).to.deep.equal([401, 401]);
    expect((await asPage(world, null, ['DELETE', '/dashboard/session'])).status).to.equal(204);
  });

  it('is replaced by that of the next sign-in of the same browser', async () => {
    const cookie = await signedIn(world);
    const next = cookieOf(await signIn(world, adminKey, { cookie }));
    expect([await statusOf(cookie), await statusOf(next)]).to.deep.equal([401, 200]);
  });

  it('expires after 8 hours', async () => {
    const cookie = await signedIn(world);
    aheadMs = limits.sessionMs - 1_000;
    expect(await read(cookie)).to.equal(200);
    aheadMs = limits.sessionMs;
    const reply = await asPage(world, cookie, ['GET', '/dashboard/api/admin/v1/metrics']);
    expect([reply.status, errorOf(reply)]).to.deep.equal([
      401,
      'You are not signed in, or your session has ended: sign in with an admin key.',
    ]);
  });

  it('ends at once with its key, where the key is revoked or deleted, and with the tenant of its key', async () => {
    const [revoked, deleted] = [await newKey(), await newKey()];
    const tenant = await create(world, '/tenants', { customerId: 'short', name: 'Short' });
    const bound = await newKey({ tenantId: 'short' });
    const cookies = [await signedIn(world, revoked.key), await signedIn(world, deleted.key), await signedIn(world, bound.key)];
    expect(await Promise.all(cookies.map(read))).to.deep.equal([200, 200, 200]);
    await world.request('PATCH', '/admin/v1/admin-api-keys', { body: [{ id: revoked.id, status: 'revoked' }] });
    expect(await Promise.all(cookies.map(read))).to.deep.equal([401, 200, 200]);
    await world.request('DELETE', `/admin/v1/admin-api-keys?ids=${deleted.id}`);
    expect(await Promise.all(cookies.map(read))).to.deep.equal([401, 401, 200]);
    await world.request('DELETE', `/admin/v1/tenants?ids=${tenant.id}`);
    expect(await Promise.all(cookies.map(read))).to.deep.equal([401, 401, 401]);
  });

  it('ends within a second in every other process', async () => {
    const second = await startSecond(world);
    try {
      const [revoked, ended] = [await newKey(), await newKey()];
      const cookies = [await signedIn(world, revoked.key), await signedIn(world, ended.key)];
      const there = async (cookie = ''): Promise<number> =>
        (await fetch(`${second.address!}/dashboard/api/admin/v1/metrics`, { headers: { ...ofPage, cookie } })).status;
      expect(await Promise.all(cookies.map(there))).to.deep.equal([200, 200]);
      await world.request('PATCH', '/admin/v1/admin-api-keys', { body: [{ id: revoked.id, status: 'revoked' }] });
      await until('the revocation in the other process', async () => (await there(cookies[0])) === 401, 1_000);
      await there(cookies[1]);
      await asPage(world, cookies[1]!, ['DELETE', '/dashboard/session']);
      await until('the end in the other process', async () => (await there(cookies[1])) === 401, 1_000);
    } finally {
      await second.stop();
    }
  });

  it('is not ended or slowed by requests with invented sessions, which use one connection to Postgres and write nothing', async () => {
    const cookie = await signedIn(world);
    const invented = (i: number): string => `laurel_session=${String(i).padStart(43, 'x')}`;
    const flood = Array.from({ length: 300 }, async (_, i) => [
      (await asPage(world, invented(i), ['GET', '/dashboard/api/admin/v1/metrics'])).status,
      (await asPage(world, invented(i), ['DELETE', '/dashboard/session'])).status,
    ]);
    const { rows } = await world.pool.query<{
      writes: number;
    }>(`select count(*)::int as writes from pg_locks where mode = 'RowExclusiveLock'
       and relation = 'dashboard_sessions'::regclass
       and database = (select oid from pg_database where datname = current_database())`);
    expect(rows[0]?.writes).to.equal(0);
    expect(await read(cookie)).to.equal(200);
    expect(await Promise.all(flood)).to.deep.equal(flood.map(() => [401, 204]));
    expect(await read(cookie)).to.equal(200);
  });

  it('is in the list of sessions, from which operators end it', async () => {
    const key = await newKey({ name: 'Listed' });
    const [own, other] = [await signedIn(world), await signedIn(world, key.key)];
    type Listed = { id: string; keyId: string; keyName: string; current: boolean };
    const list = async (): Promise<Listed[]> =>
      (await asPage(world, own, ['GET', '/dashboard/api/admin/v1/dashboard-sessions?limit=100'])).body as Listed[];
    const before = await list();
    expect(before.filter(({ current }) => current)).to.have.length(1);
    const found = before.find(({ keyId }) => keyId === key.id)!;
    expect(found).to.deep.include({ keyName: 'Listed', current: false });
    const remove = (id: string): Promise<Reply> => asPage(world, own, ['DELETE', `/dashboard/api/admin/v1/dashboard-sessions?ids=${id}`]);
    expect((await remove(found.id)).body).to.deep.equal({ deleted: [{ id: found.id }], issues: [] });
    expect(await read(other)).to.equal(401);
    expect((await list()).map(({ id }) => id)).to.not.include(found.id);
    expect(batchOf(await remove(found.id)).issues[0]?.message).to.equal('There is no session with this id.');
  });

  it('of another tenant’s key is invisible to a bound key, which can’t end it', async () => {
    await create(world, '/tenants', { customerId: 'narrow', name: 'Narrow' });
    const bound = await newKey({ tenantId: 'narrow' });
    const own = await signedIn(world, bound.key);
    const other = await signedIn(world);
    const listed = (await world.request('GET', '/admin/v1/dashboard-sessions', { key: bound.key })).body as { keyId: string }[];
    expect(listed.map(({ keyId }) => keyId)).to.deep.equal([bound.id]);
    const { rows } = await world.pool.query<{ id: string }>('select id from dashboard_sessions where key_id <> $1 and ended is null', [
      bound.id,
    ]);
    const ids = rows.map(({ id }) => `ids=${id}`).join('&');
    const reply = await world.request('DELETE', `/admin/v1/dashboard-sessions?${ids}`, { key: bound.key });
    expect(batchOf(reply).deleted).to.deep.equal([]);
    expect([await read(own), await read(other)]).to.deep.equal([200, 200]);
  });

  it('is one of at most 100 of its key: another one ends the oldest', async () => {
    const { key, id } = await newKey();
    const oldest = await signedIn(world, key);
    await world.pool.query(
      `insert into dashboard_sessions (hash, key_id, created, expires, last_used)
       select decode(md5(n::text), 'hex'), $1, now() + n * interval '1 millisecond', now() + interval '1 hour', now() from generate_series(1, 99) as n`,
      [id],
    );
    expect(await read(oldest)).to.equal(200);
    const newest = await signedIn(world, key);
    expect([await read(oldest), await read(newest)]).to.deep.equal([401, 200]);
  });

  it('is pruned by the worker once it has expired, and the audit log after 400 days', async () => {
    const { id } = await newKey();
    await world.pool.query(
      `insert into dashboard_sessions (hash, key_id, created, expires, last_used)
       select decode(md5('old' || n), 'hex'), $1, now() - interval '9 hours', now() - interval '1 hour', now() from generate_series(1, 3) as n`,
      [id],
    );
    await world.pool.query(
      `insert into audit_log (at, via, operation, summary) overriding system value values (now() - interval '401 days', 'api', 'old', 'old')`,
    );
    aheadMs = limits.accessPruneMs + 60_000;
    await until('the pruning', async () => {
      const { rows } = await world.pool.query<{ count: number }>(
        `select (select count(*) from dashboard_sessions where key_id = $1)::int + (select count(*) from audit_log where operation = 'old')::int as count`,
        [id],
      );
      return rows[0]?.count === 0;
    });
  });
});

describe('The page of the dashboard', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: routeConfig, overrides: { pageFolder: await buildPage() } });
  });
  after(() => world.stop());
  const get = (path: string, headers: Record<string, string> = {}): Promise<Reply> => world.request('GET', path, { key: null, headers });

  it('is served at the address of every screen, without a session, may load only what is its own, and is in no frame', async () => {
    for (const path of ['/dashboard', '/dashboard/', '/dashboard/users', '/dashboard/users/a%2Fb', '/dashboard/sessions']) {
      const reply = await get(path);
      const { status, headers } = reply;
      expect(status, path).to.equal(200);
      expect(reply.body).to.contain('<div id="page">');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy.split('; ')).to.include.members([
        ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"],
        ...["base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"],
      ]);
      expect(policy).to.not.contain('unsafe');
      expect([headers.get('cache-control'), headers.get('x-content-type-options'), headers.get('x-frame-options')]).to.deep.equal([
        ...['no-cache', 'nosniff', 'DENY'],
      ]);
    }
    expect((await world.request('POST', '/dashboard/users', { key: null, body: {} })).status).to.equal(404);
  });

  it('loads assets that browsers keep, compressed as they accept it', async () => {
    const index = (await get('/dashboard')).body as string;
    const assets = [...index.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(assets).to.have.length(2);
    for (const path of assets) {
      const plain = await get(path, { 'accept-encoding': 'identity' });
      expect([plain.status, plain.headers.get('content-encoding')]).to.deep.equal([200, null]);
      for (const encoding of ['br', 'gzip']) {
        const packed = await get(path, { 'accept-encoding': encoding });
        expect(packed.headers.get('content-encoding')).to.equal(encoding);
        expect(packed.body).to.equal(plain.body);
        expect(Number(packed.headers.get('content-length'))).to.be.below(Number(plain.headers.get('content-length')));
        expect(packed.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
        expect(packed.headers.get('vary')).to.contain('Accept-Encoding');
        const again = await get(path, {
          'accept-encoding': encoding,
          'if-none-match': packed.headers.get('etag')!,
          'cache-control': 'max-age=0',
        });
        expect(again.status).to.equal(304);
      }
    }
    for (const path of ['/dashboard/assets/nothing.js', '/dashboard/assets/..%2Findex.html', '/dashboard/assets/main.js.br'])
      expect((await get(path)).status, path).to.equal(404);
  });

  it('has a policy on every response', async () => {
    const cookie = await signedIn(world);
    for (const path of [
      '/dashboard',
      '/dashboard/session',
      '/dashboard/api/v1/users/zoe',
      '/dashboard/api/nothing',
      '/dashboard/preview',
      '/dashboard/assets/x',
    ])
      for (const headers of [{}, { ...ofPage, cookie }]) {
        const reply = await get(path, headers);
        expect(reply.headers.get('content-security-policy'), path).to.match(/default-src 'none'.*frame-ancestors/);
        expect(reply.headers.get('x-content-type-options'), path).to.equal('nosniff');
      }
  });

  it('does not exist with DASHBOARD=0, and neither does anything else under its address', async () => {
    const without = await startWorld({ config: routeConfig, settings: { dashboard: false } });
    try {
      for (const [method, path] of [
        ['GET', '/dashboard'],
        ['GET', '/dashboard/users'],
        ['POST', '/dashboard/session'],
        ['GET', '/dashboard/session'],
        ['GET', '/dashboard/api/v1/users/ana'],
        ['GET', '/dashboard/preview'],
        ['GET', '/dashboard/assets/main.js'],
      ] as const) {
        expect((await asPage(without, null, [method, path])).status, path).to.equal(404);
      }
    } finally {
      await without.stop();
    }
  });

  it('says how to build it where it is not built', async () => {
    const unbuilt = await startWorld({ config: routeConfig, overrides: { pageFolder: '/nowhere' } });
    try {
      const reply = await unbuilt.request('GET', '/dashboard', { key: null });
      expect([reply.status, errorOf(reply)]).to.deep.equal([
        404,
        'The page of the dashboard is not built: run npm run build, and load this page again.',
      ]);
    } finally {
      await unbuilt.stop();
    }
  });
});
