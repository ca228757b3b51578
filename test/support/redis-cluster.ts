import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../src/stores/processes.js';
import { findOrInstallRedis, thisMachine } from '../../src/stores/redis-program.js';
import { until } from './stage.js';

const slots = 16_384;

/** One node, which a test may freeze or kill. */
export interface ClusterServer {
  readonly port: number;
  readonly busPort: number;
  /** Speaks to this node alone. */
  readonly redis: Redis;
  signal(signal: NodeJS.Signals): void;
}

/** Masters on 127.0.0.1 that share the slots evenly. */
export interface TestCluster {
  /** As REDIS_URL names it: by all of its nodes. */
  readonly url: string;
  readonly nodes: readonly ClusterServer[];
  stop(): Promise<void>;
}

async function startNode(folder: string): Promise<ClusterServer & { stop: () => Promise<void> }> {
  // Without a port of its own, the one for the cluster's nodes would be 10,000 higher, which may be none.
  const [port, busPort] = [await freePort(), await freePort()];
  await mkdir(folder);
  const program = await findOrInstallRedis(thisMachine, () => undefined);
  const network = ['--port', String(port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
  const server = spawn(program, [...network, '--cluster-node-timeout', '2000', '--save', '', '--dir', folder], { stdio: 'ignore' });
  const gone = once(server, 'exit');
  const redis = new Redis(port);
  redis.on('error', () => undefined);
  const stop = async (): Promise<void> => {
    redis.disconnect();
    for (const signal of ['SIGKILL', 'SIGCONT'] as const) server.kill(signal);
    await gone;
  };
  return { port, busPort, redis, signal: (signal) => server.kill(signal), stop };
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
  const nodes: (ClusterServer & { stop: () => Promise<void> })[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
    await rm(folder, { recursive: true });
  };
  try {
    for (let i = 0; i < count; i += 1) nodes.push(await startNode(join(folder, String(i))));
    await meet(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, nodes, stop };
}
