import { expect } from 'chai';
import getPort from 'get-port';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { verify } from '../../src/commands/restore.js';
import { Reconciler } from '../../src/restore/reconcile.js';
import { readRestoredUsers } from '../../src/restore/restore.js';
import { bundleLibrary } from '../../src/redis/library.js';
import { startService, type Roles } from '../../src/app/service.js';
import { differences } from '../support/differences.js';
import { OwnRedis } from '../support/own-redis.js';
import { PlainRedis } from '../support/plain-redis.js';
import { until, untilReady, untilSampleActivated } from '../support/stage.js';
import { keysOf, startWorld, tenant, type Reply, type World, type WorldOptions } from '../support/world.js';

const silent = pino({ level: 'silent' });
const people = ['ana', 'ben', 'eva'] as const;
const each = 5;

/** Stopped after a test, the newest first, whatever became of it. */
const cleaning: (() => Promise<unknown>)[] = [];
const clean = async (): Promise<void> => {
  const failures: unknown[] = [];
  for (let stop = cleaning.pop(); stop; stop = cleaning.pop()) await stop().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
};

/** A service, and all its requests and responses. */
class Stage {
  readonly world: World;
  /** Idempotency key → the user whose event it was, and the total in the answer. */
  readonly acknowledged = new Map<string, { readonly user: string; readonly total: number }>();
  private sent = 0;

  private constructor(world: World) {
    this.world = world;
  }

  static async set(options: WorldOptions): Promise<Stage> {
    const world = await startWorld(options);
    cleaning.push(() => world.stop());
    if (options.roles?.worker !== false) await untilSampleActivated(world.pool);
    return new Stage(world);
  }

  private totalOf(user: string): number {
    return [...this.acknowledged.values()].filter((one) => one.user === user).length * each;
  }

  /** One event, again if `again` says which. What is answered must follow from all that was acknowledged before, or be a 503. */
  async event(again?: string): Promise<Reply> {
    const key = again ?? `key-${(this.sent += 1)}`;
    const user = this.acknowledged.get(key)?.user ?? people[this.sent % people.length]!;
    const reply = await this.world.event('flashcards-viewed', { user: { id: user }, value: each }, { 'idempotency-key': key });
    if (reply.status === 503) {
      expect(Number(reply.headers.get('retry-after'))).to.be.greaterThan(0);
      return reply;
    }
    const wasKnown = this.acknowledged.has(key);
    const before = this.totalOf(user);
    const { total } = reply.body as { total: number };
    expect([reply.status, total], JSON.stringify(reply.body)).to.deep.equal(wasKnown ? [202, before] : [201, before + each]);
    if (!wasKnown) this.acknowledged.set(key, { user, total });
    return reply;
  }

  /** So many events, and Postgres has them. */
  async send(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) expect((await this.event()).status).to.equal(201);
    await this.world.drain();
  }

  /** Events until some have been counted again; none is answered from a Redis that lacks anything. */
  async sendUntilServed(): Promise<void> {
    await until('events are counted again', async () => (await this.event().catch(unlessCut))?.status === 201);
    for (let i = 0; i < people.length * 2; i += 1) await this.event();
  }

  /** Everything that was acknowledged is there once, in both stores, and both say the same. */
  async expectNothingLost(): Promise<void> {
    const { world, acknowledged } = this;
    for (const key of acknowledged.keys()) expect((await this.event(key)).status).to.equal(202);
    await world.drain();
    const { rows } = await world.pool.query<{ count: number; keys: number }>(
      'select count(*)::int, count(distinct idempotency_key)::int as keys from events',
    );
    expect(rows).to.deep.equal([{ count: acknowledged.size, keys: acknowledged.size }]);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
    const context = await Context.start({ settings: world.settings, log: silent, print: () => undefined });
    cleaning.push(() => context.stop());
    const printed: string[] = [];
    await verify(context, (line) => printed.push(line), {});
    expect(printed.at(-1)).to.match(/: 0 differences\.$/);
  }

  /** The id of the newest entry that Postgres has committed. */
  async committed(): Promise<string> {
    const { rows } = await this.world.pool.query<{ id: string }>(`select last_ms || '-' || last_seq as id from stream_offsets`);
    return rows[0]!.id;
  }
}

/** A connection that breaks in the middle of a request is no answer. */
function unlessCut(error: unknown): undefined {
  if (!(error instanceof TypeError)) throw error;
}

function isBelow(id: string, other: string): boolean {
  const [a, b] = [id, other].map((each) => each.split('-').map(BigInt) as [bigint, bigint]) as [[bigint, bigint], [bigint, bigint]];
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

describe('A Redis that lacks what Postgres has', () => {
  afterEach(clean);

  async function ownServer(options: { durable?: boolean } = {}): Promise<OwnRedis> {
    const server = await OwnRedis.start(options);
    cleaning.push(() => server.stop());
    return server;
  }

  async function plainServer(): Promise<PlainRedis> {
    const server = await PlainRedis.start();
    cleaning.push(() => server.stop());
    return server;
  }

  it('is restored before it is served again after FLUSHALL', async () => {
    const server = await ownServer();
    const stage = await Stage.set({ redisUrl: server.url });
    await stage.send(30);
    for (let round = 0; round < 3; round += 1) {
      const before = await stage.committed();
      await stage.world.redis.flushall();
      expect((await stage.event()).status).to.equal(503);
      await stage.sendUntilServed();
      expect(isBelow(before, await stage.world.ledgerEnd())).to.be.true;
      await stage.world.drain();
    }
    await stage.expectNothingLost();
  });

  it('is restored when its server restarts without its files', async () => {
    const server = await ownServer();
    const stage = await Stage.set({ redisUrl: server.url });
    await stage.send(30);
    await server.kill();
    await server.putBack(undefined);
    await server.startAgain();
    await stage.sendUntilServed();
    await stage.expectNothingLost();
  });

  it('is restored when its server restarts with an older append-only file, also one from before a restore', async () => {
    const server = await ownServer();
    const stage = await Stage.set({ redisUrl: server.url });
    await stage.send(30);
    const copy = await server.copy();
    for (let round = 0; round < 2; round += 1) {
      await stage.send(20);
      await server.kill();
      await server.putBack(copy);
      await server.startAgain();
      await stage.sendUntilServed();
    }
    await stage.expectNothingLost();
  });

  it('is restored when its server restarts with an older snapshot', async () => {
    const server = await plainServer();
    const stage = await Stage.set({ redisUrl: server.url });
    await stage.send(30);
    await server.redis.save();
    await stage.send(20);
    await server.kill();
    await server.startAgain();
    await stage.sendUntilServed();
    await stage.expectNothingLost();
  });

  it('is restored when its append-only file was cut off within an entry', async () => {
    const server = await ownServer();
    const stage = await Stage.set({ redisUrl: server.url });
    await stage.send(30);
    await server.kill();
    await server.cutOffIn('XADD');
    await server.startAgain();
    await stage.sendUntilServed();
    await stage.expectNothingLost();
  });

  it('is restored when a replica without its newest data has taken over, whatever that replica knows', async () => {
    const [first, second] = [await plainServer(), await plainServer()];
    const stage = await Stage.set({ redisUrl: first.url });
    await stage.send(10);
    await second.follow(first);
    // The second takes over cleanly, and the first, whose functions still hold it in sync, follows it.
    const port = Number(new URL(first.url).port);
    const elsewhere = Number(new URL(second.url).port);
    await first.redis.replicaof('127.0.0.1', elsewhere);
    await second.redis.replicaof('NO', 'ONE');
    await first.move(await getPort({ host: '127.0.0.1' }));
    await second.move(port);
    await first.redis.replicaof('127.0.0.1', port);
    await first.cutClients();
    await stage.sendUntilServed();
    await first.hasAllOf(second);
    await first.loseTouch();
    await stage.send(20);
    await second.kill();
    await first.takeOver(port);
    await stage.sendUntilServed();
    await stage.expectNothingLost();
  });

  it('is not opened while a worker still commits what it has read of the one before', async () => {
    const stage = await Stage.set({});
    const { redis, pool, partition } = stage.world;
    await stage.send(10);
    const keys = await keysOf(redis, partition);
    const older = await Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)] as const));
    const holding = await pool.connect();
    try {
      await holding.query('begin');
      await holding.query('select 1 from stream_offsets for update');
      expect((await stage.event()).status).to.equal(201);
      await until('the worker commits', async () => {
        const { rowCount } = await pool.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rowCount !== 0;
      });
      // At once, so that no process finds the partition without its keys and enters one.
      const back = redis.multi().del(...(await keysOf(redis, partition)));
      for (const [key, dump] of older) back.restore(key, 0, dump, 'REPLACE');
      await back.exec();
      await redis.function('FLUSH');
      const asked = stage.event();
      await until('a process compares', async () => {
        const { rowCount } = await pool.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return (rowCount ?? 0) > 1;
      });
      await holding.query('commit');
      expect((await asked).status).to.equal(503);
    } finally {
      holding.release();
    }
    await stage.sendUntilServed();
    await stage.expectNothingLost();
  });

  it('is left as it is when it only has more than Postgres', async () => {
    const server = await ownServer();
    const stage = await Stage.set({ redisUrl: server.url, roles: { api: true, worker: false } });
    for (let i = 0; i < 10; i += 1) await stage.event();
    const epoch = await stage.world.redis.hget(`${stage.world.partition}meta`, 'epoch');
    await server.kill();
    await server.startAgain();
    await stage.sendUntilServed();
    await also(stage.world, { api: false, worker: true });
    await stage.expectNothingLost();
    expect(await stage.world.redis.hget(`${stage.world.partition}meta`, 'epoch')).to.equal(epoch);
  });

  /** One more process on the same stores. */
  async function also(world: World, roles: Roles): Promise<void> {
    const service = await startService({ settings: world.settings, log: silent, print: () => undefined }, roles);
    cleaning.push(() => service.stop());
  }

  it('waits for a worker while there is none, and says so', async () => {
    const stage = await Stage.set({ redisUrl: (await ownServer()).url, roles: { api: true, worker: false } });
    const worker = await startService(
      { settings: stage.world.settings, log: silent, print: () => undefined },
      { api: false, worker: true },
    );
    cleaning.push(() => worker.stop());
    await stage.send(10);
    await worker.stop();
    await stage.world.redis.flushall();
    const reply = await until('the answer', async () => {
      const answer = await stage.event();
      return /^Redis is behind/.test((answer.body as { error: string }).error) && answer;
    });
    expect([reply.status, (reply.body as { error: string }).error]).to.deep.equal([
      503,
      `Redis is behind Postgres: it has the ledger up to nothing, Postgres has committed ${await stage.committed()}. ` +
        'No worker is running to restore it: start one (laurel worker), or run laurel restore.',
    ]);
    expect(await keysOf(stage.world.redis, stage.world.partition)).to.deep.equal([]);
    await also(stage.world, { api: false, worker: true });
    await stage.sendUntilServed();
    await stage.expectNothingLost();
  });

  it('is restored by a service that starts on it, which then applies its configuration', async () => {
    const stage = await Stage.set({ redisUrl: (await ownServer()).url });
    await stage.send(10);
    await stage.world.stopService();
    await stage.world.redis.flushall();
    const service = await startService(
      { settings: stage.world.settings, log: silent, print: () => undefined },
      { api: true, worker: true },
    );
    cleaning.push(() => service.stop());
    await until('ready', async () => (await fetch(`${service.address}/health/ready`)).status === 200);
    const reply = await fetch(`${service.address}/v1/users/ana/metrics/flashcards-viewed`, {
      headers: { 'x-api-key': stage.world.settings.adminApiKey! },
    });
    expect([reply.status, ((await reply.json()) as { current: number }).current]).to.deep.equal([200, 15]);
  });

  it('is restored by the next worker when the first is stopped halfway', async () => {
    const stage = await Stage.set({ settings: { autoRestore: false } });
    const { world } = stage;
    for (let first = 0; first < 1_800; first += 600) {
      const events = Array.from({ length: 600 }, (_, i) => ({ key: 'flashcards-viewed', value: 5, user: { id: `user-${first + i}` } }));
      expect((await world.request('POST', '/admin/v1/metrics/events', { body: events })).status).to.be.below(300);
    }
    await world.drain();
    const context = await Context.start({ settings: world.settings, log: silent, print: () => undefined });
    cleaning.push(() => context.stop());
    const said: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => said.push(line) });
    const { engine, redis, pool, active } = context;
    const options = { engine, redis, pool, active, autoRestore: true, log };
    await world.redis.unlink(...(await keysOf(world.redis, world.partition)));
    const first = new Reconciler(options);
    const cut = first.resync(tenant);
    await until('some are back', async () => (await readRestoredUsers(world.redis, world.partition)) > 0);
    await first.stop();
    await cut;
    expect((await world.get('/health/ready')).status).to.equal(503);
    await Promise.all([new Reconciler(options).resync(tenant), new Reconciler(options).resync(tenant)]);
    expect(said.filter((line) => line.includes('"Redis restored"'))).to.have.length(1);
    expect(said.join('')).to.match(/"users":1800,"resumed":true,.*"Redis restored"/);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
    await untilReady(world);
  });
});

describe('A Redis that loses the function library under load', () => {
  afterEach(clean);

  it('is loaded with it again, and no request fails', async () => {
    const library = bundleLibrary().name;
    const world = await startWorld();
    cleaning.push(() => world.stop());
    for (let round = 0; round < 10; round += 1) {
      const replies = Promise.all(
        Array.from({ length: 40 }, (_, i) => world.event('flashcards-viewed', { user: { id: `user-${i % 7}` }, value: 1 })),
      );
      // All libraries, or ours alone, which may not be there again yet.
      await (round % 2 === 0 ? world.redis.function('FLUSH') : world.redis.function('DELETE', library).catch(() => undefined));
      expect((await replies).map(({ status }) => status)).to.deep.equal(Array(40).fill(201));
    }
    await world.drain();
    const { rows } = await world.pool.query('select count(*)::int from events');
    expect(rows).to.deep.equal([{ count: 400 }]);
  });
});
