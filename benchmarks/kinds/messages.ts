import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { defaultTenant } from '../../src/access/tenants.js';
import { Context } from '../../src/app/context.js';
import { parseSettings } from '../../src/app/settings.js';
import { activeEvents, fillDueUsers, reactivationDays, untilWritten } from '../load/due-users.js';
import { load, type LoadResult } from '../load/load.js';
import type { Figures } from '../measure/summary.js';
import type { Bench } from '../runner/bench.js';
import { defineKind } from '../runner/kind.js';
import type { RunningProcess } from '../servers/children.js';
import { redisCpuS, serverCpuS, serviceCpuS } from '../servers/cpu.js';
import { apiKey } from '../servers/laurel.js';
import { withOwnStack, type Stack } from '../servers/stack.js';

type Names = 'rounds' | 'users' | 'seconds' | 'rate' | 'connections';

const alone = 'events alone';
const during = 'events, all users due';
const dayMs = 86_400_000;
/** The day of the users' only event; their messages are due at 9 o'clock of each day after it. */
const filledAtMs = Date.parse('2040-01-02T12:00:00Z');
const dueAtMs = Date.parse('2040-01-02T09:00:00Z');
const pollMs = 20;

interface Run {
  readonly bench: Bench<Names>;
  readonly stack: Stack;
  readonly context: Context;
  readonly server: RunningProcess;
  /** Rounds in which messages were due, each a day after the one before. */
  days: number;
}

async function countMessages({ context }: Run, status: string): Promise<number> {
  const { rows } = await context.pool.query<{ count: number }>(
    `select count(*)::integer as count from deliveries where tenant = $1 and endpoint < 0 and ($2 = '' or status = $2)`,
    [defaultTenant, status],
  );
  return rows[0]?.count ?? 0;
}

/** Deletes what the last round has left, so that rounds start alike. */
async function clear({ context, bench }: Run): Promise<void> {
  await untilWritten(context, 1, bench.signal);
  await context.pool.query('truncate deliveries, outbox');
}

function send({ bench, server }: Run, name: string, end: AbortSignal): Promise<LoadResult> {
  const { signal } = bench;
  const options = { connections: bench.option('connections'), rate: bench.option('rate'), seconds: 3_600, next: activeEvents(name) };
  return load({ ...options, url: server.readyText, apiKey, signal, end });
}

/** Sends events while something is done. */
async function sendDuring<T>(run: Run, name: string, work: () => Promise<T>): Promise<{ readonly events: LoadResult; readonly done: T }> {
  const ended = new AbortController();
  const sending = send(run, name, ended.signal);
  try {
    const done = await work();
    ended.abort();
    const events = await sending;
    run.bench.fail(events.failed);
    return { events, done };
  } finally {
    ended.abort();
  }
}

const latencies = ({ p50Ms, p99Ms }: LoadResult): Figures => ({ p50Ms, p99Ms });

async function measureAlone(run: Run, round: number): Promise<Figures> {
  await clear(run);
  const { bench } = run;
  const { events } = await sendDuring(run, `alone-${round}`, () =>
    delay(bench.option('seconds') * 1_000, undefined, { signal: bench.signal }),
  );
  return latencies(events);
}

/** Waits until the messages of the users' zone are queued, and returns the seconds that it took. */
async function queued({ context, bench }: Run, at: number): Promise<number> {
  const startedMs = performance.now();
  const isDone = async (): Promise<boolean> => {
    const { rows } = await context.pool.query<{ done: boolean }>(
      `select done from notification_state where tenant = $1 and kind = 'emails.reactivation_due' and zone = '' and at = $2`,
      [defaultTenant, at],
    );
    return rows[0]?.done === true;
  };
  while (!(await isDone())) await delay(pollMs, undefined, { signal: bench.signal });
  return (performance.now() - startedMs) / 1_000;
}

/** Seconds of CPU time of what sends messages. */
async function cpuOf({ server, stack }: Run): Promise<{ readonly worker: number; readonly redis: number; readonly postgres: number }> {
  const { pid } = server.child;
  if (pid === undefined) throw new Error('A process without an id was measured.');
  const worker = serviceCpuS(pid).worker ?? 0;
  return { worker, redis: await redisCpuS(stack.redis), postgres: serverCpuS(stack.postgresPid) };
}

/** What sending costs while there are no events. */
async function measureSending(run: Run): Promise<Figures> {
  const { bench } = run;
  const [cpu, count, startedMs] = [await cpuOf(run), await countMessages(run, 'logged'), performance.now()];
  const all = await countMessages(run, '');
  let sent = count;
  while (sent < all && performance.now() - startedMs < bench.option('seconds') * 1_000) {
    await delay(pollMs * 10, undefined, { signal: bench.signal });
    sent = await countMessages(run, 'logged');
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const after = await cpuOf(run);
  const us = (part: 'worker' | 'redis' | 'postgres'): number => ((after[part] - cpu[part]) * 1e6) / (sent - count);
  // With few users, all were sent while they were queued.
  if (sent === count) return {};
  return { sentPerS: (sent - count) / seconds, workerCpuUs: us('worker'), redisCpuUs: us('redis'), postgresCpuUs: us('postgres') };
}

async function measureDue(run: Run, round: number): Promise<Figures> {
  await clear(run);
  const { bench, context } = run;
  run.days += 1;
  const at = dueAtMs + run.days * dayMs;
  const startedMs = performance.now();
  const { events, done } = await sendDuring(run, `due-${round}`, async () => {
    await context.clock.set(defaultTenant, at);
    const queuedS = await queued(run, at);
    await delay(Math.max(0, bench.option('seconds') * 1_000 - (performance.now() - startedMs)), undefined, { signal: bench.signal });
    return { queuedS, sent: await countMessages(run, 'logged'), seconds: (performance.now() - startedMs) / 1_000 };
  });
  const all = await countMessages(run, '');
  if (all !== bench.option('users')) throw new Error(`${all} messages were queued for ${bench.option('users')} users.`);
  return { ...latencies(events), queuedS: done.queuedS, sentDuringPerS: done.sent / done.seconds, ...(await measureSending(run)) };
}

async function measure(bench: Bench<Names>, stack: Stack): Promise<void> {
  const settings = parseSettings({ DATA_DIR: stack.folder, TEST_CLOCK: '1', MESSAGES: 'off' });
  const context = await Context.start({ settings, log: pino({ level: 'warn' }), print: bench.print });
  try {
    const server = await stack.serve({ env: { TEST_CLOCK: '1', MESSAGES: 'log', LOG_LEVEL: 'error' } });
    await context.clock.set(defaultTenant, filledAtMs);
    await fillDueUsers(context, { users: bench.option('users'), print: bench.print, signal: bench.signal });
    const run: Run = { bench, stack, context, server, days: 0 };
    const stands = [
      { case: alone, side: stack.side, measure: (round: number) => measureAlone(run, round) },
      { case: during, side: stack.side, measure: (round: number) => measureDue(run, round) },
    ];
    await bench.rounds(stands, { rounds: Math.min(bench.option('rounds'), reactivationDays) });
  } finally {
    await stack.processes.stop();
    await context.stop();
  }
}

export const messages = defineKind({
  name: 'messages',
  summary: 'users whose emails are due at one local hour: how fast they are queued and sent (MESSAGES=log), and what events notice of it',
  options: {
    rounds: { text: 'rounds of each case, at most 10', value: 2, tiny: 1 },
    users: { text: 'users who are due', value: 1_000_000, tiny: 2_000 },
    seconds: { text: 'length of a round; a longer one until all are queued', value: 20, tiny: 1 },
    rate: { text: 'events a second', value: 300, tiny: 50 },
    connections: { text: 'connections that send them', value: 32, tiny: 8 },
  },
  figures: [
    { key: 'p50Ms', title: 'p50 of events', unit: 'ms', decimals: 2 },
    { key: 'p99Ms', title: 'p99 of events', unit: 'ms', decimals: 2 },
    { key: 'queuedS', title: 'all queued after', unit: 's', decimals: 1 },
    { key: 'sentDuringPerS', title: 'messages during events', unit: '1/s', decimals: 0 },
    { key: 'sentPerS', title: 'messages without events', unit: '1/s', decimals: 0 },
    { key: 'workerCpuUs', title: 'CPU of the worker', unit: 'µs a message', decimals: 0 },
    { key: 'redisCpuUs', title: 'CPU of Redis', unit: 'µs a message', decimals: 0 },
    { key: 'postgresCpuUs', title: 'CPU of Postgres', unit: 'µs a message', decimals: 0 },
  ],
  targets: [
    {
      ...{ title: 'p99 of events while all users are due ÷ alone', unit: '', atMost: 1.5 },
      of: (all) => (all.median(during, 'p99Ms') ?? NaN) / (all.median(alone, 'p99Ms') ?? NaN),
    },
  ],
  run: (bench) => withOwnStack(bench.signal, (stack) => measure(bench, stack)),
});
