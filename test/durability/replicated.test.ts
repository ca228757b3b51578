import { expect } from 'chai';
import type { Redis } from 'ioredis';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import type { Settings } from '../../src/app/settings.js';
import { functions, keptFunctions, keyNames, type FunctionName } from '../../src/redis/contract.js';
import { limits } from '../../src/shared/limits.js';
import { startReplicatedRedis, type ReplicatedRedis } from '../support/replicated-redis.js';
import { scrape } from '../support/scrape.js';
import { until, untilReady } from '../support/stage.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const metric = 'flashcards-viewed';
const replicated = { durability: 'replicated', replicas: 1, replicaTimeoutMs: 200, replicasToDisk: false } as const;
const tooFew =
  /^The service is not ready: Redis has the change, but too few replicas confirmed it in time \(0 of 1 within 200 ms\)\. Send /;

const tooOld = /^REPLICAS_TO_DISK is 1, but this Redis is too old to wait for the disks of replicas \(version \S+\)\. /;

const send = (world: World, key: string, user = 'ana'): Promise<Reply> =>
  world.event(metric, { user: { id: user }, value: 1 }, { 'idempotency-key': key });
const totalOf = ({ body }: Reply): number => (body as { total: number }).total;
const errorOf = ({ body }: Reply): string => (body as { error: string }).error;

/** How often a server has executed a command. */
const callsOf = async (redis: Redis, command: string): Promise<number> =>
  Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats'))?.[1] ?? 0);

/** The newest id of the ledger that a server has. */
async function newestOn(redis: Redis, { partition }: World): Promise<string> {
  const info = (await redis.xinfo('STREAM', partition + keyNames.ledger)) as unknown[];
  return String(info[info.indexOf('last-generated-id') + 1]);
}

/** Redis 7.2 and Valkey have the command. */
const canWaitForDisks = async ({ master }: ReplicatedRedis): Promise<boolean> =>
  ((await master.redis.call('COMMAND', 'INFO', 'WAITAOF')) as unknown[])[0] !== null;

/** What a start says, and warns of. */
async function startOf({ settings: own }: World, settings: Partial<Settings>): Promise<{ problem: string; warned: string[] }> {
  const warned: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void warned.push((JSON.parse(line) as { msg: string }).msg) });
  try {
    const context = await Context.start({ settings: { ...own, ...settings }, log, print: () => undefined });
    await context.stop();
    return { problem: '', warned };
  } catch (error) {
    return { problem: (error as Error).message, warned };
  }
}

describe('DURABILITY=replicated', () => {
  let servers: ReplicatedRedis;
  let world: World;

  before(async () => {
    servers = await startReplicatedRedis();
    world = await startWorld({ redisUrl: servers.url, settings: { ...replicated, metricsPort: 0 } });
  });
  after(async () => {
    await world.stop();
    await servers.stop();
  });
  afterEach(async () => {
    servers.replica.signal('SIGCONT');
    await untilReady(world);
  });

  it('responds when the replica has the event', async () => {
    for (let i = 1; i <= 20; i += 1) {
      const reply = await send(world, `first ${i}`);
      expect([reply.status, totalOf(reply)], JSON.stringify(reply.body)).to.deep.equal([201, i]);
      expect(await newestOn(servers.replica.redis, world)).to.equal(await world.ledgerEnd());
    }
  });

  it('waits once for the calls of a turn', async () => {
    const before = await callsOf(servers.master.redis, 'wait');
    const replies = await Promise.all(Array.from({ length: 100 }, (_, i) => send(world, `turn ${i}`, `user ${i}`)));
    expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([201]));
    expect((await callsOf(servers.master.redis, 'wait')) - before).to.be.within(1, 99);
  });

  it('refuses changes with 503 while the replica is away, serves reads, and counts what is repeated once', async () => {
    const before = totalOf(await send(world, 'before'));
    servers.replica.signal('SIGSTOP');
    const refused = await send(world, 'away');
    expect([refused.status, Number(refused.headers.get('retry-after'))], JSON.stringify(refused.body)).to.deep.equal([503, 1]);
    expect(errorOf(refused)).to.match(tooFew);
    expect((await world.get('/v1/users/ana')).status).to.equal(200);
    const batch = [{ key: metric, user: { id: 'ben' }, value: 1, idempotencyKey: 'batch' }];
    const others = await Promise.all([
      world.request('POST', '/admin/v1/metrics/events', { body: batch }),
      world.request('PUT', '/v1/users/cleo', { body: { name: 'Cleo' } }),
      world.get('/health/ready'),
    ]);
    for (const reply of others) {
      expect(reply.status).to.equal(503);
      expect(JSON.stringify(reply.body)).to.contain('too few replicas confirmed it in time');
    }
    const metrics = await scrape(world.metricsAddress);
    expect(metrics.value('laurel_not_ready', { reason: 'redis_replicas' })).to.equal(1);
    servers.replica.signal('SIGCONT');
    await untilReady(world);
    const repeated = await send(world, 'away');
    expect([repeated.status, totalOf(repeated)]).to.deep.equal([202, before + 1]);
    expect((await world.request('POST', '/admin/v1/metrics/events', { body: batch })).body).to.deep.include({ accepted: 1 });
    expect(totalOf(await send(world, 'after', 'ben'))).to.equal(2);
    expect((await world.get('/v1/users/cleo')).body).to.include({ name: 'Cleo' });
  });

  it('refuses what is repeated on a connection that has written nothing, as long as no replica has it', async () => {
    await send(world, 'known');
    servers.replica.signal('SIGSTOP');
    expect((await send(world, 'elsewhere')).status).to.equal(503);
    await servers.master.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until('the service has connected again', async () => {
      const reply = await send(world, 'elsewhere');
      expect(reply.status, JSON.stringify(reply.body)).to.equal(503);
      return tooFew.test(errorOf(reply));
    });
    servers.replica.signal('SIGCONT');
    await untilReady(world);
    expect((await send(world, 'elsewhere')).status).to.equal(202);
  });

  it('answers in time when many calls wait behind each other', async () => {
    // A call may be behind all writes in flight, and waits with its own.
    expect((limits.maxWritesInFlight + 1) * limits.maxReplicaTimeoutMs).to.be.below(limits.redisCallTimeoutMs / 2);
    await send(world, 'warm');
    servers.replica.signal('SIGSTOP');
    const replies = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        // Some turns apart, so that they leave in several writes.
        for (let turn = 0; turn < i; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return send(world, `queued ${i}`);
      }),
    );
    for (const reply of replies) expect(errorOf(reply)).to.match(tooFew);
  });

  it('is a problem of the status and of a start, and a metric, while a replica is missing', async () => {
    const problem =
      'DURABILITY is replicated, but Redis has too few replicas: changes get a 503 (0 of 1). Start the replicas that REPLICAS requires.';
    const problems = async (): Promise<readonly string[]> =>
      ((await world.get('/admin/v1/status')).body as { problems: readonly string[] }).problems;
    const values = async (): Promise<(number | undefined)[]> => {
      const metrics = await scrape(world.metricsAddress);
      return ['laurel_redis_replicas', 'laurel_redis_replicas_required'].map((name) => metrics.value(name));
    };
    expect(await problems()).not.to.include(problem);
    expect(await values()).to.deep.equal([1, 1]);
    await servers.replica.redis.replicaof('NO', 'ONE');
    try {
      await until('the replica is gone', async () => (await servers.master.redis.info('replication')).includes('connected_slaves:0'));
      expect(await problems()).to.include(problem);
      expect(await values()).to.deep.equal([0, 1]);
      const { problem: refused, warned } = await startOf(world, {});
      expect([refused, warned.includes(problem)]).to.deep.equal(['', true]);
    } finally {
      await servers.replica.redis.replicaof('127.0.0.1', servers.master.port);
    }
  });

  it('refuses to wait for disks without an append-only file', async () => {
    expect((await startOf(world, { replicasToDisk: true })).problem).to.match(
      (await canWaitForDisks(servers))
        ? /^REPLICAS_TO_DISK is 1, but the append-only file of this Redis is off\. Set appendonly to yes on it and on its replicas\.$/
        : tooOld,
    );
  });

  it('waits in every function that writes an entry, but those that nobody waits for and those that read', () => {
    const names = Object.keys(functions) as FunctionName[];
    const writing = names.filter((name) => (functions[name] as readonly string[]).includes('entryId') && !keptFunctions.has(name));
    expect(writing.filter((name) => !name.startsWith('read'))).to.deep.equal(['activateFor', 'relevel', 'finalise']);
  });

  it('sends nothing more when it is off', async () => {
    const plain = await startWorld({ redisUrl: servers.url });
    try {
      const { redis } = servers.master;
      // The other service looks at its Redis too.
      await world.stopService();
      const before = await callsOf(redis, 'wait');
      const fcalls = await callsOf(redis, 'fcall');
      for (let i = 1; i <= 5; i += 1) expect((await send(plain, `plain ${i}`)).status).to.equal(201);
      expect(await callsOf(redis, 'fcall')).to.be.above(fcalls);
      expect([await callsOf(redis, 'wait'), await redis.exists(plain.partition + keyNames.fence)]).to.deep.equal([before, 0]);
    } finally {
      await plain.stop();
      await world.stop();
      world = await startWorld({ redisUrl: servers.url, settings: { ...replicated, metricsPort: 0 } });
    }
  });
});

describe('REPLICAS_TO_DISK=1', () => {
  let servers: ReplicatedRedis;

  before(async () => {
    servers = await startReplicatedRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  });
  after(() => servers.stop());

  it('responds when the event is on the disks of the master and the replica, and else with 503', async () => {
    const settings = { ...replicated, replicasToDisk: true };
    const canWait = await canWaitForDisks(servers);
    const world = await startWorld({ redisUrl: servers.url, settings: canWait ? settings : {} });
    try {
      if (!canWait) {
        expect((await startOf(world, settings)).problem).to.match(tooOld);
        return;
      }
      const before = await callsOf(servers.master.redis, 'waitaof');
      expect((await send(world, 'kept')).status).to.equal(201);
      expect(await callsOf(servers.master.redis, 'waitaof')).to.be.above(before);
      expect(await callsOf(servers.master.redis, 'wait')).to.equal(0);
      servers.replica.signal('SIGSTOP');
      expect(errorOf(await send(world, 'away'))).to.match(tooFew);
      servers.replica.signal('SIGCONT');
      await untilReady(world);
      expect((await send(world, 'away')).status).to.equal(202);
    } finally {
      await world.stop();
    }
  });
});
