import { expect } from 'chai';
import pg from 'pg';
import pino from 'pino';
import { LongReads } from '../../src/postgres/long-reads.js';
import { limits } from '../../src/shared/limits.js';
import { type AdminItem, batchOf, errorOf, first } from '../support/admin.js';
import { bodyOf, configText, read, track, userPath } from '../support/answers.js';
import { asPage, signedIn } from '../support/dashboard.js';
import { beginExport, insertUsers, openExports, parseCsv, parseNdjson, readText } from '../support/exports.js';
import { logLines } from '../support/log-lines.js';
import { until } from '../support/stage.js';
import { startHost, startTenant, startWorld, type Reply, type World } from '../support/world.js';

const base = '/admin/v1/exports';
const kinds = ['users', 'events', 'awards', 'messages', 'audit-log'] as const;

const config = {
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'device', name: 'Device', type: 'event' },
  ],
  metrics: [{ key: 'm', name: 'M' }],
  achievements: [{ key: 'by-call', name: 'By call', trigger: 'api', status: 'active' }],
  points: [
    {
      key: 'p',
      name: 'P',
      levels: [{ key: 'ten', name: 'Ten', points: 10 }],
      triggers: [
        { key: 'each', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' },
        { key: 'done', type: 'achievement', achievementKey: 'by-call', points: 5, status: 'active' },
      ],
    },
  ],
  leaderboards: [
    { key: 'all', name: 'All', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01', maxParticipants: 2 },
    {
      ...{ key: 'cities', name: 'Cities', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01' },
      ...{ runUnit: 'day', runInterval: 1, breakdownAttributes: ['city'] },
    },
  ],
};

type Row = Readonly<Record<string, unknown>>;
interface Entry extends Row {
  readonly type: string;
  readonly awards?: readonly Row[];
}

const text = async (world: World, path: string, options = {}): Promise<string> =>
  bodyOf<string | undefined>(await world.request('GET', `${base}/${path}`, options), 200) ?? '';
const ndjson = async (world: World, path: string, options = {}): Promise<Row[]> =>
  parseNdjson(await text(world, `${path}${path.includes('?') ? '&' : '?'}format=ndjson`, options));
const csv = async (world: World, path: string): Promise<(string | undefined)[][]> => parseCsv(await text(world, path));
const byId = (rows: readonly Row[]): Row[] => [...rows].sort((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));

describe('An export', () => {
  let world: World;
  const boards = new Map<string, string>();
  /** The event that is taken back. */
  let mistake = '';
  before(async () => {
    world = await startWorld({ config: configText(config) });
    const users: readonly (readonly [id: string, body: object])[] = [
      ['ana', { name: '=HYPERLINK("https://example.com")', email: 'ana@example.com', attributes: { city: 'São Paulo, "BR"' } }],
      ['-ben', { name: 'Ben', tz: 'Europe/Lisbon', deviceTokens: ['t1'], attributes: { city: 'Lisbon' } }],
      ['cy;é🔥', {}],
    ];
    for (const [id, body] of users) bodyOf(await world.request('PUT', userPath(id), { body }), 200);
    await track(world, 'm', { user: 'ana', value: 5, attributes: { device: '@phone' }, key: 'first' });
    await track(world, 'm', { user: 'ana', value: 1.5 });
    await track(world, 'm', { user: '-ben', value: -2 });
    mistake = (await track(world, 'm', { user: 'cy;é🔥', value: 1 })).eventId;
    const correction = `/admin/v1/users/${encodeURIComponent('cy;é🔥')}/events/${mistake}/correction`;
    bodyOf(await world.request('POST', correction), 201);
    const system = (await world.engine.config(world.tenant)).systems.get('p')!;
    const adjustments = [{ userId: '-ben', amount: 3, reason: '=A promise' }];
    bodyOf(await world.request('POST', `/admin/v1/points/${system.id}/adjustments`, { body: { adjustments } }), 201);
    await world.request('POST', '/v1/achievements/by-call/complete', { body: { user: { id: 'ana' } } });
    for (const { key, id } of await read<{ key: string; id: string }[]>(world, '/admin/v1/leaderboards')) boards.set(key, id);
  });
  after(() => world.stop());

  const entries = async (id: string): Promise<Entry[]> =>
    (await read<{ entries: Entry[] }>(world, `/admin/v1/users/${encodeURIComponent(id)}/timeline?limit=100`)).entries;
  const ids = ['-ben', 'ana', 'cy;é🔥'];

  it('of users has each as the list does, in its order', async () => {
    expect(await ndjson(world, 'users')).to.deep.equal(await read(world, '/admin/v1/users'));
  });

  it('of users as CSV has a header, a column for each attribute, and no cell that is a formula', async () => {
    const listed = await read<{ created: string; updated: string }[]>(world, '/admin/v1/users');
    const [ben = [], ana = [], cy = []] = listed.map(({ created, updated }) => [created, updated]);
    const head = 'id,email,name,tz,signUpDate,deviceTokens,subscribeToEmails,control,created,updated,attributes.city'.split(',');
    const none = undefined;
    expect(await csv(world, 'users')).to.deep.equal([
      head,
      ["'-ben", none, 'Ben', 'Europe/Lisbon', none, '["t1"]', 'true', 'false', ...ben, 'Lisbon'],
      ['ana', 'ana@example.com', '\'=HYPERLINK("https://example.com")', none, none, none, 'true', 'false', ...ana, 'São Paulo, "BR"'],
      ['cy;é🔥', none, none, none, none, none, 'true', 'false', ...cy, none],
    ]);
    const sent = await text(world, 'users');
    expect(sent).to.include('"São Paulo, ""BR"""\r\n').and.to.include('"cy;é🔥",,,');
  });

  it('of events has each as the timeline does, with the user', async () => {
    const expected: Row[] = [];
    for (const userId of ids) {
      for (const { type, awards: _, ...event } of await entries(userId)) if (type === 'event') expected.push({ userId, ...event });
    }
    expect(expected).to.have.lengthOf(5);
    expect(byId(await ndjson(world, 'events'))).to.deep.equal(byId(expected));
    const [head, ...rows] = await csv(world, 'events');
    expect(head).to.deep.equal('id,userId,at,day,metric.key,value,total,idempotencyKey,corrects,attributes.device'.split(','));
    const values = rows.map((row) => [row[1], ...row.slice(4)].join(' '));
    const taken = ['cy;é🔥 m 1 1   ', `cy;é🔥 m -1 0  ${mistake} `];
    expect(values).to.have.members(["'-ben m -2 -2   ", 'ana m 1.5 6.5   ', "ana m 5 5 first  '@phone", ...taken]);
    // Both may be of one millisecond.
    expect(values.filter((value) => value.startsWith('ana '))).to.deep.equal(["ana m 5 5 first  '@phone", 'ana m 1.5 6.5   ']);
  });

  it('of awards has each as the timeline does, with the event that it is for', async () => {
    const expected: Row[] = [];
    for (const userId of ids) {
      for (const { type, awards = [], ...entry } of await entries(userId)) {
        expected.push(...awards.map((award) => ({ userId, ...award })), ...(type === 'award' ? [{ userId, ...entry }] : []));
      }
    }
    expect(expected.filter(({ eventId }) => eventId === null)).to.have.lengthOf(2);
    expect(byId(await ndjson(world, 'awards'))).to.deep.equal(byId(expected));
    const [head, ...rows] = await csv(world, 'awards');
    const own = ['reason', 'key.id', 'key.name'].map((field) => `adjustment.${field}`);
    expect(head).to.deep.equal([
      ...'id,userId,at,day,system.key,trigger.key,trigger.type,awarded,total,level.key,boosts,eventId'.split(','),
      ...own,
    ]);
    expect(rows).to.have.lengthOf(expected.length);
    const totals = rows.filter(([, user]) => user === 'ana').map((row) => Number(row[8]));
    expect(totals).to.have.lengthOf(3);
    expect(totals, 'in the order of the awards').to.deep.equal([...totals].sort((a, b) => a - b));
    expect(rows.flatMap((row) => row.at(-own.length) ?? [])).to.deep.equal(["'=A promise"]);
  });

  it('of a leaderboard has what its ranking has, of all groups', async () => {
    const { rankings } = await read<{ rankings: Row[] }>(world, '/v1/leaderboards/all?limit=100');
    expect(rankings).to.have.lengthOf(2);
    const path = `leaderboards/${boards.get('all')}`;
    expect(await ndjson(world, path)).to.deep.equal(rankings.map((ranking) => ({ ...ranking, attributes: [] })));
    expect((await csv(world, path))[0]).to.deep.equal(['userId', 'userName', 'rank', 'value']);
    const cities = await csv(world, `leaderboards/${boards.get('cities')}?run=2040-01-02`);
    expect(cities[0]).to.deep.equal(['userId', 'userName', 'rank', 'value', 'attributes.city']);
    expect(cities.slice(1).map(([user, , rank, value, city]) => [user, rank, value, city].join(' '))).to.have.members([
      "'-ben 1 -2 Lisbon",
      'ana 1 6.5 São Paulo, "BR"',
    ]);
  });

  it('of messages and of the audit log has what the lists have, the oldest first', async () => {
    await world.pool.query(
      `with message as (
         insert into outbox (tenant, kind, subject, user_id, at, payload)
         select 1, 'message.recap', 'message.recap user:ana', 'ana', now(), '{"channel":"email","about":{"type":"recap"}}' from generate_series(1, 3)
         returning id)
       insert into deliveries (outbox, endpoint, tenant, kind, subject, user_id, status, finished)
       select id, -1, 1, 'message.recap', 'message.recap user:ana', 'ana', 'delivered', now() from message`,
    );
    const listed = await read<Row[]>(world, '/admin/v1/messages?limit=100');
    expect(listed).to.have.lengthOf(3);
    expect(await ndjson(world, 'messages')).to.deep.equal(listed.reverse());
    const before = (await read<{ entries: Row[] }>(world, '/admin/v1/audit-log?limit=100')).entries;
    expect(await ndjson(world, 'audit-log')).to.deep.equal(before.reverse());
  });

  it('can have a span of time', async () => {
    const count = async (path: string): Promise<number> => (await ndjson(world, path)).length;
    const span = 'from=2040-01-02T12:00:00Z&until=2040-01-02T12:00:01Z';
    expect([await count(`users?${span}`), await count(`events?${span}`)]).to.deep.equal([3, 5]);
    for (const kind of ['users', 'events', 'awards']) {
      expect(await count(`${kind}?until=2040-01-02T12:00:00Z`), kind).to.equal(0);
      expect(await count(`${kind}?from=2040-01-02T12:00:01Z`), kind).to.equal(0);
    }
    for (const kind of ['messages', 'audit-log']) expect(await count(`${kind}?until=2020-01-01T00:00:00Z`), kind).to.equal(0);
  });

  it('is a file with a name and a type, and is not cached', async () => {
    const headersOf = async (query: string): Promise<(string | null)[]> => {
      const { headers } = await world.get(`${base}/users${query}`);
      return ['content-type', 'content-disposition', 'cache-control'].map((name) => headers.get(name));
    };
    const named = (name: string): string => `attachment; filename="laurel-users-2040-01-02.${name}"`;
    expect(await headersOf('')).to.deep.equal(['text/csv; charset=utf-8', named('csv'), 'no-store']);
    expect(await headersOf('?format=ndjson')).to.deep.equal(['application/x-ndjson', named('ndjson'), 'no-store']);
  });

  it('is in the audit log', async () => {
    await text(world, 'users');
    await text(world, `leaderboards/${boards.get('all')}?format=ndjson`);
    const { entries: noted } = await read<{ entries: { operation: string; summary: string; users: string[] }[] }>(
      world,
      '/admin/v1/audit-log?limit=2',
    );
    expect(noted.map(({ operation, summary, users }) => [operation, summary, users])).to.deep.equal([
      ['admin_exports_leaderboard', `Rankings of ${boards.get('all')} exported as NDJSON`, []],
      ['admin_exports_users', 'Users exported as CSV', []],
    ]);
  });

  it('works for read-only keys, and from the dashboard', async () => {
    const made = await world.request('POST', '/admin/v1/admin-api-keys', { body: [{ name: 'Reader', access: 'read' }] });
    const { key } = first(batchOf(made).created);
    for (const kind of kinds) expect((await world.request('GET', `${base}/${kind}`, { key })).status, kind).to.equal(200);
    const page = await asPage(world, await signedIn(world, key), ['GET', `/dashboard/api${base}/users?format=ndjson`]);
    expect(parseNdjson(page.body as string)).to.have.lengthOf(3);
  });

  it('refuses bad parameters, and says which', async () => {
    const refused = async (path: string): Promise<[number, string]> => {
      const reply = await world.get(`${base}/${path}`);
      return [reply.status, errorOf(reply)];
    };
    for (const kind of kinds) {
      expect(await refused(`${kind}?format=xml`)).to.deep.equal([422, '`format` must be one of csv, ndjson.']);
      expect((await refused(`${kind}?from=yesterday&until=2040-01-01`))[0], kind).to.equal(422);
    }
    expect((await refused('leaderboards/all'))[0]).to.equal(422);
    expect((await refused('leaderboards/00000000-0000-4000-8000-000000000000'))[0]).to.equal(404);
    expect((await refused(`leaderboards/${boards.get('all')}?run=today`))[0]).to.equal(422);
    expect((await refused(`leaderboards/${boards.get('cities')}?run=2039-12-31`))[0]).to.equal(422);
    expect((await refused('passwords'))[0]).to.equal(404);
    // None of them has kept the tenant's turn.
    expect((await world.get(`${base}/users`)).status).to.equal(200);
  });
});

describe('An export of one tenant', () => {
  let host: World;
  let one: World;
  let other: World;
  const idOf = async ({ tenant, pool }: World): Promise<string> =>
    (await pool.query<{ id: string }>('select id from tenants where no = $1', [tenant])).rows[0]?.id ?? '';
  before(async () => {
    host = await startHost();
    one = await startTenant(host, { config: configText(config) });
    other = await startTenant(host, { config: configText(config) });
    for (const [world, id] of [
      [one, 'ours'],
      [other, 'theirs'],
    ] as const) {
      await track(world, 'm', { user: { id, attributes: { city: 'Lisbon' } }, value: 20 });
      await world.pool.query(
        `with message as (
           insert into outbox (tenant, kind, subject, user_id, at, payload)
           values ($1, 'message.recap', 's', $2, now(), '{"channel":"email","about":{"type":"recap"}}') returning id)
         insert into deliveries (outbox, endpoint, tenant, kind, subject, user_id, status)
         select id, -1, $1, 'message.recap', 's', $2, 'delivered' from message`,
        [world.tenant, id],
      );
    }
  });
  after(() => host.stop());

  it('has nothing of another one', async () => {
    const body = [{ name: 'Bound', tenantId: await idOf(one) }];
    const bound: AdminItem = first(batchOf(await host.request('POST', '/admin/v1/admin-api-keys', { body })).created);
    const boards = await read<{ id: string }[]>(one, '/admin/v1/leaderboards');
    const paths = [...kinds, ...boards.map(({ id }) => `leaderboards/${id}`)];
    expect(paths).to.have.lengthOf(7);
    for (const path of paths) {
      const rows = await ndjson(host, path, { key: bound.key });
      expect(JSON.stringify(rows), path).to.not.include('theirs');
      if (path !== 'audit-log') expect(JSON.stringify(rows), path).to.include('ours');
      else expect(new Set(rows.map(({ tenantId }) => tenantId))).to.deep.equal(new Set([await idOf(one)]));
    }
    const [foreign] = await read<{ id: string }[]>(other, '/admin/v1/leaderboards');
    const reply = await host.request('GET', `${base}/leaderboards/${foreign?.id}`, { key: bound.key });
    expect(reply.status).to.equal(404);
  });
});

const activeFetches = "select 1 from pg_stat_activity where state = 'active' and query like 'fetch %' and datname = current_database()";

describe('An export of 20,000 users', () => {
  const rows = 20_000;
  // 20 MB: more than what the buffers of two sockets take.
  const nameChars = 1_000;
  let world: World;
  const lines = logLines('warn');
  const failures = (): unknown[] => lines.lines().filter(({ msg }) => msg === 'export failed');
  before(async () => {
    world = await startWorld({ config: configText(config), log: lines.log });
    await insertUsers(world.pool, rows, { nameChars });
    await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: 'other', name: 'Other' }] });
  });
  after(() => world.stop());
  const closed = (): Promise<unknown> => until('the end of the export', async () => (await openExports(world.pool)) === 0);
  const idsOf = (sent: string): string[] => parseNdjson<{ id: string }>(sent).map(({ id }) => id);
  const everyone = Array.from({ length: rows }, (_, i) => String(i + 1).padStart(7, '0'));

  it('is complete and in order', async () => {
    const response = await beginExport(world, 'users?format=ndjson');
    expect(response.headers['transfer-encoding']).to.equal('chunked');
    expect(idsOf(await readText(response))).to.deep.equal(everyone);
    expect(parseCsv(await readText(await beginExport(world, 'users')))).to.have.lengthOf(rows + 1);
  });

  it('waits for a slow reader with what it had when it began, and delays no other request', async () => {
    const response = await beginExport(world, 'users?format=ndjson');
    // The transaction is idle: it has sent what the buffers take.
    await until('the export to wait', async () => {
      const waiting = await world.pool.query(
        "select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction' and query like 'fetch %'",
      );
      return waiting.rowCount === 1;
    });
    const refused: Reply = await world.get(`${base}/users`);
    expect([refused.status, errorOf(refused), refused.headers.get('retry-after')]).to.deep.equal([
      429,
      'Another export of this tenant is running: retry when it has ended.',
      String(limits.exportRetryAfterS),
    ]);
    const ofOther = await world.request('GET', `${base}/users`, { headers: { 'tenant-id': 'other' } });
    expect(ofOther.status).to.equal(200);
    expect((await world.get('/admin/v1/users?limit=1')).status).to.equal(200);
    await world.pool.query('delete from users where tenant = 1');
    expect(idsOf(await readText(response))).to.deep.equal(everyone);
    expect(await ndjson(world, 'users')).to.deep.equal([]);
    await insertUsers(world.pool, rows, { nameChars });
  });

  it('ends when the client disconnects', async () => {
    const response = await beginExport(world, 'users');
    expect(await openExports(world.pool)).to.equal(1);
    response.destroy();
    await closed();
    await until('another export', async () => (await world.get(`${base}/users?until=2000-01-01T00:00:00Z`)).status === 200);
    expect(failures()).to.deep.equal([]);
  });

  it('is cut off when Postgres ends it, so that the client knows', async () => {
    const response = await beginExport(world, 'users');
    await world.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'fetch %'",
    );
    const outcome = await readText(response).then(
      () => 'complete',
      (error: unknown) => (error as { code?: string }).code,
    );
    expect(outcome).to.equal('ECONNRESET');
    expect(failures()).to.have.lengthOf(1);
    await until('another export', async () => (await world.get(`${base}/users?until=2000-01-01T00:00:00Z`)).status === 200);
  });

  it('ends a statement that runs when it is closed', async () => {
    const pool = new pg.Pool({ connectionString: world.settings.databaseUrl ?? '', max: 1 });
    pool.on('error', () => undefined);
    try {
      const reads = new LongReads({ pool, cancelPool: world.pool, log: pino({ level: 'silent' }) });
      const sleeping = await reads.open(1, { text: 'select pg_sleep(600)', values: [] }, (row) => row);
      const outcome = sleeping.next().then(
        () => 'read',
        () => 'ended',
      );
      const active = async (): Promise<boolean> => (await world.pool.query(activeFetches)).rowCount === 1;
      await until('the statement to run', active);
      await sleeping.close();
      expect(await outcome).to.equal('ended');
      await until('the statement to end', async () => !(await active()));
      const one = { text: 'select 1 as one', values: [] };
      const again = await until('another read', () => reads.open(1, one, (row) => row).catch(() => undefined));
      expect(await again.next()).to.deep.equal([{ one: 1 }]);
      expect(await again.next()).to.deep.equal([]);
      await again.close();
    } finally {
      await pool.end();
    }
  });
});
