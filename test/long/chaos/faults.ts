/** What is done to Laurel and its stores while events come in. Each leaves everything running again. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { OwnRedis } from '../../support/own-redis.js';
import { fromSources, LaurelProcess } from '../../support/process.js';
import type { Random } from '../../support/random.js';
import { until } from '../../support/stage.js';
import type { Arena } from './arena.js';
import type { Supervised } from './supervised.js';

/** What a fault happens to: two faults at once never happen to the same. `all` is for those that need everything else to be well. */
type Victim = 'api' | 'worker' | 'redis' | 'postgres' | 'all';

export interface Scene {
  readonly arena: Arena;
  readonly random: Random;
  /** Copies of Redis' append-only file, of this round and of earlier ones. */
  readonly copies: string[];
  /** How long a frozen process stays frozen, and a stopped store stopped, at the most. */
  readonly maxPauseMs: number;
  readonly drainMs: number;
}

export interface ChaosFault {
  readonly name: string;
  readonly victim: Victim;
  readonly run: (scene: Scene) => Promise<void>;
}

/** Events between a copy of Redis' file and the moment at which Redis gets it back, at least. */
const eventsAfterCopy = 50;
const keptCopies = 3;

const pause = ({ random, maxPauseMs }: Scene): Promise<void> => delay(100 + random.below(maxPauseMs));

async function kill(service: Supervised): Promise<void> {
  await service.kill();
  await service.whenUp();
}

/** The supervisor replaces one of its processes, or dies and leaves its processes to themselves. */
async function killPart({ random, drainMs }: Scene, service: Supervised): Promise<void> {
  if (random.chance(0.5)) {
    await service.killOne(drainMs);
    return;
  }
  await service.killSupervisor();
  await service.whenUp();
}

async function freeze(scene: Scene, one: { freeze(): Promise<void> | void; thaw(): Promise<void> | void }): Promise<void> {
  await one.freeze();
  await pause(scene);
  await one.thaw();
}

async function both(services: readonly Supervised[], act: (service: Supervised) => Promise<void>): Promise<void> {
  await Promise.all(services.map(act));
}

/** `kill -9` of a process of Postgres that works for one of our connections. Postgres then ends all others, and recovers. */
async function killBackend({ arena, random, drainMs }: Scene): Promise<void> {
  const { pool } = arena.stage;
  const witness = await pool.connect();
  const broken = once(witness, 'error', { signal: AbortSignal.timeout(drainMs) });
  let isKilled = false;
  while (!isKilled) {
    const { rows } = await witness.query<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()`,
    );
    const pid = rows[random.below(rows.length)]?.pid;
    isKilled = pid !== undefined && arena.postgres.killChild(pid);
  }
  await broken;
  witness.release(true);
  await until('Postgres to have recovered', isAnswering(pool), drainMs);
}

const isAnswering = (pool: pg.Pool) => (): Promise<boolean> =>
  pool.query('select 1').then(
    () => true,
    () => false,
  );

/**
 * Redis comes back with an older append-only file, or with none. What Postgres did not have by then would be lost, as docs/running.md says,
 * so the load rests and the write-behind drains before: nothing acknowledged may be missing afterwards. A worker restores it by itself.
 */
async function rewind({ arena, copies, drainMs, random }: Scene, isEmpty: boolean): Promise<void> {
  const { redis, traffic, stage } = arena;
  copies.push(await redis.copy());
  if (copies.length > keptCopies) copies.splice(0, 1);
  const enough = traffic.tally.answers + eventsAfterCopy;
  await traffic.during('events after the copy', () => traffic.tally.answers >= enough, drainMs);
  await traffic.hold(drainMs);
  await stage.drain();
  await redis.kill();
  await redis.putBack(isEmpty ? undefined : copies[random.below(copies.length)]);
  await redis.startAgain();
  traffic.resume();
  const before = traffic.tally.answers;
  // Until Redis is in sync again, every request is refused.
  await traffic.during('events after Redis has come back', () => traffic.tally.answers > before, drainMs);
}

/**
 * Postgres is away for a time: if nothing else is, events are still accepted. Redis may have been restarted just before, and no event is acknowledged
 * until it has been compared with Postgres.
 */
export async function stopPostgres({ arena, drainMs }: Scene, ms: number): Promise<void> {
  const { postgres, traffic } = arena;
  const answered = traffic.tally.answers;
  await traffic.during('events before Postgres is stopped', () => traffic.tally.answers > answered, drainMs);
  await postgres.shutDown();
  for (let third = 0; third < 3; third += 1) {
    const before = traffic.tally.answers;
    await delay(ms / 3);
    if (traffic.tally.answers === before) throw new Error(`no event was acknowledged for ${ms / 3} ms while Postgres was away`);
  }
  await postgres.startAgain();
}

/**
 * Starts a process that does not belong here beside the service, which continues to accept events: it must exit on its own, with a sentence that names the
 * Redis of the service.
 */
async function intrude({ arena, drainMs }: Scene, args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  const { stage, traffic } = arena;
  const before = traffic.tally.answers;
  const intruder = new LaurelProcess(fromSources(), args, { ...stage.env, PORT: '0', ...env });
  const { code } = await intruder.exit;
  if (code !== 1 || !/^The data of this Postgres is in use on another Redis: /m.test(intruder.log)) {
    throw new Error(`a process on another Redis was not refused (${code}):\n${intruder.output}${intruder.log}`);
  }
  await traffic.during('events beside the intruder', () => traffic.tally.answers > before, drainMs);
}

/** A Redis beside that of the service: empty, or with a copy of its data. */
async function withOtherRedis(copy: string | undefined, use: (url: string) => Promise<void>): Promise<void> {
  const other = await OwnRedis.start();
  try {
    if (copy !== undefined) {
      await other.kill();
      await other.putBack(copy);
      await other.startAgain();
    }
    await use(other.url);
  } finally {
    await other.stop();
  }
}

let prefixes = 0;

/**
 * Every process is replaced, one after the other, by one with another REDIS_PREFIX. The new ones are refused until the last old one has drained and
 * stopped; then the data moves.
 */
async function changePrefix({ arena, drainMs }: Scene): Promise<void> {
  const { services, stage, traffic } = arena;
  const prefix = `${stage.env['REDIS_PREFIX']?.replace(/-\d+$/, '')}-${(prefixes += 1)}`;
  for (const service of services.toReversed()) await service.replace({ REDIS_PREFIX: prefix });
  stage.moveTo(prefix);
  let isUp = false;
  void Promise.all(services.map((service) => service.whenUp())).then(() => (isUp = true));
  await traffic.during('every process to be up under the new prefix', () => isUp, drainMs);
  const before = traffic.tally.answers;
  await traffic.during('events under the new prefix', () => traffic.tally.answers > before, drainMs);
}

const oneOf = (services: readonly [Supervised, Supervised], { random }: Scene): Supervised => random.pick(services);

export const chaosFaults: readonly ChaosFault[] = [
  { name: 'kill an API process', victim: 'api', run: (scene) => kill(oneOf(scene.arena.apis, scene)) },
  {
    name: 'kill both API processes',
    victim: 'api',
    run: ({ arena }) => both(arena.apis, kill),
  },
  { name: 'kill an API process or its supervisor', victim: 'api', run: (scene) => killPart(scene, oneOf(scene.arena.apis, scene)) },
  { name: 'freeze an API process', victim: 'api', run: (scene) => freeze(scene, oneOf(scene.arena.apis, scene)) },
  { name: 'kill a worker', victim: 'worker', run: (scene) => kill(oneOf(scene.arena.workers, scene)) },
  {
    name: 'kill both workers',
    victim: 'worker',
    run: ({ arena }) => both(arena.workers, kill),
  },
  { name: 'kill a worker or its supervisor', victim: 'worker', run: (scene) => killPart(scene, oneOf(scene.arena.workers, scene)) },
  { name: 'freeze a worker', victim: 'worker', run: (scene) => freeze(scene, oneOf(scene.arena.workers, scene)) },
  {
    name: 'freeze both workers',
    victim: 'worker',
    run: (scene) => both(scene.arena.workers, (worker) => freeze(scene, worker)),
  },
  {
    name: 'kill Redis',
    victim: 'redis',
    run: async (scene) => {
      await scene.arena.redis.kill();
      if (scene.random.chance(0.5)) await pause(scene);
      await scene.arena.redis.startAgain();
    },
  },
  { name: 'freeze Redis', victim: 'redis', run: (scene) => freeze(scene, scene.arena.redis) },
  {
    name: 'lose the function library',
    victim: 'redis',
    run: async ({ arena }) => {
      const redis = new Redis(arena.redis.url);
      await redis.call('FUNCTION', 'FLUSH');
      redis.disconnect();
    },
  },
  {
    name: 'kill Postgres',
    victim: 'postgres',
    run: async (scene) => {
      await scene.arena.postgres.kill();
      if (scene.random.chance(0.5)) await pause(scene);
      await scene.arena.postgres.startAgain();
    },
  },
  { name: 'kill a process of Postgres', victim: 'postgres', run: killBackend },
  { name: 'freeze Postgres', victim: 'postgres', run: (scene) => freeze(scene, scene.arena.postgres) },
  { name: 'stop Postgres', victim: 'all', run: (scene) => stopPostgres(scene, 3_000 + scene.random.below(scene.maxPauseMs)) },
  { name: 'Redis from an older file', victim: 'all', run: (scene) => rewind(scene, false) },
  {
    name: 'a process with an empty Redis of its own',
    victim: 'all',
    run: (scene) => withOtherRedis(undefined, (url) => intrude(scene, ['serve'], { REDIS_URL: url })),
  },
  { name: 'a process with another prefix', victim: 'all', run: (scene) => intrude(scene, ['serve'], { REDIS_PREFIX: 'intruder' }) },
  {
    name: "a staging worker with a copy of Redis and production's Postgres",
    victim: 'all',
    run: async (scene) => {
      const copy = await scene.arena.redis.copy();
      await withOtherRedis(copy, (url) => intrude(scene, ['worker'], { REDIS_URL: url }));
    },
  },
  { name: 'a rolling restart with another prefix', victim: 'all', run: changePrefix },
  { name: 'Redis without its file', victim: 'all', run: (scene) => rewind(scene, true) },
];
