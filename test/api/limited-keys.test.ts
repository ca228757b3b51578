import { expect } from 'chai';
import { pruneApplicationKeys } from '../../src/access/key-store.js';
import type { Service } from '../../src/app/service.js';
import { type AdminItem, batchOf, errorOf, first } from '../support/admin.js';
import { bodyOf, configText } from '../support/answers.js';
import { startSecond } from '../support/second.js';
import { startWorld, type Reply, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const config = configText({
  metrics: [{ key: 'm', name: 'M' }],
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  points: [{ key: 'p', name: 'P' }],
  achievements: [{ key: 'a', name: 'A', trigger: 'api', status: 'active' }],
});
const hourMs = 3_600_000;

type Call = readonly [method: string, path: string, body?: object];
const read: Call = ['GET', '/users/ana'];
const all: Call = ['GET', '/achievements'];
const summary: Call = ['GET', '/points/p/summary'];
const levels: Call = ['GET', '/points/p/levels'];
const filtered: Call = ['GET', '/points/p/summary?userAttributes=city:Porto'];
const event: Call = ['POST', '/metrics/m/event', { user: { id: 'ana' }, value: 1 }];
const identify: Call = ['PUT', '/users/ana', {}];
const update: Call = ['PATCH', '/users/ana', {}];
const complete: Call = ['POST', '/achievements/a/complete', { user: { id: 'ana' } }];
const prefer: Call = ['PATCH', '/users/ana/preferences', { notifications: { recap: [] } }];

const identifying = (fields: object): Call => ['PUT', '/users/ana', fields];
const eventOf = (user: object, value = 1): Call => ['POST', '/metrics/m/event', { user: { id: 'ana', ...user }, value }];

/** The limits of a key, and which calls it may and may not make. */
const rows: readonly (readonly [what: string, limits: object, may: readonly Call[], mayNot: readonly Call[]])[] = [
  ['no limits', {}, [read, all, filtered, event, identify, prefer, identifying({ email: 'ana@example.com' }), eventOf({}, 1e6)], []],
  ['`read`', { permissions: ['read'] }, [read, all, summary, levels], [filtered, event, identify, update, complete, prefer]],
  ['`events`', { permissions: ['events'] }, [event], [read, all, identify, complete, prefer, eventOf({ tz: 'Europe/Lisbon' })]],
  [
    '`identify` and some fields',
    { permissions: ['identify'], fields: ['name', 'tz'] },
    [identify, update, identifying({ name: 'Ana', tz: 'Europe/Lisbon' })],
    [read, event, complete, prefer, identifying({ email: 'a@example.com' }), identifying({ name: 'A', attributes: { city: 'x' } })],
  ],
  ['`identify` and no fields', { permissions: ['identify'] }, [identify], [identifying({ name: 'Ana' }), prefer]],
  ['`identify` and preferences', { permissions: ['identify'], fields: ['preferences'] }, [prefer], [identifying({ tz: null })]],
  [
    'all for a web page',
    { permissions: ['read', 'events', 'identify'], fields: ['tz'], maxEventValue: 10 },
    [read, event, identifying({ tz: 'Europe/Lisbon' }), eventOf({ tz: 'Europe/Lisbon' }, 10), eventOf({}, 0)],
    [complete, prefer, eventOf({}, 10.5), eventOf({}, -1), eventOf({ email: 'a@example.com' }), identifying({ deviceTokens: ['t'] })],
  ],
  [
    'fields alone',
    { fields: ['name'] },
    [read, event, identifying({ name: 'Ana' })],
    [filtered, identifying({ email: 'a@example.com' }), prefer],
  ],
  ['an expiry alone', { expires: new Date(Date.now() + hourMs).toISOString() }, [read, summary, event, prefer], [filtered]],
  ['the value of events alone', { maxEventValue: 5 }, [eventOf({}, 5), identifying({ name: 'Ana' })], [filtered, eventOf({}, 6)]],
];

describe('A limited application key', () => {
  let world: World;
  let second: Service;
  let aheadMs = 0;
  before(async () => {
    world = await startWorld({ config, overrides: { sessionAheadMs: () => aheadMs } });
    second = await startSecond(world);
    await world.request('PUT', '/v1/users/ana', { body: { email: 'ana@example.com' } });
  });
  after(async () => {
    await second.stop();
    await world.stop();
  });
  afterEach(() => {
    aheadMs = 0;
  });

  const create = (item: object): Promise<Reply> =>
    world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: 'ana', ...item }] });
  const made = async (item: object): Promise<AdminItem> => first(batchOf(await create(item)).created);
  const call = (key: string, [method, path, body]: Call): Promise<Reply> =>
    world.request(method, `/v1${path}`, { key, ...(body ? { body } : {}) });

  for (const [what, limits, may, mayNot] of rows) {
    it(`may call only what its limits allow, and changes nothing else: ${what}`, async () => {
      const { key } = await made(limits);
      for (const one of may) expect((await call(key, one)).status, JSON.stringify(one)).to.be.oneOf([200, 201]);
      await world.drain();
      const before = await world.snapshot();
      for (const one of mayNot) {
        const reply = await call(key, one);
        expect([reply.status, errorOf(reply).split(' ').slice(0, 2).join(' ')], JSON.stringify(one)).to.deep.equal([403, 'This key']);
      }
      await world.drain();
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });
  }

  it('is refused by every process from its expiry on, and is listed with its limits', async () => {
    const expires = new Date(Date.now() + hourMs).toISOString();
    const { id, key } = await made({ permissions: ['read'], expires });
    const there = async (): Promise<number> => (await fetch(`${second.address!}/v1/users/ana`, { headers: { 'x-api-key': key } })).status;
    expect([(await call(key, read)).status, await there()]).to.deep.equal([200, 200]);
    const listed = async (): Promise<object | undefined> =>
      bodyOf<{ id: string }[]>(await world.get('/admin/v1/application-api-keys?limit=100'), 200).find((one) => one.id === id);
    const limits = { permissions: ['read'], fields: [], maxEventValue: null, expires };
    expect(await listed()).to.deep.include({ status: 'active', ...limits });
    aheadMs = hourMs + 1_000;
    const reply = await call(key, read);
    expect([reply.status, errorOf(reply)]).to.deep.equal([401, 'This API key has expired: create another one.']);
    expect(await listed()).to.deep.include({ status: 'expired', ...limits });
    // The other process follows the clock of Postgres, which is not ahead.
    expect(await there()).to.equal(200);
    await world.pool.query(`update api_keys set expires = now() where id = $1`, [id]);
    expect(await call(key, read)).to.include({ status: 401 });
  });

  it('does not count as a key of its user once it has expired, and its row is removed in time', async () => {
    await world.pool.query(
      `insert into api_keys (kind, tenant, user_id, prefix, hash, expires)
       select 'application', 1, 'ben', 'old' || n, '', now() - interval '100 days' from generate_series(1, 100) as n`,
    );
    expect(batchOf(await create({ userId: 'ben' })).issues).to.deep.equal([]);
    expect(await pruneApplicationKeys(world.pool, new Date(Date.now() - 30 * 24 * hourMs))).to.equal(100);
    expect((await world.pool.query(`select 1 from api_keys where user_id = 'ben'`)).rowCount).to.equal(1);
  });

  const wrong: readonly (readonly [limits: object, sentence: string])[] = [
    [{ permissions: 'read' }, '`0.permissions` must be an array.'],
    [{ permissions: ['write'] }, '`0.permissions.0` must be one of read, events, identify.'],
    [
      { fields: ['id'] },
      '`0.fields.0` must be one of name, email, tz, signUpDate, subscribeToEmails, deviceTokens, attributes, preferences.',
    ],
    [{ maxEventValue: -1 }, '`0.maxEventValue` must be at least 0.'],
    [{ expires: 'tomorrow' }, '`0.expires` must be an ISO 8601 date-time such as 2026-01-31T12:00:00Z.'],
  ];
  for (const [limits, sentence] of wrong)
    it(`is refused with ${JSON.stringify(limits)}`, async () => {
      const reply = await create(limits);
      expect([reply.status, errorOf(reply)]).to.deep.equal([422, sentence]);
    });

  it('is an issue if it would have expired already', async () => {
    const { created, issues } = batchOf(await create({ expires: '2020-01-01T00:00:00Z' }));
    expect([created, issues[0]?.message]).to.deep.equal([[], 'This key would already have expired: choose a later `expires`.']);
  });
});
