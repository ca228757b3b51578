import { expect } from 'chai';
import { createAdminKeys } from '../../src/access/admin-keys.js';
import { ensureAdminKey } from '../../src/access/key-store.js';
import type { Service } from '../../src/app/service.js';
import { batchOf, errorOf, first, itemOf, itemsOf, type AdminItem } from '../support/admin.js';
import { bodyOf } from '../support/answers.js';
import { runLaurel } from '../support/process.js';
import { startSecond } from '../support/second.js';
import { setStage, until, type Stage } from '../support/stage.js';
import { adminKey, freshDatabase, startWorld, type Reply, type World } from '../support/world.js';

const config = JSON.stringify({ metrics: [{ key: 'm', name: 'M' }] });
/** A listed application key. */
interface Listed {
  readonly id: string;
  readonly userId: string;
  readonly prefix: string;
  readonly status: string;
  readonly lastUsed: string | null;
}

const unknownId = '00000000-0000-4000-8000-000000000000';
const wrong = 'This API key is not valid: check the X-API-KEY header.';

describe('Keys', () => {
  let world: World;
  let second: Service;
  before(async () => {
    world = await startWorld({ config });
    second = await startSecond(world);
  });
  after(async () => {
    await second.stop();
    await world.stop();
  });

  const admin = (method: string, path: string, body?: unknown): Promise<Reply> =>
    world.request(method, `/admin/v1${path}`, body === undefined ? {} : { body });
  const keysFor = async (...userIds: string[]): Promise<readonly AdminItem[]> => {
    const body = userIds.map((userId) => ({ userId }));
    return batchOf(await admin('POST', '/application-api-keys', body)).created;
  };
  const keyFor = async (userId: string): Promise<AdminItem> => first(await keysFor(userId));
  const makeAdmin = async (name: string): Promise<AdminItem> => first(batchOf(await admin('POST', '/admin-api-keys', [{ name }])).created);
  const remove = (...ids: string[]): Promise<Reply> => admin('DELETE', `/application-api-keys?${ids.map((id) => `ids=${id}`).join('&')}`);
  /** The status of an event of a user, at an address. */
  const eventAt = async (address: string, key: string, user: string): Promise<number> =>
    (
      await fetch(`${address}/v1/metrics/m/event`, {
        method: 'POST',
        headers: { 'x-api-key': key },
        body: JSON.stringify({ user: { id: user }, value: 1 }),
      })
    ).status;

  /** Waits until the second process refuses a key, which the first one has revoked. */
  const refusedElsewhere = (key: string, user: string): Promise<true> =>
    until('the second process refuses the key', async () => (await eventAt(second.address!, key, user)) === 401);

  describe('of the application', () => {
    it('are shown once when created, and stored only as a hash', async () => {
      const reply = await admin('POST', '/application-api-keys', [{ userId: 'ana' }, { userId: 'ben' }]);
      const { created, issues } = batchOf(reply);
      expect([reply.status, issues]).to.deep.equal([201, []]);
      const [ana, ben] = [first(created), first(created.slice(1))];
      expect(Object.keys(ana).sort()).to.deep.equal(['id', 'key', 'prefix', 'userId']);
      expect(ana.key).to.match(/^[0-9a-f]{12}\.[\w-]{32}$/);
      expect([ana.userId, ana.key.split('.')[0], ben.userId]).to.deep.equal(['ana', ana.prefix, 'ben']);
      const { rows } = await world.pool.query(`select * from api_keys as t`);
      for (const { key } of [ana, ben]) expect(JSON.stringify(rows)).not.to.contain(key.split('.')[1]);
    });

    it('give access to their user in every process at once, until they are deleted', async () => {
      for (let round = 0; round < 10; round += 1) {
        const made = await keyFor('ana');
        expect(await eventAt(second.address!, made.key, 'ana')).to.equal(201);
        expect(await eventAt(world.address, made.key, 'ben')).to.equal(403);
        await remove(made.id);
        expect(await eventAt(world.address, made.key, 'ana')).to.equal(401);
        await refusedElsewhere(made.key, 'ana');
      }
    });

    it('are refused by the process that deletes them as soon as it has responded, under load', async () => {
      const made = await keysFor(...Array<string>(20).fill('ana'));
      let revoked = 0;
      const accepted: string[] = [];
      const uses = made.map(async ({ key }, index) => {
        for (;;) {
          const isGone = index < revoked;
          const status = await eventAt(world.address, key, 'ana');
          if (isGone && status !== 401) accepted.push(`${index}: ${status}`);
          if (isGone) return;
        }
      });
      for (const { id } of made) {
        expect(batchOf(await remove(id))).to.deep.equal({ deleted: [{ id }], issues: [] });
        revoked += 1;
      }
      await Promise.all(uses);
      expect(accepted).to.deep.equal([]);
    });

    it('that are unknown, of another tenant, or named twice are reported by index', async () => {
      const made = await keyFor('ana');
      const tenant = first(batchOf(await admin('POST', '/tenants', [{ customerId: 'other', name: 'Other' }])).created);
      const theirs = await world.request('DELETE', `/admin/v1/application-api-keys?ids=${made.id}`, {
        headers: { 'tenant-id': tenant.id },
      });
      expect(batchOf(theirs).deleted).to.deep.equal([]);
      const reply = await remove(unknownId, made.id, made.id);
      const issue = (index: number, id: string): object => ({
        index,
        id,
        severity: 'error',
        level: 'error',
        message: 'There is no application key with this id.',
        reason: 'There is no application key with this id.',
      });
      expect(batchOf(reply)).to.deep.equal({ deleted: [{ id: made.id }], issues: [issue(0, unknownId), issue(2, made.id)] });
    });

    it('are revoked with their user in every process, and lose the id of the user', async () => {
      const made = await keyFor('gone');
      for (const address of [world.address, second.address!]) expect(await eventAt(address, made.key, 'gone')).to.equal(201);
      expect((await admin('DELETE', '/users/gone')).status).to.equal(200);
      expect(await eventAt(world.address, made.key, 'gone')).to.equal(401);
      await refusedElsewhere(made.key, 'gone');
      expect((await world.get('/v1/users/gone')).status).to.equal(404);
      expect((await world.pool.query(`select 1 from api_keys where user_id = 'gone'`)).rowCount).to.equal(0);
    });

    it('are listed with their users and when each was last used, the oldest first, in pages, without the key itself', async () => {
      const [lea, leo] = [await keyFor('lea'), await keyFor('leo')];
      const other = await keyFor('lea');
      expect(await eventAt(world.address, other.key, 'lea')).to.equal(201);
      const list = async (query: string): Promise<readonly Listed[]> => bodyOf(await admin('GET', `/application-api-keys?${query}`), 200);
      const ofLea = await list('userId=lea');
      expect(ofLea.map(({ id, lastUsed }) => [id, lastUsed !== null])).to.deep.equal([
        [lea.id, false],
        [other.id, true],
      ]);
      expect(Object.keys(ofLea[0] ?? {}).sort()).to.deep.equal([
        'created',
        'expires',
        'fields',
        'id',
        'lastUsed',
        'maxEventValue',
        'permissions',
        'prefix',
        'status',
        'userId',
      ]);
      expect(ofLea[0]).to.include({ userId: 'lea', prefix: lea.prefix, status: 'active' });
      expect((await list('userId=lea&limit=1&skip=1')).map(({ id }) => id)).to.deep.equal([other.id]);
      expect((await list('limit=100')).filter(({ userId }) => /^le/.test(userId)).map(({ id }) => id)).to.deep.equal([
        lea.id,
        leo.id,
        other.id,
      ]);
      expect(await list('userId=nobody')).to.deep.equal([]);
      await remove(lea.id);
      expect((await list('userId=lea')).map(({ id }) => id)).to.deep.equal([other.id]);
      expect((await admin('DELETE', '/users/lea')).status).to.equal(200);
      expect(await list('userId=lea')).to.deep.equal([]);
      for (const query of ['limit=0', 'limit=101', 'skip=-1', 'userId=', 'userId=a%00']) {
        expect((await admin('GET', `/application-api-keys?${query}`)).status, query).to.equal(422);
      }
    });

    it('are listed for one tenant only', async () => {
      await keyFor('max');
      batchOf(await admin('POST', '/tenants', [{ customerId: 'keys-apart', name: 'Apart' }]));
      const headers = { 'tenant-id': 'keys-apart' };
      const theirs = first(
        batchOf(await world.request('POST', '/admin/v1/application-api-keys', { headers, body: [{ userId: 'max' }] })).created,
      );
      const listed = bodyOf<readonly Listed[]>(await world.request('GET', '/admin/v1/application-api-keys?limit=100', { headers }), 200);
      expect(listed.map(({ id }) => id)).to.deep.equal([theirs.id]);
    });

    it('are at most 100 for a user', async () => {
      const many = await admin('POST', '/application-api-keys', Array(99).fill({ userId: 'many' }));
      expect(batchOf(many).created).to.have.lengthOf(99);
      const more = batchOf(await admin('POST', '/application-api-keys', [{ userId: 'many' }, { userId: 'many' }, { userId: 'few' }]));
      expect(more.created.map(({ userId }) => userId)).to.deep.equal(['many', 'few']);
      expect(more.issues.map(({ index, userId, message }) => [index, userId, message])).to.deep.equal([
        [1, 'many', 'A user has at most 100 keys: delete one first.'],
      ]);
    });

    it('are refused without a change when the request is not well-formed', async () => {
      const counted = async (): Promise<unknown> => (await world.pool.query('select count(*) from api_keys')).rows;
      const before = await counted();
      for (const body of [
        [],
        {},
        [{}],
        [{ userId: '' }],
        [{ userId: 1 }],
        [{ userId: 'x'.repeat(256) }],
        Array(101).fill({ userId: 'x' }),
      ]) {
        expect((await admin('POST', '/application-api-keys', body)).status).to.equal(422);
      }
      for (const query of ['', '?ids=', '?ids=x']) expect((await admin('DELETE', `/application-api-keys${query}`)).status).to.equal(422);
      expect(await counted()).to.deep.equal(before);
    });
  });

  it('are refused when they are invented, in every form', async () => {
    const made = await keyFor('ana');
    const other = `${made.prefix}.${'x'.repeat(32)}`;
    for (const key of [
      other,
      made.prefix,
      `${made.key}x`,
      made.key.slice(0, -1),
      'x.y',
      '.',
      'a',
      `0123456789ab.${'x'.repeat(32)}`,
      adminKey.slice(0, -1),
    ]) {
      const reply = await world.request('GET', '/v1/leaderboards', { key });
      expect([reply.status, errorOf(reply)], key).to.deep.equal([401, wrong]);
    }
    expect((await world.request('GET', '/v1/leaderboards', { key: made.key })).status).to.equal(200);
  });

  describe('of the account', () => {
    it('are created, listed, read and renamed', async () => {
      const made = await makeAdmin('CI');
      const { key, ...shown } = itemOf(await admin('GET', `/admin-api-keys/${made.id}`));
      expect(key).to.equal(undefined);
      expect(shown).to.deep.include({ id: made.id, name: 'CI', prefix: made.prefix, status: 'active', revoked: null, lastUsed: null });
      await admin('PATCH', '/admin-api-keys', [{ id: made.id, name: 'Build' }]);
      const list = itemsOf(await admin('GET', '/admin-api-keys?limit=100'));
      expect(list.map(({ name }) => name)).to.include.members(['First key', 'Build']);
      expect((await admin('GET', `/admin-api-keys/${unknownId}`)).status).to.equal(404);
      await admin('DELETE', `/admin-api-keys?ids=${made.id}`);
      expect((await admin('GET', `/admin-api-keys/${made.id}`)).status).to.equal(404);
      expect(await eventAt(world.address, made.key, 'ana')).to.equal(401);
      await refusedElsewhere(made.key, 'ana');
    });

    it('are rotated without a moment in which none is valid', async () => {
      const old = await makeAdmin('Server');
      const { created, issues } = batchOf(await admin('POST', '/admin-api-keys/rotate', [{ id: old.id }, { id: unknownId }]));
      expect([first(created).name, first(issues).index]).to.deep.equal(['Server', 1]);
      const both = [old.key, first(created).key];
      for (const key of both) expect(await eventAt(second.address!, key, 'ana')).to.equal(201);
      const updated = first(batchOf(await admin('PATCH', '/admin-api-keys', [{ id: old.id, status: 'revoked' }])).updated);
      expect([updated.status, typeof updated.revoked]).to.deep.equal(['revoked', 'string']);
      await refusedElsewhere(old.key, 'ana');
      const statuses = await Promise.all(both.flatMap((key) => [world.address, second.address!].map((at) => eventAt(at, key, 'ana'))));
      expect(statuses).to.deep.equal([401, 401, 201, 201]);
      // A revoked key can't be activated again.
      expect((await admin('PATCH', '/admin-api-keys', [{ id: old.id, status: 'active' }])).status).to.equal(422);
    });

    it('can’t all be revoked, whatever keys tenants have', async () => {
      const tenant = first(batchOf(await admin('POST', '/tenants', [{ customerId: 'lasting', name: 'Lasting' }])).created);
      const bound = first(batchOf(await admin('POST', '/admin-api-keys', [{ name: 'Bound', tenantId: tenant.id }])).created);
      const list = itemsOf(await admin('GET', '/admin-api-keys?limit=100'));
      const others = list.filter(({ prefix, id }) => prefix !== 'test' && id !== bound.id);
      const mine = first(list.filter(({ prefix }) => prefix === 'test'));
      await admin(
        'PATCH',
        '/admin-api-keys',
        others.map(({ id }) => ({ id, status: 'revoked' })),
      );
      const sentence = 'This is the last active admin key of the account with full access: create another one first.';
      const revoked = await admin('PATCH', '/admin-api-keys', [{ id: mine.id, status: 'revoked' }]);
      expect(first(batchOf(revoked).issues).message).to.equal(sentence);
      const deleted = await admin('DELETE', `/admin-api-keys?ids=${mine.id}`);
      expect(first(batchOf(deleted).issues).message).to.equal(sentence);
      expect(batchOf(await admin('DELETE', `/admin-api-keys?ids=${bound.id}`)).deleted).to.deep.equal([{ id: bound.id }]);
    });

    it('that are bound to a tenant name it, keep it when rotated, and are refused with it, in every process', async () => {
      const tenant = first(batchOf(await admin('POST', '/tenants', [{ customerId: 'bound', name: 'Bound' }])).created);
      const wanted = [
        { name: 'By id', tenantId: tenant.id },
        { name: 'By customer', tenantId: 'bound' },
        { name: 'x', tenantId: 'nobody' },
      ];
      const { created, issues } = batchOf(await admin('POST', '/admin-api-keys', wanted));
      expect(created.map(({ name, tenantId }) => [name, tenantId])).to.deep.equal([
        ['By id', tenant.id],
        ['By customer', tenant.id],
      ]);
      expect(issues.map(({ index, message }) => [index, message])).to.deep.equal([[2, 'There is no tenant with this id or customerId.']]);
      const rotated = first(batchOf(await admin('POST', '/admin-api-keys/rotate', [{ id: first(created).id }])).created);
      expect(itemOf(await admin('GET', `/admin-api-keys/${rotated.id}`)).tenantId).to.equal(tenant.id);
      const ofAccount = await makeAdmin('Of the account');
      expect(ofAccount.tenantId).to.equal(null);
      const all = [...created, rotated];
      const statuses = (): Promise<number[]> =>
        Promise.all(all.flatMap(({ key }) => [world.address, second.address!].map((at) => eventAt(at, key, 'ana'))));
      // The tenant has no metric, so a request with a valid key is a 404.
      expect(await statuses()).to.deep.equal(Array(6).fill(404));
      await admin('DELETE', `/admin-api-keys?ids=${first(created).id}`);
      await refusedElsewhere(first(created).key, 'ana');
      expect(await statuses()).to.deep.equal([401, 401, 404, 404, 404, 404]);
      await admin('DELETE', `/tenants?ids=${tenant.id}`);
      await refusedElsewhere(rotated.key, 'ana');
      expect(await statuses()).to.deep.equal(Array(6).fill(401));
      await admin('DELETE', `/admin-api-keys?ids=${ofAccount.id}`);
    });

    it('are at most 100 for the account, and 100 for each tenant', async () => {
      const tenant = first(batchOf(await admin('POST', '/tenants', [{ customerId: 'full', name: 'Full' }])).created);
      const many = await admin('POST', '/admin-api-keys', Array(99).fill({ name: '', tenantId: tenant.id }));
      expect(batchOf(many).created).to.have.lengthOf(99);
      const more = batchOf(
        await admin('POST', '/admin-api-keys', [...Array<object>(2).fill({ name: '', tenantId: 'full' }), { name: 'x' }]),
      );
      expect(more.created.map(({ tenantId }) => tenantId)).to.deep.equal([tenant.id, null]);
      expect(more.issues.map(({ index, message }) => [index, message])).to.deep.equal([
        [1, 'A tenant has at most 100 admin keys: delete some that are revoked.'],
      ]);
      await admin('DELETE', `/tenants?ids=${tenant.id}`);
      await admin(
        'DELETE',
        `/admin-api-keys?${batchOf(many)
          .created.map(({ id }) => `ids=${id}`)
          .join('&')}`,
      );
    });

    it('show when they were last used, which is saved once in a while and not with each request', async () => {
      const made = await makeAdmin('Used');
      const lastUsed = async (): Promise<Date | null> =>
        (await world.pool.query<{ at: Date | null }>('select last_used as at from api_keys where id = $1', [made.id])).rows[0]!.at;
      const from = Date.now();
      for (let use = 0; use < 50; use += 1) await world.request('GET', '/v1/leaderboards', { key: made.key });
      expect(await lastUsed()).to.equal(null);
      const shown = itemOf(await admin('GET', `/admin-api-keys/${made.id}`)).lastUsed;
      expect(Date.parse(shown)).to.be.within(from, Date.now());
      expect(await lastUsed()).to.deep.equal(new Date(shown));
    });
  });
});

describe('An account whose ADMIN_API_KEY is revoked', () => {
  let stage: Stage;
  before(async () => {
    stage = await setStage();
  });
  after(() => stage.stop());

  it('gets keys from the command line, and refuses the revoked one after a restart', async () => {
    const keys = (...args: string[]): ReturnType<typeof runLaurel> => runLaurel(['keys', ...args], stage.env);
    const world = await startWorld({
      now: null,
      settings: { testClock: true, databaseUrl: stage.databaseUrl, redisPrefix: stage.env['REDIS_PREFIX']! },
    });
    const status = async (at: World, key: string): Promise<number> => (await at.request('GET', '/v1/leaderboards', { key })).status;
    expect((await keys('revoke', 'test')).log).to.contain('This is the last active admin key of the account');
    expect((await keys('create', ' ')).log).to.equal('Name the key: laurel keys create NAME.\n');
    const { output } = await keys('create', 'Rescue');
    const [, made] = /shown only this once: (\S+)/.exec(output)!;
    expect([await status(world, made!), await status(world, adminKey)]).to.deep.equal([200, 200]);
    expect((await keys('revoke', 'test')).output).to.equal('test is revoked: every process refuses it within a second.\n');
    await until('the service refuses the key', async () => (await status(world, adminKey)) === 401);
    expect(await status(world, made!)).to.equal(200);
    const limited = await keys('create', '--user', 'ana', '--permissions', 'read', '--fields', 'tz', '--expires', '2090-01-31');
    const [, ofAna] = /application key, which is shown only this once: (\S+)/.exec(limited.output)!;
    expect((await world.request('GET', '/v1/leaderboards', { key: ofAna! })).status).to.equal(200);
    expect((await world.request('PUT', '/v1/users/ana', { key: ofAna!, body: {} })).status).to.equal(403);
    expect((await keys('create', '--user', 'ana', '--permissions', 'write')).log).to.contain(
      '"write" is not one of read, events, identify.',
    );
    const { id } = first(
      batchOf(await world.request('POST', '/admin/v1/tenants', { key: made!, body: [{ customerId: 'c', name: 'C' }] })).created,
    );
    const [, bound] = /shown only this once: (\S+)/.exec((await keys('create', 'Of C', '--tenant', 'c')).output)!;
    expect((await world.request('GET', '/admin/v1/metrics', { key: bound! })).status).to.equal(200);
    expect((await world.request('GET', '/admin/v1/tenants', { key: bound! })).status).to.equal(403);
    const [, reader] = /shown only this once: (\S+)/.exec((await keys('create', 'Reader', '--read-only')).output)!;
    expect((await world.request('GET', '/admin/v1/tenants', { key: reader! })).status).to.equal(200);
    expect((await world.request('POST', '/admin/v1/tenants', { key: reader!, body: [{ customerId: 'e', name: 'E' }] })).status).to.equal(
      403,
    );
    expect((await keys('create', 'Of D', '--tenant', 'd')).log).to.contain('There is no tenant with this id or customerId.');
    expect((await keys('list')).output).to.match(
      new RegExp(
        `^test {2}revoked .*First key\\n[0-9a-f]{12} {2}active .*Rescue\\n[0-9a-f]{12} {2}active .*tenant ${id} {2}Of C\\n[0-9a-f]{12} {2}active {2}read-only .*Reader\\n$`,
      ),
    );
    await world.stopService();
    const again = await startWorld({
      now: null,
      settings: { testClock: true, databaseUrl: stage.databaseUrl, redisPrefix: stage.env['REDIS_PREFIX']! },
    });
    expect([await status(again, made!), await status(again, adminKey)]).to.deep.equal([200, 401]);
    await again.stop();
    await world.stop();
  });
});

describe('A start with another ADMIN_API_KEY', () => {
  it('names the earlier keys that are still valid by prefix and name, once and never by the key', async () => {
    const database = await freshDatabase();
    const { pool } = database;
    const [earlier, second] = ['old.0123456789abcdef', 'new.fedcba9876543210'];
    expect((await ensureAdminKey(pool, earlier)).others).to.deep.equal([]);
    await createAdminKeys(pool, [{ name: 'CI', tenant: null, access: 'full' }]);
    const { rows } = await pool.query<{ prefix: string }>(`select prefix from api_keys where name = 'CI'`);
    const { others } = await ensureAdminKey(pool, second);
    expect(others).to.deep.equal(['old (First key)', `${rows[0]?.prefix} (CI)`]);
    expect((await ensureAdminKey(pool, second)).others, 'a second start').to.deep.equal([]);
    await database.drop();
  });
});
