import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import getPort from 'get-port';
import { startBareRedis, untilReplicated, type BareRedis } from './bare-redis.js';
import { until } from './stage.js';

const slots = 16_384;

/** One node, which a test may freeze or kill. */
export interface ClusterServer extends BareRedis {
  readonly busPort: number;
}

/** Masters on 127.0.0.1 that share the slots evenly. */
export interface TestCluster {
  /** As REDIS_URL names it: by all of its nodes. */
  readonly url: string;
  readonly nodes: readonly ClusterServer[];
  /** Starts a replica of a node. Returns once it is in sync and all nodes, which elect it, see each other alive. */
  addReplica(of: ClusterServer): Promise<ClusterServer>;
  stop(): Promise<void>;
}

async function startNode(folder: string): Promise<ClusterServer> {
  // Without a port of its own, the one for the cluster's nodes would be 10,000 higher, which may be none.
  const busPort = await getPort({ host: '127.0.0.1' });
  // A node that is alone doesn't know its own address.
  const ports = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-announce-ip', '127.0.0.1'];
  // One that is away takes its own slots with it, and not those of the others.
  const timing = ['--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no'];
  return { ...(await startBareRedis(folder, [...ports, ...timing])), busPort };
}

const infoOf = ({ redis }: ClusterServer): Promise<string> => redis.cluster('INFO');

/** Gives each node its share of the slots, and makes them known to each other. */
async function meet(nodes: readonly ClusterServer[]): Promise<void> {
  const share = Math.ceil(slots / nodes.length);
  for (const [i, { redis }] of nodes.entries()) {
    await redis.cluster('ADDSLOTSRANGE', i * share, Math.min((i + 1) * share, slots) - 1);
    // Each needs an epoch of its own from the start, so that none has to be agreed on.
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  const [first, ...others] = nodes;
  for (const { port, busPort } of others) await first!.redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  for (const node of nodes) {
    await until('the nodes know each other', async () => {
      const info = await infoOf(node);
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`);
    });
  }
}

/** Starts a cluster of `count` masters, each of which refuses a call whose keys are in several slots. */
export async function startCluster(count: number): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-cluster-'));
  const nodes: ClusterServer[] = [];
  const replicas: ClusterServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all([...nodes, ...replicas].map((node) => node.stop()));
    await rm(folder, { recursive: true });
  };
  try {
    for (let i = 0; i < count; i += 1) nodes.push(await startNode(join(folder, String(i))));
    await meet(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const addReplica = async (of: ClusterServer): Promise<ClusterServer> => {
    const replica = await startNode(join(folder, `replica-${replicas.length}`));
    replicas.push(replica);
    const { redis } = replica;
    await redis.call('CLUSTER', 'MEET', '127.0.0.1', of.port, of.busPort);
    const id = String(await of.redis.call('CLUSTER', 'MYID'));
    await until('the replica knows its master', async () => String(await redis.cluster('NODES')).includes(id));
    await redis.call('CLUSTER', 'REPLICATE', id);
    await untilReplicated(redis);
    // The masters elect it, so all have to know each other; and one that was frozen is taken for dead for some seconds more.
    const all = [...nodes, ...replicas];
    for (const node of all) {
      await until('all know each other, and are alive', async () => {
        const known = String(await node.redis.cluster('NODES'));
        return known.trim().split('\n').length === all.length && !/fail|handshake/.test(known);
      });
    }
    return replica;
  };
  return { addReplica, url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, nodes, stop };
}
