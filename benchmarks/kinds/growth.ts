import type { Redis } from 'ioredis';
import { workloadConfig } from '../load/workload.js';
import { statsOf } from '../measure/command-stats.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import { redisCpuS } from '../servers/cpu.js';
import { inNewRedises, type NewRedis } from '../servers/new-redis.js';
import { withSides, type Side } from '../sides/sides.js';

const sizes = [1_000, 10_000, 100_000, 1_000_000] as const;
const boardCounts = [1, 3, 10, 30] as const;
/** What the other sweep is measured with. */
const usualBoards = 3;
const usualUsers = 10_000;
const filledAtOnce = 100;
/** Events between two trims of the ledger while users are made. */
const filledEvents = 5_000;
const measuredAtOnce = 10;

type Names = 'rounds' | 'events' | 'users' | 'boards';

/** A number of users and of leaderboards. */
interface Size {
  readonly users: number;
  readonly boards: number;
}

const caseOf = ({ users, boards }: Size): string =>
  `${users.toLocaleString('en')} users, ${boards} ${boards === 1 ? 'leaderboard' : 'leaderboards'}`;

/** The sizes of a run: those of users with the usual leaderboards, and those of leaderboards with the usual users. */
function sizesOf(bench: Bench<Names>): Size[] {
  const users = sizes.filter((size) => size <= bench.option('users'));
  const boards = boardCounts.filter((count) => count <= bench.option('boards') && count !== usualBoards);
  const usual = Math.min(usualUsers, Math.max(...users));
  return [...users.map((size) => ({ users: size, boards: usualBoards })), ...boards.map((count) => ({ users: usual, boards: count }))];
}

/** The configuration of the wide workload with a number of leaderboards: of a metric, of points, and of a metric in weekly runs, in turn. */
function configOf(boards: number): object {
  const kinds = workloadConfig.leaderboards;
  const leaderboards = Array.from({ length: boards }, (_, i) => ({ ...kinds[i % kinds.length], key: `board-${i}`, name: `Board ${i}` }));
  return { ...workloadConfig, leaderboards };
}

/** Makes the users of a size by an event each, and measures events of users who are drawn from all of them. */
async function standOf(bench: Bench<Names>, side: Side, { redis, redisUrl }: NewRedis, size: Size): Promise<Stand<Figures>> {
  // What is written to the disk is no part of the function, and a million users would write gigabytes.
  await redis.config('SET', 'appendonly', 'no');
  const sequence = { userCount: size.users };
  const { opened, ledger } = await side.ask('open', { redisUrl, sequence, config: configOf(size.boards) });
  const send = async (events: number, atOnce: number): Promise<void> => {
    await side.ask('send', { opened, events, atOnce });
    await redis.xtrim(ledger, 'MAXLEN', 1);
  };
  for (let left = size.users; left > 0; left -= filledEvents) await send(Math.min(left, filledEvents), filledAtOnce);
  const measure = (): Promise<Figures> => costOf(redis, bench.option('events'), (events) => send(events, measuredAtOnce));
  return { case: caseOf(size), side: side.name, measure };
}

async function costOf(redis: Redis, events: number, send: (events: number) => Promise<void>): Promise<Figures> {
  const cpuS = await redisCpuS(redis, 'main');
  const stats = await statsOf(redis, () => send(events));
  const cpuUs = (((await redisCpuS(redis, 'main')) - cpuS) * 1e6) / events;
  return { functionUs: (stats.get('fcall')?.us ?? NaN) / events, cpuUs };
}

export const growth = defineKind({
  name: 'growth',
  summary: 'µs an event inside Redis as users and leaderboards become more, all sizes in turn',
  options: {
    rounds: { text: 'rounds of each size that count', value: 20, tiny: 1 },
    events: { text: 'events of a round', value: 200, tiny: 20 },
    users: { text: 'the most users: sizes above it are left out', value: 1_000_000, tiny: 1_000 },
    boards: { text: 'the most leaderboards: numbers above it are left out', value: 30, tiny: 10 },
  },
  figures: [
    { key: 'functionUs', title: 'time in the function', unit: 'µs an event', decimals: 1 },
    { key: 'cpuUs', title: "CPU of Redis' main thread", unit: 'µs an event', decimals: 1 },
  ],
  targets: [
    {
      ...{ title: 'time in the function at 1,000,000 ÷ 10,000 users, three leaderboards', unit: '', atMost: 1.35 },
      of: (all) => {
        const at = (users: number): number => all.median(caseOf({ users, boards: usualBoards }), 'functionUs') ?? NaN;
        return at(1_000_000) / at(10_000);
      },
    },
  ],
  run: (bench) =>
    withSides(bench, async (sides) => {
      const parts = sizesOf(bench).flatMap((size) => sides.map((side) => ({ size, side })));
      await inNewRedises(parts.length, async (stores) => {
        const stands: Stand<Figures>[] = [];
        for (const [no, { size, side }] of parts.entries()) {
          const store = stores[no];
          if (!store) continue;
          bench.signal.throwIfAborted();
          bench.print(`${side.name}: making ${caseOf(size)} …`);
          stands.push(await standOf(bench, side, store, size));
        }
        await bench.rounds(stands, { rounds: bench.option('rounds'), warmUps: 1 });
      });
    }),
});
