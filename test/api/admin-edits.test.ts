import { expect } from 'chai';
import { bodyOf, configText, readBoard, readPoints, track, until } from '../support/answers.js';
import { startSecond } from '../support/second.js';
import { tenantForEachTest } from '../support/suites.js';
import { adminKey, type World } from '../support/world.js';

const base = '/admin/v1';

interface Item {
  readonly id: string;
  readonly key: string;
}
interface Batch {
  readonly created: readonly Item[];
  readonly updated: readonly Item[];
  readonly deleted: readonly { readonly id: string }[];
  readonly issues: readonly { readonly index: number; readonly message: string; readonly level?: string; readonly reason?: string }[];
}

describe('A change through the Admin API', () => {
  let host: World;
  let world: World;
  tenantForEachTest({ config: configText({ metrics: [{ key: 'cards', name: 'Cards' }] }) }, (...worlds) => ([world, host] = worlds));

  const send = async (method: string, path: string, body?: unknown): Promise<Batch> => {
    const reply = await world.request(method, base + path, { body });
    return bodyOf(reply, method === 'POST' ? 201 : 200);
  };
  /** Creates what must be fine, and returns the ids. */
  const create = async (path: string, ...items: object[]): Promise<string[]> => {
    const { created, issues } = await send('POST', path, items);
    expect(issues).to.deep.equal([]);
    return created.map(({ id }) => id);
  };
  const list = async (path: string): Promise<Item[]> => bodyOf(await world.get(`${base}${path}?limit=100`), 200);
  const idOf = async (path: string, key: string): Promise<string> => (await list(path)).find((one) => one.key === key)?.id ?? '';
  const versions = async (): Promise<number> => {
    const { rows } = await world.pool.query<{ version: number }>('select max(version) as version from config_versions where tenant = $1', [
      world.tenant,
    ]);
    return rows[0]?.version ?? 0;
  };
  const triggerBy = (metricId: string, points: number) => ({ type: 'metric', points, metricId, metricThreshold: 1, status: 'active' });

  it('leaves alone a badge that was stored before its scheme was refused, also at a start', async () => {
    const badge = { url: 'https://example.com/1.png' };
    const [id = ''] = await create('/points', { name: 'Gems', key: 'gems', badge });
    const stored = 'javascript:alert(1)';
    await world.pool.query(
      `update config_versions set document = replace(document::text, '${badge.url}', '${stored}')::jsonb where tenant = $1`,
      [world.tenant],
    );
    const restarted = await startSecond(host);
    try {
      const { rows } = await world.pool.query<{ id: string }>('select id from tenants where no = $1', [world.tenant]);
      const headers = { 'x-api-key': adminKey, 'tenant-id': rows[0]!.id };
      const reply = await fetch(`${restarted.address!}${base}/points/${id}`, { headers });
      expect(await reply.json()).to.deep.include({ key: 'gems', badge: { url: stored } });
    } finally {
      await restarted.stop();
    }
    await create('/points', { name: 'XP', key: 'xp' });
    const { issues } = await send('PATCH', '/points', [{ id, name: 'Jewels' }]);
    expect(issues.map(({ message }) => message)).to.deep.equal([
      'Points system "gems": badge.url must be a URL that starts with https:// or http://.',
    ]);
    expect((await send('PATCH', '/points', [{ id, name: 'Jewels', badge }])).issues).to.deep.equal([]);
  });

  it('lists the boosts of one user, and of no other user', async () => {
    const [system = ''] = await create('/points', { name: 'Gems', key: 'gems' });
    const boost = { start: '2040-01-01', multiplier: 2 };
    const path = `/points/${system}/boosts`;
    await create(
      path,
      { ...boost, name: 'For all' },
      { ...boost, name: 'For Ana', userId: 'ana' },
      { ...boost, name: 'For Bo', userId: 'bo' },
    );
    const names = async (query: string): Promise<unknown[]> => {
      const found = bodyOf<{ name: string }[]>(await world.get(base + path + query), 200);
      return found.map(({ name }) => name);
    };
    expect(await names('')).to.deep.equal(['For all', 'For Ana', 'For Bo']);
    expect(await names('?userId=ana')).to.deep.equal(['For Ana']);
    expect(await names('?userId=cleo')).to.deep.equal([]);
    expect((await world.get(`${base}${path}?userId=`)).status).to.equal(422);
    expect((await world.get(`${base}/points/${system}/triggers?userId=ana`)).status).to.equal(200);
  });

  it('is seen by the next event, whatever is changed', async () => {
    const metric = await idOf('/metrics', 'cards');
    const [system = ''] = await create('/points', { name: 'XP', key: 'xp', triggers: [triggerBy(metric, 10)] });
    const user = { id: 'ana', attributes: {} };
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.added).to.equal(10);

    const [boost = ''] = await create(`/points/${system}/boosts`, { name: 'Double', start: '2040-01-01', multiplier: 2 });
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.added).to.equal(20);
    await send('PATCH', `/points/${system}/boosts`, [{ id: boost, multiplier: 3 }]);
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.added).to.equal(30);
    await send('DELETE', `/points/${system}/boosts?ids=${boost}`);
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.added).to.equal(10);

    await create(`/points/${system}/levels`, { name: 'Some', key: 'some', points: 75 });
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.level).to.include({ key: 'some' });

    await create('/attributes', { name: 'City', key: 'city', type: 'user' });
    expect((await track(world, 'cards', { user: { ...user, attributes: { city: 'Rome' } }, value: 1 })).total).to.equal(6);

    const [first = ''] = await create('/achievements', {
      name: 'Seven',
      trigger: 'metric',
      metricId: metric,
      metricValue: 7,
      status: 'active',
    });
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).achievements).to.have.length(1);
    await create(`/points/${system}/triggers`, { type: 'achievement', achievementId: first, points: 500, status: 'active' });
    expect((await track(world, 'cards', { user: 'ben', value: 7 })).points['xp']?.added).to.equal(570);

    await create('/leaderboards', { name: 'Most', key: 'most', rankBy: 'metric', metricId: metric, status: 'active' });
    expect((await track(world, 'cards', { user: 'cyd', value: 1 })).leaderboards).to.have.property('most');
    // The worker enters those who had a value before.
    await until('the board is filled', async () => (await readBoard(world, 'most')).length === 3);

    const patched = await world.request('PATCH', `${base}/streak-settings`, {
      body: { enabled: true, metrics: [{ metricId: metric, threshold: 1 }] },
    });
    expect(patched.status).to.equal(200);
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).currentStreak.length).to.equal(1);

    const pages = await create('/metrics', { name: 'Pages', key: 'pages' });
    expect((await track(world, 'pages', { user: 'ana', value: 1 })).total).to.equal(1);
    await send('DELETE', `/metrics?ids=${pages.join('')}`);
    expect((await world.event('pages', { user: { id: 'ana' }, value: 1 })).status).to.equal(404);
  });

  it('is one version for each batch, and none if nothing changes', async () => {
    const before = await versions();
    await create('/metrics', ...Array.from({ length: 100 }, (_, n) => ({ name: 'M', key: `m${n}` })));
    expect(await versions()).to.equal(before + 1);
    await send('PATCH', '/metrics', [{ id: await idOf('/metrics', 'cards'), name: 'Cards' }]);
    bodyOf(await world.request('POST', `${base}/metrics`, { body: [{ name: 'Again', key: 'm1' }] }), 200);
    expect(await versions()).to.equal(before + 1);
  });

  it('loses nothing to another one at the same moment, nor to a file', async () => {
    const before = await versions();
    const edits = Array.from({ length: 30 }, (_, n) => create('/metrics', { name: 'M', key: `m${n}` }));
    const files = Array.from({ length: 5 }, (_, n) => world.configure(configText({ metrics: [{ key: `f${n}`, name: 'F' }] })));
    await Promise.all([...edits, ...files]);
    const keys = (await list('/metrics')).map(({ key }) => key).sort();
    const wanted = ['cards', ...Array.from({ length: 30 }, (_, n) => `m${n}`), ...Array.from({ length: 5 }, (_, n) => `f${n}`)];
    expect(keys).to.deep.equal(wanted.sort());
    expect(await versions()).to.equal(before + 35);
  });

  it('works together with files: ids stay, keys lead to the same object, and what is deleted comes back with its key', async () => {
    const metric = await idOf('/metrics', 'cards');
    const [system = ''] = await create('/points', { name: 'XP', key: 'xp', triggers: [triggerBy(metric, 10)] });
    const [made] = await list(`/points/${system}/triggers`);
    await track(world, 'cards', { user: 'ana', value: 3 });
    const trigger = { key: 'metric-cards', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 7, status: 'active' };
    await world.configure(configText({ points: [{ key: 'xp', name: 'Experience', triggers: [trigger] }] }));
    expect(await list('/points')).to.deep.include({
      id: system,
      key: 'xp',
      name: 'Experience',
      description: '',
      status: 'active',
      badge: null,
      maxPoints: null,
    });
    expect(await list(`/points/${system}/triggers`)).to.deep.equal([{ ...made, points: 7 }]);
    expect((await track(world, 'cards', { user: 'ana', value: 1 })).points['xp']?.total).to.equal(37);

    await send('DELETE', `/points?ids=${system}`);
    expect((await world.get('/v1/users/ana/points/xp')).status).to.equal(404);
    expect(await create('/points', { name: 'XP', key: 'xp' })).to.deep.equal([system]);
    expect(await readPoints(world, 'ana', 'xp')).to.include({ total: 37 });
    // It came back as it was sent: without the triggers of before, whose keys are taken for good.
    expect(await list(`/points/${system}/triggers`)).to.deep.equal([]);
    const [again] = await create(`/points/${system}/triggers`, triggerBy(metric, 1));
    expect(again).to.not.equal(made?.id);
  });

  it('is refused as long as something refers to what is to be deleted', async () => {
    const metric = await idOf('/metrics', 'cards');
    const [city = ''] = await create('/attributes', { name: 'City', key: 'city', type: 'user' });
    const filtered = { ...triggerBy(metric, 1), userAttributes: [{ attributeId: city, attributeValue: 'Rome' }] };
    const [system = ''] = await create('/points', { name: 'XP', key: 'xp', triggers: [filtered] });
    await create('/leaderboards', { name: 'L', key: 'l', rankBy: 'points', pointsSystemId: system });
    const refused = async (path: string, id: string, message: string): Promise<void> => {
      const { deleted, issues } = await send('DELETE', `${path}?ids=${id}`);
      expect(deleted).to.deep.equal([]);
      expect(issues.map(({ level: _, reason: __, ...issue }) => issue)).to.deep.equal([{ index: 0, id, severity: 'error', message }]);
    };
    await refused('/metrics', metric, 'Metric "cards" cannot be deleted: it is used by trigger "metric-cards".');
    await refused('/attributes', city, 'Attribute "city" cannot be deleted: it is used by trigger "metric-cards".');
    await refused('/points', system, 'Points system "xp" cannot be deleted: it is used by leaderboard "l".');
    await send('DELETE', `/leaderboards?ids=${await idOf('/leaderboards', 'l')}`);
    // The trigger goes with its system.
    expect((await send('DELETE', `/points?ids=${system}`)).issues).to.deep.equal([]);
    expect((await send('DELETE', `/metrics?ids=${metric}`)).issues).to.deep.equal([]);
  });

  it('deletes what is only needed by others of the same batch, in whatever order', async () => {
    const [one = ''] = await create('/achievements', { name: 'One', trigger: 'api' });
    const [two = ''] = await create('/achievements', { name: 'Two', trigger: 'achievement', achievementIds: [one] });
    const [three = ''] = await create('/achievements', { name: 'Three', trigger: 'achievement', achievementIds: [two] });
    expect((await send('DELETE', `/achievements?ids=${one}&ids=${two}`)).issues.map(({ index }) => index)).to.deep.equal([0, 1]);
    const { deleted, issues } = await send('DELETE', `/achievements?ids=${one}&ids=${two}&ids=${three}`);
    expect(issues).to.deep.equal([]);
    expect(deleted.map(({ id }) => id).sort()).to.deep.equal([one, two, three].sort());
  });

  it('builds on the items before it in the batch', async () => {
    const { created, issues } = await send('POST', '/metrics', [
      { name: 'A', key: 'a' },
      { name: 'A again', key: 'a' },
      { name: 'B', key: 'b' },
    ]);
    expect(created.map(({ key }) => key)).to.deep.equal(['a', 'b']);
    expect(issues.map(({ index, message }) => [index, message])).to.deep.equal([[1, 'Metric "a" already exists: choose another key.']]);
  });

  it('gives an achievement another key, under which it is completed from then on', async () => {
    const [id = '', other = ''] = await create(
      '/achievements',
      { name: 'Welcome', key: 'welcome', trigger: 'api', status: 'active' },
      { name: 'Old', key: 'old', trigger: 'api', status: 'active' },
    );
    const complete = async (key: string, user: string): Promise<number> =>
      (await world.request('POST', `/v1/achievements/${key}/complete`, { body: { user: { id: user } } })).status;
    expect(await complete('welcome', 'ana')).to.equal(201);
    expect((await send('PATCH', '/achievements', [{ id, key: 'hello' }])).updated[0]).to.include({ id, key: 'hello' });
    expect([await complete('welcome', 'ben'), await complete('hello', 'ben'), await complete('hello', 'ana')]).to.deep.equal([
      404, 201, 422,
    ]);

    await send('DELETE', `/achievements?ids=${other}`);
    const { updated, issues } = await send('PATCH', '/achievements', [{ id, key: 'old' }]);
    expect(updated).to.deep.equal([]);
    expect(issues.map(({ message }) => message)).to.deep.equal(['Achievement "old" is deleted but keeps its key: choose another key.']);
    expect(await create('/achievements', { name: 'Welcome', key: 'welcome', trigger: 'api' })).not.to.include(id);
  });

  it('reports each id of a deletion that is not an achievement’s', async () => {
    const [id = ''] = await create('/achievements', { name: 'Welcome', trigger: 'api' });
    const { deleted, issues } = await send('DELETE', `/achievements?ids=welcome,${id}`);
    expect(deleted).to.deep.equal([{ id }]);
    expect(issues).to.have.length(1);
    expect(issues[0]).to.include({ index: 0, id: 'welcome', message: 'There is no achievement with the id "welcome".' });
  });

  it('loses no event and doubles none while events come in', async () => {
    const metric = await idOf('/metrics', 'cards');
    const [system = ''] = await create('/points', { name: 'XP', key: 'xp', triggers: [triggerBy(metric, 1)] });
    let editing = true;
    const users = ['ana', 'ben', 'cyd'];
    const counted = new Map(users.map((user) => [user, 0]));
    const events = users.map(async (user) => {
      for (let n = 0; editing || n < 20; n += 1) {
        await track(world, 'cards', { user, value: 1, key: `${user} ${n}` });
        counted.set(user, n + 1);
      }
    });
    for (let n = 0; n < 15; n += 1) {
      const [boost = ''] = await create(`/points/${system}/boosts`, { name: 'Later', start: '2041-01-01', multiplier: 2 });
      await create(`/points/${system}/levels`, { name: 'L', key: `l${n}`, points: 10 * n });
      await send('DELETE', `/points/${system}/boosts?ids=${boost}`);
    }
    editing = false;
    await Promise.all(events);
    for (const user of users) {
      expect((await readPoints(world, user, 'xp')).total).to.equal(counted.get(user));
      expect((await track(world, 'cards', { user, value: 0 })).total).to.equal(counted.get(user));
    }
  });
});
