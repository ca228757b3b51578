import { expect } from 'chai';
import { bodyOf, configText, read, track } from '../support/answers.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { OwnRedis } from '../support/own-redis.js';
import { PlainRedis } from '../support/plain-redis.js';
import { until } from '../support/stage.js';
import { isTestProblem, startTenant, startWorld, type World } from '../support/world.js';

interface Status {
  readonly version: string;
  readonly now: string | null;
  readonly configurationVersion: number | null;
  readonly redis: { readonly version: string } | null;
  readonly postgres: { readonly deadLetters: number } | null;
  readonly processes: readonly { readonly role: string; readonly pid: number; readonly confirmed: boolean }[] | null;
  readonly tenants: number | null;
  readonly lagEntries: number | null;
  readonly lagSeconds: number | null;
  readonly listed: readonly { readonly id: string; readonly state: string }[] | null;
  readonly webhooks: { readonly pending: number; readonly failed: number; readonly failingEndpoints: number } | null;
  readonly messages: { readonly pending: number; readonly failed: number } | null;
  readonly restores: readonly { readonly tenantId: string; readonly ended: string }[] | null;
  readonly problems: readonly string[];
}

const config = configText({ metrics: [{ key: 'cards', name: 'Cards' }] });
const readStatus = (world: World): Promise<Status> => read(world, '/admin/v1/status');

describe('The status', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config });
  });
  after(() => world.stop());

  it('has the stores, the processes, the clock and the version of the configuration', async () => {
    await track(world, 'cards', { user: 'ana', value: 1 });
    // A process confirms its Redis once a second.
    const status = await until('the process has confirmed', async () => {
      const one = await readStatus(world);
      return one.processes?.[0]?.confirmed === true && one;
    });
    expect(status.version).to.match(/^\d+\.\d+\.\d+/);
    expect(status.now).to.equal('2040-01-02T12:00:00.000Z');
    expect(status.configurationVersion).to.equal(1);
    expect(status.processes).to.have.lengthOf(1);
    expect(status.processes?.[0]).to.include({ role: 'api and worker', pid: process.pid });
    expect(status.listed?.map(({ id, state }) => [id, state])).to.deep.equal([['default', 'in sync']]);
    expect(status.redis?.version).to.match(/^\d+\./);
    expect(status.postgres?.deadLetters).to.equal(0);
    expect(status.problems.filter((problem) => !isTestProblem(problem))).to.deep.equal([]);
    expect(status.problems).to.include(
      'The test clock is at 2040-01-02 12:00 UTC for all users. Run a service with real users without TEST_CLOCK.',
    );
  });

  it('counts the tenants, and the deliveries to endpoints and to users of all of them that wait or have failed', async () => {
    await startTenant(world, { config });
    const { tenants, webhooks, messages } = await readStatus(world);
    expect(tenants).to.equal(2);
    expect(webhooks).to.deep.equal({ pending: 0, failed: 0, failingEndpoints: 0 });
    expect(messages).to.deep.equal({ pending: 0, failed: 0 });
    const queues: readonly (readonly [tenant: number, endpoint: number, status: string, count: number])[] = [
      [1, 7, 'pending', 3],
      [2, 7, 'pending', 1],
      [2, 8, 'failed', 2],
      [1, 8, 'delivered', 5],
      [1, -1, 'pending', 2],
      [2, -2, 'failed', 1],
      [2, -2, 'bounced', 1],
    ];
    let outbox = 1_000_000;
    for (const [tenant, endpoint, status, count] of queues) {
      for (let i = 0; i < count; i += 1) {
        // A worker looks again in a year.
        await world.pool.query(
          `insert into deliveries (outbox, endpoint, tenant, kind, subject, status, next_attempt_at)
           values ($1, $2, $3, 'points.changed', 's', $4, now() + interval '1 year')`,
          [(outbox += 1), endpoint, tenant, status],
        );
      }
    }
    await world.pool.query(
      `insert into delivery_queues (tenant, no, failing_since) values (1, 7, now()), (2, 8, now()), (1, 8, null), (1, -1, now())`,
    );
    const counted = await readStatus(world);
    expect(counted.webhooks).to.deep.equal({ pending: 4, failed: 2, failingEndpoints: 2 });
    expect(counted.messages).to.deep.equal({ pending: 2, failed: 1 });
  });

  it('has the 10 newest restores', async () => {
    const { rows } = await world.pool.query<{ id: string }>('select id from tenants where no = 2');
    await world.pool.query(
      `insert into past_epochs (tenant, epoch, ended)
       select 1 + i % 2, gen_random_uuid(), timestamptz '2030-01-01T00:00:00Z' + i * interval '1 hour' from generate_series(1, 12) as i`,
    );
    const { restores } = await readStatus(world);
    expect(restores).to.have.lengthOf(10);
    expect(restores?.slice(0, 2)).to.deep.equal([
      { tenantId: 'default', ended: '2030-01-01T12:00:00.000Z' },
      { tenantId: rows[0]?.id, ended: '2030-01-01T11:00:00.000Z' },
    ]);
  });

  it('names problems while they last', async () => {
    await world.pool.query(`insert into dead_letters (tenant, stream_id, raw, reason) values (1, '1-1', '', 'a test')`);
    expect((await readStatus(world)).problems).to.include('There is 1 dead letter.');
    await world.pool.query('delete from dead_letters');
    expect((await readStatus(world)).problems).not.to.include('There is 1 dead letter.');
  });

  it('concerns the account: a key that is bound to a tenant gets a 403', async () => {
    const { rows } = await world.pool.query<{ id: string }>('select id from tenants where no = 2');
    const body = [{ name: 'Bound', tenantId: rows[0]?.id }];
    const { created } = bodyOf<{ created: { key: string }[] }>(await world.request('POST', '/admin/v1/admin-api-keys', { body }), 201);
    const reply = await world.request('GET', '/admin/v1/status', { key: created[0]?.key ?? '' });
    expect(reply.status).to.equal(403);
    expect((await world.request('GET', '/admin/v1/status', { key: null })).status).to.equal(401);
  });

  it('names first what a responding Redis refuses', async () => {
    const redis = await PlainRedis.start();
    let refused: World | undefined;
    try {
      await redis.redis.call('ACL', 'SETUSER', 'other', 'on', '>secret', '~*', '&*', '+@all');
      refused = await startWorld({ config, redisUrl: redis.url.replace('//', '//other:secret@') });
      const refusals: readonly (readonly [begin: readonly string[], end: readonly string[], problem: RegExp])[] = [
        [['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /^Redis has used all of its memory \(OOM\)\. Give it/],
        [['ACL', 'SETUSER', 'other', '-@scripting'], ['ACL', 'SETUSER', 'other', '+@all'], /^Redis denies its user .* \(NOPERM\)\. Give/],
      ];
      for (const [begin, end, problem] of refusals) {
        const about = async (): Promise<string[]> => (await readStatus(refused!)).problems.filter((one) => problem.test(one));
        await redis.redis.call(...(begin as [string, ...string[]]));
        expect(await about()).to.have.lengthOf(1);
        await redis.redis.call(...(end as [string, ...string[]]));
        expect(await about()).to.deep.equal([]);
      }
    } finally {
      await refused?.stop();
      await redis.stop();
    }
  });

  it('returns 200 with null for what only Redis knows while Redis is down, and still has the processes', async () => {
    const redis = await OwnRedis.start();
    let lonely: World | undefined;
    try {
      lonely = await startWorld({ config, redisUrl: redis.url });
      await redis.kill();
      // As if it had been away for long: the last confirmation is old.
      const { pool } = lonely;
      const status = await until('a process without a confirmation', async () => {
        await pool.query(`update redis_confirmations set confirmed_at = now() - interval '1 minute'`);
        const one = await readStatus(lonely!);
        return one.processes?.[0]?.confirmed === false && one;
      });
      const { redis: state, now, postgres, processes, tenants, lagEntries, lagSeconds, listed, problems } = status;
      expect([state, now, lagEntries, lagSeconds, listed]).to.deep.equal([null, null, null, null, null]);
      expect(postgres).not.to.equal(null);
      expect([tenants, processes?.length]).to.deep.equal([1, 1]);
      expect(problems[0]).to.match(/^Redis does not respond \(.+\)\. /);
      expect(problems[1]).to.equal('Unknown without Redis: the lag of the ledgers, and whether Redis and Postgres are in sync.');
      expect(problems.filter((problem) => /worker/i.test(problem))).to.deep.equal([]);
    } finally {
      await redis.startAgain();
      await lonely?.stop();
      await redis.stop();
    }
  });

  it('returns 200 with null for what only Postgres knows while Postgres is down, and has the lag from Redis', async () => {
    const postgres = await OwnPostgres.start();
    let lonely: World | undefined;
    try {
      lonely = await startWorld({ config, databaseUrl: postgres.url });
      await postgres.shutDown();
      for (let n = 1; n <= 3; n += 1) await track(lonely, 'cards', { user: 'ana', value: 1 });
      const status = await until('Postgres is away', async () => {
        const one = await readStatus(lonely!);
        return one.postgres === null && one;
      });
      const { processes, tenants, listed, restores, webhooks, messages, lagEntries, lagSeconds, problems } = status;
      expect([processes, tenants, listed, restores, webhooks, messages]).to.deep.equal([null, null, null, null, null, null]);
      expect(lagEntries).to.be.at.least(3);
      expect(lagSeconds).to.be.above(0);
      expect(problems[0]).to.match(/^Postgres does not respond \(.+\)\. /);
      expect(problems[1]).to.match(/^Unknown without Postgres: the processes, /);
      expect(problems.filter((problem) => /No worker/.test(problem))).to.deep.equal([]);
    } finally {
      await lonely?.stop();
      await postgres.stop();
    }
  });
});

describe('The problems of deliveries in the status', () => {
  const url = 'https://shop.example.com/hook';
  const webhooks = [{ key: 'shop', name: 'Shop', url: `${url}?token=secret`, events: ['points.changed'] }];
  const settings = configText({ metrics: [{ key: 'cards', name: 'Cards' }], webhooks });
  let world: World;
  /** The number of the endpoint. */
  let shop = 0;
  let outbox = 0;
  before(async () => {
    // No worker changes what the tests write.
    world = await startWorld({ config: settings, roles: { api: true, worker: false } });
    const { rows } = await world.pool.query<{ no: number }>(
      `select (hook ->> 'no')::integer as no from config_versions, jsonb_array_elements(document -> 'webhooks') as hook where tenant = 1`,
    );
    shop = rows[0]?.no ?? 0;
  });
  after(() => world.stop());
  afterEach(() => world.pool.query('truncate deliveries, delivery_queues'));

  /** Adds deliveries that ended `hoursAgo`, or are due since then. */
  async function add(endpoint: number, status: string, { count = 1, hoursAgo = 0 } = {}): Promise<void> {
    await world.pool.query(
      `insert into deliveries (outbox, endpoint, tenant, kind, subject, status, next_attempt_at, finished)
       select $1::integer + i, $2::integer, 1, 'points.changed', 's', $3::text, moment, case when $3::text <> 'pending' then moment end
         from generate_series(1, $4::integer) as i, (select now() - $5::float8 * interval '1 hour' as moment) as past`,
      [outbox, endpoint, status, count, hoursAgo],
    );
    outbox += count;
  }
  const fail = async (no: number, since: string, switchedOff: string | null = null): Promise<void> => {
    const values = [no, since, switchedOff];
    await world.pool.query('insert into delivery_queues (tenant, no, failing_since, switched_off) values (1, $1, $2, $3)', values);
  };
  const about = async (): Promise<string[]> =>
    (await readStatus(world)).problems.filter((problem) => /^(?:Webhook|Emails|Push)/.test(problem));

  it('name an endpoint that fails, with its failed deliveries of the last day', async () => {
    await fail(shop, '2026-01-02T10:05:00Z');
    expect(await about()).to.deep.equal([`Webhook endpoint ${url} has failed since 2026-01-02 10:05 UTC.`]);
    await add(shop, 'failed', { count: 95 });
    await add(shop, 'failed', { count: 3, hoursAgo: 25 });
    await add(shop, 'delivered', { count: 200 });
    expect(await about()).to.deep.equal([
      `Webhook endpoint ${url} has failed since 2026-01-02 10:05 UTC; 95 deliveries failed in the last 24 hours.`,
    ]);
  });

  it('name an endpoint that was switched off, one that is late, and failures of one that works again', async () => {
    await fail(shop, '2026-01-02T10:05:00Z', '2026-01-07T10:06:00Z');
    expect(await about()).to.deep.equal([`Webhook endpoint ${url} has been switched off since 2026-01-07 10:06 UTC.`]);
    await world.pool.query('truncate delivery_queues');
    await add(shop, 'failed');
    expect(await about()).to.deep.equal([`Webhook endpoint ${url}: 1 delivery failed in the last 24 hours.`]);
    await add(shop, 'pending', { count: 19, hoursAgo: 0.1751 });
    expect(await about()).to.deep.equal([
      `Webhook endpoint ${url}: 1 delivery failed in the last 24 hours, and a delivery has been due for 10 minutes.`,
    ]);
  });

  it('omit an endpoint that has just begun to fail, an inactive one, and a deleted one', async () => {
    await world.pool.query('insert into delivery_queues (tenant, no, failing_since) values (1, $1, now())', [shop]);
    await fail(shop + 1, '2026-01-02T10:05:00Z');
    await add(shop + 1, 'failed');
    expect(await about()).to.deep.equal([]);
    await world.pool.query(`update delivery_queues set failing_since = '2026-01-02T10:05:00Z'`);
    expect(await about()).to.have.lengthOf(1);
    await world.configure(configText({ webhooks: [{ ...webhooks[0], status: 'inactive' }] }));
    expect(await about()).to.deep.equal([]);
    await world.configure(configText({ webhooks: [{ ...webhooks[0], status: 'active' }] }));
  });

  it('name a channel of which more than a tenth failed, or whose messages wait without a success', async () => {
    await add(-1, 'delivered', { count: 9 });
    await add(-1, 'failed');
    expect(await about(), 'a tenth').to.deep.equal([]);
    await add(-1, 'failed');
    expect(await about()).to.deep.equal(['Emails: 2 deliveries failed in the last 24 hours.']);
    await add(-1, 'delivered', { count: 100 });
    expect(await about(), 'among the newest hundred').to.deep.equal([]);
    await fail(-2, '2026-01-02T10:05:00Z');
    expect(await about(), 'nothing waits').to.deep.equal([]);
    await add(-2, 'pending', { hoursAgo: -1 });
    expect(await about()).to.deep.equal(['Push notifications have failed since 2026-01-02 10:05 UTC.']);
  });

  it('count a missing worker', async () => {
    const { problems } = await readStatus(world);
    expect(problems.filter((problem) => problem.startsWith('No '))).to.deep.equal([
      'No worker has reached this Postgres in the last 10 seconds: none is running, or none can connect.',
    ]);
  });
});
