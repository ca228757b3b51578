import { expect } from 'chai';
import type { BareRedis } from '../support/bare-redis.js';
import { startCluster } from '../support/redis-cluster.js';
import { startReplicatedRedis, type ReplicatedRedis } from '../support/replicated-redis.js';
import { until } from '../support/stage.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const metric = 'flashcards-viewed';
const settings = { durability: 'replicated', replicas: 1, replicaTimeoutMs: 500 } as const;
/** An election that fails is held again after 8 s. */
const electionsMs = 60_000;
const callers = 16;
const eventsBefore = 200;

const send = (world: World, key: string): Promise<Reply> =>
  world.event(metric, { user: { id: 'ana' }, value: 1 }, { 'idempotency-key': key });

/** How another server comes into the place of the master. */
interface Failover {
  readonly happen: () => unknown;
  readonly hasHappened: () => Promise<boolean>;
  /** Gives the new master a replica; without it, the old master becomes one. */
  readonly mend?: () => unknown;
}

/**
 * Sends events, each of which is acknowledged or refused, while another server takes the place of the master. No worker runs, so Postgres has none of
 * them. Checks that the new master has each acknowledged event, and each event once.
 */
async function keepsAll(world: World, { happen, hasHappened, mend }: Failover): Promise<void> {
  const acknowledged: string[] = [];
  const refused: string[] = [];
  let isOver = false;
  let no = 0;
  await until('a replica confirms', async () => (await send(world, 'first')).status !== 503, electionsMs);
  const load = Array.from({ length: callers }, async () => {
    while (!isOver) {
      no += 1;
      const key = `load ${no}`;
      const { status } = await send(world, key);
      expect(status).to.be.oneOf([201, 503]);
      (status === 201 ? acknowledged : refused).push(key);
    }
  });
  try {
    await until('events before', () => acknowledged.length > eventsBefore);
    await happen();
    await until('the failover', hasHappened, electionsMs);
    await mend?.();
    const counted = acknowledged.length;
    // Replies to events that the old master had counted may still come.
    await until('events after', () => acknowledged.length > counted + 2 * callers, electionsMs);
  } finally {
    isOver = true;
    await Promise.all(load);
  }
  const lost: string[] = [];
  for (const key of acknowledged) if ((await send(world, key)).status !== 202) lost.push(key);
  expect(lost).to.deep.equal([]);
  for (const key of refused) expect((await send(world, key)).status).to.be.oneOf([201, 202]);
  const last = (await send(world, 'last')).body as { total: number };
  expect(last.total).to.equal(acknowledged.length + refused.length + 2);
}

const isMaster = async ({ redis }: BareRedis): Promise<boolean> => (await redis.info('replication')).includes('role:master');

describe('With DURABILITY=replicated, the new master has every acknowledged event', () => {
  const cleaning: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (let step = cleaning.pop(); step; step = cleaning.pop()) await step();
  });

  const ways: readonly (readonly [name: string, way: (servers: ReplicatedRedis, sentinel: BareRedis) => Omit<Failover, 'hasHappened'>])[] =
    [
      ['the master is killed', (servers) => ({ happen: () => servers.master.signal('SIGKILL'), mend: () => servers.replaceMaster() })],
      ['the master is frozen', ({ master }) => ({ happen: () => master.signal('SIGSTOP'), mend: () => master.signal('SIGCONT') })],
      ['Sentinel is told to switch', (_, { redis }) => ({ happen: () => redis.call('SENTINEL', 'FAILOVER', 'main') })],
    ];
  for (const [name, way] of ways) {
    it(`after ${name}`, async () => {
      const servers = await startReplicatedRedis();
      cleaning.push(() => servers.stop());
      const { sentinel, url } = await servers.watch();
      const world = await startWorld({ redisUrl: url, now: null, settings, roles: { api: true, worker: false } });
      cleaning.push(() => world.stop());
      await keepsAll(world, { ...way(servers, sentinel), hasHappened: () => isMaster(servers.replica) });
    });
  }

  it('in a cluster, after a replica takes over without asking', async () => {
    const cluster = await startCluster(2);
    cleaning.push(() => cluster.stop());
    const world = await startWorld({ redisUrl: cluster.url, now: null, settings, roles: { api: true, worker: false } });
    cleaning.push(() => world.stop());
    const slot = await cluster.nodes[0]!.redis.cluster('KEYSLOT', world.partition);
    const replica = await cluster.addReplica(cluster.nodes[slot < 8_192 ? 0 : 1]!);
    await keepsAll(world, { happen: () => replica.redis.call('CLUSTER', 'FAILOVER', 'TAKEOVER'), hasHappened: () => isMaster(replica) });
  });
});
