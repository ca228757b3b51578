import { expect } from 'chai';
import { userRecords } from '../../src/redis/contract.js';
import { placeOf } from '../../src/redis/layout.js';
import { type UserHash, listOf, packMessage } from '../../src/redis/encoding.js';
import { bodyOf, configText, read, readPoints, track, until, userPath } from '../support/answers.js';
import { messagesOf, pass, subscription } from '../support/messages.js';
import { differences } from '../support/differences.js';
import { Monitor, wordsOf } from '../support/monitor.js';
import { Random, runSeed } from '../support/random.js';
import { startSecond } from '../support/second.js';
import { tenantForEachTest } from '../support/suites.js';
import { adminKey, startTenant, startWorld, type World } from '../support/world.js';

interface Named {
  readonly key: string;
  readonly points: number;
}
interface LevelCount {
  readonly level: Named;
  readonly users: number;
}
interface Range {
  readonly from: number;
  readonly to: number;
  readonly users: number;
}
interface Boost {
  readonly name: string;
  readonly status: string;
}

const perOne = { key: 'per-one', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' };
const levels = (of: Readonly<Record<string, number>>): object[] =>
  Object.entries(of).map(([key, points]) => ({ key, name: key.toUpperCase(), points }));

const boosts = [
  { key: 'all', name: 'All', start: '2039-01-01', multiplier: 2 },
  { key: 'past', name: 'Past', start: '2039-01-01', end: '2040-01-01', multiplier: 2 },
  { key: 'today', name: 'Today', start: '2040-01-02', end: '2040-01-02', multiplier: 2 },
  { key: 'tomorrow', name: 'Tomorrow', start: '2040-01-03', multiplier: 2 },
  {
    key: 'lisbon',
    name: 'Lisbon',
    start: '2039-01-01',
    multiplier: 2,
    userAttributes: [{ attributeKey: 'city', attributeValue: 'Lisbon' }],
  },
  { key: 'anas', name: 'Ana’s', start: '2039-01-01', multiplier: 2, userId: 'ana' },
];

const config = (p: object): string =>
  configText({
    attributes: [
      { key: 'city', name: 'City', type: 'user' },
      { key: 'plan', name: 'Plan', type: 'user' },
    ],
    metrics: [{ key: 'm', name: 'M' }],
    points: [
      { key: 'p', name: 'P', triggers: [perOne, { ...perOne, key: 'off', status: 'inactive' }], boosts, ...p },
      { key: 'bare', name: 'Bare' },
    ],
  });

interface Timeline {
  readonly entries: readonly {
    readonly id: string;
    readonly awards: readonly { readonly boosts: readonly { readonly name: string; readonly multiplier: number }[] }[];
  }[];
}

const levelCounts = async (world: World): Promise<string[]> =>
  (await read<LevelCount[]>(world, '/v1/points/p/level-summary')).map(({ level, users }) => `${level.key} ${users}`);
const ranges = async (world: World, query = ''): Promise<string[]> =>
  (await read<Range[]>(world, `/v1/points/p/summary${query}`)).map(({ from, to, users }) => `${from}-${to}: ${users}`);
const statuses = (list: readonly Boost[]): string[] => list.map(({ name, status }) => `${name} ${status}`);
const earn = (world: World, user: string, value: number, attributes = {}): Promise<unknown> =>
  track(world, 'm', { user: { id: user, attributes }, value });

describe('A points system', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: config({ levels: levels({ gold: 50, start: 0, bronze: 10 }), maxPoints: 500 }) });
    bodyOf(await world.request('PUT', userPath('ana'), { body: { tz: 'Pacific/Kiritimati' } }), 200);
    bodyOf(await world.request('PUT', userPath('ben'), { body: { attributes: { city: 'Lisbon' } } }), 200);
  });
  after(() => world.stop());

  it('is shown with its active triggers', async () => {
    const system = await read<{ triggers: { status: string }[] }>(world, '/v1/points/p');
    expect(system).to.include({ name: 'P', description: null, badgeUrl: null, maxPoints: 500 });
    expect(system.triggers.map(({ status }) => status)).to.deep.equal(['active']);
    expect(await read(world, '/v1/points/bare')).to.deep.include({ maxPoints: null, triggers: [] });
  });

  it('leaves out the trigger of a locked achievement, which the awards of users who have it still show', async () => {
    const locking = (status: string): string =>
      configText({
        achievements: [{ key: 'a', name: 'A', trigger: 'api', status }],
        points: [{ key: 'p', name: 'P', triggers: [{ key: 't', type: 'achievement', achievementKey: 'a', points: 1, status: 'active' }] }],
      });
    const own = await startTenant(world, { config: locking('active') });
    const triggers = async (): Promise<number> => (await read<{ triggers: unknown[] }>(own, '/v1/points/p')).triggers.length;
    bodyOf(await own.request('POST', '/v1/achievements/a/complete', { body: { user: { id: 'ana' } } }), 201);
    expect(await triggers()).to.equal(1);
    await own.configure(locking('locked'));
    expect(await triggers()).to.equal(0);
    expect(
      (await readPoints(own, 'ana', 'p')).awards.map(({ trigger }) => (trigger as { achievementName?: string }).achievementName),
    ).to.deep.equal(['A']);
    await own.stop();
  });

  it('has its levels, the lowest first', async () => {
    const list = await read<Named[]>(world, '/v1/points/p/levels');
    expect(list.map(({ key, points }) => [key, points])).to.deep.equal([
      ['start', 0],
      ['bronze', 10],
      ['gold', 50],
    ]);
    expect(await read(world, '/v1/points/bare/levels')).to.deep.equal([]);
  });

  it('has boosts by the UTC date: those to come, and those that are over when asked for', async () => {
    const all = ['All active', 'Past finished', 'Today active', 'Tomorrow scheduled', 'Lisbon active'];
    expect(statuses(await read(world, '/v1/points/p/boosts?includeFinished=true'))).to.deep.equal(all);
    expect(statuses(await read(world, '/v1/points/p/boosts'))).to.deep.equal(all.filter((line) => !line.endsWith('finished')));
    expect(await read(world, '/v1/points/bare/boosts')).to.deep.equal([]);
  });

  const ofUsers: readonly (readonly [user: string, what: string, names: readonly string[]])[] = [
    ['ana', 'on the local date, a day ahead, and the user’s own', ['All active', 'Tomorrow active', 'Ana’s active']],
    ['ben', 'with the attributes of the user', ['All active', 'Today active', 'Lisbon active']],
  ];
  for (const [user, what, names] of ofUsers) {
    it(`has the boosts that apply to a user: ${what}`, async () => {
      expect(statuses(await read(world, userPath(user, '/points/p/boosts')))).to.deep.equal(names);
    });
  }

  const refused: readonly (readonly [path: string, status: number, error: string])[] = [
    ...['', '/levels', '/level-summary', '/summary', '/boosts'].map(
      (rest) => [`/v1/points/x${rest}`, 404, 'There is no points system with the key "x".'] as const,
    ),
    ['/v1/points/bare/level-summary', 422, 'The points system "bare" has no levels: add a level first.'],
    ['/v1/users/ana/points/x/boosts', 404, 'There is no points system with the key "x".'],
    ['/v1/users/nobody/points/p/boosts', 404, 'There is no user with the id "nobody"'],
    ['/v1/users/%01/points/p/boosts', 422, '`id` must not contain control characters.'],
    ['/v1/points/p/boosts?includeFinished=1', 422, '`includeFinished` must be one of true, false.'],
    ['/v1/points/p/summary?userAttributes=city', 422, '`userAttributes` must be attribute filters such as city:London,plan:pro.'],
    ['/v1/points/p/summary?userAttributes=,city:a', 422, '`userAttributes` must be attribute filters'],
    ['/v1/points/p/summary?userAttributes=', 422, '`userAttributes` must be attribute filters'],
    ['/v1/points/p/summary?userAttributes=city:a&userAttributes=city:b', 422, '`userAttributes` must be a string.'],
    ['/v1/points/p/summary?userAttributes=town:a,city:b,country:c', 422, 'Invalid attribute keys: town, country. '],
  ];
  for (const [path, status, error] of refused) {
    it(`is not found, or refused: ${path}`, async () => {
      const reply = await world.get(path);
      expect(reply.status).to.equal(status);
      expect((reply.body as { error: string }).error.startsWith(error), JSON.stringify(reply.body)).to.equal(true);
    });
  }
});

describe('A points summary', () => {
  let world: World;
  tenantForEachTest({ config: config({ boosts: [] }) }, (tenant) => (world = tenant));

  /** The filter as a caller writes it before percent-encoding, and the user whom it finds. */
  const filters: readonly (readonly [filter: string, city: string, plan?: string])[] = [
    ['city:Washington, D.C.', 'Washington, D.C.'],
    ['city:Washington, D.C.,plan:pro', 'Washington, D.C.', 'pro'],
    ['plan:pro,city:Washington, D.C.', 'Washington, D.C.', 'pro'],
    ['city:a\\,plan:b', 'a,plan:b'],
    ['city:a\\\\,plan:b', 'a\\', 'b'],
    ['city:C:\\x', 'C:\\x'],
    ['city:,', ','],
    ['city:', ''],
  ];
  for (const [filter, city, plan = ''] of filters) {
    it(`takes commas in the values of attributes: userAttributes=${filter}`, async () => {
      await track(world, 'm', { user: { id: 'ana', attributes: { city, plan } }, value: 5 });
      await track(world, 'm', { user: { id: 'ben', attributes: { city: 'Washington', plan: 'x' } }, value: 5 });
      const asked = await read<Range[]>(world, `/v1/points/p/summary?userAttributes=${encodeURIComponent(filter)}`);
      expect(asked.reduce((sum, { users }) => sum + users, 0)).to.equal(1);
    });
  }

  it('counts users by their points, in ranges of one round width, with what was written just before', async () => {
    expect(await ranges(world)).to.deep.equal(['0-0: 0']);
    bodyOf(await world.request('PUT', userPath('none'), { body: {} }), 200);
    expect(await ranges(world)).to.deep.equal(['0-0: 1']);
    await earn(world, 'ana', 1);
    expect(await ranges(world)).to.deep.equal(['0-0: 1', '1-1: 1']);
    await earn(world, 'ben', 10);
    expect(await ranges(world)).to.deep.equal(['0-0: 1', '1-1: 1', ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `${n}-${n}: 0`), '10-10: 1']);
    await earn(world, 'ben', 1);
    expect(await ranges(world)).to.deep.equal(['0-0: 1', '1-2: 1', '3-4: 0', '5-6: 0', '7-8: 0', '9-10: 0', '11-12: 1']);
    await earn(world, 'carl', 1_234);
    expect(await ranges(world)).to.deep.equal([
      '0-0: 1',
      '1-200: 2',
      ...[201, 401, 601, 801, 1001].map((n) => `${n}-${n + 199}: 0`),
      '1201-1400: 1',
    ]);
  });

  it('counts only the users with all of the attributes', async () => {
    await earn(world, 'ana', 5, { city: 'Lisbon', plan: 'pro' });
    await earn(world, 'ben', 3, { city: 'Lisbon' });
    await earn(world, 'carl', 9, { city: 'Porto', plan: 'pro' });
    bodyOf(await world.request('PUT', userPath('dora'), { body: { attributes: { city: 'Lisbon' } } }), 200);
    const withPoints = async (query: string): Promise<string[]> => (await ranges(world, query)).filter((line) => !line.endsWith(': 0'));
    expect(await withPoints('?userAttributes=city:Lisbon')).to.deep.equal(['0-0: 1', '3-3: 1', '5-5: 1']);
    expect(await withPoints('?userAttributes=city:Lisbon,plan:pro')).to.deep.equal(['5-5: 1']);
    expect(await ranges(world, '?userAttributes=city:Rome')).to.deep.equal(['0-0: 0']);
  });
});

const seed = runSeed();

describe(`A level summary (SEED=${seed})`, () => {
  let world: World;
  afterEach(() => world.stop());

  /** What the levels of all users come to, one by one. */
  async function counted(users: readonly string[], keys: readonly string[]): Promise<string[]> {
    const counts = new Map(keys.map((key) => [key, 0]));
    for (const user of users) {
      const { level } = await readPoints(world, user, 'p');
      if (level) counts.set(level.key, (counts.get(level.key) ?? 0) + 1);
    }
    return [...counts].map(([key, count]) => `${key} ${count}`);
  }

  /** The worker has counted everybody by the levels in force. */
  const untilCounted = (): Promise<void> =>
    until('the levels are counted', async () => {
      const flags = Object.entries(await world.redis.hgetall(`${world.partition}lv`)).filter(([field]) => field.startsWith('d-'));
      return flags.length === 2 && flags.every(([, definition]) => definition !== '');
    });

  it('counts users where they are, as they rise and fall', async () => {
    world = await startWorld({ config: config({ levels: levels({ bronze: 10, gold: 50 }), boosts: [] }) });
    await untilCounted();
    expect(await levelCounts(world)).to.deep.equal(['bronze 0', 'gold 0']);
    await earn(world, 'ana', 9);
    expect(await levelCounts(world)).to.deep.equal(['bronze 0', 'gold 0']);
    await earn(world, 'ana', 1);
    await earn(world, 'ben', 70);
    expect(await levelCounts(world)).to.deep.equal(['bronze 1', 'gold 1']);
    await earn(world, 'ana', 45);
    expect(await levelCounts(world)).to.deep.equal(['bronze 0', 'gold 2']);
  });

  it('is answered by Redis alone, in one call, once users are counted', async () => {
    world = await startWorld({ config: config({ levels: levels({ bronze: 10 }), boosts: [] }) });
    await untilCounted();
    await earn(world, 'ana', 10);
    // A service without the worker, whose sweep reads the counts each second too.
    await world.stopService();
    const alone = await startSecond(world, { api: true, worker: false });
    const monitor = await Monitor.start(world.settings.redisUrl!);
    try {
      const readSummary = async (): Promise<unknown> =>
        (await fetch(`${alone.address}/v1/points/p/level-summary`, { headers: { 'x-api-key': adminKey } })).json();
      const isOfTenant = ([, , keys, key]: readonly string[]): boolean => keys === '1' && key === `${world.partition}meta`;
      await readSummary();
      const commands = await monitor.during((mark) => world.redis.echo(mark), readSummary);
      const calls = wordsOf(commands.filter(({ source }) => source !== 'lua')).filter(isOfTenant);
      expect(calls.map(([, name]) => name?.replace(/^.*_/, ''))).to.deep.equal(['readLevels']);
      expect(await readSummary()).to.have.nested.property('[0].users', 1);
    } finally {
      monitor.stop();
      await alone.stop();
    }
  });

  it('counts every user without a higher level at a level of 0 points', async () => {
    world = await startWorld({ config: config({ levels: levels({ start: 0, bronze: 10 }), boosts: [] }) });
    bodyOf(await world.request('PUT', userPath('none'), { body: {} }), 200);
    await earn(world, 'ana', 3);
    await earn(world, 'ben', 30);
    expect(await levelCounts(world)).to.deep.equal(['start 2', 'bronze 1']);
    await untilCounted();
    expect(await levelCounts(world)).to.deep.equal(['start 2', 'bronze 1']);
  });

  it('is right at every moment, and in sync with Postgres, while levels are changed under events', async () => {
    const random = new Random(seed);
    const loss = { ...perOne, key: 'loss', metricKey: 'loss', points: -1 };
    const metrics = [
      { key: 'm', name: 'M' },
      { key: 'loss', name: 'Loss' },
    ];
    const withLevels = (of: Readonly<Record<string, number>>): string =>
      configText({
        metrics,
        points: [
          { key: 'p', name: 'P', triggers: [perOne, loss], levels: levels(of) },
          { key: 'bare', name: 'Bare' },
        ],
      });
    const changes: Readonly<Record<string, number>>[] = [
      { a: 10, b: 50 },
      { a: 20, b: 30, c: 40 },
      {},
      { a: 20, b: 30, c: 40 },
      { c: 5 },
      { a: 10, b: 50 },
    ];
    const users = Array.from({ length: 25 }, (_, i) => `u${i}`);
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1) {
        await track(world, random.chance(0.3) ? 'loss' : 'm', { user: random.pick(users as [string]), value: 1 + random.below(25) });
      }
    };
    world = await startWorld({ config: withLevels({ a: 10 }) });
    for (const user of users) bodyOf(await world.request('PUT', userPath(user), { body: {} }), 200);
    await send(30);
    for (const of of changes) {
      const keys = Object.entries(of)
        .sort(([, x], [, y]) => x - y)
        .map(([key]) => key);
      const shown = async (): Promise<string[]> => {
        if (keys.length > 0) return levelCounts(world);
        expect((await world.get('/v1/points/p/level-summary')).status).to.equal(422);
        return [];
      };
      await world.configure(withLevels(of), { prune: true });
      expect(await shown()).to.deep.equal(await counted(users, keys));
      const load = send(25);
      await load;
      expect(await shown()).to.deep.equal(await counted(users, keys));
      if (random.chance(0.5)) await untilCounted();
      expect(await shown()).to.deep.equal(await counted(users, keys));
    }
    await untilCounted();
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
    const { rows } = await world.pool.query<{ count: number }>(
      'select count(*)::integer as count from user_points where level is distinct from (case when total >= 50 then (select max(level) from user_points) when total >= 10 then (select min(level) from user_points) end)',
    );
    expect(rows[0]?.count).to.equal(0);
  });

  it('counts users who had their points before there were counts', async () => {
    world = await startWorld({ config: config({ levels: levels({ bronze: 10 }), boosts: [] }) });
    await earn(world, 'ana', 10);
    await earn(world, 'ben', 20);
    await untilCounted();
    // As if no user had ever been counted.
    await world.redis.del(`${world.partition}lv`);
    for (const user of ['ana', 'ben']) {
      const key = `${world.partition}u:${user}`;
      const hash: UserHash = new Map(Object.entries(await world.redis.hgetallBuffer(key)));
      for (const record of hash.keys()) {
        if (!record.startsWith(userRecords.points)) continue;
        const points = [...listOf(hash, record)];
        points[placeOf('points', 'level')] = 0;
        await world.redis.hset(key, record, packMessage(points));
      }
    }
    expect(await levelCounts(world)).to.deep.equal(['bronze 2']);
    await world.configure(config({ levels: levels({ bronze: 15 }), boosts: [] }));
    await untilCounted();
    expect(await levelCounts(world)).to.deep.equal(['bronze 1']);
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });
});

describe('An award under a boost that has been changed since', () => {
  let world: World;
  before(async () => {
    const double = { key: 'double', name: 'Double', start: '2040-01-01', multiplier: 2 };
    world = await startWorld({
      config: configText({
        metrics: [{ key: 'm', name: 'M' }],
        points: [{ key: 'p', name: 'P', triggers: [perOne], boosts: [double] }],
        webhooks: [subscription('points.changed')],
      }),
    });
  });
  after(() => world.stop());

  it('lists the boost as it was then: in reads, in the timeline, in webhooks and for analysts', async () => {
    const earned = async () => (await track(world, 'm', { user: 'ana', value: 1 })).points['p']!.awards;
    const [first] = await earned();
    await pass(world, 1_000);
    const [second] = await earned();
    const [{ id: system }] = await read<[{ id: string }]>(world, '/admin/v1/points');
    const [{ id }] = second!.boosts as unknown as [{ id: string }];
    const triple = { name: 'Triple', multiplier: 3, rounding: 'up', start: '2039-12-31', end: '2040-06-01' };
    const path = `/admin/v1/points/${system}/boosts`;
    expect(bodyOf(await world.request('PATCH', path, { body: [{ id, ...triple }] }), 200)).to.deep.include({ issues: [] });
    const [third] = await earned();
    expect([second, third].map((award) => award?.boosts)).to.deep.equal([
      [{ id, name: 'Double', status: 'active', start: '2040-01-01', end: null, multiplier: 2, rounding: 'down' }],
      [{ id, status: 'active', ...triple }],
    ]);
    bodyOf(await world.request('DELETE', `${path}?ids=${id}`), 200);

    expect((await readPoints(world, 'ana', 'p')).awards).to.deep.equal([third, second, first]);
    const { entries } = await read<Timeline>(world, '/admin/v1/users/ana/timeline');
    const listed = entries.map(({ awards }) => awards.map(({ boosts: [boost] }) => `${boost?.name} ${boost?.multiplier}`).join());
    expect(listed.sort()).to.deep.equal(['Double 2', 'Double 2', 'Triple 3']);
    await pass(world, 15 * 60_000);
    expect((await messagesOf(world)).map(({ payload }) => payload.points?.awards)).to.deep.equal([[first], [second, third]]);
    const { rows } = await world.pool.query<{ name: string }>(
      `select name from awards join configured_objects as object on object.tenant = awards.tenant and no = any(boosts) order by total`,
    );
    expect(rows.map(({ name }) => name)).to.deep.equal(['Double', 'Double', 'Triple']);
  });
});
