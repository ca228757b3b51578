import { expect } from 'chai';
import { batchOf, first } from '../support/admin.js';
import { bodyOf, configText } from '../support/answers.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const header = 'laurel-ignored-fields';

describe('Fields that the Admin API does not know', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText({ metrics: [{ key: 'm', name: 'M' }] }) });
  });
  after(() => world.stop());

  const send = (method: string, path: string, body: unknown): Promise<Reply> => world.request(method, `/admin/v1${path}`, { body });
  interface Entry {
    readonly operation: string;
    readonly ignoredFields: readonly string[];
  }
  const newest = async (): Promise<Entry> => {
    const { entries } = bodyOf<{ entries: Entry[] }>(await world.get('/admin/v1/audit-log?limit=1'), 200);
    return first(entries);
  };

  it('are ignored and named: in a header, as a warning of their item, and in the audit log', async () => {
    const item = { key: 'gems', name: 'Gems', descripton: 'Misspelt', levels: [{ key: 'l', name: 'L', points: 1, color: 'red' }] };
    const reply = await send('POST', '/points', [{ key: 'xp', name: 'XP' }, item]);
    expect(reply.status).to.equal(201);
    expect(reply.headers.get(header)).to.equal('1.descripton, 1.levels.0.color');
    const warning = (field: string): object => {
      const message = `The unknown field \`${field}\` was ignored.`;
      return { index: 1, severity: 'warning', level: 'warning', message, reason: message };
    };
    const { created, issues } = batchOf(reply);
    expect(created).to.have.length(2);
    expect(issues).to.deep.equal([warning('descripton'), warning('levels.0.color')]);
    expect(await newest()).to.deep.include({ operation: 'admin_points_systems_create', ignoredFields: ['descripton', 'levels.0.color'] });
  });

  it('of a response without issues are named in the header and in the audit log', async () => {
    const reply = await send('PATCH', '/settings', { controlRatio: 0.5, 'week start': 'monday', weekstart: 'sunday' });
    expect([reply.status, reply.headers.get(header)]).to.deep.equal([200, 'week%20start, weekstart']);
    // A name of other characters could be anything, such as an address.
    expect((await newest()).ignoredFields).to.deep.equal(['…', 'weekstart']);
  });

  it('are named for a batch of events, and inside their users', async () => {
    const event = { key: 'm', user: { id: 'ana', emial: 'ana@example.com' }, value: 1 };
    const reply = await send('POST', '/metrics/events', [event]);
    expect(reply.body).to.deep.include({ accepted: 1 });
    expect(reply.headers.get(header)).to.equal('0.user.emial');
    expect(batchOf(reply).issues.map(({ message }) => message)).to.deep.equal(['The unknown field `user.emial` was ignored.']);
  });

  it('are named up to 20 of them', async () => {
    const odd = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`, i]));
    const reply = await send('PATCH', '/settings', odd);
    expect(reply.headers.get(header)).to.match(/^x0, x1, .*, x19, and 480 more$/);
  });

  it('are none if all fields are known, and none of the Application API', async () => {
    for (const reply of [
      await send('PATCH', '/settings', { controlRatio: 0.1 }),
      await send('POST', '/application-api-keys', [{ userId: 'ana' }]),
      await world.request('PUT', '/v1/users/ana', { body: { odd: 1 } }),
    ])
      expect([reply.status < 300, reply.headers.get(header)]).to.deep.equal([true, null]);
    expect((await newest()).ignoredFields).to.deep.equal([]);
  });
});
