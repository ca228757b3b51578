import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import { partitionPrefix } from '../../src/redis/contract.js';
import { untilReplicated, type BareRedis } from '../support/bare-redis.js';
import { startCluster, type TestCluster } from '../support/redis-cluster.js';
import { startReplicatedRedis } from '../support/replicated-redis.js';
import { until } from '../support/stage.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const metric = 'flashcards-viewed';

/** An event of a tenant, the default one if none is named. */
const send = (world: World, key: string, tenant?: string): Promise<Reply> =>
  world.event(
    metric,
    { user: { id: 'ana' }, value: 1 },
    { 'idempotency-key': key, ...(tenant === undefined ? {} : { 'tenant-id': tenant }) },
  );

const totalOf = ({ body }: Reply): number => (body as { total: number }).total;

/** An election that fails is held again after 8 s. */
const electionsMs = 60_000;

/** Sends an event again until it is counted; every other answer is a 503. Returns its total. */
async function insist(world: World, key: string, tenant?: string): Promise<number> {
  let last = '';
  const taken = async (): Promise<Reply | false> => {
    const answer = await send(world, key, tenant);
    last = JSON.stringify(answer.body);
    expect(answer.status, last).to.be.oneOf([201, 202, 503]);
    return answer.status !== 503 && answer;
  };
  const reply = await until('the event is taken', taken, electionsMs).catch((error: unknown) => {
    throw new Error(`the last answer was ${last}`, { cause: error });
  });
  return totalOf(reply);
}

/** Drains the ledger once the connection of the test, which is another one than those of the service, is back. */
async function drain(world: World): Promise<void> {
  await until('the connection of the test', () => world.redis.status === 'ready');
  await world.drain();
}

/** Runs what stops a test's servers, the newest first. */
async function clean(cleaning: (() => Promise<unknown>)[]): Promise<void> {
  for (let step = cleaning.pop(); step; step = cleaning.pop()) await step();
}

describe('A Redis behind Sentinel', () => {
  const cleaning: (() => Promise<unknown>)[] = [];
  let world: World;
  let master: BareRedis;
  let replica: BareRedis;

  before(async () => {
    const servers = await startReplicatedRedis();
    cleaning.push(() => servers.stop());
    ({ master, replica } = servers);
    world = await startWorld({ redisUrl: (await servers.watch()).url, now: null });
    cleaning.push(() => world.stop());
  });
  after(() => clean(cleaning));

  it('is found, and answers 503 as long as it is a replica', async () => {
    for (let i = 1; i <= 3; i += 1) expect(totalOf(await send(world, `before ${i}`))).to.equal(i);
    await drain(world);
    await replica.redis.replicaof('NO', 'ONE');
    await master.redis.replicaof('127.0.0.1', replica.port);
    const refused = await send(world, 'demoted');
    expect([refused.status, Number(refused.headers.get('retry-after'))], JSON.stringify(refused.body)).to.deep.equal([503, 1]);
    await master.redis.replicaof('NO', 'ONE');
    await replica.redis.replicaof('127.0.0.1', master.port);
    await untilReplicated(replica.redis);
    expect(await insist(world, 'demoted')).to.equal(4);
  });

  it('is replaced by the new master when it dies, with all acknowledged data', async () => {
    for (let i = 1; i <= 3; i += 1) await insist(world, `more ${i}`);
    await drain(world);
    await master.redis.wait(1, 1_000);
    master.signal('SIGKILL');
    const startedMs = performance.now();
    const lost = await send(world, 'after');
    expect([lost.status, performance.now() - startedMs < limits.redisCallTimeoutMs + 1_000]).to.deep.equal([503, true]);
    expect(await insist(world, 'after')).to.equal(8);
    expect(await replica.redis.info('replication')).to.contain('role:master');
    expect((await send(world, 'more 1')).status).to.equal(202);
    await drain(world);
    const { rows } = await world.pool.query('select count(*)::int as events from events');
    expect(rows).to.deep.equal([{ events: 8 }]);
  });
});

describe('A Redis Cluster whose masters go away', () => {
  const cleaning: (() => Promise<unknown>)[] = [];
  let cluster: TestCluster;
  let world: World;
  /** A tenant's id and no for each master, by the master's place. */
  let homes: { readonly id: string; readonly no: number }[];

  before(async () => {
    cluster = await startCluster(3);
    cleaning.push(() => cluster.stop());
    world = await startWorld({ redisUrl: cluster.url, now: null });
    cleaning.push(() => world.stop());
    const body = Array.from({ length: 12 }, (_, i) => ({ name: `Tenant ${i}`, customerId: `customer-${i}` }));
    expect((await world.request('POST', '/admin/v1/tenants', { body })).status).to.equal(201);
    const { rows } = await world.pool.query<{ id: string; no: number }>('select id, no from tenants where no > 1 order by no');
    const slots = await cluster.nodes[0]!.redis.cluster('SLOTS');
    const portOf = async (no: number): Promise<number | undefined> => {
      const slot = await cluster.nodes[0]!.redis.cluster('KEYSLOT', partitionPrefix(world.settings.redisPrefix, no));
      return slots.find(([first, last]) => first <= slot && slot <= last)?.[2]?.[1];
    };
    const ports = await Promise.all(rows.map(({ no }) => portOf(no)));
    homes = cluster.nodes.map(({ port }) => rows[ports.indexOf(port)]!);
    const config = JSON.stringify({ metrics: [{ key: metric, name: 'Cards' }] });
    for (const { id } of homes) await world.configure(config, { tenant: id });
    for (const { id } of homes) expect(totalOf(await send(world, 'first', id))).to.equal(1);
  });
  after(() => clean(cleaning));

  it('never sends an event twice when its connections break under load', async () => {
    const before = await Promise.all(homes.map(({ id }) => insist(world, 'first', id)));
    let [sent, counted, breaks] = [0, 0, 0];
    const load = Array.from({ length: 12 }, async () => {
      while (breaks < 10) {
        sent += 1;
        // Without a key: what was sent twice would be counted twice.
        const headers = { 'tenant-id': homes[0]!.id };
        const reply = await world.event(metric, { user: { id: 'ana' }, value: 1 }, headers);
        if (reply.status === 201) counted += 1;
        else expect(reply.status, JSON.stringify(reply.body)).to.equal(503);
      }
    });
    for (; breaks < 10; breaks += 1) {
      const enough = counted + 20;
      await until('some events more', () => counted >= enough);
      await cluster.nodes[0]!.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    }
    await Promise.all(load);
    expect(await insist(world, 'last', homes[0]!.id)).to.be.within(before[0]! + counted + 1, before[0]! + sent + 1);
  });

  it('answers 503 for the tenants of one that is frozen, within bounds, and goes on with the others', async () => {
    cluster.nodes[1]!.signal('SIGSTOP');
    const startedMs = performance.now();
    const frozen = Promise.all(Array.from({ length: 20 }, (_, i) => send(world, `frozen ${i}`, homes[1]!.id)));
    for (let i = 0; i < 20; i += 1) {
      for (const { id } of [homes[0]!, homes[2]!]) expect((await send(world, `frozen ${i}`, id)).status).to.equal(201);
    }
    const statuses = new Set((await frozen).map(({ status }) => status));
    expect([...statuses, performance.now() - startedMs < limits.redisCallTimeoutMs + 1_000]).to.deep.equal([503, true]);
    cluster.nodes[1]!.signal('SIGCONT');
    const before = await insist(world, 'first', homes[1]!.id);
    const totals = await Promise.all(Array.from({ length: 20 }, (_, i) => insist(world, `frozen ${i}`, homes[1]!.id)));
    expect(before).to.be.within(1, 21);
    expect(Math.max(...totals)).to.equal(21);
  });

  it('goes on at a replica that takes over, with what was answered', async () => {
    const { id, no } = homes[2]!;
    const replica = await cluster.addReplica(cluster.nodes[2]!);
    const before = await insist(world, 'replicated', id);
    await cluster.nodes[2]!.redis.wait(1, 1_000);
    await world.drain(no);
    cluster.nodes[2]!.signal('SIGKILL');
    expect(await insist(world, 'taken over', id)).to.equal(before + 1);
    expect(await replica.redis.info('replication')).to.contain('role:master');
    expect((await send(world, 'replicated', id)).status).to.equal(202);
    // The connections of the test itself may still be those to the dead master.
    const isDrained = (): Promise<boolean> =>
      world.drain(no).then(
        () => true,
        () => false,
      );
    await until('the ledger is drained', isDrained);
    expect((await world.pool.query('select 1 from events where tenant = $1', [no])).rowCount).to.equal(before + 1);
  });
});
