import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { version } from '../../src/shared/version.js';
import { contractProblems } from './contract.js';
import { operationAt, holdToReference } from './reference.js';
import { until } from './stage.js';
import { adminKey, type World } from './world.js';

/**
 * A recorded corpus: requests in a text file, and the answers that they once got in another.
 *
 *     # A group of requests
 *     POST /v1/metrics/cards/event {"user":{"id":"ana"},"value":5}
 *       Idempotency-Key: first
 *       keep event = eventId
 *     * a step of the test
 *     GET /v1/users/ana
 *       until "name":"Ana"
 *
 * What follows the path is the body, sent as it is; `@140000` stands for a body of that many bytes. `keep` takes a value out of the answer, which
 * `{{event}}` stands for in later paths, headers and bodies. `until` sends the request again until the answer has the text, for what a job does.
 * With `body varies`, the record leaves the body of the answer out: it depends on the machine, or on its speed.
 *
 * The answers are sections of the other file, under the method and the path of the request, numbered from its second time on. Headers are
 * stored once: those that all answers have, and each set of the others under a number that answers have next to their status.
 */
const folder = new URL('fixtures/corpus/', import.meta.url);
export const corpusFile = (name: string): string => fileURLToPath(new URL(name, folder));

/** One line of the file, with the indented lines below it. */
interface Line {
  /** A step's name; undefined for a request. */
  readonly step?: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly keep: readonly (readonly [name: string, path: string])[];
  readonly until: string | undefined;
  readonly varies: boolean;
}

interface WireReply {
  readonly status: number;
  /** `Name: value`, as on the wire. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** What a request got, as the lines of the record. */
export interface Recorded {
  /** Method and path as the file has them. */
  readonly request: string;
  /** Headers in alphabetical order. */
  readonly headers: readonly string[];
  readonly status: number;
  readonly body: string;
  /** `application metrics_event`; undefined where no route is. */
  readonly operation: string | undefined;
  /** What in it breaks the hosted service's contract, before ids and times were replaced. */
  readonly contractProblems: readonly string[];
}

function parseLine(text: string): Line {
  const [head = '', ...below] = text.split('\n').map((line) => line.trim());
  const none = { method: '', path: '', body: '', headers: {}, keep: [], until: undefined, varies: false };
  if (head.startsWith('* ')) return { ...none, step: head.slice(2) };
  const [, method = '', path = '', body = ''] = /^([A-Z]+) (\S+)(?: (.*))?$/.exec(head) ?? [];
  if (path === '') throw new Error(`not a request: ${head}`);
  const keep: [string, string][] = [];
  const headers: Record<string, string> = {};
  let untilText: string | undefined;
  let varies = false;
  for (const line of below) {
    const [, kept, from] = /^keep (\w+) = (\S+)$/.exec(line) ?? [];
    if (kept !== undefined && from !== undefined) keep.push([kept, from]);
    else if (line === 'body varies') varies = true;
    else if (line.startsWith('until ')) untilText = line.slice('until '.length);
    else headers[line.slice(0, line.indexOf(':'))] = line.slice(line.indexOf(':') + 1).trim();
  }
  return { method, path, body, headers, keep, until: untilText, varies };
}

/** The lines of a file of requests. */
export async function readRequests(name: string): Promise<Line[]> {
  const text = await readFile(corpusFile(`${name}.requests.txt`), 'utf8');
  return text
    .split(/\n(?! )/)
    .filter((line) => line.trim() !== '' && !line.startsWith('# '))
    .map(parseLine);
}

const uuid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;

/** `<ms> <type> <revision>`, in base64. */
const timelineCursor = /^\d+ \w+ \d+$/;

/** Replaces what differs from run to run or by release, and nothing else: random ids and secrets, the wall clock, and the version. */
class Normaliser {
  private readonly names = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  private readonly startedMs = Date.now();

  /** The same text gets the same name, numbered by first appearance. */
  private name(kind: string, text: string): string {
    const known = this.names.get(text);
    if (known !== undefined) return known;
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    const name = `${kind}-${count}`;
    this.names.set(text, name);
    return name;
  }

  text(text: string): string {
    return (
      text
        .replace(uuid, (id) => this.name('uuid', id))
        .replace(/\b[\da-f]{12}\.[\w-]{32}/g, (key) => this.name('key', key))
        .replace(/(?<="prefix":")[\da-f]{12}(?=")/g, (prefix) => this.name('prefix', prefix))
        .replace(/(?<="token":")[\w.-]+(?=")/g, (token) => this.name('token', token))
        .replace(/(?<=^id: )\d+-\d+$/gm, (id) => this.name('stream', id))
        .replace(/(?<=^id: )[\w-]{16}$/gm, (id) => this.name('state', id))
        .replace(/(?<=^retry: )\d+$/gm, 'random')
        .replace(/whsec_[\w+/=]+/g, (secret) => this.name('secret', secret))
        // The page of a timeline begins behind a revision, and jobs change the user too.
        .replace(/(?<="next":")[\w-]+(?=")/g, (cursor) =>
          timelineCursor.test(Buffer.from(cursor, 'base64url').toString()) ? this.name('cursor', cursor) : cursor,
        )
        .replace(/(?<="streamId":")\d+-\d+(?=")/g, (id) => this.name('stream', id))
        .replace(/(?<="durationMs":)\d+/g, 'duration')
        .replaceAll(`"version":"${version}"`, '"version":"laurel-version"')
        .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (instant) => (this.isWallClock(instant) ? 'wall-clock' : instant))
    );
  }

  header(name: string, value: string): string {
    const lower = name.toLowerCase();
    if (lower === 'date') return `${name}: wall-clock`;
    // A window of the rate limit is 600 s; other reasons to wait have a few seconds.
    if (lower === 'ratelimit-reset' || (lower === 'retry-after' && Number(value) > 10)) return `${name}: rest-of-window`;
    // Every answer has one, so that numbers would change with every new request.
    if (lower === 'x-request-id') return `${name}: ${value.replace(uuid, 'a-new-id')}`;
    return `${name}: ${this.text(value)}`;
  }

  /** Within ten days of this run: the test clock is years ahead. */
  private isWallClock(instant: string): boolean {
    return Math.abs(Date.parse(instant) - this.startedMs) < 10 * 86_400_000;
  }
}

/** Plays a file of requests against a world, one after the other. Stop it in the end. */
export class Player {
  readonly recorded: Recorded[] = [];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly normaliser = new Normaliser();
  private readonly kept = new Map<string, string>();
  private readonly world: World;
  private readonly steps: Readonly<Record<string, () => Promise<unknown>>>;

  constructor(world: World, steps: Readonly<Record<string, () => Promise<unknown>>>) {
    this.world = world;
    this.steps = steps;
  }

  async play(lines: readonly Line[]): Promise<void> {
    for (const line of lines) await (line.step === undefined ? this.request(line) : this.step(line.step));
  }

  stop(): void {
    this.agent.destroy();
  }

  private async step(name: string): Promise<void> {
    const step = this.steps[name];
    if (!step) throw new Error(`there is no step ${name}`);
    await step();
  }

  private async request(line: Line): Promise<void> {
    let reply = await this.send(line);
    if (line.until !== undefined) {
      const text = line.until;
      await until(`${line.path} has ${text}`, async () => {
        reply = await this.send(line);
        return reply.body.includes(text);
      });
    }
    const path = this.filled(line.path);
    const isJson = reply.headers.some((header) => /^content-type: application\/json/i.test(header));
    const parsed: unknown = reply.body === '' ? undefined : isJson ? JSON.parse(reply.body) : reply.body;
    if (line.method !== 'HEAD') holdToReference(line.method, path, reply.status, parsed);
    const operation = operationAt(line.method, path);
    const problems = operation === undefined ? [] : contractProblems(operation, reply.status, parsed);
    for (const [name, from] of line.keep) this.kept.set(name, valueAt(parsed, from));
    this.recorded.push({
      request: `${line.method} ${line.path}`,
      headers: reply.headers.map((header) => this.recordedHeader(header, reply.body)).sort(),
      status: reply.status,
      body: line.varies ? 'varies' : this.normaliser.text(reply.body),
      operation,
      contractProblems: problems.map((problem) => `${line.method} ${line.path}: ${problem}`),
    });
  }

  /** Content-Length counts the bytes before they are normalised. */
  private recordedHeader(header: string, body: string): string {
    const at = header.indexOf(': ');
    const [name, value] = [header.slice(0, at), header.slice(at + 2)];
    if (name.toLowerCase() === 'content-length' && Number(value) === Buffer.byteLength(body)) return `${name}: the body's`;
    return this.normaliser.header(name, value);
  }

  private filled(text: string): string {
    return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const value = this.kept.get(name);
      if (value === undefined) throw new Error(`no answer before has brought ${name}`);
      return value;
    });
  }

  private send({ method, path, body, headers }: Line): Promise<WireReply> {
    const size = /^@(\d+)$/.exec(body)?.[1];
    const payload = Buffer.from(size === undefined ? this.filled(body) : `"${'x'.repeat(Number(size) - 2)}"`);
    const own = Object.entries(headers).map(([name, value]) => [name, Buffer.from(this.filled(value)).toString('latin1')]);
    const all = { 'X-API-KEY': adminKey, ...(payload.length > 0 ? { 'Content-Length': String(payload.length) } : {}) };
    const sent = Object.entries({ ...all, ...(Object.fromEntries(own) as Record<string, string>) }).filter(([, value]) => value !== '');
    return new Promise((resolve, reject) => {
      const options = { agent: this.agent, method, path: this.filled(path), headers: Object.fromEntries(sent) };
      const { hostname, port } = new URL(this.world.address);
      const going = request({ ...options, hostname, port }, (response) => {
        const chunks: Buffer[] = [];
        const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          // Its first message is one part, after another with the time of a retry.
          if (isStream && chunk.includes('data: ')) response.destroy();
        });
        response.on('error', reject);
        response.on(isStream ? 'close' : 'end', () => {
          const names = response.rawHeaders.filter((_, i) => i % 2 === 0);
          resolve({
            status: response.statusCode ?? 0,
            headers: names.map((name, i) => `${name}: ${response.rawHeaders[2 * i + 1] ?? ''}`),
            body: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      going.on('error', reject);
      going.end(payload);
    });
  }
}

/** The text or number at a path such as `created.0.id`. */
function valueAt(body: unknown, path: string): string {
  let value = body;
  for (const part of path.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[part];
  if (typeof value !== 'string' && typeof value !== 'number') throw new Error(`the answer has nothing at ${path}: ${JSON.stringify(body)}`);
  return String(value);
}

/** The sections of the record by their titles. */
export function recordText(recorded: readonly Recorded[]): Map<string, string> {
  const [{ headers: ofFirst } = { headers: [] }] = recorded;
  const common = ofFirst.filter((header) => recorded.every(({ headers }) => headers.includes(header)));
  const others = recorded.map(({ headers }) => headers.filter((header) => !common.includes(header)).join('\n'));
  const sets = [...new Set(others)];
  const times = new Map<string, number>();
  const answers = recorded.map(({ request: sent, status, body }, i): [title: string, lines: string[]] => {
    const time = (times.get(sent) ?? 0) + 1;
    times.set(sent, time);
    return [time === 1 ? sent : `${sent} (${time})`, [`${status}, headers ${sets.indexOf(others[i] ?? '') + 1}`, body]];
  });
  const sections: [title: string, lines: string[]][] = [
    ['headers of every answer', common],
    ...sets.map((set, i): [string, string[]] => [`headers ${i + 1}`, [set]]),
    ...answers,
  ];
  return new Map(sections.map(([title, lines]) => [title, [`=== ${title}`, ...lines, ''].join('\n')]));
}

/** A recorded text, by the requests. */
export async function readRecord(name: string): Promise<Map<string, string>> {
  const text = await readFile(corpusFile(`${name}.answers.txt`), 'utf8');
  return new Map(
    text.split(/^(?==== )/m).map((section): [string, string] => [section.slice('=== '.length, section.indexOf('\n')), section]),
  );
}
