import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fill, fillService } from '../load/fill.js';
import { ownWorkload, workloadOf, workloads, type Workload } from '../load/workloads.js';
import type { Summaries } from '../measure/summary.js';
import type { Bench } from '../runner/bench.js';
import { defineKind, type Target } from '../runner/kind.js';
import { sampleConfig } from '../servers/laurel.js';
import { withPlain } from '../servers/plain.js';
import { inOwnTenant, type RunningService } from '../servers/running-service.js';
import { httpFigures, HttpSides, plainSide, writtenFigures, type Subject } from '../servers/subject.js';
import { withStacks, type Stack } from '../servers/stack.js';
import { reportedMs } from '../servers/written.js';

type Names = 'rounds' | 'seconds' | 'connections' | 'rate' | 'users';

const full = (workload: string): string => `${workload}: full load`;
const half = (workload: string): string => `${workload}: half load`;
const fixed = (workload: string): string => `${workload}: fixed rate`;

/** The parts that an event passes through, by the keys of their figures. */
const parts = { api: 'API processes', worker: 'the write-behind', redis: 'Redis', postgres: 'Postgres' } as const;
/** At more than this share of a core, queues form and p99 grows first. */
const usableShare = 0.8;

/** Events a second that a core carries, from the CPU time of an event at full load. */
const carried = (us: number): number => (us > 0 ? (1e6 / us) * usableShare : NaN);

/** What a core of each part would carry, and one that all parts share. */
function carriedBy(workload: string): Target[] {
  const cpuUs = (all: Summaries, part: string): number => all.median(full(workload), `${part}CpuUs`) ?? NaN;
  const line = (of: string, us: (all: Summaries) => number): Target => ({
    ...{ title: `${workload}: a core of ${of} carries`, unit: 'events/s' },
    of: (all) => carried(us(all)),
  });
  return [
    ...Object.entries(parts).map(([part, title]) => line(title, (all) => cpuUs(all, part))),
    line('all of them', (all) => Object.keys(parts).reduce((sum, part) => sum + cpuUs(all, part), 0)),
  ];
}

/** Measures one workload on stacks of its own, since its configuration and its users are its own. */
function measure(bench: Bench<Names>, workload: Workload): Promise<void> {
  return withStacks(bench, (stacks) =>
    workload.isWide
      ? withPlain(bench.signal, (plain) => measureBeside(bench, stacks, workload, [plain]))
      : measureBeside(bench, stacks, workload, []),
  );
}

/** Measures one workload on stacks, in turn with the floor and others. */
async function measureBeside(bench: Bench<Names>, stacks: readonly Stack[], workload: Workload, others: readonly Subject[]): Promise<void> {
  const { name, users, config, before } = workload;
  const servers = [];
  for (const stack of stacks) {
    servers.push(await stack.serve(config === undefined ? {} : { env: { CONFIG: await written(stack, config) } }));
  }
  if (before) {
    bench.print(`${name}: creating ${users} users`);
    const filling = { events: users, signal: bench.signal };
    for (const [no, stack] of stacks.entries()) await fill(stack, { ...filling, url: servers[no]?.readyText ?? '', next: before() });
    for (const other of others) await fillService(other, { ...filling, next: before() });
  }
  await measureCases(bench, await HttpSides.start(bench, stacks, servers, others), workload);
}

/** Measures one workload on a running service, in a tenant of its own. There is no floor, and its CPU is not known. */
function measureService(bench: Bench<Names>, service: RunningService, { name, users, config, before, requests }: Workload): Promise<void> {
  const { signal, print } = bench;
  const options = {
    ...{ config: config ?? readFileSync(sampleConfig, 'utf8'), signal, print },
    users: Array.from({ length: users }, (_, no) => `user-${no + 1}`),
  };
  return inOwnTenant(service, options, async (subject) => {
    if (before) {
      print(`${name}: creating ${users} users`);
      await fillService(subject, { events: users, next: before(), signal });
      await subject.settle();
    }
    await measureCases(bench, HttpSides.alone(bench, subject), { name, requests });
  });
}

/** At full load, at half of what that gave, and at the fixed rate. */
async function measureCases(bench: Bench<Names>, sides: HttpSides, { name, requests }: Pick<Workload, 'name' | 'requests'>): Promise<void> {
  const loading = { connections: bench.option('connections'), seconds: bench.option('seconds') };
  const how = { rounds: bench.option('rounds'), warmUps: bench.isTiny ? 0 : 1 };
  const ofCase = (of: string, keys: string) => ({ name: of, requests: () => requests(keys), floorRequests: () => requests(keys) });
  await bench.rounds(sides.stands(ofCase(full(name), 'full'), { ...loading, writtenAfterMs: bench.isTiny ? 0 : reportedMs }), how);
  const halfRate = (side: string): number => bench.median(full(name), side, 'ratePerS') / 2;
  await bench.rounds(sides.stands(ofCase(half(name), 'half'), loading, halfRate), { rounds: how.rounds });
  const rate = (): number => bench.option('rate');
  await bench.rounds(sides.stands(ofCase(fixed(name), 'fixed'), loading, rate), { rounds: how.rounds });
}

/** Writes the text of a configuration to the folder of a stack, and returns its file. */
async function written({ folder }: Stack, config: string): Promise<string> {
  const file = join(folder, 'benchmark.yaml');
  await writeFile(file, config);
  return file;
}

/** The workloads that this run was given. */
function chosen(bench: Bench<Names>): Workload[] {
  const options = { users: bench.option('users'), ratePerS: bench.option('rate') };
  const [file, only] = [bench.word('config'), bench.word('workload')];
  if (file !== undefined && only !== undefined) throw new Error('--config has a workload of its own: leave --workload out.');
  if (file !== undefined) return [workloadOf(file, options)];
  return Object.entries(workloads).flatMap(([name, workload]) => ((only ?? name) === name ? [workload(options)] : []));
}

/** The running service that this run was given. */
function serviceOf(bench: Bench<Names>): RunningService | undefined {
  const [url, apiKey] = [bench.word('url'), bench.word('api-key')];
  if (url === undefined && apiKey === undefined) return undefined;
  if (url === undefined || apiKey === undefined) throw new Error('--url and --api-key need each other.');
  if (bench.against !== undefined) throw new Error('--against starts servers of its own: leave it out with --url.');
  return { url: url.replace(/\/+$/, ''), apiKey };
}

export const track = defineKind({
  name: 'track',
  summary: 'events a second over HTTP, in turn with a bare server that does no work of its own',
  options: {
    rounds: { text: 'rounds of each side that count', value: 3, tiny: 1 },
    seconds: { text: 'length of a round', value: 6, tiny: 0.3 },
    connections: { text: 'connections that send at the same time', value: 64, tiny: 8 },
    rate: { text: 'events a second of the fixed rate', value: 300, tiny: 50 },
    users: { text: 'users who exist before, of all but study', value: 100_000, tiny: 1_000 },
  },
  words: {
    workload: { text: 'the only workload; all of them without it', of: Object.keys(workloads) },
    config: { text: 'a configuration file, which the traffic is made from in place of the workloads' },
    url: { text: 'the address of a service that runs, which is measured in a tenant made for it' },
    'api-key': { text: 'with --url: an admin key of its account', isSecret: true },
  },
  figures: [...httpFigures, ...writtenFigures],
  targets: [
    { title: 'study: events/s ÷ bare server', unit: '', atLeast: 0.45, of: (all) => all.ratio(full('study'), 'ratePerS', 'floor') },
    {
      title: "study: CPU of the API processes an event ÷ bare server's a request",
      unit: '',
      atMost: 1.7,
      of: (all) => all.ratio(full('study'), 'apiCpuUs', 'floor'),
    },
    {
      ...{ title: 'study: events/s ÷ the other checkout', unit: '', atLeast: 2.5 },
      of: (all) => all.ratio(full('study'), 'ratePerS', 'theirs'),
    },
    { title: 'study: p99 of events at half load', unit: 'ms', atMost: 10, of: (all) => all.median(half('study'), 'p99Ms') },
    ...['wide', 'sessions', ownWorkload].map((name) => ({
      ...{ title: `${name}: events/s ÷ bare server`, unit: '' },
      of: (all: Summaries) => all.ratio(full(name), 'ratePerS', 'floor'),
    })),
    ...['wide', 'sessions'].map((name) => ({
      ...{ title: `${name}: events/s ÷ plain SQL`, unit: '' },
      of: (all: Summaries) => all.ratio(full(name), 'ratePerS', plainSide),
    })),
    ...[...Object.keys(workloads), ownWorkload].flatMap(carriedBy),
  ],
  run: async (bench) => {
    const service = serviceOf(bench);
    for (const workload of chosen(bench)) await (service ? measureService(bench, service, workload) : measure(bench, workload));
  },
});
