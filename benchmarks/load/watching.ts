/**
 * Watches live leaderboards over many connections, in a process of its own so that neither events nor their times wait for what arrives. Started by
 * watchers.ts; ends when that channel closes. It reads sockets directly: an HTTP client would take more CPU than Laurel does.
 */
import { connect, type Socket } from 'node:net';
import { percentile } from '../measure/stats.js';

/** What some connections watch. */
export interface Watch {
  /** With its parameters. */
  readonly path: string;
  /** A user whose value tells which events the rows include. */
  readonly probe: string;
  readonly connections: number;
}

/** An event of a probe: the total after it, and when its response arrived, in milliseconds since 1970. */
export type ProbeEvent = readonly [probe: string, total: number, atMs: number];

export type WatchCommand =
  | { readonly do: 'open'; readonly url: string; readonly apiKey: string; readonly watches: readonly Watch[] }
  | { readonly do: 'begin' }
  | { readonly do: 'report'; readonly events: readonly ProbeEvent[] }
  | { readonly do: 'close' };

/** What has arrived since `begin`. */
export interface WatchReport {
  readonly messages: number;
  /** From the response to the oldest event that a message shows to its arrival; of all connections. NaN without any. */
  readonly lagP50Ms: number;
  readonly lagP99Ms: number;
  /** Connections that do not show the newest event of their probe. */
  readonly stale: number;
  /** Connections that have ended, or were not opened. */
  readonly lost: number;
}

export interface WatchReply {
  readonly report?: WatchReport;
  readonly problem?: string;
}

/** Connections that are being opened at the same time. */
const atOnce = 100;
const messagePattern = /event: \w+\nid: \S+\ndata: (.*)\n\n/g;

const now = (): number => performance.timeOrigin + performance.now();

/** A message of which it is known which event of the probe is the oldest that it shows. */
interface Sample {
  readonly probe: string;
  readonly oldest: number;
  readonly atMs: number;
}

const counted = { messages: 0, samples: [] as Sample[] };
let watched: Watching[] = [];

/** The values of probes in the text of a row. */
const patterns = new Map<string, RegExp>();
function patternOf(probe: string): RegExp {
  let pattern = patterns.get(probe);
  if (!pattern) patterns.set(probe, (pattern = new RegExp(`"userId":"${probe}","userName":null,"rank":\\d+,"value":(\\d+)`)));
  return pattern;
}

/** One connection. */
class Watching {
  readonly probe: string;
  /** The probe's value in the newest message that has it. */
  shown = 0;
  isLost = false;
  private readonly socket: Socket;
  private rest = '';
  private onFirst: (() => void) | undefined;

  constructor({ path, probe }: Watch, { hostname, port }: URL, apiKey: string) {
    this.probe = probe;
    this.socket = connect(Number(port), hostname);
    this.socket.setEncoding('latin1');
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nX-API-KEY: ${apiKey}\r\n\r\n`);
    this.socket.on('data', (text: string) => {
      this.take(text);
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.isLost = true;
      this.onFirst?.();
    });
  }

  /** Resolves with the first message, or when there will be none. */
  first(): Promise<void> {
    return new Promise((resolve) => {
      this.onFirst = resolve;
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private take(text: string): void {
    const all = this.rest + text;
    let end = 0;
    for (const message of all.matchAll(messagePattern)) {
      end = message.index + message[0].length;
      this.message(message[1] ?? '');
    }
    this.rest = all.slice(end);
  }

  private message(data: string): void {
    counted.messages += 1;
    const value = Number(patternOf(this.probe).exec(data)?.[1] ?? this.shown);
    if (value > this.shown) {
      if (!this.onFirst) counted.samples.push({ probe: this.probe, oldest: this.shown + 1, atMs: now() });
      this.shown = value;
    }
    this.onFirst?.();
    this.onFirst = undefined;
  }
}

async function open({ url, apiKey, watches }: Extract<WatchCommand, { do: 'open' }>): Promise<void> {
  const address = new URL(url);
  const wanted = watches.flatMap((watch) => Array.from({ length: watch.connections }, () => watch));
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let watch = wanted[next]; watch; watch = wanted[next]) {
      next += 1;
      const watching = new Watching(watch, address, apiKey);
      watched.push(watching);
      await watching.first();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const lost = watched.filter(({ isLost }) => isLost).length;
  if (lost > 0) throw new Error(`${lost} of ${wanted.length} streams could not be opened.`);
}

function report(events: readonly ProbeEvent[]): WatchReport {
  const answeredMs = new Map(events.map(([probe, total, atMs]) => [`${probe} ${total}`, atMs]));
  const newest = new Map<string, number>();
  for (const [probe, total] of events) newest.set(probe, Math.max(total, newest.get(probe) ?? 0));
  const lags = counted.samples.flatMap(({ probe, oldest, atMs }) => {
    const answered = answeredMs.get(`${probe} ${oldest}`);
    // A message may even come before the response.
    return answered === undefined ? [] : [Math.max(atMs - answered, 0)];
  });
  const sorted = Float64Array.from(lags).sort();
  return {
    messages: counted.messages,
    lagP50Ms: percentile(sorted, 0.5),
    lagP99Ms: percentile(sorted, 0.99),
    stale: watched.filter(({ probe, shown }) => shown < (newest.get(probe) ?? 0)).length,
    lost: watched.filter(({ isLost }) => isLost).length,
  };
}

async function run(command: WatchCommand): Promise<WatchReply> {
  switch (command.do) {
    case 'open':
      await open(command);
      return {};
    case 'begin':
      Object.assign(counted, { messages: 0, samples: [] });
      return {};
    case 'report':
      return { report: report(command.events) };
    case 'close':
      for (const watching of watched) watching.close();
      watched = [];
      return {};
  }
}

process.on('message', (command: WatchCommand) => {
  run(command).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ problem: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
console.log('ready');
