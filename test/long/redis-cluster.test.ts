import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Cluster } from 'ioredis';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { restore, verify } from '../../src/commands/restore.js';
import { newestVersions } from '../../src/config/store/store.js';
import { partitionPrefix } from '../../src/redis/contract.js';
import { connectRedis } from '../../src/redis/connection.js';
import { bundleLibrary } from '../../src/redis/library.js';
import { startService, type Service } from '../../src/app/service.js';
import { cardsConfig } from '../support/configs.js';
import { startCluster, type TestCluster } from '../support/redis-cluster.js';
import { until } from '../support/stage.js';
import { keysOf, startWorld, type Reply, type World } from '../support/world.js';

const log = pino({ level: 'silent' });
const print = (): void => undefined;
/** Enough that none of three masters is left without one. */
const tenantCount = 8;
const users = 5;

describe('A Redis Cluster of three masters', () => {
  /** What has been started, stopped at the end however far it came. */
  const cleaning: (() => Promise<void>)[] = [];
  let cluster: TestCluster;
  let world: World;
  /** Ids of tenants; undefined is the default one. */
  let tenants: (string | undefined)[];
  /** The no of each. */
  let nos: number[];

  before(async () => {
    cluster = await startCluster(3);
    cleaning.push(() => cluster.stop());
    // Without AUTO_RESTORE: what is lost stays lost until a test says so.
    world = await startWorld({ redisUrl: cluster.url, settings: { rateLimit: 1_000_000, autoRestore: false } });
    cleaning.push(() => world.stop());
    const body = Array.from({ length: tenantCount }, (_, i) => ({ name: `Tenant ${i}`, customerId: `customer-${i}` }));
    const reply = await world.request('POST', '/admin/v1/tenants', { body });
    expect(reply.status, JSON.stringify(reply.body)).to.equal(201);
    const { rows } = await world.pool.query<{ no: number; id: string }>('select no, id from tenants where no > 1 order by no');
    tenants = [undefined, ...rows.map(({ id }) => id)];
    nos = [1, ...rows.map(({ no }) => no)];
    for (const tenant of tenants) await world.configure(JSON.stringify(cardsConfig), tenant === undefined ? {} : { tenant });
  });
  after(async () => {
    for (let stop = cleaning.pop(); stop; stop = cleaning.pop()) await stop();
  });

  const to = (tenant: string | undefined): Record<string, string> => (tenant === undefined ? {} : { 'tenant-id': tenant });

  const totalOf = ({ body }: Reply): number => (body as { total: number }).total;

  const event = (tenant: string | undefined, id: string, value: number, key: string): Promise<Reply> =>
    world.event('cards', { user: { id, tz: 'Europe/Lisbon' }, value }, { ...to(tenant), 'idempotency-key': key });

  /** The master, by its place, that has each tenant. */
  async function homes(): Promise<number[]> {
    const found = nos.map(async (no) => {
      const held = await Promise.all(
        cluster.nodes.map(async ({ redis }) => (await keysOf(redis, partitionPrefix(world.settings.redisPrefix, no))).length > 0),
      );
      expect(held.filter(Boolean), `tenant ${no}`).to.have.length(1);
      return held.indexOf(true);
    });
    return Promise.all(found);
  }

  /** Every tenant's events, interleaved; each user's last response holds the total. */
  async function interleave(round: number): Promise<void> {
    const sent = tenants.flatMap((tenant) =>
      Array.from({ length: users }, (_, user) => event(tenant, `user-${user}`, user + 1, `key-${round}`)),
    );
    for (const [i, reply] of (await Promise.all(sent)).entries()) {
      expect([reply.status, totalOf(reply)], JSON.stringify(reply.body)).to.deep.equal([201, ((i % users) + 1) * round]);
    }
  }

  it('takes the events of tenants on all of its masters, interleaved', async () => {
    for (let round = 1; round <= 4; round += 1) await interleave(round);
    expect(new Set(await homes())).to.deep.equal(new Set([0, 1, 2]));
    const again = await Promise.all(tenants.map((tenant) => event(tenant, 'user-0', 1, 'key-1')));
    expect(again.map((reply) => [reply.status, totalOf(reply)])).to.deep.equal(Array(tenants.length).fill([202, 4]));
  });

  it('answers reads of each tenant, and has them in Postgres', async () => {
    for (const [i, tenant] of tenants.entries()) {
      const headers = to(tenant);
      const board = await world.request('GET', '/v1/leaderboards/all', { headers });
      expect((board.body as { rankings: { userId: string }[] }).rankings.map(({ userId }) => userId)).to.deep.equal(
        Array.from({ length: users }, (_, user) => `user-${users - 1 - user}`),
      );
      expect(totalOf(await world.request('GET', '/v1/users/user-0/points/xp', { headers }))).to.equal(8);
      await world.drain(nos[i]);
    }
    const { rows } = await world.pool.query('select tenant, count(*)::int as events from events group by tenant order by tenant');
    expect(rows).to.deep.equal(nos.map((tenant) => ({ tenant, events: 4 * users })));
  });

  it('takes batches, and changes of configuration at once', async () => {
    for (const [i, tenant] of tenants.entries()) {
      const headers = to(tenant);
      const body = Array.from({ length: 60 }, (_, n) => ({ key: 'cards', user: { id: `batch-${n}` }, value: 2, idempotencyKey: 'batch' }));
      expect((await world.request('POST', '/admin/v1/metrics/events', { body, headers })).status).to.be.below(300);
      const metric = [{ name: `Added ${i}`, key: 'added' }];
      expect((await world.request('POST', '/admin/v1/metrics', { body: metric, headers })).status).to.equal(201);
    }
    const added = tenants.map((tenant) => world.event('added', { user: { id: 'new' }, value: 1 }, to(tenant)));
    expect((await Promise.all(added)).map(({ status }) => status)).to.deep.equal(Array(tenants.length).fill(201));
  });

  it('notifies all processes, on whichever node they listen', async () => {
    const settings = { ...world.settings };
    const others: Service[] = [];
    try {
      for (let i = 0; i < 3; i += 1) others.push(await startService({ settings, log, print }, { api: true, worker: false }));
      const name = async (address: string): Promise<string> => {
        const headers = { 'x-api-key': settings.adminApiKey!, ...to(tenants[3]) };
        const reply = await fetch(`${address}/admin/v1/metrics`, { headers });
        return ((await reply.json()) as { name: string; key: string }[]).find(({ key }) => key === 'cards')!.name;
      };
      for (const { address } of others) expect(await name(address!)).to.equal('Cards');
      await world.configure(JSON.stringify({ metrics: [{ key: 'cards', name: 'Flash cards' }] }), { tenant: tenants[3]! });
      for (const { address, context } of others) {
        const version = async (): Promise<number | undefined> => (await context.engine.heldConfigs()).get(nos[3]!);
        const newest = (await newestVersions(world.pool, [nos[3]!])).get(nos[3]!);
        await until('the process has taken over the configuration', async () => (await version()) === newest);
        expect(await name(address!)).to.equal('Flash cards');
      }
    } finally {
      for (const other of others) await other.stop();
    }
  });

  it('gets its function library back on the master that has lost it', async () => {
    for (const { redis } of cluster.nodes) await redis.function('DELETE', bundleLibrary().name);
    await interleave(5);
  });

  it('is restored and verified tenant by tenant, and continues from the same state', async () => {
    for (const no of nos) await world.drain(no);
    const printed: string[] = [];
    const context = await Context.start({ settings: world.settings, log, print });
    try {
      for (const { redis } of cluster.nodes) {
        await redis.flushall();
        await redis.function('FLUSH');
      }
      expect((await event(tenants[1], 'user-0', 1, 'lost')).status).to.equal(503);
      await restore(context, (line) => printed.push(line), {});
      await interleave(6);
      expect((await event(tenants[2], 'user-0', 1, 'key-1')).status).to.equal(202);
      await verify(context, (line) => printed.push(line), {});
      expect(printed.filter((line) => line.endsWith(': 0 differences.'))).to.have.length(tenants.length);
    } finally {
      await context.stop();
    }
  });

  it('is resynced without an operator when one of its masters comes back empty', async () => {
    for (const no of nos) await world.drain(no);
    const lost = (await homes())[1]!;
    await cluster.nodes[lost]!.redis.flushall();
    const settings = { ...world.settings, autoRestore: true };
    const reconciling = await startService({ settings, log, print }, { api: false, worker: true });
    try {
      for (const tenant of tenants) {
        await until('the tenant is served', async () => {
          const { status } = await event(tenant, 'user-0', 1, 'key-1');
          expect(status).to.be.oneOf([202, 503]);
          return status === 202;
        });
      }
      await interleave(7);
    } finally {
      await reconciling.stop();
    }
  });

  it('leaves no timer behind when it is closed while it looks where the slots are', async () => {
    const redis = (await connectRedis({ url: cluster.url }, () => undefined)) as Cluster;
    while (Reflect.get(redis, 'isRefreshing') !== true) await turn();
    const looked = new Promise((resolve) => {
      redis.refreshSlotsCache(resolve);
    });
    await redis.quit();
    await looked;
    expect(Reflect.get(redis, 'slotsTimer') ?? null).to.equal(null);
  });

  it('moves a tenant to another master: its events are refused during the move, and counted after it', async () => {
    const [tenant, no] = [tenants[4], nos[4]!];
    const partition = partitionPrefix(world.settings.redisPrefix, no);
    const home = (await homes())[4]!;
    const [from, target] = [cluster.nodes[home]!, cluster.nodes[(home + 1) % 3]!];
    const slot = await from.redis.cluster('KEYSLOT', partition);
    const idOf = async ({ redis }: typeof from): Promise<string> => String(await redis.call('CLUSTER', 'MYID'));
    const [fromId, targetId] = [await idOf(from), await idOf(target)];
    const move = (keys: string[]): Promise<unknown> => from.redis.call('MIGRATE', '127.0.0.1', target.port, '', 0, 5_000, 'KEYS', ...keys);
    const refused = async (user: string): Promise<void> => {
      const reply = await event(tenant, user, 1, `moving-${user}`);
      expect([reply.status, Number(reply.headers.get('retry-after')) > 0], JSON.stringify(reply.body)).to.deep.equal([503, true]);
    };
    await world.drain(no);
    await target.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
    await from.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId);
    const keys = await keysOf(from.redis, partition);
    const meta = `${partition}meta`;
    const others = keys.filter((key) => key !== meta);
    // A user whose keys are all there still, one whose keys are gone, and one who is new: one of them alone would be counted in part, or anew.
    await move(others.filter((key) => key.includes('user-0') || key.includes('ledger')));
    for (const user of ['user-0', 'user-1', 'nobody']) await refused(user);
    await move([meta]);
    for (const user of ['user-0', 'user-1', 'nobody']) await refused(user);
    expect(await keysOf(target.redis, `${partition}u:nobody`)).to.deep.equal([]);
    await move(await keysOf(from.redis, partition));
    for (const { redis } of [target, from, ...cluster.nodes]) await redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
    await interleave(8);
    expect((await homes())[4]).to.equal((home + 1) % 3);
    await world.drain(no);
    const { rows } = await world.pool.query('select count(*)::int as events from events where tenant = $1 and user_id = $2', [
      no,
      'user-0',
    ]);
    expect(rows).to.deep.equal([{ events: 8 }]);
  });
});
