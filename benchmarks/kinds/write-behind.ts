import { inPostgres, type BenchPostgres } from '../servers/new-postgres.js';
import { inNewRedises, type NewRedis } from '../servers/new-redis.js';
import { serverCpuS } from '../servers/cpu.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import type { SideKeys } from '../sides/side-work.js';
import { withSides, type Side } from '../sides/sides.js';
import { sideRoots } from '../sides/roots.js';

const fillAtOnce = 100;
const roundDatabase = 'round';
/** In front of the keys that are kept as they were when the ledger was full. */
const kept = 'kept:';
const name = 'draining a full ledger';

type Names = 'starts' | 'rounds' | 'events' | 'users';

/** A full ledger of one side. */
interface Ledger extends NewRedis {
  readonly keys: SideKeys;
  readonly entries: number;
  /** The database that the ledger goes with, in which nothing is committed yet. */
  readonly template: string;
}

/** Fills a ledger by the side's own function library, and keeps the ledger and its database as they are then. */
async function fill(bench: Bench<Names>, side: Side, store: NewRedis, server: BenchPostgres): Promise<Ledger> {
  const { redis, redisUrl } = store;
  const template = `${side.name}_full`;
  await server.administer(`create database ${template}`);
  const sequence = { userCount: bench.option('users') };
  const keys = await side.ask('open', { redisUrl, databaseUrl: server.url(template), sequence });
  for (let left = bench.option('events'); left > 0; left -= fillAtOnce) {
    await side.ask('send', { opened: keys.opened, events: Math.min(left, fillAtOnce), atOnce: fillAtOnce });
  }
  for (const key of [keys.ledger, keys.meta]) await redis.copy(key, kept + key);
  return { ...store, keys, entries: await redis.xlen(keys.ledger), template };
}

/** Puts back what the ledger was when it was full. */
async function refill({ redis, keys }: Ledger): Promise<void> {
  for (const key of [keys.ledger, keys.meta]) await redis.copy(kept + key, key, 'REPLACE');
}

/** A process of the side that has just been started, and its ledger. */
async function standOf(side: Side, ledger: Ledger, server: BenchPostgres): Promise<Stand<Figures>> {
  await refill(ledger);
  const { opened } = await side.ask('open', { redisUrl: ledger.redisUrl, databaseUrl: server.url(ledger.template), sequence: {} });
  return { case: name, side: side.name, measure: () => drain(side, opened, ledger, server) };
}

/** Drains a full ledger into a database of its own. */
async function drain(side: Side, opened: number, ledger: Ledger, server: BenchPostgres): Promise<Figures> {
  const databaseUrl = server.url(roundDatabase);
  await server.administer(`create database ${roundDatabase} template ${ledger.template}`);
  await refill(ledger);
  // What earlier rounds have left for the disk is no part of this one.
  await server.administer('checkpoint');
  const postgresS = serverCpuS(server.pid);
  const { entries, seconds, cpuS } = await side.ask('drain', { opened, databaseUrl, entries: ledger.entries });
  const postgresCpuS = serverCpuS(server.pid) - postgresS;
  const events = await server.count(roundDatabase, 'events');
  if (events !== ledger.entries) throw new Error(`Postgres has ${events} events of a ledger of ${ledger.entries} entries.`);
  await server.administer(`drop database ${roundDatabase} with (force)`);
  return { entriesPerS: entries / seconds, postgresCpuUs: (postgresCpuS * 1e6) / entries, cpuUs: (cpuS * 1e6) / entries };
}

async function fillAll(bench: Bench<Names>, stores: readonly NewRedis[], server: BenchPostgres): Promise<Ledger[]> {
  return withSides(bench, async (sides) => {
    const ledgers: Ledger[] = [];
    for (const [no, side] of sides.entries()) {
      const store = stores[no];
      if (store) ledgers.push(await fill(bench, side, store, server));
    }
    return ledgers;
  });
}

export const writeBehind = defineKind({
  name: 'write-behind',
  summary: 'entries a second, and CPU of Postgres and of the write-behind, of a write-behind that drains a full ledger',
  options: {
    starts: { text: 'how many times the process of each side is started', value: 2, tiny: 1 },
    rounds: { text: 'rounds of each side that count, after each start', value: 3, tiny: 1 },
    events: { text: 'events of the ledger', value: 40_000, tiny: 1_000 },
    users: { text: 'users that have sent them', value: 4_000, tiny: 100 },
  },
  figures: [
    { key: 'entriesPerS', title: 'entries', unit: '1/s', decimals: 0 },
    { key: 'cpuUs', title: 'CPU of the write-behind', unit: 'µs an event', decimals: 1 },
    { key: 'postgresCpuUs', title: 'CPU of Postgres', unit: 'µs an event', decimals: 1 },
  ],
  targets: [],
  run: (bench) =>
    inPostgres((server) =>
      inNewRedises(sideRoots(bench.against).length, async (stores) => {
        const ledgers = await fillAll(bench, stores, server);
        for (let start = 0; start < bench.option('starts'); start += 1) {
          // How the compiler of Node has optimised the code differs between two processes and stays the same for as long as they run.
          await withSides(bench, async (sides) => {
            const stands: Stand<Figures>[] = [];
            for (const [no, side] of sides.entries()) {
              const ledger = ledgers[no];
              if (ledger) stands.push(await standOf(side, ledger, server));
            }
            await bench.rounds(stands, { rounds: bench.option('rounds'), warmUps: 1 });
          });
        }
      }),
    ),
});
