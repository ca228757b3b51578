import { setTimeout as delay } from 'node:timers/promises';
import { eventSequence, seed } from '../load/events.js';
import { DashboardClient, timesOf } from '../load/dashboard.js';
import { fill } from '../load/fill.js';
import { load } from '../load/load.js';
import { daysAgo, filledUntilMs, overview, type Reading, type Samples, type Screen, screens } from '../load/screens.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import { defineKind, type Target } from '../runner/kind.js';
import { apiKey } from '../servers/laurel.js';
import { withOwnStack, type Stack } from '../servers/stack.js';

type Names = 'rounds' | 'users' | 'days' | 'calls' | 'seconds' | 'rate' | 'connections';

const alone = 'events alone';
const beside = 'events beside the overview';
const reloadMs = 5_000;
const maxScreenMs = 500;

const caseOf = ({ name }: Screen): string => `screen: ${name}`;
const readCaseOf = (reading: Reading): string =>
  (typeof reading === 'string' ? reading : `POST ${reading.path}`)
    .replace(/\/(admin\/)?v1/, (base) => base.slice(1))
    .replace(/[0-9a-f-]{36}/g, '{id}');

interface Run {
  readonly bench: Bench<Names>;
  readonly stack: Stack;
  readonly url: string;
  readonly client: DashboardClient;
  readonly samples: Samples;
}

async function setClock(url: string, toMs: number, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const body = JSON.stringify({ now: new Date(toMs).toISOString() });
  for (let status = 0; status !== 200;) {
    const response = await fetch(`${url}/admin/v1/clock`, { method: 'PUT', headers, body, signal });
    if (!response.ok) throw new Error(`The clock was refused with ${response.status}: ${await response.text()}`);
    ({ status } = response);
  }
}

/** Enough for points, and for the streak of the day. */
const value = 10;

/** Lets each user have an event, spread over the days, and as many events of a few of them on each day; on the last day, all users come again. */
async function fillDays(bench: Bench<Names>, stack: Stack, url: string): Promise<void> {
  const [users, days] = [bench.option('users'), bench.option('days')];
  const { signal } = bench;
  const perDay = Math.ceil(users / days);
  for (let day = days - 1; day >= 0; day -= 1) {
    await setClock(url, Date.parse(`${daysAgo(day)}T12:00:00Z`), signal);
    const first = (days - 1 - day) * perDay;
    await fill(stack, { url, events: perDay, sequence: { users: perDay, isInTurn: true, first, value, name: `fill-${day}` }, signal });
    await fill(stack, { url, events: Math.ceil(perDay / 10), sequence: { name: `more-${day}` }, signal });
    bench.print(`  ${Math.min(users, first + perDay).toLocaleString('en')} users`);
  }
  await setClock(url, filledUntilMs, signal);
  await fill(stack, { url, events: users, sequence: { users, isInTurn: true, value, name: 'last-day' }, signal });
  bench.print('  all of them on the last day');
}

async function sendEvents({ bench, url }: Run, name: string, end?: AbortSignal): Promise<Figures> {
  const { signal } = bench;
  const loading = { connections: bench.option('connections'), rate: bench.option('rate'), seconds: bench.option('seconds') };
  const next = eventSequence(seed, { users: bench.option('users'), name });
  const { p50Ms, p99Ms, failed } = await load({ url, apiKey, next, signal, ...loading, ...(end ? { end } : {}) });
  bench.fail(failed);
  return { p50Ms, p99Ms };
}

/** Sends events while the overview is open and reads again and again. */
async function sendBeside(run: Run, name: string): Promise<Figures> {
  const end = new AbortController();
  const watching = run.client.repeat(overview, run.samples, { everyMs: reloadMs, end: end.signal });
  try {
    return await Promise.race([sendEvents(run, name), watching.then(() => Promise.reject(new Error('The overview was closed.')))]);
  } finally {
    end.abort();
    await watching.catch(() => undefined);
  }
}

/** Each screen as a whole, and each of its reads. */
function standsOf({ bench, stack: { side }, client, samples }: Run): Stand<Figures>[] {
  const calls = bench.option('calls');
  return screens.flatMap((screen) => [
    { case: caseOf(screen), side, measure: () => timesOf(calls, () => client.open(screen, samples)) },
    ...screen.reads(samples).map((one) => ({ case: readCaseOf(one), side, measure: () => timesOf(calls, () => client.read(one)) })),
  ]);
}

async function measure(bench: Bench<Names>, stack: Stack): Promise<void> {
  const server = await stack.serve({ env: { TEST_CLOCK: '1', MESSAGES: 'off', LOG_LEVEL: 'error' } });
  const url = server.readyText;
  await fillDays(bench, stack, url);
  const client = await DashboardClient.signIn(url, bench.signal);
  const run: Run = { bench, stack, url, client, samples: await client.samples('user-1') };
  await bench.rounds(standsOf(run), { rounds: 1, warmUps: 0 });
  await delay(bench.isTiny ? 0 : reloadMs, undefined, { signal: bench.signal });
  const stands: Stand<Figures>[] = [
    { case: alone, side: stack.side, measure: (round) => sendEvents(run, `alone-${round}`) },
    { case: beside, side: stack.side, measure: (round) => sendBeside(run, `beside-${round}`) },
  ];
  await bench.rounds(stands, { rounds: bench.option('rounds'), warmUps: bench.isTiny ? 0 : 1 });
}

const targets: readonly Target[] = [
  ...screens.map((screen): Target => ({
    ...{ title: `${caseOf(screen)}: p99`, unit: 'ms', atMost: maxScreenMs },
    of: (all) => all.median(caseOf(screen), 'p99Ms'),
  })),
  {
    ...{ title: 'p99 of events beside the overview ÷ alone', unit: '', atMost: 1.5 },
    of: (all) => (all.median(beside, 'p99Ms') ?? NaN) / (all.median(alone, 'p99Ms') ?? NaN),
  },
];

export const dashboard = defineKind({
  name: 'dashboard',
  summary: 'how long each screen of the dashboard takes to read with a million users, and what events notice of an open overview',
  options: {
    rounds: { text: 'rounds of events', value: 4, tiny: 1 },
    users: { text: 'users', value: 1_000_000, tiny: 2_000 },
    days: { text: 'days on which the users came', value: 30, tiny: 2 },
    calls: { text: 'calls of each read', value: 20, tiny: 2 },
    seconds: { text: 'length of a round of events', value: 20, tiny: 1 },
    rate: { text: 'events a second', value: 300, tiny: 50 },
    connections: { text: 'connections that send them', value: 32, tiny: 8 },
  },
  figures: [
    { key: 'p50Ms', title: 'p50', unit: 'ms', decimals: 1 },
    { key: 'p99Ms', title: 'p99', unit: 'ms', decimals: 1 },
  ],
  targets,
  run: (bench) => withOwnStack(bench.signal, (stack) => measure(bench, stack)),
});
