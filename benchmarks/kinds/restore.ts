import { join } from 'node:path';
import { fill } from '../load/fill.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import { redisCpuS, serverCpuS } from '../servers/cpu.js';
import { runLaurel } from '../servers/laurel.js';
import { inNewRedis } from '../servers/new-redis.js';
import { withStacks, type Stack } from '../servers/stack.js';
import { copyPlainly } from './plain-copy.js';

/** Commands in one pipeline of the floor: about as many as a chunk of the restore makes. */
const commandsPerPipeline = 600;
const name = 'all users';

type Names = 'users' | 'events' | 'rounds';

/** Sends the events of all users, and stops when all are in Postgres. */
async function fillPostgres(bench: Bench<Names>, stack: Stack): Promise<void> {
  const { readyText: url } = await stack.serve();
  const users = bench.option('users');
  await fill(stack, { url, events: users * bench.option('events'), sequence: { users, isInTurn: true }, signal: bench.signal });
  await stack.processes.stop();
}

/** Seconds of one `laurel restore`. Throws with its output when it fails. */
async function restoreS({ root, folder }: Stack): Promise<number> {
  const startedMs = performance.now();
  const { code, output } = await runLaurel({ dataDir: folder, program: join(root, 'bin', 'laurel.mjs') }, ['restore']);
  if (code !== 0) throw new Error(`laurel restore failed:\n${output}`);
  return (performance.now() - startedMs) / 1_000;
}

/** Hashes of users and of idempotency keys. */
async function countHashes({ redis }: Stack): Promise<number> {
  let count = 0;
  for await (const keys of redis.scanStream({ type: 'hash', count: 1_000 })) count += (keys as string[]).length;
  return count;
}

/** Restores an empty Redis by the command, without the time that the command takes when there is nothing to restore. */
async function measure(stack: Stack, users: number): Promise<Figures> {
  const hashes = await countHashes(stack);
  const idleS = await restoreS(stack);
  await stack.redis.flushall();
  const [redisS, postgresS] = [await redisCpuS(stack.redis), serverCpuS(stack.postgresPid)];
  const seconds = (await restoreS(stack)) - idleS;
  const perUser = (before: number, after: number): number => ((after - before) * 1e6) / users;
  const figures = {
    usersPerS: users / seconds,
    redisCpuUs: perUser(redisS, await redisCpuS(stack.redis)),
    postgresCpuUs: perUser(postgresS, serverCpuS(stack.postgresPid)),
  };
  const restored = await countHashes(stack);
  if (restored !== hashes) throw new Error(`Redis had ${hashes} hashes before it was emptied, and has ${restored} after the restore.`);
  return figures;
}

/** Writes what Redis holds to another one with plain pipelined commands. */
function floorStand(bench: Bench<Names>, { redis }: Stack): Stand<Figures> {
  const users = bench.option('users');
  return {
    ...{ case: name, side: 'floor' },
    measure: () =>
      inNewRedis(async (to) => {
        const { seconds, redisS } = await copyPlainly({ from: redis, to, commandsPerPipeline, signal: bench.signal });
        return { usersPerS: users / seconds, redisCpuUs: (redisS * 1e6) / users };
      }),
  };
}

export const restore = defineKind({
  name: 'restore',
  summary: 'users a second of `laurel restore`, in turn with writing the same keys by plain pipelined commands',
  options: {
    users: { text: 'how many users', value: 10_000, tiny: 100 },
    events: { text: 'events of each of them', value: 10, tiny: 10 },
    rounds: { text: 'rounds that count', value: 3, tiny: 1 },
  },
  figures: [
    { key: 'usersPerS', title: 'users', unit: '1/s', decimals: 0 },
    { key: 'redisCpuUs', title: 'CPU of Redis', unit: 'µs a user', decimals: 1 },
    { key: 'postgresCpuUs', title: 'CPU of Postgres', unit: 'µs a user', decimals: 1 },
  ],
  targets: [],
  run: (bench) =>
    withStacks(bench, async (stacks) => {
      const stands: Stand<Figures>[] = [];
      for (const stack of stacks) {
        bench.print(`${stack.side}: filling Postgres …`);
        await fillPostgres(bench, stack);
        stands.push({ case: name, side: stack.side, measure: () => measure(stack, bench.option('users')) });
      }
      const [first] = stacks;
      if (first) stands.push(floorStand(bench, first));
      await bench.rounds(stands, { rounds: bench.option('rounds') });
    }),
});
