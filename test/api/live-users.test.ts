import { expect } from 'chai';
import { channelNames } from '../../src/redis/contract.js';
import { configText, bodyOf, track } from '../support/answers.js';
import { LiveClient, type StreamMessage, type StreamOptions } from '../support/event-stream.js';
import { startSecond } from '../support/second.js';
import { until } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'plain', name: 'Plain' },
  ],
  points: [
    {
      ...{ key: 'p', name: 'P', levels: [{ key: 'one', name: 'One', points: 10 }] },
      triggers: [
        { key: 'each', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' },
        { key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' },
      ],
    },
  ],
  achievements: [{ key: 'called', name: 'Called', trigger: 'api', status: 'active' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  leaderboards: [{ key: 'l', name: 'L', status: 'active', start: '2039-01-01', rankBy: 'metric', metricKey: 'm' }],
};

interface Change {
  readonly event: { readonly metricKey: string; readonly total: number } | null;
  readonly points: Readonly<Record<string, { readonly total: number; readonly level?: { readonly key: string } }>>;
  readonly achievements: readonly { readonly key: string }[];
  readonly leaderboards: Readonly<Record<string, { readonly rank: number; readonly previousRank: number | null }>>;
  readonly streak: readonly { readonly how: string; readonly length: number }[];
}

describe('The live stream of a user', () => {
  let world: World;
  const clients: LiveClient[] = [];
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  after(() => world.stop());

  async function open(user: string, options: StreamOptions = {}, { address = world.address, query = '' } = {}): Promise<LiveClient> {
    const client = await LiveClient.open(address, `/v1/users/${user}/live${query}`, options);
    clients.push(client);
    return client;
  }

  /** Opens the stream of a new user, and waits until it has begun. */
  async function watch(user: string): Promise<LiveClient> {
    await track(world, 'plain', { user, value: 1 });
    const client = await open(user);
    await client.message('the beginning', ({ event }) => event === 'reset');
    return client;
  }

  const changes = (client: LiveClient): Change[] =>
    client.messages.filter(({ event }) => event === 'change').map(({ data }) => data as Change);
  const change = async (client: LiveClient, what: string, fits: (change: Change) => boolean): Promise<Change> => {
    const found: StreamMessage = await client.message(what, ({ event, data }) => event === 'change' && fits(data as Change));
    return found.data as Change;
  };

  it('has what an event changed, as its response', async () => {
    const client = await watch('ana');
    const { points, leaderboards } = await track(world, 'm', { user: 'ana', value: 5 });
    const seen = await change(client, 'the event', ({ event }) => event?.metricKey === 'm');
    expect(seen.event).to.include({ metricKey: 'm', value: 5, total: 5 });
    expect([seen.points, seen.leaderboards]).to.deep.equal([points, leaderboards]);
    expect(seen.points['p']?.level?.key).to.equal('one');
    expect(seen.streak).to.deep.equal([{ date: '2040-01-02', frequency: 'daily', length: 1, how: 'extended' }]);
  });

  it('has adjustments of points, without the reason', async () => {
    const client = await watch('adjusted');
    const system = (await world.engine.config(world.tenant)).systems.get('p')!;
    const adjustments = [{ userId: 'adjusted', amount: 12, reason: 'An apology' }];
    bodyOf(await world.request('POST', `/admin/v1/points/${system.id}/adjustments`, { body: { adjustments } }), 201);
    const seen = await change(client, 'the adjustment', ({ points }) => points['p']?.total === 12);
    expect(seen.event).to.equal(null);
    expect(seen.points['p']?.level?.key).to.equal('one');
    expect(JSON.stringify(client.messages)).to.not.include('apology');
  });

  it('has what calls and elapsed time changed, and nothing of other users', async () => {
    const client = await watch('ben');
    await track(world, 'm', { user: 'other', value: 9 });
    bodyOf(await world.request('POST', '/v1/achievements/called/complete', { body: { user: { id: 'ben' } } }), 201);
    const seen = await change(client, 'the achievement', ({ achievements }) => achievements.length > 0);
    expect(seen.achievements.map(({ key }) => key)).to.deep.equal(['called']);
    expect(seen.event).to.equal(null);
    await track(world, 'm', { user: 'ben', value: 1 });
    await world.setClock('2040-01-04T12:00:00Z');
    await change(client, 'the lost streak', ({ streak }) => streak.some(({ how }) => how === 'lost'));
    await until('points by time', () => changes(client).some(({ event, points }) => event === null && points['p'] !== undefined));
    expect(JSON.stringify(client.messages)).to.not.include('other');
  });

  it('gives a client that comes back what it missed, once, in order', async () => {
    const first = await watch('carla');
    for (let value = 1; value <= 3; value += 1) await track(world, 'plain', { user: 'carla', value });
    await until('three changes', () => changes(first).length === 3);
    const afterFirst = first.messages.find(({ event }) => event === 'change')!.id;
    first.close();
    await track(world, 'plain', { user: 'carla', value: 4 });
    const totals = (client: LiveClient): (number | undefined)[] => changes(client).map(({ event }) => event?.total);
    for (const back of [
      await open('carla', { headers: { 'last-event-id': afterFirst } }),
      await open('carla', {}, { query: `?lastEventId=${afterFirst}` }),
    ]) {
      await until('what was missed', () => changes(back).length === 3);
      expect(totals(back)).to.deep.equal([4, 7, 11]);
      expect(back.messages.map(({ event }) => event)).to.deep.equal(['change', 'change', 'change']);
    }
  });

  it('begins anew for a client that comes back with an id that is too old or wrong', async () => {
    await watch('dora');
    for (const id of ['1-0', 'x', '']) {
      const back = await open('dora', { headers: { 'last-event-id': id } });
      expect((await back.message('the beginning', () => true)).event).to.equal('reset');
    }
  });

  it('has what another process counts, in each process', async () => {
    const second = await startSecond(world);
    try {
      const here = await watch('emil');
      const there = await open('emil', {}, { address: second.address! });
      await there.message('the beginning', ({ event }) => event === 'reset');
      await track(world, 'm', { user: 'emil', value: 1 });
      for (const client of [here, there]) await change(client, 'the event', ({ event }) => event?.metricKey === 'm');
    } finally {
      await second.stop();
    }
  });

  it('is a 404 for an unknown user, and ends when the key is revoked', async () => {
    expect((await open('nobody')).status).to.equal(404);
    await track(world, 'plain', { user: 'fred', value: 1 });
    const made = await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: 'fred' }] });
    const { id, key } = bodyOf<{ created: { id: string; key: string }[] }>(made, 201).created[0]!;
    expect((await open('ana', { key })).status).to.equal(403);
    const { token } = bodyOf<{ token: string }>(await world.request('POST', '/v1/live-tokens', { body: { userId: 'fred' }, key }), 201);
    const own = await open('fred', { key: null }, { query: `?token=${token}` });
    expect(own.status).to.equal(200);
    expect((await open('ana', { key: null }, { query: `?token=${token}` })).status).to.equal(403);
    bodyOf(await world.request('DELETE', `/admin/v1/application-api-keys?ids=${id}`), 200);
    await own.over();
  });

  it('is reset after announcements were lost', async () => {
    const client = await watch('ida');
    const resets = (count: number) =>
      until(`${count} resets`, () => client.messages.filter(({ event }) => event === 'reset').length >= count);
    // With nothing in the ledger since, a client has missed nothing.
    const goOn = async (): Promise<void> => {
      await track(world, 'plain', { user: 'other', value: 1 });
      await world.drain();
    };
    await goOn();
    // A batch before this one was never received.
    const later = { after: '99999999999990-0', upTo: '99999999999999-0', users: [] };
    await world.redis.publish(world.partition + channelNames.live, JSON.stringify(later));
    await resets(2);
    await goOn();
    await world.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await resets(3);
    await track(world, 'plain', { user: 'ida', value: 2 });
    await change(client, 'the event', ({ event }) => event?.total === 3);
  });

  it('is closed to a token of a user who was deleted, also if another one has the same id', async () => {
    const tokenOf = async (userId: string): Promise<string> => {
      const body = { userId, leaderboards: ['l'] };
      return bodyOf<{ token: string }>(await world.request('POST', '/v1/live-tokens', { body }), 201).token;
    };
    for (const user of ['jan', 'kim']) await track(world, 'plain', { user, value: 1 });
    await world.setClock('2040-01-05T12:00:00Z');
    const [old, other] = [await tokenOf('jan'), await tokenOf('kim')];
    const statuses = async (token: string, user: string): Promise<number[]> => {
      const both = [await open(user, { key: null }, { query: `?token=${token}` })];
      both.push(await LiveClient.open(world.address, `/v1/leaderboards/l/live?token=${token}`, { key: null }));
      clients.push(both[1]!);
      return both.map(({ status }) => status);
    };
    expect(await statuses(old, 'jan')).to.deep.equal([200, 200]);
    expect((await world.request('DELETE', '/admin/v1/users/jan')).status).to.be.below(300);
    expect(await statuses(old, 'jan')).to.deep.equal([401, 401]);
    await track(world, 'plain', { user: 'jan', value: 1 });
    expect(await statuses(old, 'jan')).to.deep.equal([401, 401]);
    expect(await statuses(await tokenOf('jan'), 'jan')).to.deep.equal([200, 200]);
    expect(await statuses(other, 'kim')).to.deep.equal([200, 200]);
  });

  it('ends when the user is deleted, as does what a token that is bound to the user watches', async () => {
    const client = await watch('gina');
    const body = { userId: 'gina', leaderboards: ['l'] };
    const { token } = bodyOf<{ token: string }>(await world.request('POST', '/v1/live-tokens', { body }), 201);
    const board = await LiveClient.open(world.address, `/v1/leaderboards/l/live?token=${token}`, { key: null });
    clients.push(board);
    const other = await watch('hugo');
    expect((await world.request('DELETE', '/admin/v1/users/gina')).status).to.be.below(300);
    for (const stream of [client, board]) await stream.over();
    expect(other.isOver).to.equal(false);
    expect((await open('gina')).status).to.equal(404);
  });
});
