import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import type { World } from '../../support/world.js';
import { kindNames, nextSent, type Kind, type Sent } from './requests.js';

/** An answer that has not come by then is taken for one that never does: longer than the server waits for a request. */
const responseMs = 45_000;
/** Connections at the same time, and how many make a round, all of one kind, after which the state is compared. */
const lanes = 16;
const roundConnections = 200;
/** Random JSON is in order now and then: in a short round it may not be. */
const shortRoundConnections = 20;

export interface Report {
  readonly seed: number;
  requests: number;
  readonly sent: Record<Kind, number>;
  /** How many answers there were of each status. */
  readonly answers: Record<number, number>;
  /** Rounds after which the state was compared: in the others, something turned out to be in order, and may have changed it. */
  readonly compared: Record<Kind, number>;
  /** Bytes of the heap after each round, when the garbage is gone. */
  readonly heap: number[];
  /** What must not be, with the bytes that led to it. */
  readonly faults: string[];
}

const statusLine = /HTTP\/1\.1 (\d{3}) [A-Z]/g;

/** The statuses that a connection was answered with; null when it was left without an end. */
async function exchange(address: string, { bytes, ending }: Sent): Promise<number[] | null> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write(bytes, () => ending === 'cut' && socket.destroy());
  if (ending === 'half') socket.end();
  const late = new AbortController();
  const isHung = await Promise.race([closed.then(() => false), delay(responseMs, true, { signal: late.signal }).catch(() => true)]);
  late.abort();
  socket.destroy();
  return isHung ? null : [...text.matchAll(statusLine)].map(([, status]) => Number(status));
}

/** The first line in which two states differ. */
function difference(before: string, after: string): string {
  const [was, is] = [before.split('\n'), after.split('\n')];
  const at = is.findIndex((line, index) => line !== was[index]);
  return `line ${at} of the state changed from ${was[at] ?? 'nothing'} to ${is[at] ?? 'nothing'}`;
}

/**
 * Sends malformed and invalid requests, by a seed, to a world with the configuration of valid-input.ts. A round in which all were refused must
 * not change the state.
 */
export async function sendMalformed(world: World, count: number, seed: number, print: (report: Report) => void): Promise<Report> {
  const random = new Random(seed);
  const zero = (): Record<Kind, number> => Object.fromEntries(kindNames.map((kind) => [kind, 0])) as Record<Kind, number>;
  const report: Report = { seed, requests: 0, sent: zero(), answers: {}, compared: zero(), heap: [], faults: [] };
  let before = await world.snapshot();
  for (let rounds = 0; report.requests < count && report.faults.length === 0; rounds += 1) {
    const kind = kindNames[rounds % kindNames.length]!;
    const wasAccepted = await sendRound(world.address, random, kind, report);
    await world.drain();
    const after = await world.snapshot();
    if (!wasAccepted) report.compared[kind] += 1;
    if (!wasAccepted && after !== before)
      report.faults.push(`${kind}, round ${rounds}: everything was refused, and ${difference(before, after)}`);
    before = after;
    globalThis.gc?.();
    report.heap.push(process.memoryUsage().heapUsed);
    print(report);
  }
  return report;
}

/** Returns whether anything that writes was accepted. */
async function sendRound(address: string, random: Random, kind: Kind, report: Report): Promise<boolean> {
  let left = kind === 'random JSON' ? shortRoundConnections : roundConnections;
  let wasAccepted = false;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const sent = nextSent(random, kind);
      const statuses = await exchange(address, sent);
      report.requests += sent.requests;
      report.sent[kind] += sent.requests;
      for (const status of statuses ?? []) report.answers[status] = (report.answers[status] ?? 0) + 1;
      if (sent.writes && statuses?.some((status) => status < 400) === true) wasAccepted = true;
      const wrong = statuses === null ? 'no end' : statuses.some((status) => status >= 500) ? statuses.join(', ') : undefined;
      if (wrong !== undefined) report.faults.push(`${kind}, ${wrong}: ${sent.bytes.toString('base64')}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return wasAccepted;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Ratio of the heap in the last third of the rounds to the third before: a leak makes it grow. */
export function heapGrowth(heap: readonly number[]): number {
  const third = Math.floor(heap.length / 3);
  return third === 0 ? 1 : mean(heap.slice(-third)) / mean(heap.slice(-2 * third, -third));
}
