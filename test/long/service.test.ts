import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pino from 'pino';
import { OperatorError } from '../../src/shared/errors.js';
import { startService, type Service } from '../../src/app/service.js';
import { Client, inParallel, NoAnswer, type Answer } from '../support/client.js';
import { differences } from '../support/differences.js';
import { Network } from '../support/network.js';
import { OwnRedis } from '../support/own-redis.js';
import { fromSources, killChildren, LaurelProcess, runLaurel, serve } from '../support/process.js';
import { setStage, until, untilReady, untilSampleActivated, type Stage } from '../support/stage.js';
import { adminKey, freshDatabase, keysOf, startWorld, type TestDatabase, type World } from '../support/world.js';

const metric = 'flashcards-viewed';

const statusOf = ({ status }: Answer): number => status;

/** A refusal for now: 503, when to try again, and a sentence. */
function expectNotReady({ status, headers, body }: Answer, sentence: RegExp): void {
  expect(status, JSON.stringify(body)).to.equal(503);
  expect(Number(headers['retry-after'])).to.be.greaterThan(0);
  expect((body as { error: string }).error).to.match(sentence);
}

describe('A service stopped under load', () => {
  const clients = 32;
  let stage: Stage;
  before(async () => {
    stage = await setStage();
  });
  after(async () => {
    await killChildren();
    await stage.stop();
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`answers every request that reached it, and has written all of it out when it is gone (${signal})`, async () => {
      const client = new Client(adminKey, clients);
      const service = serve(stage.env);
      const address = await service.address();
      const acknowledged: string[] = [];
      const lost: string[] = [];
      const send = async (loop: number): Promise<boolean> => {
        try {
          const answer = await client.event(address, metric, { user: { id: `u${loop}` }, value: 1 });
          expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
          acknowledged.push((answer.body as { eventId: string }).eventId);
          return true;
        } catch (error) {
          if (!(error instanceof NoAnswer)) throw error;
          if (!error.refused) lost.push(error.message);
          return false;
        }
      };
      const idsInPostgres = async (): Promise<string[]> => {
        const { rows } = await stage.pool.query<{ id: string }>('select id from events');
        return rows.map(({ id }) => id);
      };
      const earlier = new Set(await idsInPostgres());
      const load = inParallel(clients, async (loop) => {
        while (await send(loop));
      });
      await until('some load', () => acknowledged.length > 1_000);
      const exit = await service.stop(signal);
      await load;
      client.close();
      expect([exit, service.log]).to.deep.equal([{ code: 0, signal: null }, '']);
      expect(service.output).to.match(/Stopping: .*\nStopped\.\n$/);
      expect(lost).to.deep.equal([]);
      const written = (await idsInPostgres()).filter((id) => !earlier.has(id));
      expect(written.sort()).to.deep.equal(acknowledged.sort());
      expect(await stage.differences()).to.deep.equal([]);
    });
  }
});

describe('A rolling restart under load', () => {
  let stage: Stage;
  before(async () => {
    // Ample for a readiness check every 50 ms on a busy machine.
    stage = await setStage({ env: { SHUTDOWN_DELAY: '3' } });
  });
  after(async () => {
    await killChildren();
    await stage.stop();
  });

  const isReady = async (address: string): Promise<boolean> => {
    const status = await fetch(`${address}/health/ready`, { headers: { connection: 'close' } }).then(
      (answer) => answer.status,
      () => 0,
    );
    return status === 200;
  };

  it('fails readiness before the listener closes, so that a load balancer sees no refused connection and no error', async () => {
    const client = new Client(adminKey, 8);
    const worker = (): LaurelProcess => new LaurelProcess(fromSources(), ['worker'], stage.env);
    const [old, next, ...workers] = [serve(stage.env, ['--api-only']), serve(stage.env, ['--api-only']), worker(), worker()] as const;
    const [oldAddress, newAddress] = await Promise.all([old.address(), next.address()]);
    await Promise.all(workers.map((each) => each.says(/The Laurel worker is running/)));
    const ready = new Set([oldAddress]);
    const look = async (address: string): Promise<void> => {
      if (await isReady(address)) ready.add(address);
      else ready.delete(address);
    };
    let going = true;
    const watching = inParallel(2, async (which) => {
      while (going) {
        await look(which === 0 ? oldAddress : newAddress);
        await delay(50);
      }
    });
    let acknowledged = 0;
    const failures: unknown[] = [];
    // Some keep their connections, others make a new one for each request.
    const load = inParallel(6, async (loop) => {
      const headers: Record<string, string> = loop % 2 === 0 ? { connection: 'close' } : {};
      while (going) {
        const [address] = [...ready].slice(acknowledged % ready.size);
        if (address === undefined) throw new Error('no process is ready');
        const event = { user: { id: `u${loop}` }, value: 1 };
        const answer = await client.event(address, metric, event, headers).catch((error: unknown) => error as Error);
        if ('status' in answer && answer.status === 201) acknowledged += 1;
        else failures.push(answer);
      }
    });
    const restart = async (): Promise<void> => {
      await until('the new process to be in use', () => ready.has(newAddress));
      old.signal('SIGTERM');
      const stopping = await until('not ready', async () => {
        const answer = await fetch(`${oldAddress}/health/ready`);
        return answer.status === 503 && answer;
      });
      expect(await stopping.json()).to.deep.equal({ status: 'not ready', error: 'The service is stopping.' });
      // A new connection is accepted, served, and closed.
      const newcomer = new Client(adminKey, 1);
      const late = await newcomer.event(oldAddress, metric, { user: { id: 'late' }, value: 1 });
      newcomer.close();
      expect([late.status, late.headers['connection']]).to.deep.equal([201, 'close']);
      acknowledged += 1;
      expect(await old.exit).to.deep.equal({ code: 0, signal: null });
      expect(await workers[0].stop()).to.deep.equal({ code: 0, signal: null });
    };
    await Promise.all([restart().finally(() => (going = false)), load, watching]);
    client.close();
    expect(failures).to.deep.equal([]);
    await stage.drain();
    const { rows } = await stage.pool.query('select count(*)::int as events from events');
    expect(rows).to.deep.equal([{ events: acknowledged }]);
  });

  it('does not wait for a process that is stopped with Ctrl-C', async () => {
    const service = serve({ ...stage.env, SHUTDOWN_DELAY: '300' });
    await service.address();
    expect(await service.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
    expect(service.output).to.match(/\nStopping: finishing requests and draining the ledger\.\nStopped\.\n$/);
  });
});

describe('A service whose Redis goes away', () => {
  let redis: OwnRedis;
  let world: World;
  let client: Client;
  before(async () => {
    redis = await OwnRedis.start();
    world = await startWorld({ redisUrl: redis.url, now: null });
    await untilSampleActivated(world.pool);
    client = new Client(adminKey, 64);
    await many(5);
  });
  after(async () => {
    client.close();
    await world.stop();
    await redis.stop();
  });

  const send = (index: number): Promise<Answer> =>
    client.event(world.address, metric, { user: { id: 'ana' }, value: 1 }, { 'idempotency-key': `key ${index}` });
  const many = (count: number, first = 0): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => send(first + index)));
  const get = (path: string): Promise<Answer> => client.send(world.address, 'GET', path);
  const totalOf = async (): Promise<number> => ((await get('/v1/users/ana/metrics/flashcards-viewed')).body as { current: number }).current;

  it('is live and ready while Redis is there', async () => {
    expect([await get('/health/live'), await get('/health/ready')].map(statusOf)).to.deep.equal([200, 200]);
  });

  it('answers 503 while it is frozen, and counts what is sent again once', async () => {
    const before = await totalOf();
    redis.freeze();
    const away = /^The service is not ready: Redis is unavailable\. Try again shortly/;
    const [events, ready, read] = await Promise.all([many(20, 100), get('/health/ready'), get('/v1/users/ana')]);
    for (const answer of [...events, ready, read]) expectNotReady(answer, away);
    expect(statusOf(await get('/health/live'))).to.equal(200);
    redis.thaw();
    await untilReady(world);
    // Whether the frozen Redis counted them when it went on is unknown to the callers, which is what their keys are for.
    for (const status of (await many(20, 100)).map(statusOf)) expect(status).to.be.oneOf([201, 202]);
    expect(await totalOf()).to.equal(before + 20);
  });

  it('answers 503 while it is gone, and works again by itself when it is back', async () => {
    const before = await totalOf();
    await redis.kill();
    const [events, ready, read] = await Promise.all([many(20, 200), get('/health/ready'), get('/v1/users/ana')]);
    for (const answer of [...events, ready, read]) expectNotReady(answer, /^The service is not ready: Redis is unavailable\./);
    await redis.startAgain();
    await untilReady(world);
    expect((await many(20, 200)).map(statusOf)).to.deep.equal(Array(20).fill(201));
    expect(await totalOf()).to.equal(before + 20);
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('never sends an event twice when its connections break under load', async () => {
    const before = await totalOf();
    let [sent, counted, breaks] = [0, 0, 0];
    const load = inParallel(32, async () => {
      while (breaks < 20) {
        sent += 1;
        // Without a key: what the service sent twice would be counted twice.
        const answer = await client.event(world.address, metric, { user: { id: 'ana' }, value: 1 });
        if (answer.status === 201) counted += 1;
        else expectNotReady(answer, /Redis/);
      }
    });
    for (; breaks < 20; breaks += 1) {
      const enough = counted + 50;
      await until('some events more', () => counted >= enough);
      await world.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    }
    await load;
    await untilReady(world);
    // An event whose answer was lost may have been counted, but no event twice.
    expect(await totalOf()).to.be.within(before + counted, before + sent);
    await world.drain();
    const { rows } = await world.pool.query('select count(*)::int as events, count(distinct id)::int as ids from events');
    expect(rows).to.deep.equal([{ events: await totalOf(), ids: await totalOf() }]);
  });
});

describe('A service whose Postgres goes away', () => {
  let stage: Stage;
  let net: Network;
  let client: Client;
  let service: LaurelProcess;
  let address: string;
  before(async () => {
    stage = await setStage();
    net = await Network.before(stage.databaseUrl);
    client = new Client(adminKey, 32);
    service = serve({ ...stage.env, DATABASE_URL: net.url, LOG_LEVEL: 'silent' });
    address = await service.address();
    await untilSampleActivated(stage.pool);
  });
  after(async () => {
    client.close();
    await killChildren();
    await net.stop();
    await stage.stop();
  });

  const many = (count: number): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, () => client.event(address, metric, { user: { id: 'ana' }, value: 1 })));
  const place = (): Promise<Answer> => client.send(address, 'GET', '/v1/users/ana/leaderboards/all-time');

  async function expectInSync(): Promise<void> {
    await stage.drain();
    expect(await stage.differences()).to.deep.equal([]);
    expect(statusOf(await place())).to.equal(200);
  }

  it('keeps counting while Postgres refuses connections, and writes all of it once Postgres is back', async () => {
    expect((await many(50)).map(statusOf)).to.deep.equal(Array(50).fill(201));
    await net.cut();
    expect((await many(50)).map(statusOf)).to.deep.equal(Array(50).fill(201));
    expectNotReady(await place(), /^The service is not ready: Postgres is unavailable\. Try again shortly\.$/);
    // Events go on, so the service is ready (docs/running.md).
    expect(statusOf(await client.send(address, 'GET', '/health/ready'))).to.equal(200);
    await net.heal();
    await expectInSync();
  });

  it('keeps counting under its configuration when it is notified of a new one that it can’t load', async () => {
    await net.cut();
    await stage.redis.publish(`${stage.partition}changes`, 'config');
    for (let round = 0; round < 5; round += 1) expect((await many(20)).map(statusOf)).to.deep.equal(Array(20).fill(201));
    await net.heal();
    await expectInSync();
  });

  it('answers 503 for what it can’t do without Postgres: compare a Redis that has started anew', async () => {
    await net.cut();
    await stage.redis.function('FLUSH');
    for (const answer of await many(5)) expectNotReady(answer, /^The service is not ready: Postgres is unavailable\./);
    await net.heal();
    expect((await many(5)).map(statusOf)).to.deep.equal(Array(5).fill(201));
    await expectInSync();
  });

  it('keeps counting while Postgres does not respond, hangs no read, and writes all of it once Postgres is back', async () => {
    // Several connections that are open and idle: one that has to be made would fail by itself.
    await Promise.all(Array.from({ length: 8 }, place));
    net.freeze();
    const [events, read] = await Promise.all([many(50), place()]);
    expect(events.map(statusOf)).to.deep.equal(Array(50).fill(201));
    expectNotReady(read, /^The service is not ready: Postgres is unavailable\. Try again shortly\.$/);
    net.thaw();
    await expectInSync();
  });
});

describe('A Redis that evicts', () => {
  let redis: OwnRedis;
  let stage: Stage;
  before(async () => {
    redis = await OwnRedis.start();
    stage = await setStage({ redisUrl: redis.url });
  });
  after(async () => {
    await killChildren();
    await stage.stop();
    await redis.stop();
  });

  it('is refused with a sentence that says what to do', async () => {
    await stage.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const { code, output, log } = await runLaurel(['serve'], { ...stage.env, PORT: '0' });
    expect(code).to.equal(1);
    // Only the stores that it is about to use.
    expect(output).to.match(/^Redis: .*; Postgres: .*\n$/);
    expect(log).to.equal(
      "This Redis evicts keys when memory runs out, which would lose users' progress (maxmemory-policy is allkeys-lru). " +
        'Set maxmemory-policy to noeviction and start again.\n',
    );
  });
});

describe('A database of an operator', () => {
  let world: World;
  let database: TestDatabase;
  beforeEach(async () => {
    world = await startWorld();
    database = await freshDatabase();
  });
  afterEach(async () => {
    await database.drop();
    await world.stop();
  });

  const start = (): Promise<Service> =>
    startService(
      {
        settings: { ...world.settings, databaseUrl: database.url, redisPrefix: `${world.settings.redisPrefix}-own` },
        log: pino({ level: 'silent' }),
        print: () => undefined,
      },
      { api: true, worker: true },
    );

  it('is not given the sample configuration', async () => {
    const service = await start();
    await service.stop();
    expect((await database.pool.query('select 1 from config_versions')).rowCount).to.equal(0);
    for (const key of await keysOf(world.redis, `{${world.settings.redisPrefix}-own:`)) await world.redis.del(key);
  });

  it('is refused when a newer version has migrated it, with a sentence that says what to do, and left as it is', async () => {
    await database.pool.query(`insert into migrations (name, run_on) values ('9999_of_a_newer_version', now())`);
    const refused = await start().then(
      () => 'it has started',
      (error: unknown) => (error instanceof OperatorError ? error.message : String(error)),
    );
    expect(refused).to.match(
      /^A newer version of Laurel has migrated this database \(9999_of_a_newer_version; .*\)\. .* Start the newer version/,
    );
    expect((await database.pool.query('select 1 from redis_confirmations')).rowCount).to.equal(0);
  });
});
