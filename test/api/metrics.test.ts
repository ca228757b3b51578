import { expect } from 'chai';
import type { Settings } from '../../src/app/settings.js';
import { limits } from '../../src/shared/limits.js';
import { version } from '../../src/shared/version.js';
import { startMailServer } from '../support/mail-server.js';
import { Network } from '../support/network.js';
import { OwnRedis } from '../support/own-redis.js';
import { scrape } from '../support/scrape.js';
import { until } from '../support/stage.js';
import { adminKey, defaultNow, freshDatabase, startWorld, type World } from '../support/world.js';

const event = 'flashcards-viewed';
const routeOfEvents = '/v1/metrics/:key/event';
const metricsPort = 0;

describe('The metrics', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ settings: { metricsPort } });
  });
  after(() => world.stop());

  const read = (): ReturnType<typeof scrape> => scrape(world.metricsAddress);

  it('count and time requests by route and status, without naming users', async () => {
    const before = (await read()).value('laurel_http_requests_total', { route: routeOfEvents, status: '201' }) ?? 0;
    await world.event(event, { user: { id: 'someone-private' }, value: 2 });
    await world.event(event, { user: { id: 'someone-private' }, value: 'many' });
    await world.get('/v1/users/someone-private');
    await world.get('/no/such/someone-private');
    const answer = await read();
    const count = (method: string, route: string, status: string): number | undefined =>
      answer.value('laurel_http_requests_total', { method, route, status });
    expect(count('POST', routeOfEvents, '201')).to.equal(before + 1);
    expect(count('POST', routeOfEvents, '422')).to.equal(1);
    expect(count('GET', '/v1/users/:id', '200')).to.equal(1);
    expect(count('GET', 'none', '404')).to.equal(1);
    expect(answer.value('laurel_http_request_duration_seconds_count', { route: routeOfEvents })).to.equal(before + 2);
    expect(JSON.stringify(answer.samples)).not.to.contain('someone-private');
  });

  it('have one label for all unknown methods', async () => {
    const count = async (): Promise<number> => (await read()).value('laurel_http_requests_total', { method: 'other' }) ?? 0;
    const before = await count();
    for (const method of ['PROPFIND', 'MKCOL']) await world.request(method, '/v1/nothing');
    expect(await count()).to.equal(before + 2);
    expect((await read()).samples.map(({ labels }) => labels['method'])).not.to.include('PROPFIND');
  });

  it('time the calls of functions, by function', async () => {
    const before = (await read()).value('laurel_function_duration_seconds_count', { function: 'track' }) ?? 0;
    await world.event(event, { user: { id: 'ana' }, value: 1 });
    const answer = await read();
    expect(answer.value('laurel_function_duration_seconds_count', { function: 'track' })).to.equal(before + 1);
    expect(answer.value('laurel_function_duration_seconds_sum', { function: 'track' })).to.be.above(0);
    expect(answer.value('laurel_redis_function_calls')).to.be.above(0);
    expect(answer.value('laurel_redis_function_seconds')).to.be.above(0);
  });

  it('include webhooks', async () => {
    const answer = await read();
    for (const result of ['delivered', 'failed']) expect(answer.value('laurel_webhook_deliveries_total', { result })).to.equal(0);
    expect(answer.value('laurel_webhook_tries_total')).to.equal(0);
    expect(answer.value('laurel_webhook_overdue_seconds')).to.equal(0);
    expect(answer.value('laurel_webhook_endpoints_switched_off')).to.equal(0);
  });

  it('count the remaining dead letters, up to a limit', async () => {
    const put = (count: number): Promise<unknown> =>
      world.pool.query(
        `insert into dead_letters (tenant, stream_id, raw, reason)
         select 1, n || '-0', '', 'no reason' from generate_series(1, $1::integer) as n`,
        [count],
      );
    const left = async (): Promise<number | undefined> => (await read()).value('laurel_dead_letters');
    expect(await left()).to.equal(0);
    await put(2);
    expect(await left()).to.equal(2);
    await put(limits.countedDeadLetters);
    expect(await left()).to.equal(limits.countedDeadLetters);
    await world.pool.query('delete from dead_letters');
    expect(await left()).to.equal(0);
  });

  it('include the batches of the write-behind, and show when nothing is left', async () => {
    await world.event(event, { user: { id: 'ana' }, value: 1 });
    await world.drain();
    await until('everything to be trimmed', async () => (await read()).value('laurel_ledger_entries') === 0);
    const answer = await read();
    expect(answer.value('laurel_write_behind_batch_entries_sum')).to.be.at.least(1);
    expect(answer.value('laurel_write_behind_batch_duration_seconds_sum')).to.be.above(0);
    expect(answer.value('laurel_write_behind_failures_total')).to.equal(0);
    expect(answer.value('laurel_ledger_lag_seconds')).to.equal(0);
    expect(answer.value('laurel_ledger_leases')).to.be.a('number');
  });

  it('include the stores, the process and its roles', async () => {
    const answer = await read();
    for (const name of ['laurel_redis_up', 'laurel_postgres_up', 'laurel_tenants', 'laurel_redis_persistence_ok']) {
      expect(answer.value(name), name).to.equal(1);
    }
    for (const role of ['api', 'worker']) expect(answer.value('laurel_role', { role })).to.equal(1);
    expect(answer.value('laurel_build_info', { version })).to.equal(1);
    for (const name of ['laurel_redis_memory_bytes', 'laurel_redis_memory_limit_bytes', 'laurel_postgres_database_bytes']) {
      expect(answer.value(name), name).to.be.above(1_000);
    }
    expect(answer.value('process_resident_memory_bytes')).to.be.above(1_000_000);
    expect(answer.names.has('nodejs_eventloop_lag_p99_seconds')).to.equal(true);
  });

  it('are at /metrics of their own address only, and are read with GET', async () => {
    expect((await world.get('/metrics')).status).to.equal(404);
    expect((await fetch(`${world.metricsAddress}/`)).status).to.equal(404);
    expect((await fetch(`${world.metricsAddress}/metrics`, { method: 'POST' })).status).to.equal(405);
    expect((await fetch(`${world.metricsAddress}/metrics?x=1`, { method: 'HEAD' })).status).to.equal(200);
  });
});

describe('The backlogs in the metrics', () => {
  let world: World;
  before(async () => {
    // Without a worker nothing is written down or settled.
    world = await startWorld({ roles: { api: true, worker: false }, settings: { metricsPort } });
  });
  after(() => world.stop());

  const read = (): ReturnType<typeof scrape> => scrape(world.metricsAddress);

  it('are those of the streams, and of the sweep, with how long they wait', async () => {
    for (let i = 0; i < 5; i += 1) await world.event(event, { user: { id: `u${i}`, tz: 'UTC' }, value: 1 });
    const answer = await read();
    expect(answer.value('laurel_ledger_entries')).to.equal(5);
    expect(answer.value('laurel_ledger_entries_max')).to.equal(5);
    expect(answer.value('laurel_ledger_lag_seconds')).to.be.above(0).and.below(30);
    expect(answer.value('laurel_ledger_tenants_behind')).to.equal(1);
    expect(answer.value('laurel_role', { role: 'worker' })).to.equal(0);
    const hoursAgo = (hours: number): number => Date.parse(defaultNow) - hours * 3_600_000;
    await world.redis.zadd(`${world.partition}due`, hoursAgo(2), 'u0', hoursAgo(1), 'u1', hoursAgo(-1), 'u2');
    const later = await read();
    expect(later.value('laurel_sweep_due_users')).to.equal(2);
    expect(later.value('laurel_sweep_late_seconds')).to.equal(7_200);
  });

  it('leave out how late users are of whom only that something is due is known', async () => {
    await world.redis.zadd(`${world.partition}due`, 0, 'u0', 0, 'u1');
    const answer = await read();
    expect(answer.value('laurel_sweep_due_users')).to.equal(2);
    expect(answer.value('laurel_sweep_late_seconds')).to.equal(0);
  });

  it('name the tenants whose ledgers are furthest behind', async () => {
    const old = `${Date.now() - 60_000}-1`;
    await world.redis.del(`${world.partition}ledger`);
    await world.redis.xadd(`${world.partition}ledger`, old, 'e', 'x');
    expect((await read()).value('laurel_tenant_lag_seconds', { tenant: '1' })).to.be.at.least(60);
    await world.redis.del(`${world.partition}ledger`);
    expect((await read()).value('laurel_tenant_lag_seconds')).to.equal(undefined);
  });
});

describe('The metrics of a worker without the API', () => {
  it('are at an address of its own', async () => {
    const world = await startWorld({ roles: { api: false, worker: true }, now: null, settings: { metricsPort } });
    try {
      const answer = await scrape(world.metricsAddress);
      expect(answer.value('laurel_role', { role: 'worker' })).to.equal(1);
      expect(answer.names.has('laurel_write_behind_batch_entries')).to.equal(true);
      expect(answer.names.has('laurel_http_requests_total')).to.equal(false);
    } finally {
      await world.stop();
    }
  });
});

describe('A reader of the metrics', () => {
  const metricsToken = 'a-token-that-nobody-guesses';
  let world: World;
  before(async () => {
    world = await startWorld({ settings: { metricsPort, metricsToken } });
  });
  after(() => world.stop());

  const statusWith = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${world.metricsAddress}/metrics`, { headers })).status;

  for (const [who, headers, status] of [
    ['no token', {}, 401],
    ['an admin key', { 'x-api-key': adminKey }, 401],
    ['another token', { authorization: 'Bearer a-token-that-nobody-guessed' }, 401],
    ['the start of the token', { authorization: 'Bearer a-token' }, 401],
    ['the token as a password', { authorization: `Basic ${metricsToken}` }, 401],
    ['the token', { authorization: `Bearer ${metricsToken}` }, 200],
    ['the token, with the scheme in lower case', { authorization: `bearer ${metricsToken}` }, 200],
  ] as const) {
    it(`gets ${status}: ${who}`, async () => {
      expect(await statusWith({ ...headers })).to.equal(status);
    });
  }
});

describe('The metrics of messages to users', () => {
  const config = { metrics: [{ key: 'm', name: 'M' }], settings: { recapFrequency: 'daily' } };
  const startWith = (settings: Partial<Settings>): Promise<World> =>
    startWorld({ config: JSON.stringify(config), settings: { metricsPort, ...settings } });

  it('count attempts, and what ended by type, channel and status', async () => {
    const world = await startWith({ messages: 'log' });
    try {
      const read = (): ReturnType<typeof scrape> => scrape(world.metricsAddress);
      const before = await read();
      expect(before.value('laurel_message_overdue_seconds')).to.equal(0);
      for (const channel of ['email', 'push']) expect(before.value('laurel_message_tries_total', { channel }), channel).to.equal(0);
      await world.event('m', { user: { id: 'mia', email: 'mia@example.com' }, value: 1 });
      await world.setClock('2040-01-03T12:00:00Z');
      const ended = { type: 'recap', channel: 'email', status: 'logged' };
      await until('the message', async () => (await read()).value('laurel_message_deliveries_total', ended) === 1);
      const after = await read();
      expect(after.value('laurel_message_tries_total', { channel: 'email' })).to.equal(1);
      expect(after.value('laurel_message_tries_total', { channel: 'push' })).to.equal(0);
      expect(JSON.stringify(after.samples)).not.to.contain('mia');
    } finally {
      await world.stop();
    }
  });

  it('have a sample for each channel that the settings open, which is 0 while its provider takes no messages', async () => {
    const mail = await startMailServer({ login: { user: 'laurel', password: 'right' } });
    const smtpUrl = mail.url.replace('right', 'wrong');
    const sender = { emailFrom: 'hello@laurel.example', publicUrl: 'https://laurel.example' };
    const world = await startWith({ messages: 'on', smtpUrl, ...sender, pushExpo: false });
    try {
      const up = async (channel: string): Promise<number | undefined> =>
        (await scrape(world.metricsAddress)).value('laurel_message_channel_up', { channel });
      await until('the login to be refused', async () => (await up('email')) === 0);
      expect(await up('push')).to.equal(undefined);
    } finally {
      await world.stop();
      await mail.stop();
    }
  });
});

describe('The metrics while a store is away', () => {
  it('respond, say so, and leave out what is unknown', async () => {
    const redis = await OwnRedis.start();
    const database = await freshDatabase();
    const network = await Network.before(database.url);
    const world = await startWorld({ redisUrl: redis.url, settings: { metricsPort, databaseUrl: network.url } });
    let isCut = false;
    const heal = async (): Promise<void> => {
      if (isCut) await network.heal();
      isCut = false;
    };
    try {
      await network.cut();
      isCut = true;
      const withoutPostgres = await scrape(world.metricsAddress);
      expect(withoutPostgres.value('laurel_postgres_up')).to.equal(0);
      expect(withoutPostgres.value('laurel_redis_up')).to.equal(1);
      for (const name of ['laurel_ledger_leases', 'laurel_dead_letters', 'laurel_webhook_overdue_seconds']) {
        expect(withoutPostgres.value(name), name).to.equal(undefined);
      }
      redis.freeze();
      // It answers while Redis does not.
      const withoutBoth = await scrape(world.metricsAddress);
      expect(withoutBoth.value('laurel_redis_up')).to.equal(0);
      expect(withoutBoth.value('laurel_ledger_entries')).to.equal(undefined);
      expect(withoutBoth.value('process_resident_memory_bytes')).to.be.above(0);
      redis.thaw();
      await heal();
      await until('both to be back', async () => {
        const answer = await scrape(world.metricsAddress);
        return answer.value('laurel_redis_up') === 1 && answer.value('laurel_postgres_up') === 1;
      });
    } finally {
      redis.thaw();
      await heal();
      await world.stop();
      await network.stop();
      await redis.stop();
      await database.drop();
    }
  });
});
