import { expect } from 'chai';
import pino from 'pino';
import { applyConfig, noteApplied } from '../../src/app/apply.js';
import { createKey, revokeKey } from '../../src/commands/keys.js';
import { Context } from '../../src/app/context.js';
import { type AdminItem, batchOf, errorOf, first } from '../support/admin.js';
import { asPage, signedIn } from '../support/dashboard.js';
import { logLines } from '../support/log-lines.js';
import { defaultNow, startWorld, type Reply, type World } from '../support/world.js';

const config = {
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  points: [{ key: 'p', name: 'P' }],
};

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly tenantId: string | null;
  readonly key: { readonly id: string; readonly name: string; readonly prefix: string } | null;
  readonly via: string;
  readonly operation: string;
  readonly summary: string;
  readonly userId: string | null;
  readonly users: readonly string[];
  readonly configurationVersion: number | null;
}

describe('The audit log', () => {
  let world: World;
  const lines = logLines('error');
  before(async () => {
    world = await startWorld({ config: JSON.stringify(config), log: lines.log });
    for (const id of ['ana', 'ben']) await world.request('PUT', `/v1/users/${id}`, { body: {} });
  });
  after(() => world.stop());

  const admin = (method: string, path: string, body?: unknown, more: object = {}): Promise<Reply> =>
    world.request(method, `/admin/v1${path}`, { ...(body === undefined ? {} : { body }), ...more });
  const create = async (path: string, item: object): Promise<AdminItem> => first(batchOf(await admin('POST', path, [item])).created);
  const page = async (query = '', key?: string): Promise<{ entries: Entry[]; next: string | null }> =>
    (await admin('GET', `/audit-log${query}`, undefined, key === undefined ? {} : { key })).body as {
      entries: Entry[];
      next: string | null;
    };
  const list = async (query?: string, key?: string): Promise<Entry[]> => (await page(query, key)).entries;

  /** The entries that `work` adds, the oldest first. */
  async function added(work: () => Promise<unknown>): Promise<Entry[]> {
    const [newest] = await list('?limit=1');
    await work();
    const entries = await list('?limit=100');
    return entries.filter(({ id }) => newest === undefined || Number(id) > Number(newest.id)).reverse();
  }
  const described = (entries: readonly Entry[]): unknown[] =>
    entries.map(({ operation, summary, users, configurationVersion: version }) => [operation, summary, users, version]);
  const versionOf = async (): Promise<number> =>
    (await world.pool.query<{ version: number }>('select max(version) as version from config_versions where tenant = 1')).rows[0]
      ?.version ?? 0;

  it('names the change, the key, the users, the tenant and the version of the configuration', async () => {
    const version = await versionOf();
    const entries = await added(async () => {
      const { id } = await create('/metrics', { key: 'cards', name: 'Cards' });
      await admin('PATCH', '/metrics', [{ id, name: 'Cards seen' }]);
      await admin('DELETE', `/metrics?ids=${id}`);
      await admin('PATCH', '/streak-settings', { freezes: { initial: 1, maximum: 3 } });
      await admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ana' }, { userId: 'ben' }] });
      await world.request('POST', '/v1/metrics/m/event', { body: { user: { id: 'cora' }, value: 1 } });
      await admin('POST', '/streaks/reset', { users: [{ id: 'ana' }, { id: 'cora' }] });
      const systemId = (await world.engine.config(1)).systems.get('p')?.id;
      const adjusted = { amount: 5, reason: 'An apology to Cora', idempotencyKey: 'one' };
      const adjustments = [
        { userId: 'cora', ...adjusted },
        { userId: 'ana', amount: -5, reason: 'Nothing to take' },
      ];
      for (let time = 0; time < 2; time += 1) await admin('POST', `/points/${systemId}/adjustments`, { adjustments });
      await admin('POST', '/application-api-keys', [{ userId: 'ana' }]);
      await create('/tenants', { customerId: 'acme', name: 'Acme' });
    });
    const [made, , deleted, , , , , userKey, tenant] = entries;
    const metric = /: (\S+)$/.exec(deleted?.summary ?? '')?.[1];
    const ofUser = /: (\S+)$/.exec(userKey?.summary ?? '')?.[1];
    expect(described(entries)).to.deep.equal([
      ['admin_metrics_create', '1 created: cards', [], version + 1],
      ['admin_metrics_update', '1 updated: cards', [], version + 2],
      ['admin_metrics_delete', `1 deleted: ${metric}`, [], version + 3],
      ['admin_streak_settings_update', 'Change streak settings', [], version + 4],
      ['admin_streaks_freezes_create', '2 streak freezes given', ['ana', 'ben'], null],
      ['admin_streaks_reset', '1 streak reset', ['cora'], null],
      ['admin_points_adjustments_create', '1 points adjustment made', ['cora'], null],
      ['admin_application_api_keys_create', `1 created: ${ofUser}`, ['ana'], null],
      ['admin_tenants_create', '1 created: Acme', [], null],
    ]);
    const { rows } = await world.pool.query<{ id: string }>('select id from tenants where no = 1');
    expect(made).to.deep.include({ via: 'api', tenantId: rows[0]?.id, userId: null });
    expect(made?.key).to.deep.include({ prefix: 'test' });
    // On the test clock, as everything else.
    expect(entries.map(({ at }) => at)).to.deep.equal(entries.map(() => defaultNow));
    expect([userKey?.userId, tenant?.tenantId]).to.deep.equal(['ana', null]);
  });

  it('contains no secrets of keys or webhooks', async () => {
    const entries = await added(async () => {
      const made = await create('/admin-api-keys', { name: '' });
      await admin('POST', '/admin-api-keys/rotate', [{ id: made.id }]);
    });
    expect(described(entries).map((entry) => (entry as string[])[0])).to.deep.equal([
      'admin_admin_api_keys_create',
      'admin_admin_api_keys_rotate',
    ]);
    for (const { summary } of entries) expect(summary).to.match(/^1 created: [0-9a-f]{12}$/);
  });

  it('has no reads, no refused changes, no batch in which nothing was done, and no events and users of back ends', async () => {
    const before = await list('?limit=1');
    for (const [method, path, body] of [
      ['GET', '/metrics', undefined],
      ['POST', '/metrics', [{ key: 'm', name: 'Again' }]],
      ['POST', '/metrics', [{}]],
      ['POST', '/streaks/freezes', { freezes: [{ userId: 'nobody' }] }],
      ['DELETE', '/users/nobody', undefined],
      ['POST', '/metrics/events', [{ key: 'm', user: { id: 'ana' }, value: 1 }]],
    ] as const) {
      await admin(method, path, body);
    }
    await world.event('m', { user: { id: 'ana' }, value: 1 });
    await world.request('PUT', '/v1/users/ana', { body: { name: 'Ana' } });
    expect(await list('?limit=1')).to.deep.equal(before);
  });

  it('has every change from the dashboard, those of users too', async () => {
    const cookie = await signedIn(world);
    const entries = await added(async () => {
      const api = '/dashboard/api';
      await asPage(world, cookie, ['PUT', `${api}/v1/users/ana`], { body: { name: 'Ana Ferreira' } });
      await asPage(world, cookie, ['POST', `${api}/v1/metrics/m/event`], { body: { user: { id: 'ben' }, value: 2 } });
      await asPage(world, cookie, ['POST', `${api}/admin/v1/metrics/events`], { body: [{ key: 'm', user: { id: 'ana' }, value: 1 }] });
      await asPage(world, cookie, ['GET', `${api}/v1/users/ana`]);
    });
    expect(entries.map(({ via }) => via)).to.deep.equal(['dashboard', 'dashboard', 'dashboard']);
    expect(entries.map(({ operation, userId }) => [operation, userId])).to.deep.equal([
      ['users_identify', 'ana'],
      ['metrics_event', 'ben'],
      ['admin_metrics_batch_events', 'ana'],
    ]);
    expect(entries.map(({ summary }) => summary).join()).to.not.match(/ana|ben|Ferreira/);
  });

  it('has the commands that change something', async () => {
    const context = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined });
    const version = await versionOf();
    try {
      const printed: string[] = [];
      const entries = await added(async () => {
        const print = (line: string): number => printed.push(line);
        await createKey(context, print, { name: 'Reports', tenantId: undefined, readOnly: true });
        const prefix = /: ([0-9a-f]{12})\./.exec(printed[0] ?? '')?.[1] ?? '';
        await revokeKey(context, print, prefix);
        for (const name of ['M', 'M again', 'M again']) {
          const text = JSON.stringify({ metrics: [{ key: 'm', name }] });
          await noteApplied(context, await applyConfig(context, { name: 'f.yaml', text }, { prune: false, dryRun: false }));
        }
      });
      const named = entries[0]?.summary.slice('1 created: '.length);
      expect(named).to.match(/^Reports \([0-9a-f]{12}\)$/);
      expect(described(entries)).to.deep.equal([
        ['keys create', `1 created: ${named}`, [], null],
        ['keys revoke', `1 revoked: ${named}`, [], null],
        ['apply', '~ metric m', [], version + 1],
      ]);
      expect(entries.map(({ via, key }) => [via, key])).to.deep.equal(entries.map(() => ['command', null]));
    } finally {
      await context.stop();
    }
  });

  it('is read in pages, by user, and by a read-only key', async () => {
    const { key } = await create('/admin-api-keys', { name: 'Reader', access: 'read' });
    const all = await list('?limit=100', key);
    const first3 = await page('?limit=3');
    expect(first3.entries).to.deep.equal(all.slice(0, 3));
    expect(first3.next).to.equal(all[2]?.id);
    expect((await page(`?limit=100&cursor=${first3.next}`)).entries).to.deep.equal(all.slice(3));
    expect((await page('?limit=100')).next).to.equal(null);
    const ofBen = await list('?user=ben');
    expect(ofBen.map(({ id }) => id)).to.deep.equal(all.filter(({ users }) => users.includes('ben')).map(({ id }) => id));
    expect(ofBen).to.have.length(2);
    expect(await list('?user=nobody')).to.deep.equal([]);
    for (const query of ['?cursor=x', '?cursor=-1', '?limit=0', '?limit=101', '?cursor=99999999999999999999'])
      expect((await admin('GET', `/audit-log${query}`)).status, query).to.equal(422);
  });

  it('shows a key that is bound to a tenant only the changes of that tenant', async () => {
    const { id } = await create('/tenants', { customerId: 'seen', name: 'Seen' });
    const { key } = await create('/admin-api-keys', { name: 'Bound', tenantId: 'seen' });
    await admin('POST', '/metrics', [{ key: 'theirs', name: 'Theirs' }], { key });
    await create('/metrics', { key: 'ours', name: 'Ours' });
    const seen = await list('?limit=100', key);
    expect(seen.map(({ summary, tenantId }) => [summary, tenantId])).to.deep.equal([['1 created: theirs', id]]);
    expect((await list('?limit=2')).map(({ summary }) => summary)).to.deep.equal(['1 created: ours', '1 created: theirs']);
  });

  it('keeps its entries and loses the user when a user is deleted', async () => {
    await world.request('PUT', '/v1/users/zoe', { body: {} });
    await admin('POST', '/streaks/freezes', { freezes: [{ userId: 'zoe' }, { userId: 'ana' }] });
    await admin('POST', '/application-api-keys', [{ userId: 'zoe' }]);
    const before = await list('?limit=100');
    expect((await admin('DELETE', '/users/zoe')).status).to.equal(200);
    const [deletion, ...after] = await list('?limit=100');
    expect(deletion).to.deep.include({ operation: 'admin_users_delete', summary: '1 user deleted', userId: null, users: [] });
    expect(after.map(({ id, summary }) => [id, summary])).to.deep.equal(before.slice(0, 99).map(({ id, summary }) => [id, summary]));
    const { rows } = await world.pool.query<{ text: string }>('select entry::text as text from audit_log as entry');
    expect(rows.filter(({ text }) => text.includes('zoe'))).to.deep.equal([]);
    // An id that is in nothing but an entry can be deleted too.
    await admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ghost' }, { userId: 'ana' }] });
    expect((await list('?user=ghost')).length).to.equal(1);
    expect((await admin('DELETE', '/users/ghost')).status).to.equal(200);
    expect(await list('?user=ghost')).to.deep.equal([]);
  });

  it('writes an entry that can’t be stored to the log of the service, and the change stands', async () => {
    await world.pool.query("alter table audit_log add constraint broken check (summary not like '%broken%')");
    const reply = await admin('POST', '/metrics', [{ key: 'broken', name: 'Broken' }]);
    await world.pool.query('alter table audit_log drop constraint broken');
    expect(reply.status).to.equal(201);
    const line = lines.lines().find(({ msg }) => msg === 'audit log entry not saved');
    expect(line).to.include({ operation: 'admin_metrics_create', via: 'api', tenant: 1 });
  });
});

describe('Read-only admin keys', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: JSON.stringify(config) });
  });
  after(() => world.stop());
  const keys = (method: string, path: string, body?: unknown): Promise<Reply> =>
    world.request(method, `/admin/v1/admin-api-keys${path}`, body === undefined ? {} : { body });
  const create = async (item: object): Promise<AdminItem & { access: string }> =>
    first(batchOf(await keys('POST', '', [item])).created) as AdminItem & { access: string };

  it('are created as such, stay so when they are rotated, and are shown in every response', async () => {
    const [full, read] = [await create({ name: 'F' }), await create({ name: 'R', access: 'read' })];
    expect([full.access, read.access]).to.deep.equal(['full', 'read']);
    const rotated = first(batchOf(await keys('POST', '/rotate', [{ id: read.id }])).created) as unknown as { access: string; key: string };
    expect(rotated.access).to.equal('read');
    expect((await world.request('PUT', '/v1/users/ana', { key: rotated.key, body: {} })).status).to.equal(403);
    expect((await world.request('GET', '/v1/leaderboards', { key: rotated.key })).status).to.equal(200);
    expect((await keys('GET', `/${read.id}`)).body).to.include({ access: 'read' });
    expect(errorOf(await keys('POST', '', [{ name: 'X', access: 'none' }]))).to.equal('`0.access` must be one of full, read.');
  });

  it('don’t count as the last key of the account, which can’t be revoked', async () => {
    const listed = (await keys('GET', '?limit=100')).body as { id: string; access: string; prefix: string; status: string }[];
    const own = listed.find(({ prefix }) => prefix === 'test')!;
    for (const { id } of listed.filter(({ access, id: each }) => access === 'full' && each !== own.id)) await keys('DELETE', `?ids=${id}`);
    const refused = batchOf(await keys('PATCH', '', [{ id: own.id, status: 'revoked' }]));
    expect(refused.issues[0]?.message).to.equal(
      'This is the last active admin key of the account with full access: create another one first.',
    );
    expect(listed.some(({ access, status }) => access === 'read' && status === 'active')).to.equal(true);
    for (const { id } of listed.filter(({ access }) => access === 'read'))
      expect(batchOf(await keys('DELETE', `?ids=${id}`)).issues).to.deep.equal([]);
  });
});
