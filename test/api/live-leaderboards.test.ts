import { expect } from 'chai';
import type { Service } from '../../src/app/service.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, read, readBoard, track } from '../support/answers.js';
import { LiveClient, type LiveRow, type StreamOptions } from '../support/event-stream.js';
import { logLines } from '../support/log-lines.js';
import { Random, runSeed } from '../support/random.js';
import { startSecond } from '../support/second.js';
import { startWorld, type World, type WorldOptions } from '../support/world.js';

const origin = 'https://app.example.com';
const perpetual = (key: string, more: object = {}): object => ({
  ...{ key, name: `Board ${key}`, status: 'active', start: '2039-01-01', rankBy: 'metric', metricKey: key },
  ...more,
});
const keys = ['moves', 'page', 'list', 'resumes', 'random', 'tokens', 'deletes', 'stops', 'bounds', 'two', 'often', 'away'];
const config = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [...keys, 'cities', 'days'].map((key) => ({ key, name: key })),
  leaderboards: [
    ...keys.map((key) => perpetual(key)),
    perpetual('cities', { breakdownAttributes: ['city'] }),
    perpetual('days', { start: '2040-01-01', runUnit: 'day', runInterval: 1 }),
  ],
};

describe('A live leaderboard', () => {
  let world: World;
  const clients: LiveClient[] = [];
  const { log, text: logged } = logLines('trace');
  let aheadMs = 0;
  before(async () => {
    world = await startWorld({
      config: configText(config),
      log,
      overrides: { sessionAheadMs: () => aheadMs },
      settings: { corsOrigins: [origin], liveConnectionsPerKey: 3, accessLog: 'info' },
    });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  after(() => world.stop());

  async function open(path: string, options: StreamOptions = {}, address = world.address): Promise<LiveClient> {
    const client = await LiveClient.open(address, `/v1/leaderboards/${path}`, options);
    clients.push(client);
    return client;
  }

  /** Opens a stream, and waits for its first message. */
  async function watch(path: string, options: StreamOptions = {}, address = world.address): Promise<LiveClient> {
    const client = await open(path, options, address);
    expect(client.status, client.text).to.equal(200);
    await client.message('the first', () => true);
    return client;
  }

  const applicationKey = async (userId: string): Promise<{ id: string; key: string }> => {
    const reply = await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId }] });
    return bodyOf<{ created: { id: string; key: string }[] }>(reply, 201).created[0]!;
  };

  const tokenFor = async (leaderboards: readonly string[], key?: string, expiresInS = 3_600): Promise<string> => {
    const options = { body: { leaderboards, expiresInS }, ...(key === undefined ? {} : { key }) };
    return bodyOf<{ token: string }>(await world.request('POST', '/v1/live-tokens', options), 201).token;
  };

  it('begins with the ranking, and moves when an event moves it', async () => {
    await track(world, 'moves', { user: 'ana', value: 5 });
    const client = await watch('moves/live');
    const [first] = client.messages;
    expect(first?.event).to.equal('snapshot');
    expect(first?.data).to.deep.equal(await read<object>(world, '/v1/leaderboards/moves'));
    await track(world, 'moves', { user: 'ben', value: 7 });
    await client.shows(['1 ben 7', '2 ana 5']);
    const change = client.messages.at(-1)!;
    expect(change.event).to.equal('change');
    expect(change.data).to.deep.equal({
      rankings: [
        { userId: 'ben', userName: null, rank: 1, value: 7, previousRank: null },
        { userId: 'ana', userName: null, rank: 2, value: 5, previousRank: 1 },
      ],
    });
  });

  it('sends what browsers and proxies need', async () => {
    const { headers } = await watch('moves/live', { headers: { origin } });
    expect(headers).to.include({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': origin,
    });
    expect(headers).to.not.have.any.keys('content-encoding', 'content-length');
  });

  it('shows a page: rows that leave it have no rank, and rows below it are not seen', async () => {
    for (const [user, value] of [
      ['a', 30],
      ['b', 20],
      ['c', 10],
    ] as const)
      await track(world, 'page', { user, value });
    const client = await watch('page/live?offset=1&limit=1');
    await track(world, 'page', { user: 'c', value: 15 });
    await client.shows(['2 c 25']);
    const gone = client.messages.flatMap(({ data }) => (data as { rankings: LiveRow[] }).rankings).filter(({ rank }) => rank === null);
    expect(gone).to.deep.equal([{ userId: 'b', rank: null, previousRank: 2 }]);
  });

  it('shows a group of a leaderboard with a breakdown, and moves when a user moves to another group', async () => {
    const client = await watch('cities/live?userAttributes=city:Lisbon');
    await track(world, 'cities', { user: { id: 'ana', attributes: { city: 'Lisbon' } }, value: 1 });
    await client.shows(['1 ana 1']);
    bodyOf(await world.request('PATCH', '/v1/users/ana', { body: { attributes: { city: 'Porto' } } }), 200);
    await client.shows([]);
  });

  it('shows the new name of a user', async () => {
    await track(world, 'moves', { user: 'ana', value: 0 });
    const client = await watch('moves/live');
    bodyOf(await world.request('PATCH', '/v1/users/ana', { body: { name: 'Ana' } }), 200);
    await client.message('the name', ({ data }) => JSON.stringify(data).includes('"userName":"Ana"'));
  });

  it('shows a list of users, with their rank among themselves', async () => {
    for (const [user, value] of [
      ['a', 30],
      ['b', 20],
      ['c', 10],
    ] as const)
      await track(world, 'list', { user, value });
    const client = await watch('list/live?userIds=b,c,nobody');
    await track(world, 'list', { user: 'c', value: 15 });
    await client.shows(['2 c 25', '3 b 20']);
    expect(client.messages.at(-1)?.data).to.deep.equal({
      rankings: [
        { userId: 'c', userName: null, rank: 2, value: 25, rankInList: 1, previousRank: 3 },
        { userId: 'b', userName: null, rank: 3, value: 20, rankInList: 2, previousRank: 2 },
      ],
    });
  });

  it('sends nothing to a client that comes back unless something has changed, and then a snapshot', async () => {
    await track(world, 'resumes', { user: 'ana', value: 1 });
    const { lastId } = await watch('resumes/live');
    for (const how of [{ headers: { 'last-event-id': lastId } }, { path: `?lastEventId=${lastId}` }]) {
      const back = await open(`resumes/live${'path' in how ? how.path : ''}`, 'headers' in how ? { headers: how.headers } : {});
      await track(world, 'resumes', { user: 'ana', value: 1 });
      const next = await back.message('a change', () => true);
      if ('headers' in how) expect(next.event).to.equal('change');
    }
    const late = await watch('resumes/live', { headers: { 'last-event-id': lastId } });
    expect(late.messages[0]?.event).to.equal('snapshot');
  });

  it('sends at most two messages a second, and the newest state in the end', async () => {
    const client = await watch('often/live');
    for (let value = 1; value <= 60; value += 1) await track(world, 'often', { user: `u${value % 7}`, value });
    await client.shows(await readBoard(world, 'often', ''));
    const times = client.messages.slice(1).map(({ atMs }) => atMs);
    // One of them may be sent or received late.
    const intervals = Math.max(times.length - 2, 0);
    expect(intervals * limits.liveIntervalMs).to.be.at.most(times.at(-1)! - times[0]!);
  });

  it('goes on with the next run when one ends, and says when a run is final', async () => {
    await track(world, 'days', { user: 'ana', value: 3 });
    const [current, fixed] = [await watch('days/live'), await watch('days/live?run=2040-01-02')];
    await world.setClock('2040-01-03T00:30:00Z');
    const over = await current.message('the end', ({ event }) => event === 'finished');
    expect(over.data).to.deep.equal({ runStart: '2040-01-02', runEnd: '2040-01-02' });
    const next = await current.message('the next run', ({ data }) => (data as { runStart?: string }).runStart === '2040-01-03');
    expect(next.event).to.equal('snapshot');
    expect(fixed.messages.some(({ event }) => event === 'finished')).to.equal(false);
    await world.setClock('2040-01-03T12:30:00Z');
    await fixed.message('the rankings are final', ({ event }) => event === 'finished');
    expect(fixed.ranking).to.deep.equal(['1 ana 3']);
    const again = await watch('days/live?run=2040-01-02');
    await again.message('the rankings are final', ({ event }) => event === 'finished');
    expect(again.messages.map(({ event }) => event)).to.deep.equal(['snapshot', 'finished']);
    expect(again.lastId).to.equal(fixed.lastId);
  });

  it('loses a user who is deleted', async () => {
    for (const [user, value] of [
      ['x', 2],
      ['y', 1],
    ] as const)
      await track(world, 'deletes', { user, value });
    const { key } = await applicationKey('x');
    const [client, own] = [await watch('deletes/live'), await watch('deletes/live', { key })];
    expect((await world.request('DELETE', '/admin/v1/users/x')).status).to.be.below(300);
    await client.shows(['1 y 1']);
    await own.over();
  });

  it('moves in every process', async () => {
    const second: Service = await startSecond(world);
    try {
      const [here, there] = [await watch('two/live'), await watch('two/live', {}, second.address)];
      expect(here.lastId).to.equal(there.lastId);
      await track(world, 'two', { user: 'ana', value: 1 });
      for (const client of [here, there]) await client.shows(['1 ana 1']);
      expect(here.lastId).to.equal(there.lastId);
    } finally {
      await second.stop();
    }
  });

  const seed = runSeed();
  it(`is the ranking in the end, after random events, breaks and deletions (SEED=${seed})`, async () => {
    const random = new Random(seed);
    const users = Array.from({ length: 9 }, (_, i) => `r${i}`);
    const any = (): string => users[random.below(users.length)]!;
    const paths = ['random/live?limit=100', 'random/live?offset=2&limit=3', `random/live?userIds=${users.slice(0, 4).join()}`];
    const watchers = await Promise.all(paths.map(async (path) => [path, await watch(path)] as [string, LiveClient]));
    for (let step = 0; step < 80; step += 1) {
      const what = random.below(12);
      if (what === 0) await world.request('DELETE', `/admin/v1/users/${any()}`);
      else if (what === 1) {
        const watcher = watchers[random.below(watchers.length)]!;
        const [path, before] = watcher;
        before.close();
        const after = await open(path, { headers: { 'last-event-id': before.lastId } });
        // What the client had merged before the break.
        after.messages.unshift(...before.messages);
        watcher[1] = after;
      } else await track(world, 'random', { user: any(), value: random.below(20) - 5 });
    }
    for (const [path, client] of watchers) {
      const { rankings } = await read<{ rankings: LiveRow[] }>(world, `/v1/leaderboards/${path.replace('/live', '')}`);
      await client.shows(rankings.map(({ rank, userId, value }) => `${rank} ${userId} ${value}`));
    }
  });

  describe('with a token', () => {
    it('needs no key, whatever tenant the token is of', async () => {
      const made = await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: 'other', name: 'Other' }] });
      const other = bodyOf<{ created: { id: string }[] }>(made, 201).created[0]!.id;
      await world.configure(configText(config), { tenant: other });
      const headers = { 'tenant-id': other };
      await world.request('POST', '/v1/metrics/tokens/event', { body: { user: { id: 'theirs' }, value: 1 }, headers });
      const reply = await world.request('POST', '/v1/live-tokens', { body: { leaderboards: ['tokens'] }, headers });
      const theirs = await watch(`tokens/live?token=${bodyOf<{ token: string }>(reply, 201).token}`, { key: null });
      expect(theirs.ranking).to.deep.equal(['1 theirs 1']);
      const ours = await watch(`tokens/live?token=${await tokenFor(['tokens'])}`, { key: null });
      expect(ours.ranking).to.deep.equal([]);
      const token = bodyOf<{ token: string }>(reply, 201).token;
      expect((await open(`tokens/live?token=${token}`, { key: null, headers: { 'tenant-id': 'nobody' } })).status).to.equal(403);
      bodyOf(await world.request('DELETE', `/admin/v1/tenants?ids=${other}`), 200);
      await theirs.over();
      expect((await open(`tokens/live?token=${token}`, { key: null })).status).to.equal(401);
    });

    it('shows only the leaderboards that the token names', async () => {
      const token = await tokenFor(['tokens', 'moves']);
      expect((await open(`page/live?token=${token}`, { key: null })).status).to.equal(403);
      expect((await open(`tokens?token=${token}`, { key: null })).status).to.equal(401);
    });

    it('is a 401 with a token that is forged or changed, or with none', async () => {
      const token = await tokenFor(['tokens']);
      const [head = '', claims = '', signature = ''] = token.split('.');
      const widened = Buffer.from(JSON.stringify({ ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), l: ['page'] }));
      const none = Buffer.from('{"alg":"none"}').toString('base64url');
      for (const bad of ['', 'x', `${head}.${widened.toString('base64url')}.${signature}`, `${none}.${claims}.`]) {
        expect((await open(`page/live?token=${bad}`, { key: null })).status, bad).to.equal(401);
      }
      expect((await open('page/live', { key: null })).status).to.equal(401);
    });

    it('ends when the token expires', async () => {
      const token = await tokenFor(['tokens'], undefined, 600);
      const client = await watch(`tokens/live?token=${token}`, { key: null });
      aheadMs = 601_000;
      try {
        await client.over();
        expect((await open(`tokens/live?token=${token}`, { key: null })).status).to.equal(401);
      } finally {
        aheadMs = 0;
      }
    });

    it('ends when the key that it was made with is revoked', async () => {
      const { id, key } = await applicationKey('ana');
      const token = await tokenFor(['tokens'], key);
      const clients = [await watch(`tokens/live?token=${token}`, { key: null }), await watch('tokens/live', { key })];
      bodyOf(await world.request('DELETE', `/admin/v1/application-api-keys?ids=${id}`), 200);
      for (const client of clients) await client.over();
      expect((await open(`tokens/live?token=${token}`, { key: null })).status).to.equal(401);
    });

    it('is never logged', async () => {
      const token = await tokenFor(['tokens']);
      await watch(`tokens/live?token=${token}`, { key: null });
      await open(`tokens/live?token=${token}x`, { key: null });
      await open(`nothing/live?token=${token}`, { key: null });
      expect(logged()).to.include('/v1/leaderboards/:key/live').and.not.include(token.slice(0, 40));
    });
  });

  it('has as many streams of a key as the settings allow', async () => {
    const token = await tokenFor(['bounds']);
    const path = `bounds/live?token=${token}`;
    for (let i = 0; i < 3; i += 1) await watch(path, { key: null });
    const refused = await open(path, { key: null });
    expect(refused.status).to.equal(429);
    expect(refused.headers['retry-after']).to.equal(String(limits.liveRefusedRetryS));
    clients[0]!.close();
    await watch(`bounds/live?token=${await tokenFor(['bounds'])}`, { key: null });
  });

  it('counts the streams of all tokens of an application key, or of a user, together', async () => {
    const { key } = await applicationKey('many');
    const ofUser = async (): Promise<string> => {
      const body = { leaderboards: ['bounds'], userId: 'one of many' };
      return bodyOf<{ token: string }>(await world.request('POST', '/v1/live-tokens', { body }), 201).token;
    };
    for (const make of [() => tokenFor(['bounds'], key), ofUser]) {
      for (let i = 0; i < 3; i += 1) await watch(`bounds/live?token=${await make()}`, { key: null });
      expect((await open(`bounds/live?token=${await make()}`, { key: null })).status).to.equal(429);
    }
    expect((await open('bounds/live', { key })).status).to.equal(429);
  });

  it('is refused as the ranking is', async () => {
    for (const [path, status] of [
      ['nothing/live', 404],
      ['cities/live', 422],
      ['moves/live?limit=1001', 422],
      ['days/live?run=2039-12-31', 422],
    ] as const) {
      expect((await open(path)).status, path).to.equal(status);
    }
  });

  it('has no body for HEAD', async () => {
    expect((await world.request('HEAD', '/v1/leaderboards/moves/live')).status).to.equal(200);
  });

  it('shows a change of the configuration, and ends when the leaderboard is deleted', async () => {
    const client = await watch('away/live');
    const others = config.leaderboards.filter((board) => !('key' in board && board.key === 'away'));
    const renamed = perpetual('away', { name: 'Renamed' });
    await world.configure(configText({ ...config, leaderboards: [...others, renamed] }));
    await client.message('the new name', ({ data }) => (data as { name?: string }).name === 'Renamed');
    await world.configure(configText({ ...config, leaderboards: others }), { prune: true });
    await client.over();
    expect((await open('away/live')).status).to.equal(404);
  });
});

describe('The live streams of a process', () => {
  const config = { metrics: [{ key: 'm', name: 'M' }], leaderboards: [perpetual('m')] };
  const start = (options: WorldOptions = {}): Promise<World> => startWorld({ config: configText(config), ...options });

  it('are told to connect again, at different times, when it stops', async () => {
    const world = await start();
    try {
      const clients = await Promise.all(Array.from({ length: 5 }, () => LiveClient.open(world.address, '/v1/leaderboards/m/live')));
      await world.stopService();
      for (const client of clients) await client.over();
      const retries = clients.map(({ retryMs }) => retryMs ?? 0);
      for (const ms of retries) expect(ms).to.be.within(limits.liveRetryMinMs, limits.liveRetryMaxMs);
      expect(new Set(retries).size).to.be.above(1);
    } finally {
      await world.stop();
    }
  });

  for (const [setting, status] of [
    ['liveConnections', 503],
    ['liveConnectionsPerTenant', 429],
  ] as const) {
    it(`are as many as ${setting} allows`, async () => {
      const world = await start({ settings: { [setting]: 2 } });
      const clients: LiveClient[] = [];
      try {
        for (let i = 0; i < 3; i += 1) clients.push(await LiveClient.open(world.address, '/v1/leaderboards/m/live'));
        expect(clients.map((client) => client.status)).to.deep.equal([200, 200, status]);
      } finally {
        for (const client of clients) client.close();
        await world.stop();
      }
    });
  }
});
