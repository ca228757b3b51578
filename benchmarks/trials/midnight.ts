import type { Redis } from 'ioredis';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { defaultTenant } from '../../src/access/tenants.js';
import { Context } from '../../src/app/context.js';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { parseSettings } from '../../src/app/settings.js';
import { apiKey, startProcess } from '../servers/laurel.js';
import { load, type LoadResult } from '../load/load.js';
import { checkAfter, type Missed } from './midnight-check.js';
import { fillTenant, population, type Population } from './midnight-users.js';
import { Processes } from '../servers/children.js';
import { Watch } from './watch.js';

const tenant = defaultTenant;
const hourMs = 3_600_000;
/** At this moment it is Monday, 2 January 2040, in all of the zones, from its first minute to its last hour. */
const loadedAtMs = Date.parse('2040-01-02T12:00:00Z');
/** No user has missed a day yet; an hour later, those furthest east have. */
const beforeMs = Date.parse('2040-01-03T12:00:00Z');
const configFile = fileURLToPath(new URL('midnight.yaml', import.meta.url));
const pollMs = 20;
/** How long the write-behind may take to commit what a phase has left. */
const drainMs = 30 * 60_000;

export interface MidnightOptions {
  readonly users: number;
  /** Events a second that are sent while users are settled. */
  readonly rate: number;
  readonly connections: number;
  /** Length of the measurement without anything due. */
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/** What all phases of a run work with. */
interface Run {
  readonly options: MidnightOptions;
  readonly context: Context;
  readonly watch: Watch;
  readonly url: string;
  readonly users: Population;
  /** Start of the tenant's keys. */
  readonly partition: string;
}

/** What happened while events were sent and users became due. */
interface Phase {
  readonly events: LoadResult;
  readonly seconds: number;
}

const ms = (value: number): string => value.toFixed(1).padStart(8);
const whole = (value: number): string => Math.round(value).toLocaleString('en');

/**
 * A tenant full of users whose streaks are due at midnight in 24 zones. Returns whether all users were settled correctly and every event
 * answered.
 */
export async function midnight(options: MidnightOptions): Promise<boolean> {
  const undo: (() => unknown)[] = [];
  try {
    const dataDir = await mkdtemp(join(tmpdir(), 'laurel-bench-'));
    undo.push(() => rm(dataDir, { recursive: true, force: true }));
    // Under root, Laurel's Postgres runs as another user, which must be able to enter this folder.
    await chmod(dataDir, 0o755);
    const settings = parseSettings({ DATA_DIR: dataDir, TEST_CLOCK: '1', CONFIG: configFile });
    const context = await Context.start({ settings, log: pino({ level: 'warn' }), print: options.print });
    undo.push(() => context.stop());
    const processes = new Processes();
    undo.push(() => processes.stop());
    const server = await startProcess({ dataDir, env: { TEST_CLOCK: '1', CONFIG: configFile } }, processes, options.signal);
    const partition = partitionPrefix(settings.redisPrefix, tenant);
    const watch = await Watch.start((await context.connectAgain('Redis connection of the benchmark')) as Redis, partition);
    undo.push(() => watch.stop());
    const passed = await measure({ options, context, watch, url: server.readyText, users: population(options.users), partition });
    if (!passed) options.print(`The last output of Laurel:\n${server.output()}`);
    return passed;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function measure(run: Run): Promise<boolean> {
  const { options, context, watch } = run;
  const { print } = options;
  await context.clock.set(tenant, loadedAtMs);
  const empty = await watch.memoryBytes();
  const startedAt = performance.now();
  await fillTenant(context, run.users, { config: configFile, watch, print, signal: options.signal });
  const loadedS = (performance.now() - startedAt) / 1_000;
  const loadLag = watch.longestLedger;
  // A change of what time does to users is worked out for all of them, in the background.
  while (await isEntering(context)) await wait(pollMs, options.signal);
  await drained(run);
  print(
    `${whole(options.users)} users in ${loadedS.toFixed(0)} s, ${whole(options.users / loadedS)} events/s; the ledger held ${whole(loadLag)} at most.`,
  );
  const bytes = (await watch.memoryBytes()) - empty;
  print(`Redis memory: ${whole(bytes / options.users)} bytes a user.`);

  await context.clock.set(tenant, beforeMs);
  const calm = await phase(run, 'no user due', async (signal) => {
    await wait(options.seconds * 1_000, signal);
  });
  const hours = Array.from({ length: 24 }, (_, hour) => beforeMs + (hour + 1) * hourMs);
  const midnights = await phase(run, '24 midnights, one after the other', async (signal) => {
    for (const hour of hours) await settledAt(run, hour, signal);
  });
  const afterFirst = await check(run, 'first');
  // As if the service had been away: all users with a streak left miss the second day at once.
  const late = await phase(run, '24 midnights at once', (signal) => settledAt(run, beforeMs + 48 * hourMs, signal));
  const afterSecond = await check(run, 'second');
  for (const [name, busy] of [
    ['one after the other', midnights],
    ['at once', late],
  ] as const) {
    print(
      `Events, midnights ${name} / no user due: p50 ×${(busy.events.p50Ms / calm.events.p50Ms).toFixed(1)}, p99 ×${(busy.events.p99Ms / calm.events.p99Ms).toFixed(1)}`,
    );
  }
  const failed = [calm, midnights, late].reduce((sum, { events }) => sum + events.failed, 0);
  print(`Events without a 2xx: ${failed}`);
  return failed === 0 && afterFirst && afterSecond;
}

/** Sends events while something is done, and prints what both were like. */
async function phase(run: Run, name: string, work: (signal: AbortSignal) => Promise<void>): Promise<Phase> {
  const { options, watch } = run;
  const { print } = options;
  await watch.begin();
  const ended = new AbortController();
  const sending = load({
    url: run.url,
    apiKey,
    connections: options.connections,
    rate: options.rate,
    seconds: 24 * 3_600,
    next: run.users.nextEvent,
    signal: options.signal,
    end: ended.signal,
  });
  const startedAt = performance.now();
  try {
    await work(options.signal);
  } finally {
    ended.abort();
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const events = await sending;
  const sweeps = await watch.sweeps();
  const ledger = watch.longestLedger;
  print(`\n${name}: ${seconds.toFixed(1)} s`);
  print(
    `  events: ${events.ratePerS.toFixed(0)}/s, p50 ${ms(events.p50Ms)} ms, p99 ${ms(events.p99Ms)} ms, max ${ms(events.maxMs)} ms, ${events.failed} failed`,
  );
  if (watch.settled > 0) {
    print(
      `  sweep: ${whole(watch.settled)} users settled, ${whole(watch.settled / watch.busyS)} a second while there were any, ${whole(sweeps.calls)} calls, ${(watch.settled / sweeps.calls).toFixed(1)} users a call`,
    );
    print(
      `  calls of the sweep inside Redis: median ${whole(sweeps.medianUs)} µs, p99 ${whole(sweeps.p99Us)} µs, longest ${whole(sweeps.longestUs)} µs; the longest backlog took ${watch.longestBacklogS.toFixed(1)} s`,
    );
  }
  const drainedS = await drained(run);
  print(`  ledger: ${whole(ledger)} entries at most; committed ${drainedS.toFixed(1)} s after the end`);
  return { events, seconds };
}

/** Moves the clock in real time, and leaves due users to the worker's sweep. Returns when no user is due. */
async function settledAt(run: Run, moment: number, signal: AbortSignal): Promise<void> {
  const { context, watch } = run;
  const due = await context.redis.zcount(run.partition + keyNames.due, '-inf', moment);
  await context.clock.set(tenant, moment);
  const startedAt = performance.now();
  while ((await context.redis.zcount(run.partition + keyNames.due, '-inf', moment)) > 0) await wait(pollMs, signal);
  watch.note(due, (performance.now() - startedAt) / 1_000);
}

async function check(run: Run, missed: Missed): Promise<boolean> {
  const problems = await checkAfter(run.context, run.users, { url: run.url, apiKey, missed });
  run.options.print(
    problems.length === 0 ? '  all users are settled, and the sample follows the rules' : `  WRONG:\n    ${problems.join('\n    ')}`,
  );
  return problems.length === 0;
}

/** Whether the worker is still at what the last configuration has changed. */
async function isEntering(context: Context): Promise<boolean> {
  const { rows } = await context.pool.query('select from activations where tenant = $1 and completed is null', [tenant]);
  return rows.length > 0;
}

/** Waits until the write-behind has committed everything; returns how long that took. */
async function drained({ context, partition, options }: Run): Promise<number> {
  const startedAt = performance.now();
  while ((await context.redis.xlen(partition + keyNames.ledger)) > 1) {
    if (performance.now() - startedAt > drainMs) throw new Error(`The write-behind did not drain within ${drainMs / 60_000} minutes.`);
    await wait(pollMs, options.signal);
  }
  return (performance.now() - startedAt) / 1_000;
}

const wait = (delayMs: number, signal: AbortSignal): Promise<void> => delay(delayMs, undefined, { signal });
