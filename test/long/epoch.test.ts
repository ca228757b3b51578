import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import pino from 'pino';
import { bundleLibrary } from '../../src/redis/library.js';
import { startService } from '../../src/app/service.js';
import { differences } from '../support/differences.js';
import { OwnRedis } from '../support/own-redis.js';
import { until, untilReady, untilSampleActivated } from '../support/stage.js';
import { keysOf, startWorld, type Reply, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const roles = { api: true, worker: true };

/** Everything in a partition, to be put back later. */
async function save(redis: Redis, partition: string): Promise<Map<string, Buffer>> {
  const keys = await keysOf(redis, partition);
  const dumps = await Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)] as const));
  return new Map(dumps);
}

async function lose(redis: Redis, partition: string): Promise<void> {
  const keys = await keysOf(redis, partition);
  if (keys.length > 0) await redis.del(...keys);
}

async function putBack(redis: Redis, partition: string, saved: ReadonlyMap<string, Buffer>): Promise<void> {
  const keys = await keysOf(redis, partition);
  // At once, so that no process finds the partition without its keys and enters one.
  const change = redis.multi();
  if (keys.length > 0) change.del(...keys);
  for (const [key, dump] of saved) change.restore(key, 0, dump, 'REPLACE');
  await change.exec();
}

/** An answer's status, and its total or what it says is wrong. */
function outcomeOf({ status, body }: Reply): [number, number | string | undefined] {
  const { total, error } = body as { total?: number; error?: string };
  return [status, total ?? error];
}

describe('A Redis that is out of sync with Postgres', () => {
  let world: World;
  /** What a test has started besides, stopped after it whatever became of it. */
  let others: (() => Promise<void>)[];

  beforeEach(async () => {
    others = [];
    // Here an operator puts back what was lost; test/long/reconcile.test.ts is about what happens by itself.
    world = await startWorld({ settings: { autoRestore: false } });
    await untilSampleActivated(world.pool);
    await send(10);
  });
  afterEach(async () => {
    for (let stop = others.pop(); stop; stop = others.pop()) await stop();
    await world.stop();
  });

  async function send(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) expect((await event()).status).to.equal(201);
    await world.drain();
  }

  const event = (): Promise<Reply> => world.event('flashcards-viewed', { user: { id: 'ana' }, value: 5 });

  /** The same event, at another process. */
  const eventAt = (address: string): Promise<Response> =>
    fetch(`${address}/v1/metrics/flashcards-viewed/event`, {
      method: 'POST',
      headers: { 'x-api-key': world.settings.adminApiKey! },
      body: JSON.stringify({ user: { id: 'ana' }, value: 5 }),
    });

  /** Another process on the same stores, but for what `settings` says otherwise. */
  async function another(settings: Partial<World['settings']> = {}): Promise<{ address: string; printed: string[] }> {
    const printed: string[] = [];
    const log = pino({ level: 'silent' });
    const service = await startService({ settings: { ...world.settings, ...settings }, log, print: (line) => printed.push(line) }, roles);
    others.push(() => service.stop());
    return { address: service.address!, printed };
  }

  /** What Redis remembers in the function library, a restart or another server does not know. */
  const forget = (): Promise<unknown> => world.redis.function('FLUSH');

  async function rows(): Promise<number> {
    const { rows: counted } = await world.pool.query<{ count: number }>('select count(*)::int from events');
    return counted[0]!.count;
  }

  /** The service refuses to count, says why, and leaves both stores as they are. */
  async function expectRefusal(sentence: RegExp): Promise<void> {
    expect((await event()).status).to.equal(503);
    const before = await world.snapshot();
    const read = await world.get('/v1/users/ana');
    for (const reply of [await event(), await event(), read]) {
      expect(reply.status).to.equal(503);
      expect(Number(reply.headers.get('retry-after'))).to.be.greaterThan(0);
      expect((reply.body as { error: string }).error).to.match(sentence);
    }
    const ready = await world.get('/health/ready');
    expect([ready.status, ready.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect((ready.body as { error: string }).error).to.match(sentence);
    expect((await world.get('/health/live')).status).to.equal(200);
    expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
  }

  /** The service recovers without an operator, and continues where it was. */
  async function expectRecovery(total: number): Promise<void> {
    await untilReady(world);
    expect(outcomeOf(await event())).to.deep.equal([201, total]);
    await world.drain();
    expect(await rows()).to.equal(total / 5);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  }

  it('is refused when it restarts empty, and served again when its data is back', async () => {
    const saved = await save(world.redis, world.partition);
    await lose(world.redis, world.partition);
    await forget();
    await expectRefusal(/^Redis is behind Postgres: it has the ledger up to nothing, Postgres has committed \d+-\d+\./);
    await putBack(world.redis, world.partition, saved);
    await expectRecovery(55);
  });

  it('is refused when it is an older state of itself', async () => {
    const older = await save(world.redis, world.partition);
    await send(10);
    const newest = await save(world.redis, world.partition);
    await putBack(world.redis, world.partition, older);
    await forget();
    await expectRefusal(/^Redis is behind Postgres: it has the ledger up to \d+-\d+, Postgres has committed \d+-\d+\./);
    await putBack(world.redis, world.partition, newest);
    await expectRecovery(105);
  });

  it('is refused when the service starts on it, and served as soon as its data is back', async () => {
    const saved = await save(world.redis, world.partition);
    await world.stopService();
    await lose(world.redis, world.partition);
    await forget();
    const { address, printed } = await another();
    expect(printed.join('\n')).to.match(/Redis is behind Postgres/);
    expect((await eventAt(address)).status).to.equal(503);
    expect(await keysOf(world.redis, world.partition)).to.deep.equal([]);
    await putBack(world.redis, world.partition, saved);
    const reply = await eventAt(address);
    expect([reply.status, ((await reply.json()) as { total: number }).total]).to.deep.equal([201, 55]);
  });

  it('is refused when it belongs to another database, while the service with the right one keeps serving', async () => {
    const other = await startWorld();
    others.push(() => other.stop());
    // Its own Redis is left behind, its database and its configuration are at the same version as those of the first.
    await other.stopService();
    for (let total = 55; total <= 75; total += 5) {
      const refused = await another({ databaseUrl: other.settings.databaseUrl }).catch((error: unknown) => (error as Error).message);
      expect(refused).to.match(
        /^This Redis belongs to another database \(its epoch is [0-9a-f-]{36}, Postgres expects [0-9a-f-]{36}\)\. Check REDIS_URL, /,
      );
      expect(outcomeOf(await event())).to.deep.equal([201, total]);
    }
    await world.drain();
    expect(await rows()).to.equal(15);
    expect((await other.pool.query('select 1 from events')).rowCount).to.equal(0);
  });

  it('is refused at the next call when it loses everything while it runs', async () => {
    const saved = await save(world.redis, world.partition);
    await lose(world.redis, world.partition);
    await expectRefusal(/^Redis is behind Postgres: it has the ledger up to nothing/);
    await putBack(world.redis, world.partition, saved);
    await expectRecovery(55);
  });

  it('is served on when only the function library is gone', async () => {
    await world.redis.function('DELETE', bundleLibrary().name);
    const replies = await Promise.all(Array.from({ length: 20 }, event));
    expect(replies.map(({ status }) => status)).to.deep.equal(Array(20).fill(201));
    await world.drain();
    expect(await rows()).to.equal(30);
  });
});

describe('A Redis server that is killed', () => {
  let server: OwnRedis;
  let world: World;
  const event = (): Promise<Reply> => world.event('flashcards-viewed', { user: { id: 'ana' }, value: 5 });

  beforeEach(async () => {
    server = await OwnRedis.start();
    world = await startWorld({ redisUrl: server.url, settings: { autoRestore: false } });
    await event();
    await world.drain();
    await server.kill();
  });
  afterEach(async () => {
    await world.stop();
    await server.stop();
  });

  it('is served again when it restarts with its data', async () => {
    await server.startAgain();
    await untilReady(world);
    expect(outcomeOf(await event())).to.deep.equal([201, 10]);
  });

  it('is refused when it restarts without its files', async () => {
    await rm(join(server.folder, 'redis', 'appendonlydir'), { recursive: true });
    await server.startAgain();
    const why = async (): Promise<string> => ((await world.get('/health/ready')).body as { error?: string }).error ?? '';
    await until('the reason', async () => /^Redis is behind Postgres/.test(await why()));
    expect(outcomeOf(await event())).to.deep.equal([503, await why()]);
  });
});
