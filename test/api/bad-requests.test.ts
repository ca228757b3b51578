import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { answer, configText, track } from '../support/answers.js';
import { type RawRequest, sendBytes, sendRaw } from '../support/raw-http.js';
import { adminKey, type Reply, startWorld, type World } from '../support/world.js';

const config = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  points: [{ key: 'p', name: 'P' }],
  leaderboards: [{ key: 'l', name: 'L', status: 'active', rankBy: 'metric', metricKey: 'm' }],
};
const eventPath = '/v1/metrics/m/event';
const good = JSON.stringify({ user: { id: 'ana' }, value: 1 });

/** A request without a body, unless there is one, and what it must be answered with. */
type Case = readonly [what: string, request: Omit<RawRequest, 'body'> & { readonly body?: string }, status: number, error: string];

const nothingAt = (method: string, path: string): string => `There is nothing at ${method} ${path}.`;
const otherMethod = 'This address exists, but not with this method.';
const badAddress = 'The address is not valid: what follows a percent sign must be the two hexadecimal digits of a byte of UTF-8.';
const get = (what: string, path: string, status: number, error: string): Case => [what, { method: 'GET', path }, status, error];
const post = (what: string, path: string, status: number, error: string): Case => [
  what,
  { method: 'POST', path, body: good },
  status,
  error,
];

const addresses: readonly Case[] = [
  post('a metric that does not exist', '/v1/metrics/nothing/event', 404, 'There is no metric with the key "nothing".'),
  post('a metric in other letters', '/v1/metrics/M/event', 404, 'There is no metric with the key "M".'),
  post('a metric that JavaScript knows', '/v1/metrics/__proto__/event', 404, 'There is no metric with the key "__proto__".'),
  post('a metric with a NUL', '/v1/metrics/%00/event', 404, 'There is no metric with the key "\\u0000".'),
  get('a metric of a user', '/v1/users/ana/metrics/nothing', 404, 'There is no metric with the key "nothing".'),
  get('a points system', '/v1/users/ana/points/nothing', 404, 'There is no points system with the key "nothing".'),
  get('a leaderboard', '/v1/leaderboards/nothing', 404, 'There is no leaderboard with the key "nothing".'),
  get('a user', '/v1/users/nobody', 404, 'There is no user with the id "nobody": identify the user with PUT first.'),
  get('a path', '/v1/nothing', 404, nothingAt('GET', '/v1/nothing')),
  get('another version', '/v2/users/ana', 404, nothingAt('GET', '/v2/users/ana')),
  get('a path of the other API', '/admin/v1/users/ana/metrics', 404, nothingAt('GET', '/admin/v1/users/ana/metrics')),
  get('a path with a slash in the middle', '/v1/users/ana/ben', 404, nothingAt('GET', '/v1/users/ana/ben')),
  get('percent signs that say nothing', '/v1/users/100%', 400, badAddress),
  ['percent signs with other letters', { method: 'PUT', path: '/v1/users/%zz', body: '{}' }, 400, badAddress],
  ['bytes that are not UTF-8', { method: 'PUT', path: '/v1/users/%E0%A4%A', body: '{}' }, 400, badAddress],
  ['half of a surrogate pair, as bytes', { method: 'PUT', path: '/v1/users/%ED%A0%80', body: '{}' }, 400, badAddress],
  get('percent signs in a query', '/v1/leaderboards/l?userId=%zz', 400, badAddress),
  get('an address that is none', 'http://[', 400, 'The URL of the request is not valid.'),
];

const methods: readonly Case[] = [
  get('GET for an event', eventPath, 405, otherMethod),
  ['DELETE for an event', { method: 'DELETE', path: eventPath }, 405, otherMethod],
  ['DELETE for a user', { method: 'DELETE', path: '/v1/users/ana' }, 405, otherMethod],
  ['PATCH for all users', { method: 'PATCH', path: '/v1/users', body: '{}' }, 405, otherMethod],
  ['POST for the clock', { method: 'POST', path: '/admin/v1/clock', body: '{}' }, 405, otherMethod],
  ['PROPFIND for a user', { method: 'PROPFIND', path: '/v1/users/ana' }, 405, 'This method is not supported.'],
];

const whole = (from: number, to: number): string => `must be a whole number from ${from} to ${to}`;
const queries: readonly Case[] = [
  get('no awards', '/v1/users/ana/points/p?awards=0', 422, `\`awards\` ${whole(1, 100)}.`),
  get('101 awards', '/v1/users/ana/points/p?awards=101', 422, `\`awards\` ${whole(1, 100)}.`),
  get('half an award', '/v1/users/ana/points/p?awards=1.5', 422, `\`awards\` ${whole(1, 100)}.`),
  get('a word of awards', '/v1/users/ana/points/p?awards=all', 422, `\`awards\` ${whole(1, 100)}.`),
  get('an empty number of awards', '/v1/users/ana/points/p?awards=', 422, `\`awards\` ${whole(1, 100)}.`),
  get('two numbers of awards', '/v1/users/ana/points/p?awards=1&awards=2', 422, '`awards` must be a string.'),
  get('a limit of 1,001', '/v1/leaderboards/l?limit=1001', 422, `\`limit\` ${whole(0, 1000)}.`),
  get(
    'an offset below 0, and a limit',
    '/v1/leaderboards/l?offset=-1&limit=x',
    422,
    `\`offset\` ${whole(0, 1e15)}; \`limit\` ${whole(0, 1000)}.`,
  ),
  get('a hundred and one days', '/v1/users/ana/leaderboards/l?numEvents=101', 422, `\`numEvents\` ${whole(0, 100)}.`),
  get('a word for yes', '/v1/leaderboards?includeFinished=yes', 422, '`includeFinished` must be one of true, false.'),
];

const keyProblem = (problem: string): string => `The Idempotency-Key header ${problem}.`;
const withHeaders = (what: string, headers: Readonly<Record<string, string>>, status: number, error: string): Case => {
  const request = { method: 'POST', path: eventPath, headers, body: good };
  return [what, request, status, error];
};
const idChars = 'must have 1 to 255 characters';
const idControl = 'must not contain control characters';
const headers: readonly Case[] = [
  withHeaders('an empty Idempotency-Key', { 'Idempotency-Key': '' }, 422, keyProblem(idChars)),
  withHeaders('one of spaces, which HTTP drops', { 'Idempotency-Key': '   ' }, 422, keyProblem(idChars)),
  withHeaders('one of 256 characters', { 'Idempotency-Key': 'x'.repeat(256) }, 422, keyProblem(idChars)),
  withHeaders('one of 256 emoji', { 'Idempotency-Key': '🙂'.repeat(256) }, 422, keyProblem(idChars)),
  withHeaders('one with a tab', { 'Idempotency-Key': 'a\tb' }, 422, keyProblem(idControl)),
  withHeaders('one with a control character beyond ASCII', { 'Idempotency-Key': 'a\u0085' }, 422, keyProblem(idControl)),
  withHeaders(
    'a tenant that does not exist',
    { 'Tenant-ID': 'acme' },
    404,
    'There is no tenant "acme": check the Tenant-ID header, or leave it out.',
  ),
  withHeaders('an empty tenant', { 'Tenant-ID': '' }, 404, 'There is no tenant "": check the Tenant-ID header, or leave it out.'),
  withHeaders('gzip that is none', { 'Content-Encoding': 'gzip' }, 400, 'The body does not match its Content-Encoding.'),
  withHeaders('Brotli that is none', { 'Content-Encoding': 'br' }, 400, 'The body does not match its Content-Encoding.'),
  withHeaders('an unknown encoding', { 'Content-Encoding': 'lzma' }, 400, 'The body must be JSON in UTF-8.'),
];

const malformedError = 'This is not a valid HTTP request.';
const keyLine = `X-API-KEY: ${adminKey}`;
const lines = (...all: readonly string[]): string => [...all, '', ''].join('\r\n');
const malformed: readonly (readonly [what: string, bytes: Buffer | string, status: number, error: string])[] = [
  ['a line of anything', lines('HELLO'), 400, malformedError],
  ['another protocol', lines('PRI * HTTP/2.0', '', 'SM'), 400, malformedError],
  ['a method that HTTP does not have', lines('FETCH /v1/users/ana HTTP/1.1', 'Host: x'), 400, malformedError],
  ['a NUL in a header', lines('GET /v1/users/ana HTTP/1.1', 'Host: x', 'X-API-KEY: a\0b'), 400, malformedError],
  ['a DEL in a header', lines(`POST ${eventPath} HTTP/1.1`, 'Host: x', keyLine, 'Idempotency-Key: a\u007f'), 400, malformedError],
  ['a header without a colon', lines('GET /v1/users/ana HTTP/1.1', 'Host: x', 'Nothing'), 400, malformedError],
  ['a length that is no number', lines('POST /v1/users HTTP/1.1', 'Host: x', 'Content-Length: much'), 400, malformedError],
  ['two lengths', lines('POST /v1/users HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2'), 400, malformedError],
  [
    'chunks that are none',
    `${lines('POST /v1/users HTTP/1.1', 'Host: x', keyLine, 'Transfer-Encoding: chunked')}zz\r\n`,
    400,
    malformedError,
  ],
  [
    'an unknown expectation',
    lines('POST /v1/users HTTP/1.1', 'Host: x', keyLine, 'Expect: wonders', 'Content-Length: 0'),
    417,
    'Only the expectation 100-continue is supported: leave the Expect header out.',
  ],
  ['bytes in the address', Buffer.from(lines('GET /v1/users/\xff HTTP/1.1', 'Host: x', keyLine), 'latin1'), 400, malformedError],
  [
    'headers of 17 KB',
    lines('GET /v1/users/ana HTTP/1.1', 'Host: x', `X-Pad: ${'x'.repeat(17 * 1024)}`),
    431,
    'The headers are larger than 16384 bytes: send fewer or smaller headers.',
  ],
];

const tables = { 'an address with': addresses, 'a method:': methods, 'a query with': queries, 'a header with': headers };

describe('A bad request is answered with its status and a sentence in JSON, and changes nothing:', () => {
  let world: World;
  let untouched: string;
  before(async () => {
    world = await startWorld({ config: configText(config) });
    await track(world, 'm', { user: { id: 'ana', attributes: { city: 'Lisbon' } }, value: 3, key: 'a' });
    await world.drain();
    untouched = await world.snapshot();
  });
  after(() => world.stop());

  for (const [part, table] of Object.entries(tables)) {
    describe(part, () => {
      for (const [what, request, status, error] of table) {
        it(`${what} (${status})`, async () => {
          const reply = await sendRaw(world.address, request);
          expect([reply.status, reply.body]).to.deep.equal([status, { error }]);
          expect(reply.contentType).to.match(/^application\/json/);
          expect(await world.snapshot()).to.equal(untouched);
        });
      }
    });
  }

  describe('HTTP that is malformed:', () => {
    for (const [what, bytes, status, error] of malformed) {
      it(`${what} (${status})`, async () => {
        const reply = await sendBytes(world.address, bytes);
        expect(reply).to.deep.equal({ status, body: { error }, contentType: 'application/json' });
        expect(await world.snapshot()).to.equal(untouched);
      });
    }
  });

  it('no Host, and no key (401)', async () => {
    const reply = await sendBytes(world.address, lines('GET /v1/users/ana HTTP/1.1', 'Connection: close'));
    expect(reply).to.deep.include({ status: 401, body: { error: 'Send your API key in the X-API-KEY header.' } });
  });

  it('a body that ends too early (400)', async () => {
    const request = `${lines('POST /v1/users HTTP/1.1', 'Host: x', keyLine, 'Content-Length: 9')}{`;
    const reply = await sendBytes(world.address, request, { half: true });
    expect(reply).to.deep.include({ status: 400, body: { error: malformedError } });
    expect(await world.snapshot()).to.equal(untouched);
  });

  it('the clock set backward (422)', async () => {
    const reply = await world.request('PUT', '/admin/v1/clock', { body: { now: '2040-01-01T00:00:00Z' } });
    const error = 'The test clock only goes forward: it is 2040-01-02T12:00:00.000Z already.';
    expect(answer(reply)).to.deep.equal([422, { error }]);
    const noDate = await world.request('PUT', '/admin/v1/clock', { body: { now: 'tomorrow' } });
    expect(answer(noDate)).to.deep.equal([422, { error: '`now` must be an ISO 8601 date-time such as 2026-01-31T12:00:00Z.' }]);
    expect(await world.snapshot()).to.equal(untouched);
  });
});

describe('Requests', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  describe('are read as JSON whatever they say they are:', () => {
    const types: readonly string[] = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/json; charset=x',
      '',
    ];
    for (const type of types) {
      it(type || 'without a Content-Type', async () => {
        const body = JSON.stringify({ user: { id: `type ${type}` }, value: 1 });
        const reply = await sendRaw(world.address, {
          method: 'POST',
          path: eventPath,
          body,
          ...(type ? { headers: { 'Content-Type': type } } : {}),
        });
        expect(reply.status).to.equal(201);
      });
    }

    it('compressed, as long as they are not too large after that', async () => {
      const send = (id: string, pad: number): ReturnType<typeof sendRaw> =>
        sendRaw(world.address, {
          ...{ method: 'POST', path: eventPath, headers: { 'Content-Encoding': 'gzip' } },
          body: gzipSync(JSON.stringify({ user: { id }, value: 1, pad: 'x'.repeat(pad) })),
        });
      expect((await send('gzip', 1_000)).status).to.equal(201);
      expect((await send('bomb', 10_000_000)).status).to.equal(413);
      expect((await world.get('/v1/users/bomb')).status).to.equal(404);
    });

    it('up to the last byte that is allowed', async () => {
      const body = JSON.stringify({ user: { id: 'large' }, value: 1 }).padEnd(131_072);
      expect((await world.request('POST', eventPath, { raw: body })).status).to.equal(201);
    });
  });

  it('of any JSON get an answer that is not a fault of the service', async () => {
    const wild = fc.jsonValue({ maxDepth: 3 });
    const user = fc.record(
      { id: fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), wild), name: wild, tz: wild, attributes: wild },
      { requiredKeys: [] },
    );
    const value = fc.oneof(fc.double({ noNaN: true }), fc.integer(), wild);
    const body = fc.oneof(wild, fc.record({ user: fc.oneof(user, wild), value, attributes: wild }, { requiredKeys: [] }));
    const send = fc.oneof(
      body.map((raw) => (): Promise<Reply> => world.request('POST', eventPath, { raw: JSON.stringify(raw) })),
      fc.oneof(user, wild).map((raw) => (): Promise<Reply> => world.request('POST', '/v1/users', { raw: JSON.stringify(raw) })),
      fc.oneof(user, wild).map((raw) => (): Promise<Reply> => world.request('PUT', '/v1/users/any', { raw: JSON.stringify(raw) })),
    );
    await fc.assert(
      fc.asyncProperty(send, async (request) => {
        const [status, content] = answer(await request());
        expect(status).to.be.oneOf([200, 201, 400, 404, 422]);
        if (status >= 400)
          expect(content)
            .to.have.property('error')
            .that.matches(/^[A-Z`].*\.$/s);
      }),
      { numRuns: 300 },
    );
    // Whatever was taken can be kept as well.
    await world.drain();
  });
});

describe('A small body that is all wrong', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
  const errorOf = async (method: string, path: string, body: unknown, status = 422): Promise<string> => {
    const reply = await world.request(method, path, { body });
    expect(reply.status).to.equal(status);
    return (reply.body as { error: string }).error;
  };

  it('has the lengths of its lists checked before their items', async () => {
    expect(await errorOf('PATCH', '/v1/users/ana/preferences', { notifications: { recap: zeros(60_000) } })).to.equal(
      '`notifications.recap` must have at most 2 items.',
    );
    const metrics = zeros(60_000);
    expect(await errorOf('PATCH', '/v1/users/ana/preferences', { streak: { metrics } })).to.match(
      /^`streak.metrics` must have at most 20 items\.$/,
    );
    expect(await errorOf('PUT', '/v1/users/ana', { deviceTokens: zeros(60_000) })).to.equal('`deviceTokens` must have at most 100 items.');
    expect(await errorOf('POST', '/admin/v1/streaks/freezes', { freezes: zeros(60_000) })).to.equal(
      '`freezes` must have at most 100 items.',
    );
    expect(await errorOf('POST', '/admin/v1/metrics/events', zeros(150_000))).to.match(/must have at most 1000 items\.$/);
  });

  it('has the number of its attributes checked before their values', async () => {
    const attributes = Object.fromEntries(zeros(10_000).map((zero, no) => [`a${no}`, zero]));
    expect(await errorOf('PUT', '/v1/users/ana', { attributes })).to.equal('`attributes` must have at most 1000 keys.');
  });

  it('is answered with 20 complaints and how many more there are, in a batch of 2 MiB too', async () => {
    const attributes = Object.fromEntries(zeros(100).map((zero, no) => [`a${no}`, zero]));
    const events = zeros(900).map(() => ({ key: 'm', user: { id: 'ana' }, value: 1, attributes }));
    const error = await errorOf('POST', '/admin/v1/metrics/events', events);
    expect(error.split('; ')).to.have.length(20);
    expect(error).to.match(/`0\.attributes\.a0` must be a string; .* and 17980 more\.$/);
  });

  it('names 20 unknown attributes and how many more there are', async () => {
    const attributes = Object.fromEntries(zeros(500).map((_, no) => [`a${no}`, 'x']));
    expect(await errorOf('PUT', '/v1/users/ana', { attributes })).to.match(/^Invalid attribute keys: a0, .*, a19 and 480 more\. /);
  });

  it('names 20 unknown fields of an object and how many more there are', async () => {
    const fields = Object.fromEntries(zeros(5_000).map((zero, no) => [`f${no}`, zero]));
    const reply = await world.request('POST', '/admin/v1/attributes', { body: [{ key: 'k', name: 'K', type: 'user', ...fields }] });
    expect(JSON.stringify(reply.body).length).to.be.lessThan(5_000);
  });
});
