import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '../src/local-stores/local-postgres.js';
import { findPostgresHome } from '../src/local-stores/postgres-home.js';
import { administratorUrl, onConnection } from '../src/local-stores/postgres-cluster.js';
import { inTurn, pairReport, type Measure } from './pairs.js';
import { serverCpuS } from './server-cpu.js';
import type { Drained, SideKeys } from './side-work.js';
import { countSides, onNewRedises, standsOf, withSides, type AgainstOptions, type Side, type SideStore, type Stand } from './sides.js';

const fillAtOnce = 100;
/** Copying a database takes as long as its disk does. */
const statementMs = 120_000;
const roundDatabase = 'round';
/** In front of the keys that are kept as they were when the ledger was full. */
const kept = 'kept:';

export interface WriteBehindBenchOptions extends AgainstOptions {
  readonly starts: number;
  readonly rounds: number;
  readonly events: number;
  readonly users: number;
}

/** The Postgres of all rounds. */
interface Server {
  readonly pid: number;
  /** The address of a database, for the superuser. */
  readonly url: (database: string) => string;
  readonly administer: (sql: string) => Promise<void>;
}

/** A full ledger of one side. */
interface Ledger extends SideStore {
  readonly keys: SideKeys;
  readonly entries: number;
  /** The database that the ledger goes with, in which nothing is committed yet. */
  readonly template: string;
}

interface Round extends Drained {
  /** Of all processes of Postgres. */
  readonly postgresCpuS: number;
}

const usPerEntry = (seconds: number, { entries }: Round): number => (seconds * 1e6) / entries;

const measures: readonly Measure<Round>[] = [
  { title: 'entries/s', decimals: 0, of: ({ entries, seconds }) => entries / seconds },
  { title: 'CPU of Postgres, µs an event', decimals: 1, of: (round) => usPerEntry(round.postgresCpuS, round) },
  { title: 'CPU of the write-behind, µs an event', decimals: 1, of: (round) => usPerEntry(round.cpuS, round) },
];

/** Measures how a write-behind that has nothing beside it drains a ledger, alone or in turn with that of another checkout. */
export async function measureWriteBehind(options: WriteBehindBenchOptions): Promise<void> {
  const { starts, rounds, events, users, print } = options;
  const counted: Round[][] = [];
  await withPostgres((server) =>
    onNewRedises(countSides(options), async (stores) => {
      const ledgers = await withSides(options, (sides) => fillAll(standsOf(sides, stores), server, options));
      for (let start = 0; start < starts; start += 1) {
        // How the compiler of Node has optimised the code differs between two processes and stays the same for as long as they run.
        const results = await withSides(options, (sides) => drainAll(sides, ledgers, server, rounds));
        for (const [no, [_warmUp, ...others]] of results.entries()) (counted[no] ??= []).push(...others);
      }
    }),
  );
  print(`Rounds: ${starts * rounds}, each of ${events} events of ${users} users:${pairReport(counted, measures)}`);
}

async function fillAll(stands: readonly Stand[], server: Server, options: WriteBehindBenchOptions): Promise<Ledger[]> {
  const ledgers: Ledger[] = [];
  for (const stand of stands) ledgers.push(await fill(stand, server, options));
  return ledgers;
}

/** Fills a ledger by the side's own function library, and keeps the ledger and its database as they are then. */
async function fill({ side, ...store }: Stand, server: Server, { events, users }: WriteBehindBenchOptions): Promise<Ledger> {
  const { redis, redisUrl } = store;
  const template = `${side.name}_full`;
  await server.administer(`create database ${template}`);
  const keys = await side.ask('open', { redisUrl, databaseUrl: server.url(template), sequence: { userCount: users } });
  for (let left = events; left > 0; left -= fillAtOnce) {
    await side.ask('send', { events: Math.min(left, fillAtOnce), atOnce: fillAtOnce });
  }
  for (const key of [keys.ledger, keys.meta]) await redis.copy(key, kept + key);
  return { ...store, keys, entries: await redis.xlen(keys.ledger), template };
}

/** Drains the ledgers in turn with processes that have just been started. The first round of each is a warm-up. */
async function drainAll(sides: readonly Side[], ledgers: readonly Ledger[], server: Server, rounds: number): Promise<Round[][]> {
  const stands = standsOf(sides, ledgers);
  for (const { side, ...ledger } of stands) {
    await refill(ledger);
    await side.ask('open', { redisUrl: ledger.redisUrl, databaseUrl: server.url(ledger.template), sequence: {} });
  }
  return inTurn(stands, rounds + 1, ({ side, ...ledger }) => drain(side, ledger, server));
}

/** Puts back what the ledger was when it was full. */
async function refill({ redis, keys }: Ledger): Promise<void> {
  for (const key of [keys.ledger, keys.meta]) await redis.copy(kept + key, key, 'REPLACE');
}

/** Drains a full ledger into a database of its own. */
async function drain(side: Side, ledger: Ledger, server: Server): Promise<Round> {
  await server.administer(`create database ${roundDatabase} template ${ledger.template}`);
  await refill(ledger);
  // What earlier rounds have left for the disk is no part of this one.
  await server.administer('checkpoint');
  const cpuS = serverCpuS(server.pid);
  const drained = await side.ask('drain', { databaseUrl: server.url(roundDatabase), entries: ledger.entries });
  const postgresCpuS = serverCpuS(server.pid) - cpuS;
  await expectEvents(server, ledger.entries);
  await server.administer(`drop database ${roundDatabase} with (force)`);
  return { ...drained, postgresCpuS };
}

/** Throws when the database of a round does not hold every event of the ledger. */
async function expectEvents(server: Server, entries: number): Promise<void> {
  const events = await onConnection(server.url(roundDatabase), statementMs, async (client) => {
    const { rows } = await client.query<{ events: string }>('select count(*) as events from events');
    return Number(rows[0]?.events);
  });
  if (events !== entries) throw new Error(`Postgres has ${events} events of a ledger of ${entries} entries.`);
}

async function withPostgres<T>(work: (server: Server) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
  const log = (): void => undefined;
  try {
    // Under root, Postgres runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    const store = await startLocalPostgres({ dataDir: folder, log });
    try {
      const admin = await administratorUrl(store.url, (await findPostgresHome(folder, log)).path);
      const url = (database: string): string => Object.assign(new URL(admin), { pathname: `/${database}` }).href;
      const administer = async (sql: string): Promise<void> => {
        await onConnection(admin, statementMs, (client) => client.query(sql));
      };
      return await work({ pid: store.pid, url, administer });
    } finally {
      await store.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
