import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import getPort from 'get-port';
import { Redis } from 'ioredis';
import { findOrInstallRedis, thisMachine } from '../../src/local-stores/redis-program.js';
import { ownChild } from './owned.js';
import { until } from './stage.js';

/** A server with settings of its test, which may freeze or kill it. */
export interface BareRedis {
  readonly port: number;
  /** Speaks to this server alone. */
  readonly redis: Redis;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Starts a server in a folder, which is made. `args` go on its command line, a file of settings (a Sentinel's) first. */
export async function startBareRedis(folder: string, args: readonly string[], file: readonly string[] = []): Promise<BareRedis> {
  const port = await getPort({ host: '127.0.0.1' });
  await mkdir(folder, { recursive: true });
  const program = await findOrInstallRedis(thisMachine, () => undefined);
  // By default a master waits some seconds for more replicas before it syncs.
  const saves = file.length === 0 ? ['--save', '', '--repl-diskless-sync-delay', '0'] : [];
  const own = ['--port', String(port), '--bind', '127.0.0.1', ...saves, '--dir', folder];
  const server = spawn(program, [...file, ...own, ...args], { stdio: 'ignore' });
  ownChild(server);
  const gone = once(server, 'exit');
  const redis = new Redis(port, { retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  const stop = async (): Promise<void> => {
    redis.disconnect();
    for (const signal of ['SIGKILL', 'SIGCONT'] as const) server.kill(signal);
    await gone;
  };
  return { port, redis, signal: (signal) => server.kill(signal), stop };
}

/** Waits until a replica is in sync with its master. */
export async function untilReplicated(replica: Redis): Promise<void> {
  await until('the replica to be in sync', async () => (await replica.info('replication')).includes('master_link_status:up'));
}

/** Waits until a replica confirms to its master what that writes, which begins up to a second after it is in sync. */
export async function untilConfirming(master: Redis): Promise<void> {
  await until('the replica to confirm', async () => {
    await master.set('confirmed', '');
    return (await master.wait(1, 1_000)) === 1;
  });
  await master.del('confirmed');
}
