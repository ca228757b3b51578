import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import getPort from 'get-port';
import { Client } from '../../support/client.js';
import { OwnPostgres } from '../../support/own-postgres.js';
import { OwnRedis } from '../../support/own-redis.js';
import { richConfig } from '../../support/rich-config.js';
import { setStage, type Stage } from '../../support/stage.js';
import { SteadyTraffic } from '../../support/steady-traffic.js';
import { prepare } from '../../support/traffic.js';
import { adminKey } from '../../support/world.js';
import { Supervised } from './supervised.js';

export interface ArenaOptions {
  readonly seed: number;
  readonly clients: number;
  /** The longest pause of a client between two events. */
  readonly pauseMs: number;
  /** How long Postgres may take in the end to get what has piled up. */
  readonly drainMs: number;
}

/** What the test kills, freezes and starts again: two API processes, two workers, a Redis and a Postgres, all of them its own. */
export interface Arena {
  readonly redis: OwnRedis;
  readonly postgres: OwnPostgres;
  readonly apis: readonly [Supervised, Supervised];
  readonly workers: readonly [Supervised, Supervised];
  readonly addresses: readonly [string, string];
  readonly stage: Stage;
  readonly traffic: SteadyTraffic;
  /** For reads between rounds. */
  readonly client: Client;
  /** Every Laurel process. */
  readonly services: readonly Supervised[];
  stop(): Promise<void>;
}

/** Part of the requests that are sent again after they have been acknowledged. */
const replayChance = 0.03;
/** Longer than any freeze, so that a client gives up only on an answer that does not come. */
const responseMs = 30_000;

/** Starts everything, and waits until it is ready to be loaded. What has been started is stopped again when a later step fails. */
export async function openArena(options: ArenaOptions): Promise<Arena> {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return await build(options, undo, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(options: ArenaOptions, undo: (() => unknown)[], close: () => Promise<void>): Promise<Arena> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-chaos-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const redis = await OwnRedis.start();
  undo.push(() => redis.stop());
  const postgres = await OwnPostgres.start();
  undo.push(() => postgres.stop());
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify(richConfig));
  const env = { CONFIG: config };
  const stage = await setStage({ env, redisUrl: redis.url, databaseUrl: postgres.url, drainMs: options.drainMs });
  undo.push(() => stage.stop());
  const start = (name: string, args: readonly string[], more: Readonly<Record<string, string>>, ready: RegExp): Supervised => {
    const service = new Supervised(name, args, { ...stage.env, ...more }, ready);
    undo.push(() => service.stop());
    service.start();
    return service;
  };
  // Ports of their own, so that a client finds a process again after it was killed.
  const ports = [await getPort({ host: '127.0.0.1' }), await getPort({ host: '127.0.0.1' })] as const;
  const api = (no: 0 | 1): Supervised =>
    start(`API ${no + 1}`, ['serve', '--api-only'], { PORT: String(ports[no]) }, /^Laurel is ready at/m);
  const worker = (no: 0 | 1): Supervised => start(`worker ${no + 1}`, ['worker'], {}, /^The Laurel worker is running/m);
  const apis = [api(0), api(1)] as const;
  const workers = [worker(0), worker(1)] as const;
  const services = [...apis, ...workers];
  await Promise.all(services.map((service) => service.whenUp()));
  await prepare(stage.pool);
  const addresses = [`http://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`] as const;
  const client = new Client(adminKey, 8);
  undo.push(() => client.close());
  const traffic = new SteadyTraffic({
    seed: options.seed,
    clients: options.clients,
    pauseMs: options.pauseMs,
    replayChance,
    timeoutMs: responseMs,
    // A client that gets no answer, or a 503, may be sent to either the next time.
    address: chooser(addresses),
  });
  undo.push(() => traffic.close());
  return { redis, postgres, apis, workers, addresses, stage, traffic, client, services, stop: close };
}

function chooser(addresses: readonly [string, string]): () => string {
  let turn = 0;
  return () => addresses[(turn += 1) % 2 === 0 ? 0 : 1];
}
