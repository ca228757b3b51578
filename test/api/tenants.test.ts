import { expect } from 'chai';
import { partitionPrefix } from '../../src/redis/contract.js';
import type { Service } from '../../src/app/service.js';
import { batchOf, errorOf, first, type BatchBody } from '../support/admin.js';
import { Client, inParallel } from '../support/client.js';
import { startSecond } from '../support/second.js';
import { until } from '../support/stage.js';
import { adminKey, keysOf, startWorld, type Reply, type World } from '../support/world.js';

/** The same keys everywhere; what a step earns is the tenant's own. */
const config = (points: number): string =>
  JSON.stringify({
    metrics: [{ key: 'm', name: 'M' }],
    points: [
      { key: 'p', name: 'P', triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points, status: 'active' }] },
    ],
    leaderboards: [{ key: 'b', name: 'B', rankBy: 'metric', metricKey: 'm', status: 'active' }],
  });

/** The fields of responses that this file checks. */
interface Seen {
  readonly points: { readonly p: { readonly total: number } };
  readonly total: number;
  readonly current: number;
  readonly created: string;
  readonly name: string;
  readonly history: readonly unknown[];
  readonly rankings: readonly { readonly userName: string | null }[];
}
const seen = ({ body }: Reply): Seen => body as Seen;

const unknownId = '00000000-0000-4000-8000-000000000000';
const to = (tenant: string | undefined): Record<string, string> => (tenant === undefined ? {} : { 'tenant-id': tenant });

describe('Tenants', () => {
  let world: World;
  let second: Service;
  before(async () => {
    world = await startWorld({ config: config(1) });
    second = await startSecond(world);
  });
  after(async () => {
    await second.stop();
    await world.stop();
  });

  const create = async (...customers: string[]): Promise<BatchBody> =>
    batchOf(
      await world.request('POST', '/admin/v1/tenants', {
        body: customers.map((customerId) => ({ customerId, name: `Name of ${customerId}` })),
      }),
    );
  const createOne = async (customer: string): Promise<string> => first((await create(customer)).created).id;
  const noOf = async (id: string): Promise<number> =>
    (await world.pool.query<{ no: number }>('select no from tenants where id = $1', [id])).rows[0]!.no;
  const event = (tenant: string | undefined, user: string, value: number): Promise<Reply> =>
    world.event('m', { user: { id: user }, value }, to(tenant));
  const read = (tenant: string | undefined, path: string): Promise<Reply> => world.request('GET', `/v1${path}`, { headers: to(tenant) });
  /** A request at the second process. */
  const elsewhere = async (tenant: string, path = '/v1/leaderboards'): Promise<number> =>
    (await fetch(second.address! + path, { headers: { 'x-api-key': adminKey, 'tenant-id': tenant } })).status;

  it('are created, listed, read, changed and archived; refused items are reported by index', async () => {
    const { created, issues } = await create('one', 'two', 'one');
    expect(created.map(({ customerId, name, status }) => [customerId, name, status])).to.deep.equal([
      ['one', 'Name of one', 'active'],
      ['two', 'Name of two', 'active'],
    ]);
    const message = 'A tenant with this customerId already exists.';
    expect(issues).to.deep.equal([{ index: 2, severity: 'error', message, level: 'error', reason: message }]);
    const [one, two] = [first(created), first(created.slice(1))];
    expect((await world.get('/admin/v1/tenants?limit=1&skip=1')).body).to.deep.equal([two]);
    expect((await world.get(`/admin/v1/tenants/${one.id}`)).body).to.deep.equal(one);
    const changes = [{ id: one.id, name: 'New' }, { id: unknownId, name: 'x' }, { id: two.id, customerId: 'one' }, { id: two.id }];
    const changed = batchOf(await world.request('PATCH', '/admin/v1/tenants', { body: changes }));
    expect(changed.updated.map(({ name, customerId }) => [name, customerId])).to.deep.equal([['New', 'one']]);
    expect(changed.issues.map(({ index, message }) => [index, message])).to.deep.equal([
      [1, 'There is no tenant with this id.'],
      [2, 'A tenant with this customerId already exists.'],
      [3, 'This id occurs earlier in the batch: send one item for each id.'],
    ]);
    const same = { id: two.id, name: two.name, customerId: two.customerId };
    expect(batchOf(await world.request('PATCH', '/admin/v1/tenants', { body: [same] })).updated).to.deep.equal([two]);
    const gone = batchOf(await world.request('DELETE', `/admin/v1/tenants?ids=${one.id}&ids=${two.id}&ids=${one.id}`));
    expect(gone.deleted).to.deep.equal([{ id: one.id }, { id: two.id }]);
    expect(gone.issues.map(({ index, id }) => [index, id])).to.deep.equal([[2, one.id]]);
    expect((await world.get(`/admin/v1/tenants/${one.id}`)).status).to.equal(404);
    expect((await world.get('/admin/v1/tenants')).body).to.deep.equal([]);
  });

  it('can’t touch the default tenant', async () => {
    const { rows } = await world.pool.query<{ id: string }>('select id from tenants where no = 1');
    const { id } = rows[0]!;
    expect(batchOf(await world.request('DELETE', `/admin/v1/tenants?ids=${id}`)).deleted).to.deep.equal([]);
    expect(batchOf(await world.request('PATCH', '/admin/v1/tenants', { body: [{ id, name: 'x' }] })).updated).to.deep.equal([]);
    expect((await world.get(`/admin/v1/tenants/${id}`)).status).to.equal(404);
    expect(first((await create(id)).issues).message).to.equal('This customerId is the id of a tenant: choose another one.');
  });

  it('are refused with a sentence when they are not well-formed', async () => {
    const good = { customerId: 'x', name: 'X' };
    const bad = [
      [],
      {},
      [{ ...good, customerId: '' }],
      [{ ...good, customerId: ' x' }],
      [{ ...good, customerId: 'a\u0000' }],
      [{ name: 'X' }],
    ];
    for (const body of [...bad, [{ ...good, name: 'x'.repeat(256) }], Array(101).fill(good)]) {
      const reply = await world.request('POST', '/admin/v1/tenants', { body });
      expect([reply.status, typeof errorOf(reply)], JSON.stringify(body).slice(0, 80)).to.deep.equal([422, 'string']);
    }
    for (const query of ['', '?ids=x', `?ids=${unknownId}&ids=x`]) {
      expect((await world.request('DELETE', `/admin/v1/tenants${query}`)).status).to.equal(422);
    }
    expect((await world.get('/admin/v1/tenants/x')).status).to.equal(422);
    expect((await world.get('/admin/v1/tenants')).body).to.deep.equal([]);
  });

  it('have one environment, production, also for a key bound to the tenant', async () => {
    const id = await createOne('staging');
    const made = await world.request('POST', '/admin/v1/admin-api-keys', { body: [{ name: 'bound', tenantId: id }] });
    const [{ key }] = (made.body as { created: [{ key: string }] }).created;
    for (const options of [{}, { headers: to(id) }, { key }]) {
      const reply = await world.request('GET', '/admin/v1/environments', options);
      expect([reply.status, reply.body]).to.deep.equal([200, [{ name: 'Production', key: 'production', priority: 1 }]]);
    }
  });

  it('are named by their id or by their customer’s, in every process as soon as they exist, and not once they are archived', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await createOne('kunde ü');
      const inLatin1 = Buffer.from('kunde ü', 'utf8').toString('latin1');
      const named = [id, id.toUpperCase(), inLatin1];
      for (const name of named) expect([(await read(name, '/leaderboards')).status, await elsewhere(name)]).to.deep.equal([200, 200]);
      await world.request('PATCH', '/admin/v1/tenants', { body: [{ id, customerId: 'renamed' }] });
      expect([await elsewhere('renamed'), await elsewhere(inLatin1), await elsewhere(id)]).to.deep.equal([200, 404, 200]);
      await world.request('DELETE', `/admin/v1/tenants?ids=${id}`);
      expect((await read(id, '/leaderboards')).status).to.equal(404);
      await until('the second process has archived it', async () => (await elsewhere(id)) === 404);
      expect(await elsewhere('renamed')).to.equal(404);
    }
    const reply = await read('nobody', '/users/ana');
    expect(errorOf(reply)).to.equal('There is no tenant "nobody": check the Tenant-ID header, or leave it out.');
  });

  it('begin with an empty configuration, and get their own from a file', async () => {
    const id = await createOne('file');
    expect((await event(id, 'ana', 1)).status).to.equal(404);
    await world.configure(config(7), { tenant: 'file' });
    expect(seen(await event(id, 'ana', 2)).points.p.total).to.equal(14);
    expect(seen(await event(undefined, 'ana', 2)).points.p.total).to.equal(2);
    expect(await elsewhere(id, '/v1/users/ana')).to.equal(200);
    // A change reaches the other process with its next call, with or without an announcement.
    await world.configure(config(8), { tenant: id });
    await fetch(`${second.address!}/v1/metrics/m/event`, {
      method: 'POST',
      headers: { 'x-api-key': adminKey, 'tenant-id': id },
      body: JSON.stringify({ user: { id: 'ben' }, value: 1 }),
    });
    expect(seen(await read(id, '/users/ben/points/p')).total).to.equal(8);
  });

  it('have settings of their own: a change in one changes no other', async () => {
    const ids = (await create('strict', 'lax')).created.map(({ id }) => id);
    const at = (id: string | undefined, method: string, path: string, body?: unknown): Promise<Reply> =>
      world.request(method, path, { headers: to(id), ...(body === undefined ? {} : { body }) });
    const all = (path: string): Promise<unknown[]> =>
      Promise.all([undefined, ...ids].map(async (id) => (await at(id, 'GET', `/admin/v1${path}`)).body as unknown));
    const [before, streaksBefore] = [await all('/settings'), await all('/streak-settings')];
    await at(ids[0], 'PATCH', '/admin/v1/settings', { controlRatio: 1, defaultTimeZone: 'Asia/Tokyo' });
    await at(ids[0], 'PATCH', '/admin/v1/streak-settings', { frequency: 'monthly' });
    const [after, streaksAfter] = [await all('/settings'), await all('/streak-settings')];
    const { experimentation, ...others } = before[1] as { experimentation: object };
    const changed = { controlRatio: 1, defaultTimeZone: 'Asia/Tokyo', experimentation: { ...experimentation, controlRatio: 100 } };
    expect(after[1]).to.deep.equal({ ...others, ...changed });
    expect(streaksAfter[1]).to.deep.equal({ ...(streaksBefore[1] as object), frequency: 'monthly' });
    for (const other of [0, 2]) expect([after[other], streaksAfter[other]]).to.deep.equal([before[other], streaksBefore[other]]);
    const controls = await Promise.all(
      [undefined, ...ids].map(async (id) => ((await at(id, 'PUT', '/v1/users/zoe', {})).body as { control: boolean }).control),
    );
    expect(controls).to.deep.equal([false, true, false]);
  });

  it('refuse a file for one that does not exist', async () => {
    const refused = await world.configure(config(1), { tenant: 'nobody' }).catch((error: unknown) => String(error));
    expect(refused).to.contain('There is no tenant "nobody": name one by its id or its customerId.');
  });

  it('share the test clock, also when they are new', async () => {
    await world.setClock('2040-01-05T12:00:00.000Z');
    const id = await createOne('clock');
    await world.configure(config(1), { tenant: id });
    expect((await event(id, 'ana', 1)).status).to.equal(201);
    expect(seen(await read(id, '/users/ana')).created).to.equal('2040-01-05T12:00:00.000Z');
    await world.setClock('2040-01-06T12:00:00.000Z');
    await event(id, 'ben', 1);
    expect(seen(await read(id, '/users/ben')).created).to.equal('2040-01-06T12:00:00.000Z');
  });

  it('see their own writes at once in what Postgres answers, from the first event of a new tenant on', async () => {
    const id = await createOne('fresh');
    await world.configure(config(1), { tenant: id });
    await event(id, 'ana', 3);
    const place = await read(id, '/users/ana/leaderboards/b');
    expect([place.status, seen(place).history.length]).to.deep.equal([200, 1]);
  });

  it('are isolated under parallel load with the same user ids and keys', async () => {
    const customers = ['east', 'west', 'south'];
    const { created } = await create(...customers);
    const ids = created.map(({ id }) => id);
    for (const [i, id] of ids.entries()) await world.configure(config(i + 2), { tenant: id });
    const tenants = [undefined, ...ids];
    const before = (seen(await read(undefined, '/users/u0/metrics/m')) as Partial<Seen>).current ?? 0;
    const client = new Client(adminKey, 32);
    const users = 5;
    const rounds = 60;
    const sent = tenants.map(() => Array<number>(users).fill(0));
    await inParallel(32, async (index) => {
      for (let round = 0; round < rounds; round += 1) {
        const [t, user] = [(index + round) % tenants.length, (index * 7 + round) % users];
        // The value identifies the tenant by its last digit.
        const value = 10 ** t;
        const address = round % 2 === 0 ? world.address : second.address!;
        const headers = { ...to(tenants[t]), 'idempotency-key': `${index}-${round >> 2}` };
        const answer = await client.event(address, 'm', { user: { id: `u${user}`, name: `tenant ${t}` }, value }, headers);
        // The same keys in all tenants: were they shared, this would be a replay.
        expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
        sent[t]![user]! += value;
      }
    });
    client.close();
    for (const [t, tenant] of tenants.entries()) {
      for (let user = 0; user < users; user += 1) {
        const total = sent[t]![user]! + (t === 0 && user === 0 ? before : 0);
        expect(seen(await read(tenant, `/users/u${user}/metrics/m`)).current, `tenant ${t}`).to.equal(total);
        expect(seen(await read(tenant, `/users/u${user}/points/p`)).total).to.equal(total * (t === 0 ? 1 : t + 1));
        expect(seen(await read(tenant, `/users/u${user}`)).name).to.equal(`tenant ${t}`);
      }
      const { rankings } = seen(await read(tenant, '/leaderboards/b?limit=100'));
      for (const { userName } of rankings) if (userName !== null) expect(userName).to.equal(`tenant ${t}`);
      const no = tenant === undefined ? 1 : await noOf(tenant);
      await world.drain(no);
      const { rows } = await world.pool.query<{ user_id: string; sum: number }>(
        `select user_id, sum(value)::float8 as sum from events where tenant = $1 and user_id like 'u%' group by user_id order by user_id`,
        [no],
      );
      expect(rows.map(({ sum }) => sum)).to.deep.equal(sent[t]!.map((total) => total));
      expect(await keysOf(world.redis, `${partitionPrefix(world.settings.redisPrefix, no)}u:u`)).to.have.lengthOf(users);
    }
  });

  it('return 503 while Redis lacks their data, and other tenants do not', async () => {
    const id = await createOne('lost');
    await world.configure(config(1), { tenant: id });
    await event(id, 'ana', 1);
    const no = await noOf(id);
    await world.drain(no);
    const keys = await keysOf(world.redis, partitionPrefix(world.settings.redisPrefix, no));
    await world.redis.del(...keys);
    expect((await event(id, 'ana', 1)).status).to.equal(503);
    expect((await event(undefined, 'ana', 1)).status).to.equal(201);
    expect((await world.get('/health/ready')).status).to.equal(200);
    const back = await until('it is back', async () => {
      const reply = await event(id, 'ana', 1);
      return reply.status === 201 && reply;
    });
    expect((back.body as { total: number }).total).to.equal(2);
    await world.request('DELETE', `/admin/v1/tenants?ids=${id}`);
  });
});
