import { setTimeout as delay } from 'node:timers/promises';
import { load, type LoadOptions, type LoadRequest, type LoadResult } from '../load/load.js';
import type { Figures } from '../measure/summary.js';
import type { Stand } from '../measure/turns.js';
import type { Bench } from '../runner/bench.js';
import type { Figure } from '../runner/bench.js';
import { BareServer } from './bare.js';
import type { RunningProcess } from './children.js';
import { redisCpuS, serverCpuS, serviceCpuS } from './cpu.js';
import { apiKey } from './laurel.js';
import { untilDrained, type Stack } from './stack.js';
import { readWritten } from './written.js';

/** What a round over HTTP measures. CPU is user and system time of a process, divided by the requests. */
export const httpFigures: readonly Figure[] = [
  { key: 'ratePerS', title: 'requests', unit: '1/s', decimals: 0 },
  { key: 'p50Ms', title: 'p50', unit: 'ms', decimals: 2 },
  { key: 'p99Ms', title: 'p99', unit: 'ms', decimals: 2 },
  cpuOf('api', 'the server'),
  cpuOf('worker', 'the worker'),
  cpuOf('supervisor', 'the supervisor'),
  cpuOf('redis', 'Redis'),
  cpuOf('postgres', 'Postgres'),
  cpuOf('load', 'the load generator'),
];

/** What Postgres writes in rounds that count it. */
export const writtenFigures: readonly Figure[] = [
  { key: 'rows', title: 'rows written by Postgres', unit: 'an event', decimals: 2 },
  { key: 'walBytes', title: 'write-ahead log of Postgres', unit: 'bytes an event', decimals: 0 },
];

function cpuOf(part: string, name: string): Figure {
  return { key: `${part}CpuUs`, title: `CPU of ${name}`, unit: 'µs a request', decimals: 1, part: { of: 'CPU', colour: part } };
}

/** How a subject is loaded in a round. */
export interface Loading extends Pick<LoadOptions, 'connections' | 'seconds' | 'next' | 'rate'> {
  /** Counts what Postgres writes, this long after the round: `reportedMs`, and the same in the round before. */
  readonly writtenAfterMs?: number;
}

/** Seconds of CPU time since the start, by the parts of a system. */
type Cpu = Readonly<Record<string, number>>;

/** A server that rounds load, and what it takes of the machine. */
export interface Subject {
  readonly side: string;
  readonly url: string;
  readonly apiKey: string;
  /** The default tenant without it. */
  readonly tenant?: string;
  /** The end of what the server has printed. */
  readonly output?: () => string;
  /** Resolves when the work of the round is done. */
  readonly settle: () => Promise<unknown>;
  readonly cpu: () => Promise<Cpu>;
  /** The address of the Postgres that it writes to. */
  readonly postgresUrl?: string;
}

/** The side of what a user of Postgres would otherwise write. */
export const plainSide = 'plain-postgres';
/** Of a server's output, when a request failed. */
const shownLines = 10;

const ownCpuS = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const pidOf = ({ child }: RunningProcess): number => {
  if (child.pid === undefined) throw new Error('A process without an id was measured.');
  return child.pid;
};

const addressOf = ({ readyText, output }: RunningProcess): Pick<Subject, 'url' | 'apiKey' | 'output'> => ({
  ...{ url: readyText, apiKey, output },
});

/** Laurel on its stack. Its CPU counts until the write-behind has committed everything. */
export function laurelSubject(stack: Stack, server: RunningProcess, signal: AbortSignal): Subject {
  return {
    ...{ side: stack.side, ...addressOf(server), postgresUrl: stack.postgresUrl },
    settle: () => untilDrained(stack.redis, signal),
    cpu: async () => ({
      ...serviceCpuS(pidOf(server)),
      ...{ redis: await redisCpuS(stack.redis), postgres: serverCpuS(stack.postgresPid), load: ownCpuS() },
    }),
  };
}

/** The bare server on the Redis of a stack. */
function bareSubject({ server }: BareServer, { redis }: Stack): Subject {
  return {
    ...{ side: 'floor', ...addressOf(server) },
    settle: () => Promise.resolve(),
    cpu: async () => ({ ...serviceCpuS(pidOf(server)), redis: await redisCpuS(redis), load: ownCpuS() }),
  };
}

/** A back end in plain SQL, on a Postgres that is its own. */
export function plainSubject(server: RunningProcess, postgres: { readonly url: string; readonly pid: number }): Subject {
  return {
    ...{ side: plainSide, ...addressOf(server), postgresUrl: postgres.url },
    settle: () => Promise.resolve(),
    cpu: () => Promise.resolve({ ...serviceCpuS(pidOf(server)), postgres: serverCpuS(postgres.pid), load: ownCpuS() }),
  };
}

export interface Measured {
  readonly result: LoadResult;
  readonly figures: Figures;
}

/** Loads a subject for a round. */
export async function measureSubject(
  { url, apiKey: key, tenant, settle, cpu, postgresUrl }: Subject,
  { writtenAfterMs, ...loading }: Loading,
  signal: AbortSignal,
): Promise<Measured> {
  const written = writtenAfterMs === undefined || postgresUrl === undefined ? undefined : await countWritten(postgresUrl);
  const before = await cpu();
  const result = await load({ ...loading, url, apiKey: key, tenant, signal });
  await settle();
  const after = await cpu();
  const { ratePerS, p50Ms, p99Ms, answered } = result;
  const perRequest = Object.entries(after).map(([part, seconds]) => [`${part}CpuUs`, ((seconds - (before[part] ?? 0)) * 1e6) / answered]);
  const times = { ratePerS, p50Ms, p99Ms };
  return {
    result,
    figures: {
      ...times,
      ...(Object.fromEntries(perRequest) as Figures),
      ...(await written?.(answered, delay(writtenAfterMs, undefined, { signal }))),
    },
  };
}

/** Starts to count what Postgres writes. The result ends that, and returns the figures of a number of events. */
async function countWritten(url: string): Promise<(events: number, reported: Promise<unknown>) => Promise<Figures>> {
  const before = await readWritten(url);
  return async (events, reported) => {
    await reported;
    const after = await readWritten(url);
    return { rows: (after.rows - before.rows) / events, walBytes: (after.walBytes - before.walBytes) / events };
  };
}

const lastLines = (text: string): string => text.trimEnd().split('\n').slice(-shownLines).join('\n');

/** A case over HTTP: what is sent to Laurel, and to the floor. */
export interface HttpCase {
  readonly name: string;
  /** A sequence of requests, the same for each side. */
  readonly requests: () => () => LoadRequest;
  readonly floorRequests: () => () => LoadRequest;
}

/** Laurel, the checkout that it is compared with, and the bare server, with the same load in turn. */
export class HttpSides {
  private readonly bench: Bench;
  private readonly subjects: readonly Subject[];
  private readonly bare: BareServer | undefined;
  private answerBytes = 0;

  private constructor(bench: Bench, subjects: readonly Subject[], bare?: BareServer) {
    this.bench = bench;
    this.subjects = subjects;
    this.bare = bare;
  }

  /** Starts the bare server beside services that run, and other subjects. Its CPU and that of the first stack's Redis are the floor's. */
  static async start(
    bench: Bench,
    stacks: readonly Stack[],
    servers: readonly RunningProcess[],
    others: readonly Subject[] = [],
  ): Promise<HttpSides> {
    const [first] = stacks;
    if (!first) throw new Error('There is nothing to measure.');
    const bare = await BareServer.start(first, bench.signal);
    const laurels = stacks.flatMap((stack, no) => {
      const server = servers[no];
      return server ? [laurelSubject(stack, server, bench.signal)] : [];
    });
    return new HttpSides(bench, [...laurels, ...others, bareSubject(bare, first)], bare);
  }

  /** A running service alone. */
  static alone(bench: Bench, subject: Subject): HttpSides {
    return new HttpSides(bench, [subject]);
  }

  /** The sides of a case, for `bench.rounds`. `rateOf` gives the requests a second of a side; without it, it gets as many as it takes. */
  stands({ name, requests, floorRequests }: HttpCase, loading: Omit<Loading, 'next'>, rateOf?: (side: string) => number): Stand<Figures>[] {
    return this.subjects.map((subject) => {
      const { side } = subject;
      const next = (side === 'floor' ? floorRequests : requests)();
      const rate = rateOf?.(side);
      const given = { ...loading, next, ...(rate !== undefined && { rate }) };
      return { case: name, side, measure: () => this.measure(subject, given) };
    });
  }

  /** The bare server answers with as many bytes as Laurel did in the round before, on average. */
  private async measure(subject: Subject, loading: Loading): Promise<Figures> {
    if (subject.side === 'floor') await this.bare?.answer(this.answerBytes);
    const { result, figures } = await measureSubject(subject, loading, this.bench.signal);
    if (subject.side === 'ours') this.answerBytes = result.answerBytes;
    if (result.failed > 0 && subject.output) this.bench.print(`The last output of ${subject.side}:\n${lastLines(subject.output())}`);
    this.bench.fail(result.failed);
    return figures;
  }
}
