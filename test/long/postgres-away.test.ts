import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import type { Service } from '../../src/app/service.js';
import { signIn } from '../support/dashboard.js';
import { differences } from '../support/differences.js';
import { Network } from '../support/network.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { startSecond } from '../support/second.js';
import { until, untilSampleActivated } from '../support/stage.js';
import { adminKey, startWorld, type Reply, type World } from '../support/world.js';

/** Longer than a poll of tenants and keys waits for a Postgres that is frozen. */
const awayMs = limits.postgresQueryTimeoutMs + 6 * limits.accountPollMs;
/** Half the timeout of a query: the machine may be busy. */
const promptMs = limits.postgresQueryTimeoutMs / 2;

describe('A service without Postgres', () => {
  let postgres: OwnPostgres;
  let world: World;
  let sent = 0;
  let known: string;
  let unknown: string;

  before(async () => {
    postgres = await OwnPostgres.start();
    world = await startWorld({ databaseUrl: postgres.url, now: null });
    const made = await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: 'ana' }, { userId: 'ana' }] });
    [known = '', unknown = ''] = (made.body as { created: { key: string }[] }).created.map(({ key }) => key);
    await event('ana', known);
    await untilSampleActivated(world.pool);
  });
  after(async () => {
    postgres.thaw();
    await world.stop();
    await postgres.stop();
  });

  /** Counts an event, which Postgres must not hold up. */
  async function event(user: string, key = adminKey): Promise<void> {
    const began = performance.now();
    const reply = await world.request('POST', '/v1/metrics/flashcards-viewed/event', { key, body: { user: { id: user }, value: 1 } });
    expect(reply.status, JSON.stringify(reply.body)).to.equal(201);
    expect(performance.now() - began).to.be.below(promptMs);
    sent += 1;
  }

  /** Sends events by both kinds of keys until Postgres has been away for long. */
  async function sendAllTheWhile(): Promise<void> {
    const until = performance.now() + awayMs;
    for (let i = 0; performance.now() < until; i += 1) {
      await event(`user-${i % 50}`);
      await event('ana', known);
    }
  }

  async function expectNothingLost(): Promise<void> {
    await world.drain();
    const { rows } = await world.pool.query<{ count: number; sum: number }>('select count(*)::int, sum(value)::int from events');
    expect(rows).to.deep.equal([{ count: sent, sum: sent }]);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  }

  const expectNotReady = ({ status, headers, body }: Reply): void => {
    expect(status, JSON.stringify(body)).to.equal(503);
    expect(headers.get('retry-after')).to.equal('1');
  };

  it('accepts events while Postgres is frozen, and stores all once it resumes', async () => {
    postgres.freeze();
    await sendAllTheWhile();
    expect((await world.get('/health/ready')).status).to.equal(200);
    expect((await world.get('/v1/users/ana')).status).to.equal(200);
    postgres.thaw();
    await expectNothingLost();
  });

  it('accepts events while Postgres is stopped, returns 503 for calls that need it, and stores all events after its restart', async () => {
    await postgres.shutDown();
    await sendAllTheWhile();
    expect((await world.get('/v1/leaderboards')).status).to.equal(200);
    expectNotReady(await world.get('/admin/v1/users'));
    // A key that is not in memory has to be looked up.
    expectNotReady(await world.request('GET', '/v1/users/ana', { key: unknown }));
    // A change of keys, or of the configuration, can't be stored.
    expectNotReady(await world.request('POST', '/admin/v1/admin-api-keys', { body: [{ name: 'New' }] }));
    expectNotReady(await world.request('POST', '/admin/v1/metrics', { body: [{ key: 'new', name: 'New' }] }));
    // An attempt to sign in that Postgres fails is no wrong key.
    for (let i = 0; i <= limits.signInFailures; i += 1) expectNotReady(await signIn(world, unknown));
    await postgres.startAgain();
    await expectNothingLost();
    expect((await world.request('GET', '/v1/users/ana', { key: unknown })).status).to.equal(200);
    expect((await signIn(world, unknown)).status).to.equal(401);
    expect((await signIn(world, adminKey)).status).to.equal(201);
  });
});

describe('A process that is cut off from Postgres while another is not', () => {
  let world: World;
  let network: Network;
  let second: Service;

  before(async () => {
    world = await startWorld();
    network = await Network.before(world.settings.databaseUrl!);
    second = await startSecond({ ...world, settings: { ...world.settings, databaseUrl: network.url } });
  });
  after(async () => {
    await second.stop();
    await network.stop();
    await world.stop();
  });

  it('accepts no key after the other has revoked one, until it is back', async () => {
    const made = await world.request('POST', '/admin/v1/admin-api-keys', { body: [{ name: 'Leaver' }] });
    const [{ id, key }] = (made.body as { created: [{ id: string; key: string }] }).created;
    const askSecond = async (by: string): Promise<number> =>
      (await fetch(`${second.address}/v1/users/ana`, { headers: { 'x-api-key': by } })).status;
    await world.request('PUT', '/v1/users/ana', { body: {} });
    expect(await askSecond(key)).to.equal(200);
    await network.cut();
    expect(await askSecond(key)).to.equal(200);
    const revoked = await world.request('PATCH', '/admin/v1/admin-api-keys', { body: [{ id, status: 'revoked' }] });
    expect(revoked.status).to.equal(200);
    // It has received the announcement, and cannot read which key it is about.
    await until('the second process accepts no key', async () => (await askSecond(key)) === 503);
    expect(await askSecond(adminKey)).to.equal(503);
    await network.heal();
    await until('the second process to read the change', async () => (await askSecond(adminKey)) === 200);
    expect(await askSecond(key)).to.equal(401);
  });
});
