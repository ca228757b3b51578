import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBareRedis, untilConfirming, untilReplicated, type BareRedis } from './bare-redis.js';
import { until } from './stage.js';

/** A master and its replica. */
export interface ReplicatedRedis {
  /** As REDIS_URL names the master. */
  readonly url: string;
  readonly master: BareRedis;
  readonly replica: BareRedis;
  /** Starts a Sentinel that promotes the replica when the master is away for half a second; returns the address that REDIS_URL has then. */
  watch(): Promise<{ readonly sentinel: BareRedis; readonly url: string }>;
  /** Starts a replica of the replica, which has taken the place of the master. */
  replaceMaster(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a master with a replica that is in sync; both with further arguments. */
export async function startReplicatedRedis(args: readonly string[] = []): Promise<ReplicatedRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-replicated-'));
  const servers: BareRedis[] = [];
  const started = async (name: string, own: readonly string[], file: readonly string[] = []): Promise<BareRedis> => {
    const server = await startBareRedis(join(folder, name), own, file);
    servers.push(server);
    return server;
  };
  const master = await started('master', args);
  const replicate = async (name: string, of: BareRedis): Promise<BareRedis> => {
    const server = await started(name, [...args, '--replicaof', '127.0.0.1', String(of.port)]);
    await untilReplicated(server.redis);
    await untilConfirming(of.redis);
    return server;
  };
  const replica = await replicate('replica', master);
  return {
    url: `redis://127.0.0.1:${master.port}`,
    master,
    replica,
    watch: async () => {
      const file = join(folder, 'sentinel.conf');
      const settings = ['down-after-milliseconds main 500', 'failover-timeout main 3000'].map((setting) => `sentinel ${setting}`);
      await writeFile(file, [`sentinel monitor main 127.0.0.1 ${master.port} 1`, ...settings, ''].join('\n'));
      const sentinel = await started('sentinel', ['--sentinel'], [file]);
      await until('Sentinel knows the replica', async () =>
        String(await sentinel.redis.call('SENTINEL', 'replicas', 'main')).includes(String(replica.port)),
      );
      return { sentinel, url: `redis+sentinel://127.0.0.1:${sentinel.port}/main` };
    },
    replaceMaster: async () => {
      await replicate('another', replica);
    },
    stop: async () => {
      for (let server = servers.pop(); server; server = servers.pop()) await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}
