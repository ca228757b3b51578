import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { seed, seeded, single, type Event } from '../load/events.js';
import { fill } from '../load/fill.js';
import { load, type LoadRequest } from '../load/load.js';
import { Probes } from '../load/probes.js';
import { Watchers } from '../load/watchers.js';
import type { Watch } from '../load/watching.js';
import { readStats } from '../measure/command-stats.js';
import type { Figures, Summaries } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import { defineKind, type Target } from '../runner/kind.js';
import type { RunningProcess } from '../servers/children.js';
import { apiKey } from '../servers/laurel.js';
import { serviceCpuS, serviceProcesses } from '../servers/cpu.js';
import { withOwnStack, withStacks, type Stack } from '../servers/stack.js';
import { httpFigures, laurelSubject, measureSubject } from '../servers/subject.js';

type Names = 'rounds' | 'seconds' | 'connections' | 'watchers' | 'boards' | 'lists' | 'rate';

const config = fileURLToPath(new URL('../load/live.yaml', import.meta.url));
/** With the probes, no more than a leaderboard holds. */
const users = 800;
const listUsers = 50;
const listProbes = 100;
/** Of the rate of the events, while lists are watched. */
const listShare = 0.4;
const watchersOfBoard = 10;
/** The probe of the page leads it, and the others of the page are the busiest users. */
const leadingValue = 10_000_000;
const settleMs = 3_000;
const maxLagMs = 750;
const maxBytes = 25 * 1_024;

const unwatched = 'events at full load, nobody watches';
const idle = 'idle connections';
const names = { board: 'a page', boards: 'many boards', lists: 'own lists' } as const;
type Name = keyof typeof names;
const alone = (name: Name): string => `${names[name]}: events alone`;
const watchedBy = (name: Name): string => `${names[name]}: watched`;

const pidOf = ({ child }: RunningProcess): number => {
  if (child.pid === undefined) throw new Error('A process without an id was measured.');
  return child.pid;
};

/** Memory of the processes that serve the API, in bytes. */
function apiBytes(server: RunningProcess): number {
  const api = [...serviceProcesses(pidOf(server))].filter(([, role]) => role === 'api');
  const kb = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return api.reduce((sum, [pid]) => sum + 1_024 * kb(pid), 0);
}

/** One process of the API, whose connections are as many as the run opens. */
const serveOne = (stack: Stack): Promise<RunningProcess> => {
  const most = '1000000';
  // An older checkout does not know the bounds.
  const bounds: Readonly<Record<string, string>> =
    stack.side === 'ours' ? { LIVE_CONNECTIONS: most, LIVE_CONNECTIONS_PER_TENANT: most } : {};
  return stack.serve({ env: { CONFIG: config, API_PROCESSES: '1', LOG_LEVEL: 'error', ...bounds } });
};

/** Events of users who are drawn. The first ones of a sequence can tell their cities. */
function eventsOf(metricKey: string, name: string, cityOf?: (no: number) => string): () => Event {
  const random = seeded(seed);
  let sent = 0;
  return () => {
    const no = cityOf ? sent % users : Math.floor(random() * users);
    sent += 1;
    const user = { id: `user-${no}`, ...(cityOf && { attributes: { city: cityOf(no) } }) };
    return { metricKey, user, value: 1, idempotencyKey: `${name}-${sent}` };
  };
}

const page: Watch = { path: '/v1/leaderboards/all/live', probe: 'probe-page', connections: 0 };

/** What is watched in a case, and with which events. */
interface Case {
  readonly name: Name;
  readonly metricKey: string;
  readonly rate: number;
  readonly watches: readonly Watch[];
  readonly probes: Probes;
}

function casesOf(bench: Bench<Names>, url: string): Case[] {
  const { signal } = bench;
  const [boards, lists] = [bench.option('boards'), bench.option('lists')];
  const random = seeded(seed);
  const probesOf = (metricKey: string, ids: readonly { id: string; city?: string }[]): Probes =>
    new Probes({ url, metricKey, users: ids, signal });
  const listOf = (probe: string): string =>
    [probe, ...Array.from({ length: listUsers - 1 }, () => `user-${Math.floor(random() * users)}`)].join();
  return [
    {
      name: 'board',
      ...{ metricKey: 'cards', rate: bench.option('rate') },
      watches: [{ ...page, connections: bench.option('watchers') }],
      probes: probesOf('cards', [{ id: page.probe }]),
    },
    {
      name: 'boards',
      ...{ metricKey: 'minutes', rate: bench.option('rate') },
      watches: Array.from({ length: boards }, (_, no) => ({
        ...{ path: `/v1/leaderboards/cities/live?userAttributes=city:c${no}`, probe: `probe-c${no}`, connections: watchersOfBoard },
      })),
      probes: probesOf(
        'minutes',
        Array.from({ length: boards }, (_, no) => ({ id: `probe-c${no}`, city: `c${no}` })),
      ),
    },
    {
      name: 'lists',
      ...{ metricKey: 'cards', rate: listShare * bench.option('rate') },
      watches: Array.from({ length: lists }, (_, no) => {
        const probe = `probe-l${no % listProbes}`;
        return { path: `/v1/leaderboards/all/live?limit=${listUsers}&userIds=${listOf(probe)}`, probe, connections: 1 };
      }),
      probes: probesOf(
        'cards',
        Array.from({ length: Math.min(lists, listProbes) }, (_, no) => ({ id: `probe-l${no}` })),
      ),
    },
  ];
}

interface Run {
  readonly bench: Bench<Names>;
  readonly stack: Stack;
  readonly server: RunningProcess;
  readonly watchers: Watchers;
  /** CPU seconds a second of the API processes in the last round of events alone. */
  readonly cpuAlone: Map<Name, number>;
}

const apiCpuS = ({ server }: Run): number => serviceCpuS(pidOf(server)).api ?? 0;
const callsOf = async ({ stack }: Run): Promise<number> => {
  const stats = await readStats(stack.redis);
  return (stats.get('fcall')?.calls ?? 0) + (stats.get('fcall_ro')?.calls ?? 0);
};

/** Sends the events of a case, those of its probes among them. */
async function sendEvents(run: Run, { metricKey, rate, probes }: Case, name: string) {
  const { bench, server } = run;
  const { signal } = bench;
  const [cpuS, calls, startedMs] = [apiCpuS(run), await callsOf(run), performance.now()];
  probes.clear();
  const ended = new AbortController();
  const probing = probes.run(ended.signal);
  const next: () => LoadRequest = single(eventsOf(metricKey, name));
  const loading = { connections: bench.option('connections'), seconds: bench.option('seconds'), rate, next, signal };
  try {
    const result = await Promise.race([
      load({ ...loading, url: server.readyText, apiKey }),
      probing.then(() => Promise.reject(new Error('The probes have stopped.'))),
    ]);
    const seconds = (performance.now() - startedMs) / 1_000;
    const events = result.answered + probes.events.length;
    bench.fail(result.failed);
    return {
      ...{ seconds, result },
      cpuPerS: (apiCpuS(run) - cpuS) / seconds,
      readsPerS: Math.max((await callsOf(run)) - calls - events, 0) / seconds,
    };
  } finally {
    ended.abort();
    await probing.catch(() => undefined);
  }
}

async function measureAlone(run: Run, one: Case, round: number): Promise<Figures> {
  const { result, cpuPerS } = await sendEvents(run, one, `${one.name}-alone-${round}`);
  run.cpuAlone.set(one.name, cpuPerS);
  return { p50Ms: result.p50Ms, p99Ms: result.p99Ms };
}

async function measureWatched(run: Run, one: Case, round: number): Promise<Figures> {
  const { bench, watchers, server } = run;
  await watchers.open(server.readyText, one.watches);
  try {
    await watchers.begin();
    const { result, seconds, cpuPerS, readsPerS } = await sendEvents(run, one, `${one.name}-watched-${round}`);
    await delay(settleMs, undefined, { signal: bench.signal });
    const { messages, lagP50Ms, lagP99Ms, stale, lost } = await watchers.report(one.probes.events);
    bench.fail(lost);
    if (stale > 0) throw new Error(`${stale} connections do not show the newest state ${settleMs / 1_000} s after the last event.`);
    const messageCpuUs = ((cpuPerS - (run.cpuAlone.get(one.name) ?? NaN)) * seconds * 1e6) / messages;
    const { p50Ms, p99Ms } = result;
    return { p50Ms, p99Ms, lagP50Ms, lagP99Ms, messagesPerS: messages / seconds, readsPerS, messageCpuUs };
  } finally {
    await watchers.close();
  }
}

/** What connections add to a process that has just started. */
async function measureIdle(bench: Bench<Names>, stack: Stack): Promise<Figures> {
  const server = await serveOne(stack);
  try {
    const watchers = await Watchers.start(stack.processes, bench.signal);
    // What the first stream needs is not counted.
    await watchers.open(server.readyText, [{ ...page, connections: 1 }]);
    const quietMs = bench.isTiny ? 0 : settleMs;
    await delay(quietMs, undefined, { signal: bench.signal });
    const before = apiBytes(server);
    const connections = bench.option('watchers');
    await watchers.open(server.readyText, [{ ...page, connections }]);
    await delay(quietMs, undefined, { signal: bench.signal });
    return { connectionBytes: (apiBytes(server) - before) / connections };
  } finally {
    await stack.processes.stop();
  }
}

/** Events while nobody watches, at full load: what the announcements cost where there is nothing to announce. */
async function measureUnwatched(bench: Bench<Names>, stacks: readonly Stack[], servers: readonly RunningProcess[]): Promise<void> {
  const stands = stacks.flatMap((stack, no): Stand<Figures>[] => {
    const server = servers[no];
    if (!server) return [];
    const subject = laurelSubject(stack, server, bench.signal);
    // One sequence for all rounds: an event with a known idempotency key is not counted.
    const next = single(eventsOf('cards', 'unwatched'));
    const measure = async (): Promise<Figures> => {
      const loading = { connections: bench.option('connections'), seconds: bench.option('seconds'), next };
      const { result, figures } = await measureSubject(subject, loading, bench.signal);
      bench.fail(result.failed);
      return figures;
    };
    return [{ case: unwatched, side: stack.side, measure }];
  });
  await bench.rounds(stands, { rounds: bench.option('rounds'), warmUps: bench.isTiny ? 0 : 1 });
}

async function measure(bench: Bench<Names>, stacks: readonly Stack[]): Promise<void> {
  const { signal } = bench;
  const servers: RunningProcess[] = [];
  const cityOf = (no: number): string => `c${no % bench.option('boards')}`;
  for (const stack of stacks) {
    const server = await serveOne(stack);
    servers.push(server);
    for (const metric of ['cards', 'minutes']) {
      await fill(stack, { url: server.readyText, events: users, next: eventsOf(metric, `fill-${metric}`, cityOf), signal });
    }
  }
  await measureUnwatched(bench, stacks, servers);
  const [stack, server] = [stacks[0], servers[0]];
  if (!stack || !server) throw new Error('There is nothing to measure.');
  const run: Run = { bench, stack, server, watchers: await Watchers.start(stack.processes, signal), cpuAlone: new Map() };
  const stands: Stand<Figures>[] = [];
  for (const one of casesOf(bench, server.readyText)) {
    await one.probes.create(one.name === 'board' ? leadingValue : 1);
    stands.push(
      { case: alone(one.name), side: stack.side, measure: (round) => measureAlone(run, one, round) },
      { case: watchedBy(one.name), side: stack.side, measure: (round) => measureWatched(run, one, round) },
    );
  }
  // One case after the other, so that the events alone of a case and those beside its watchers are next to each other.
  for (let i = 0; i < stands.length; i += 2) await bench.rounds(stands.slice(i, i + 2), { rounds: bench.option('rounds') });
}

const lagTarget = (name: Name): Target => ({
  ...{ title: `${names[name]}: p99 of the lag`, unit: 'ms', atMost: maxLagMs },
  of: (all) => all.median(watchedBy(name), 'lagP99Ms'),
});
const eventsBeside = (all: Summaries, name: Name): number =>
  (all.median(watchedBy(name), 'p99Ms') ?? NaN) / (all.median(alone(name), 'p99Ms') ?? NaN);

export const live = defineKind({
  name: 'live',
  summary: 'live leaderboards: how late changes arrive at many connections, what they cost, and what events notice of them',
  options: {
    rounds: { text: 'rounds of each case', value: 3, tiny: 1 },
    seconds: { text: 'length of a round', value: 20, tiny: 1 },
    connections: { text: 'connections that send events', value: 32, tiny: 8 },
    watchers: { text: 'connections that watch one page, and idle ones', value: 10_000, tiny: 50 },
    boards: { text: `leaderboards with ${watchersOfBoard} connections each`, value: 1_000, tiny: 5 },
    lists: { text: `connections with a list of ${listUsers} users each`, value: 5_000, tiny: 20 },
    rate: { text: 'events a second', value: 500, tiny: 50 },
  },
  figures: [
    ...httpFigures,
    { key: 'connectionBytes', title: 'memory', unit: 'bytes a connection', decimals: 0 },
    { key: 'lagP50Ms', title: 'p50 of the lag', unit: 'ms', decimals: 0 },
    { key: 'lagP99Ms', title: 'p99 of the lag', unit: 'ms', decimals: 0 },
    { key: 'messagesPerS', title: 'messages', unit: '1/s', decimals: 0 },
    { key: 'readsPerS', title: 'reads of Redis', unit: '1/s', decimals: 0 },
    { key: 'messageCpuUs', title: 'CPU of the API', unit: 'µs a message', decimals: 1 },
  ],
  targets: [
    lagTarget('board'),
    { title: 'a page: p99 of events ÷ alone', unit: '', atMost: 1.2, of: (all) => eventsBeside(all, 'board') },
    { title: 'memory of an idle connection', unit: 'bytes', atMost: maxBytes, of: (all) => all.median(idle, 'connectionBytes') },
    { title: 'a page: CPU of the API', unit: 'µs a message', of: (all) => all.median(watchedBy('board'), 'messageCpuUs') },
    lagTarget('boards'),
    lagTarget('lists'),
    { title: 'own lists: reads of Redis', unit: '1/s', of: (all) => all.median(watchedBy('lists'), 'readsPerS') },
    {
      ...{ title: 'events/s with nobody watching ÷ the other checkout', unit: '', atLeast: 0.99 },
      of: (all) => all.ratio(unwatched, 'ratePerS', 'theirs'),
    },
  ],
  run: async (bench) => {
    await withOwnStack(bench.signal, (stack) =>
      bench.rounds([{ case: idle, side: stack.side, measure: () => measureIdle(bench, stack) }], { rounds: bench.option('rounds') }),
    );
    await withStacks(bench, (stacks) => measure(bench, stacks));
  },
});
