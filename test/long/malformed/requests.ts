import { gzipSync } from 'node:zlib';
import { adminRoutes, applicationRoutes } from '../../../src/api/router.js';
import type { Random } from '../../support/random.js';
import { adminKey } from '../../support/world.js';

/** What one connection sends, and how it ends. */
export interface Sent {
  readonly bytes: Buffer;
  /** `wait`: until the answer has come; `half`: sends nothing more; `cut`: gone as soon as the bytes are sent. */
  readonly ending: 'wait' | 'half' | 'cut';
  /** How many requests the bytes stand for. */
  readonly requests: number;
  /** Whether it may turn out to be in order, and then changes something. */
  readonly writes: boolean;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** Requests of which two things are wrong, far apart, and that are looked at late: what is made from them by chance stays wrong. */
const almost: readonly [Request, ...Request[]] = [
  {
    method: 'POST',
    path: '/v1/metrics/m/event',
    headers: { 'Idempotency-Key': 'once' },
    body: JSON.stringify({
      value: 'nothing',
      user: { id: 'ana', attributes: { city: 'Kyoto' } },
      attributes: { device: ['phone', 'tablet'] },
    }),
  },
  {
    method: 'PUT',
    path: '/v1/users/ana',
    body: JSON.stringify({ tz: 'Asia/Nowhere', name: 'Ana', email: 'ana@example.com', deviceTokens: [['phone', 'tablet']] }),
  },
  {
    method: 'PATCH',
    path: '/v1/users/ana/preferences',
    body: JSON.stringify({
      notifications: { recap: ['email', 'pigeon'], reactivation: ['email'], streak_reminder: { never: 'ever again' } },
    }),
  },
  { method: 'GET', path: '/v1/users/ana/metrics/m/event-summary?aggregation=daily&startDate=2040-01-01&endDate=2040-01-02' },
  { method: 'GET', path: '/v1/leaderboards/l?limit=10&offset=0&userId=ana' },
  { method: 'GET', path: '/v1/streaks?userIds=ana,ben' },
  {
    method: 'PATCH',
    path: '/admin/v1/settings',
    body: JSON.stringify({ weekStart: 'wednesday in the morning', controlRatio: 0.5, defaultTimeZone: 'Europe/Nowhere at all' }),
  },
  {
    method: 'POST',
    path: '/admin/v1/metrics',
    body: JSON.stringify([{ key: 'a key with blanks in it', name: 'Other', unitType: 'light years and parsecs' }]),
  },
];

function bytesOf({ method, path, headers = {}, body = '' }: Request, more: Readonly<Record<string, string>> = {}): Buffer {
  const payload = Buffer.from(body);
  const all = {
    Host: 'test',
    'X-API-KEY': adminKey,
    'Content-Type': 'application/json',
    'Content-Length': String(payload.length),
    ...headers,
    ...more,
  };
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`), '', ''];
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), payload]);
}

const last = { Connection: 'close' };
const randomBytes = (random: Random, most: number): Buffer =>
  Buffer.from(Array.from({ length: random.below(most) }, () => random.below(256)));

const scalars: readonly [unknown, ...unknown[]] = [
  null,
  true,
  0,
  -1,
  1e308,
  1.5,
  '',
  'ana',
  '\u0000',
  '😀'.repeat(9),
  '2040-02-30',
  'x'.repeat(300),
];
const names: readonly [string, ...string[]] = [
  'id',
  'user',
  'value',
  'attributes',
  'name',
  'key',
  'tz',
  '__proto__',
  'constructor',
  'length',
  'toString',
  '',
];

/** Any JSON value; names and values are such that schemas know, more often than chance would have them. */
function randomJson(random: Random, depth = 0): unknown {
  const shape = random.below(depth > 3 ? 2 : 5);
  if (shape < 2) return random.pick(scalars);
  const count = random.below(4);
  if (shape === 2) return Array.from({ length: count }, () => randomJson(random, depth + 1));
  return Object.fromEntries(Array.from({ length: count }, () => [random.pick(names), randomJson(random, depth + 1)]));
}

const everyRoute = [
  ...applicationRoutes.map(({ method, path }) => ({ method, path: `/v1${path}` })),
  ...adminRoutes.map(({ method, path }) => ({ method, path: `/admin/v1${path}` })),
];
const segments: readonly [string, ...string[]] = [
  'm',
  'l',
  'p',
  'ana',
  'nobody',
  '%00',
  '%F0%9F%98%80',
  '..',
  '0',
  '00000000-0000-4000-8000-000000000000',
];

/** A request to any route, whose body fits it by chance alone. */
function anywhere(random: Random): Request {
  const { method, path } = everyRoute[random.below(everyRoute.length)]!;
  const filled = path.replace(/\{\w+\}/g, () => random.pick(segments));
  const query = random.chance(0.3) ? `?${random.pick(names)}=${random.pick(segments)}` : '';
  return { method: method.toUpperCase(), path: filled + query, body: JSON.stringify(randomJson(random)) };
}

/** Bytes changed, cut out, repeated, or put in, at one to four places. */
function mutate(random: Random, bytes: Buffer): Buffer {
  let changed = bytes;
  for (let count = 1 + random.below(4); count > 0; count -= 1) {
    const at = random.below(changed.length + 1);
    const before = changed.subarray(0, at);
    const after = changed.subarray(at);
    const cut = after.subarray(random.below(Math.min(20, after.length + 1)));
    changed = Buffer.concat(
      [
        [before, randomBytes(random, 4), after],
        [before, cut],
        [before, after.subarray(0, 20), after],
        [before, Buffer.from([random.below(256)]), after.subarray(1)],
        [before, Buffer.from(JSON.stringify(randomJson(random))), cut],
      ][random.below(5)]!,
    );
  }
  return changed;
}

const encodings: readonly ((random: Random, request: Request) => Buffer)[] = [
  (_, request) => bytesOf({ ...request, body: gzipSync(request.body ?? '').subarray(0, -4) }, { ...last, 'Content-Encoding': 'gzip' }),
  (random, request) =>
    bytesOf(
      { ...request, body: randomBytes(random, 200) },
      { ...last, 'Content-Encoding': random.pick(['gzip', 'deflate', 'br', 'zstd']) },
    ),
  (_, request) =>
    bytesOf(
      { ...request, body: Buffer.from(String(request.body), 'utf16le') },
      { ...last, 'Content-Type': 'application/json; charset=utf-16' },
    ),
  (_, request) => bytesOf({ ...request, body: `\ufeff{${String(request.body)}` }, last),
  (random, request) => bytesOf({ ...request, body: `{"user":{"id":"${'['.repeat(random.below(9_000))}` }, last),
  (_, request) => bytesOf(request, { ...last, 'Transfer-Encoding': 'chunked' }),
  (random, request) =>
    bytesOf(
      { ...request, body: `${random.pick(['zz', '-1', 'ffffffffffff', '5;x'])}\r\n{}\r\n0\r\n\r\n` },
      { ...last, 'Transfer-Encoding': 'chunked', 'Content-Length': '' },
    ),
  (random, request) =>
    bytesOf(request, { ...last, 'Content-Length': random.pick(['-1', '1e9', '99999999999999999999', 'x', '0x10', '2, 3']) }),
  (random, request) =>
    bytesOf(request, {
      ...last,
      'Tenant-ID': randomBytes(random, 60)
        .toString('latin1')
        .replace(/[\r\n]/g, ''),
    }),
  (random, request) =>
    bytesOf(request, {
      ...last,
      'Idempotency-Key': random.pick(['', '\u0001', 'x'.repeat(400), 'é']),
      'X-API-KEY': random.pick([adminKey, '', `${adminKey}x`, '.']),
    }),
  (random, request) => bytesOf(request, { ...last, Cookie: 'x'.repeat(random.below(40_000)) }),
];

const kinds = {
  'random bytes': (random: Random): Sent => ({ bytes: randomBytes(random, 2_000), ending: 'half', requests: 1, writes: false }),
  'random JSON': (random: Random): Sent => {
    const request = anywhere(random);
    return { bytes: bytesOf(request, last), ending: 'wait', requests: 1, writes: request.method !== 'GET' };
  },
  'mutated requests': (random: Random): Sent => ({
    bytes: mutate(random, bytesOf(random.pick(almost), last)),
    ending: 'half',
    requests: 1,
    writes: true,
  }),
  'odd encodings': (random: Random): Sent => ({
    bytes: encodings[random.below(encodings.length)]!(random, random.pick(almost)),
    ending: 'half',
    requests: 1,
    writes: true,
  }),
  pipelined: (random: Random): Sent => {
    const many = Array.from({ length: 2 + random.below(9) }, () => bytesOf(random.pick(almost)));
    const bytes = Buffer.concat([...many, randomBytes(random, 60)]);
    return { bytes, ending: 'half', requests: many.length + 1, writes: false };
  },
  'cut-off connections': (random: Random): Sent => {
    const bytes = bytesOf(random.pick(almost));
    return { bytes: bytes.subarray(0, 1 + random.below(bytes.length - 1)), ending: 'cut', requests: 1, writes: false };
  },
} as const;

export type Kind = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as [Kind, ...Kind[]];

/** The next of a kind, in a sequence that only depends on the seed. */
export const nextSent = (random: Random, kind: Kind): Sent => kinds[kind](random);
