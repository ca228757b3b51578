import { expect } from 'chai';
import { accountPrefix } from '../../src/redis/contract.js';
import { bundleLibrary } from '../../src/redis/library.js';
import { inside, Monitor, wordsOf, type Command } from '../support/monitor.js';
import { startCluster } from '../support/redis-cluster.js';
import { richConfig } from '../support/rich-config.js';
import { startWorld, type Reply, type World } from '../support/world.js';

/** What was called: the command, and of a function call its name and how many keys it declares. */
const named = (commands: readonly Command[]): string[][] => wordsOf(commands).map((words) => words.slice(0, 3));

describe('One event', () => {
  /** What has been started, stopped at the end however far it came. */
  const cleaning: (() => unknown)[] = [];
  let world: World;
  let monitor: Monitor;
  const track = `${bundleLibrary().name}_track`;

  before(async () => {
    // Unlike a single server, a node of a cluster refuses a call whose keys are in several slots.
    const cluster = await startCluster(1);
    cleaning.push(() => cluster.stop());
    const url = `redis://127.0.0.1:${cluster.nodes[0]!.port}`;
    // Without the worker, so that everything that the service sends belongs to a request.
    world = await startWorld({
      redisUrl: cluster.url,
      config: JSON.stringify(richConfig),
      roles: { api: true, worker: false },
    });
    cleaning.push(() => world.stop());
    monitor = await Monitor.start(url);
    cleaning.push(() => monitor.stop());
    // Steady state: the library, the plan and the zones are there.
    for (const tz of ['Asia/Tokyo', 'America/Lima']) await event('cards', { user: { id: 'first', tz }, value: 1 });
  });
  after(async () => {
    for (let clean = cleaning.pop(); clean; clean = cleaning.pop()) await clean();
  });

  const event = (metric: string, body: object, key?: string): Promise<Reply> =>
    world.event(metric, body, key === undefined ? {} : { 'idempotency-key': key });

  /** What the service sent, and what the functions did, while `work` ran. */
  async function during<T>(work: () => Promise<T>): Promise<{ result: T; sent: Command[]; inside: Command[] }> {
    let result: T | undefined;
    const seen = await monitor.during(
      (mark) => world.redis.echo(mark),
      async () => {
        result = await work();
      },
    );
    // What the processes tell each other of tenants and keys, twice a second, belongs to no request.
    const isOfAccount = ({ words }: Command): boolean =>
      words.some((word) => String(word).startsWith(accountPrefix(world.settings.redisPrefix)));
    const all = seen.filter((command) => !isOfAccount(command));
    return { result: result as T, sent: all.filter(({ source }) => source !== 'lua'), inside: inside(all) };
  }

  /** The keys of commands, by asking Redis itself which of their words are keys. */
  async function keysOfCommands(commands: readonly Command[]): Promise<Set<string>> {
    const keys = new Set<string>();
    for (const { words } of commands) {
      const found = await world.redis.call('COMMAND', 'GETKEYS', ...words).catch((error: unknown) => {
        if (String(error).includes('no key arguments')) return [];
        throw error;
      });
      for (const key of found as string[]) keys.add(key);
    }
    return keys;
  }

  /** Everything that an event can bring along. */
  const full = {
    user: {
      id: 'a {weird}:id',
      name: 'Ana',
      email: 'ana@example.com',
      tz: 'Asia/Tokyo',
      subscribeToEmails: true,
      deviceTokens: ['t1'],
      attributes: { city: 'Lisbon', plan: 'pro' },
    },
    value: 100,
    attributes: { device: 'phone' },
  };

  const cases: readonly (readonly [what: string, status: number, send: () => Promise<Reply>])[] = [
    ['that creates a user with every property, and touches every feature', 201, () => event('cards', full, 'k1')],
    ['of a user who exists, with every property', 201, () => event('cards', { ...full, value: 250.5 }, 'k2')],
    ['of another metric that ranks and pays', 201, () => event('minutes', { user: { id: 'a {weird}:id' }, value: 99.9 })],
    ['that deducts', 201, () => event('mistakes', { user: { id: 'a {weird}:id' }, value: 30 })],
    ['of a user whose zone is known from before', 201, () => event('cards', { user: { id: 'first' }, value: 5 })],
    ['that changes a zone to one that others have', 201, () => event('cards', { user: { id: 'first', tz: 'Asia/Tokyo' }, value: 5 })],
    ['of a user with a boost of the user’s own', 201, () => event('cards', { user: { id: 'u0' }, value: 50 })],
    ['with a key that was used before', 202, () => event('cards', full, 'k1')],
    ['that is refused for the total', 422, () => event('cards', { user: { id: 'first' }, value: 1e15 })],
    ['that is refused for the user', 422, () => event('cards', { user: { id: 'new', subscribeToEmails: true }, value: 1 })],
  ];
  for (const [what, status, send] of cases) {
    it(`${what} is one call`, async () => {
      const { result, sent } = await during(send);
      expect(result.status, JSON.stringify(result.body)).to.equal(status);
      expect(named(sent)).to.deep.equal([['fcall', track, '1']]);
    });
  }

  it('that takes the last rank of a full leaderboard is one call', async () => {
    for (let i = 0; i < 25; i += 1) await event('cards', { user: { id: `p${i}` }, value: 10 + i });
    const { result, sent } = await during(() => event('cards', { user: { id: 'late' }, value: 400 }));
    expect((result.body as { leaderboards: object }).leaderboards).to.include.keys('best-cards', 'all-cards');
    expect(named(sent)).to.deep.equal([['fcall', track, '1']]);
  });

  it('is one call also among many at once', async () => {
    const { sent } = await during(() =>
      Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          event(i % 2 ? 'cards' : 'minutes', { ...full, user: { ...full.user, id: `m${i % 10}` } }, `many ${i}`),
        ),
      ),
    );
    expect(named(sent)).to.deep.equal(Array(100).fill(['fcall', track, '1']));
  });

  it('leaves reads that Redis answers one call each', async () => {
    await world.request('PUT', '/v1/users/reader', { body: {} });
    const paths = [
      ...['users/reader', 'users/reader/points/xp', 'users/reader/points/xp/boosts', 'points/xp/boosts', 'achievements'],
      ...['users/reader/metrics/cards', 'users/reader/metrics', 'leaderboards/all-cards', 'leaderboards/best-cards?limit=100'],
    ];
    for (const path of paths) {
      const { result, sent } = await during(() => world.get(`/v1/${path}`));
      expect(result.status, path).to.equal(200);
      expect(
        wordsOf(sent).map(([name]) => name),
        path,
      ).to.deep.equal(['fcall']);
    }
    for (const path of ['points/xp', 'points/xp/levels']) {
      const { result, sent } = await during(() => world.get(`/v1/${path}`));
      expect([result.status, sent.length], path).to.deep.equal([200, 0]);
    }
  });

  it('declares one key, and touches only keys of its slot', async () => {
    const { sent, inside } = await during(() => event('cards', { ...full, user: { ...full.user, id: 'slots' } }, 'k3'));
    const declared = await keysOfCommands(sent);
    expect([...declared]).to.deep.equal([`${world.partition}meta`]);
    const touched = await keysOfCommands(inside);
    const kinds = new Set([...touched].map((key) => /^[a-z]+:?/.exec(key.slice(world.partition.length))?.[0]));
    expect([...kinds]).to.include.members(['meta', 'ledger', 'clock', 'u:', 'i:', 'a:', 'b:']);
    const inSlots = new Set<unknown>();
    for (const key of [...declared, ...touched]) inSlots.add(await world.redis.call('CLUSTER', 'KEYSLOT', key));
    expect(inSlots.size).to.equal(1);
  });

  it('stays in that slot, as does every other call', async () => {
    const { sent, inside } = await during(async () => {
      await world.redis.function('FLUSH');
      await world.configure(JSON.stringify({ metrics: [{ key: 'new', name: 'New' }] }));
      await world.request('PUT', '/v1/users/put', { body: { name: 'Put', tz: 'Europe/Paris' } });
      await event('new', { user: { id: 'put' }, value: 1 });
      await world.setClock('2040-01-03T00:00:00Z');
      for (const path of ['users/put', 'users/put/metrics', 'users/put/points/xp', 'leaderboards', 'leaderboards/all-cards']) {
        expect((await world.get(`/v1/${path}`)).status).to.equal(200);
      }
    });
    const keys = await keysOfCommands([...sent, ...inside]);
    for (const key of keys) expect(key.startsWith(world.partition), key).to.be.true;
    // Besides the calls: the test's own flush and the loading of the library, and a new zone.
    const commands = new Set(wordsOf(sent).map(([name]) => name?.toLowerCase()));
    expect([...commands].sort()).to.deep.equal(['fcall', 'function', 'hlen', 'hset']);
  });
});
