import { expect } from 'chai';
import { configText, track } from '../support/answers.js';
import { cityAndDevice, pointPerUnit } from '../support/configs.js';
import { type RawRequest, sendBytes, sendRaw } from '../support/raw-http.js';
import { adminKey, startWorld, type World } from '../support/world.js';

/**
 * The sentence of each kind of refusal, once. `generated-bad-input.test.ts` breaks every rule of every operation and looks at no wording;
 * `test/long/malformed.test.ts` sends bytes at random.
 */
const config = {
  attributes: cityAndDevice,
  metrics: [{ key: 'm', name: 'M' }],
  points: [pointPerUnit('m')],
  leaderboards: [{ key: 'l', name: 'L', status: 'active', rankBy: 'metric', metricKey: 'm' }],
};

type Headers = Readonly<Record<string, string>>;
type Row = readonly [what: string, request: RawRequest | Buffer | string, status: number, error: string];

const eventPath = '/v1/metrics/m/event';
const user = { id: 'ana' };
const good = JSON.stringify({ user, value: 1 });
const nobody = '00000000-0000-4000-8000-000000000000';

const get = (what: string, path: string, status: number, error: string): Row => [what, { method: 'GET', path }, status, error];
const raw = (what: string, body: string, status: number, error: string): Row => [
  what,
  { method: 'POST', path: eventPath, body },
  status,
  error,
];
/** 422 for an event with this body. */
const event = (what: string, body: object, error: string): Row => raw(what, JSON.stringify(body), 422, error);
/** 422 for a user with these properties. */
const profile = (what: string, body: object, error: string, method = 'PUT', path = '/v1/users/ana'): Row => [
  what,
  { method, path, body: JSON.stringify(body) },
  422,
  error,
];
const withHeaders = (what: string, headers: Headers, status: number, error: string): Row => [
  what,
  { method: 'POST', path: eventPath, headers, body: good },
  status,
  error,
];

const wrongKey = 'This API key is not valid: check the X-API-KEY header.';
const key = (what: string, sent: string, error = wrongKey): Row => withHeaders(what, { 'X-API-KEY': sent }, 401, error);
const keys: readonly Row[] = [
  key('nothing', '', 'Send your API key in the X-API-KEY header.'),
  key('an unknown one', 'nobody.0123456789abcdef'),
  key('one without a dot', 'test'),
  key('one that differs in its last character', 'test.0123456789abcdeg'),
  key('one with more behind it', 'test.0123456789abcdef0'),
  ['a wrong one, with a bad body', { method: 'POST', path: eventPath, headers: { 'X-API-KEY': 'wrong' }, body: '{' }, 401, wrongKey],
];

const notJson = 'The body is not valid JSON.';
const noProto = 'The body must not have a field named `__proto__`.';
const bodies: readonly Row[] = [
  raw('nothing', '', 400, 'Send a JSON body.'),
  raw('half of one', '{"user":{"id":"ana"},', 400, notJson),
  raw('two', '{}{}', 400, notJson),
  raw('a NUL', '\0', 400, notJson),
  raw('a value that JSON does not have', '{"user":{"id":"ana"},"value":NaN}', 400, notJson),
  raw('null', 'null', 422, 'The body must be an object.'),
  raw('a list', '[]', 422, 'The body must be an object.'),
  raw('one byte too long', good.padEnd(131_073), 413, 'The body is larger than 131072 bytes: split it into smaller requests.'),
  raw('lists 60,000 deep', `{"user":${'['.repeat(60_000)}${']'.repeat(60_000)},"value":1}`, 422, '`user` must be an object.'),
  raw(
    'objects 20,000 deep',
    `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    422,
    '`user` is required and must be an object; `value` is required and must be a number.',
  ),
  raw('a `__proto__`', '{"__proto__":{"value":1},"user":{"id":"ana"}}', 422, noProto),
  raw('a `__proto__` among the attributes', '{"user":{"id":"ana","attributes":{"__proto__":"x"}},"value":1}', 422, noProto),
];

const values: readonly Row[] = [
  event('nothing', { user }, '`value` is required and must be a number.'),
  event('a text', { user, value: '1' }, '`value` must be a number.'),
  raw('1e400', '{"user":{"id":"ana"},"value":1e400}', 422, '`value` must be a number.'),
  event('more than 1e15', { user, value: 1_000_000_000_000_001 }, '`value` must be at most 1000000000000000.'),
  event('less than -1e15', { user, value: -1_000_000_000_000_001 }, '`value` must be at least -1000000000000000.'),
];

const noId = 'must have 1 to 255 characters';
const control = 'must not contain control characters';
const unknown = (method: string, path: string, error: string): Row => [
  `one of nothing: ${method} ${path}`,
  { method, path: `/admin/v1${path.replace('{id}', nobody)}` },
  404,
  error,
];
const ids: readonly Row[] = [
  ...[
    ['nothing', undefined, 'is required and must be a string'],
    ['an empty text', '', noId],
    ['256 emoji', '🙂'.repeat(256), noId],
    ['a NUL', 'a\0b', control],
    ['a line break', 'a\nb', control],
    ['an escape', '\u001b[2J', control],
    ['a delete', 'a\u007f', control],
    ['a control character beyond ASCII', 'a\u0085b', control],
    ['half of a surrogate pair', 'a\ud800', 'must be well-formed Unicode'],
    ['the other half', '\udc00a', 'must be well-formed Unicode'],
  ].map(([what = '', id, predicate]) => event(what, { user: { id }, value: 1 }, `\`user.id\` ${predicate}.`)),
  get('a line break, in a path', '/v1/users/a%0Ab', 422, `\`id\` ${control}.`),
  get('a NUL, in a query', '/v1/leaderboards/l?userId=%00', 422, `\`userId\` ${control}.`),
  get('an empty text, in a query', '/v1/leaderboards/l?userId=', 422, `\`userId\` ${noId}.`),
  get('an unknown user', '/v1/users/nobody', 404, 'There is no user with the id "nobody": identify the user with PUT first.'),
  profile(
    'of a user who exists',
    { id: 'ana' },
    'A user with the id "ana" already exists: change it with PUT or PATCH.',
    'POST',
    '/v1/users',
  ),
  get('no UUID', '/admin/v1/attributes/x', 422, '`id` must be a UUID.'),
  unknown('GET', '/attributes/{id}', `There is no attribute with the id ${nobody}.`),
  unknown('GET', '/templates/{id}', `There is no template with the id ${nobody}.`),
  unknown('GET', '/points/{id}/levels', `There is no points system with the id ${nobody}.`),
  unknown('GET', '/leaderboards/{id}/runs', `There is no leaderboard with the id ${nobody}.`),
  unknown('GET', '/analytics/achievements/{id}', `There is no achievement with the id ${nobody}.`),
  unknown('POST', '/webhooks/{id}/rotate-secret', `There is no webhook with the id ${nobody}.`),
  unknown('POST', '/messages/{id}/resend', `There is no message with the id ${nobody}.`),
  unknown('GET', '/tenants/{id}', `There is no tenant with the id "${nobody}".`),
  unknown('GET', '/admin-api-keys/{id}', `There is no admin key with the id "${nobody}".`),
  unknown('DELETE', '/dead-letters/{id}', `There is no dead letter with the id "${nobody}".`),
];

const attributeKeys = (named: string): string =>
  `Invalid attribute keys: ${named}. Please ensure all attribute keys match those set up under \`attributes\` in the tenant's configuration file, or with POST /admin/v1/attributes.`;
const sent = (ofUser: object, ofEvent?: object): object => ({ user: { id: 'ana', attributes: ofUser }, value: 1, attributes: ofEvent });
const attributes: readonly Row[] = [
  event('one unknown key of the user', sent({ city: 'Porto', town: 'x' }), attributeKeys('town')),
  event('one unknown key of the event', sent({ city: 'Porto' }, { device: 'phone', mode: 'x' }), attributeKeys('mode')),
  event('several, of both', sent({ a: '1', city: 'x', b: '2' }, { c: '3', device: 'x', a: '4' }), attributeKeys('a, b, c')),
  event('a key of the event, given to the user', sent({ device: 'phone' }), attributeKeys('device')),
  event('a key of the user, given to the event', sent({}, { city: 'Porto' }), attributeKeys('city')),
  event('a key in other letters', sent({ City: 'Porto' }), attributeKeys('City')),
  event('keys that JavaScript knows', sent({ constructor: 'x', toString: 'y' }), attributeKeys('constructor, toString')),
  event('null', sent({ city: null }), '`user.attributes.city` must be a string.'),
  event('1,001 characters', sent({ city: 'x'.repeat(1001) }), '`user.attributes.city` must have at most 1000 characters.'),
  profile('an unknown key by PUT', { name: 'A', attributes: { x: '1', y: '2' } }, attributeKeys('x, y')),
  profile('an unknown key by PATCH', { name: 'A', attributes: { x: '1' } }, attributeKeys('x'), 'PATCH'),
  profile('an unknown key by POST', { id: 'new', attributes: { x: '1' } }, attributeKeys('x'), 'POST', '/v1/users'),
];

const noZone = 'must be an IANA time zone such as Europe/Paris';
const tooLate = "`signUpDate` must not be after today in the user's time zone.";
const nul = 'must not contain NUL characters or broken Unicode';
const noEmail = 'A user without an email address cannot be subscribed to emails: send `email` as well.';
const properties: readonly Row[] = [
  ...['Mars/Olympus', '', ' ', '+02:00', 'UTC+2', 'local', 'Europe/Paris '].map((tz) =>
    profile(`the zone "${tz}"`, { tz }, `\`tz\` ${noZone}.`),
  ),
  event('an unknown zone, in an event', { user: { id: 'new', tz: 'Mars/Olympus' }, value: 1 }, `\`user.tz\` ${noZone}.`),
  ...['', 'yesterday', '2039-02-29', '2039-1-1', '0000-01-01', '2039-01-01T25:00:00Z', '2039-01-01 10:00', '9999-12-31T23:00:00-02:00'].map(
    (date) => profile(`the sign-up date "${date}"`, { signUpDate: date }, '`signUpDate` must be a date such as 2026-01-31.'),
  ),
  profile('a sign-up date that is a number', { signUpDate: 20_000 }, '`signUpDate` must be a string.'),
  profile('a sign-up date after today', { signUpDate: '2041-01-01' }, tooLate),
  event('a sign-up date after today, in an event', { user: { id: 'new', signUpDate: '2041-01-01' }, value: 1 }, tooLate),
  profile('an empty email', { email: '' }, '`email` must not be empty.'),
  profile('an email of 321 characters', { email: 'x'.repeat(321) }, '`email` must have at most 320 characters.'),
  profile('an email of two lines', { email: 'a@b.c\r\nBcc: x@b.c' }, `\`email\` ${control}.`),
  profile('a name of two lines', { name: 'Ana\nBea' }, `\`name\` ${control}.`),
  event('a name with a tab, in an event', { user: { id: 'new', name: 'Ana\t' }, value: 1 }, `\`user.name\` ${control}.`),
  profile('an email with a NUL', { email: '\0@b.c' }, `\`email\` ${nul}.`),
  profile('a name of 1,001 emoji', { name: '🙂'.repeat(1001) }, '`name` must have at most 1000 characters.'),
  profile('a name with half of a surrogate pair', { name: '\udfff' }, `\`name\` ${nul}.`),
  profile('an attribute with a NUL', { attributes: { city: '\0' } }, `\`attributes.city\` ${nul}.`),
  profile('a device token with a NUL', { deviceTokens: ['ok', 'a\0'] }, `\`deviceTokens.1\` ${nul}.`),
  profile('an empty device token', { deviceTokens: [''] }, '`deviceTokens.0` must not be empty.'),
  profile('device tokens that are a text', { deviceTokens: 'a' }, '`deviceTokens` must be an array.'),
  profile('a subscription that is a text', { subscribeToEmails: 'true' }, '`subscribeToEmails` must be a boolean.'),
  profile('a subscription without an email, by PUT', { subscribeToEmails: true }, noEmail),
  profile('a subscription without an email, by POST', { id: 'new', subscribeToEmails: true }, noEmail, 'POST', '/v1/users'),
  event('a subscription without an email, in an event', { user: { id: 'new', subscribeToEmails: true }, value: 1 }, noEmail),
  profile(
    'several of these at once',
    { name: 5, tz: 'Nowhere', subscribeToEmails: null },
    `\`name\` must be a string; \`tz\` ${noZone}; \`subscribeToEmails\` must be a boolean.`,
  ),
];

const badAddress = 'Invalid percent-encoding in the URL: encode text as UTF-8.';
const noMetric = (name: string): string => `There is no metric with the key "${name}".`;
const otherMethod = (methods: string): string => `Method not allowed: use ${methods}.`;
const addresses: readonly Row[] = [
  get('an unknown metric', '/v1/users/ana/metrics/nothing', 404, noMetric('nothing')),
  get('a metric in other letters', '/v1/users/ana/metrics/M', 404, noMetric('M')),
  get('a metric that JavaScript knows', '/v1/users/ana/metrics/__proto__', 404, noMetric('__proto__')),
  get('a metric with a NUL', '/v1/users/ana/metrics/%00', 404, noMetric('\\u0000')),
  ['an event of an unknown metric', { method: 'POST', path: '/v1/metrics/nothing/event', body: good }, 404, noMetric('nothing')],
  get('an unknown points system', '/v1/users/ana/points/nothing', 404, 'There is no points system with the key "nothing".'),
  get('an unknown leaderboard', '/v1/leaderboards/nothing', 404, 'There is no leaderboard with the key "nothing".'),
  get('an unknown path', '/v1/nothing', 404, 'No route matches GET /v1/nothing.'),
  get('a path in other letters', '/V1/users/ana', 404, 'No route matches GET /V1/users/ana.'),
  get('a path of the Admin API in other letters', '/ADMIN/v1/metrics', 404, 'No route matches GET /ADMIN/v1/metrics.'),
  get('a slash at the end', '/v1/users/ana/', 404, 'No route matches GET /v1/users/ana/.'),
  get('an escape and a slash at the end', '/v1/users/%61na/', 404, 'No route matches GET /v1/users/%61na/.'),
  get('a health check in other letters', '/health/Live', 404, 'No route matches GET /health/Live.'),
  get('another version', '/v2/users/ana', 404, 'No route matches GET /v2/users/ana.'),
  get('a path of the other API', '/admin/v1/users/ana/metrics', 404, 'No route matches GET /admin/v1/users/ana/metrics.'),
  get('percent signs that say nothing', '/v1/users/100%', 400, badAddress),
  ['bytes that are not UTF-8', { method: 'PUT', path: '/v1/users/%E0%A4%A', body: '{}' }, 400, badAddress],
  ['half of a surrogate pair, as bytes', { method: 'PUT', path: '/v1/users/%ED%A0%80', body: '{}' }, 400, badAddress],
  get('percent signs in a query', '/v1/leaderboards/l?userId=%zz', 400, badAddress),
  get('no address', 'http://[', 400, 'The URL of the request is not valid.'),
  get('another method', eventPath, 405, otherMethod('POST')),
  ['another method of the Admin API', { method: 'POST', path: '/admin/v1/clock', body: '{}' }, 405, otherMethod('HEAD or GET or PUT')],
  ['a method that no address has', { method: 'PROPFIND', path: '/v1/users/ana' }, 405, 'This method is not supported.'],
];

const awards = '`awards` must be a whole number from 1 to 100.';
const queries: readonly Row[] = [
  get('a number that is too small', '/v1/users/ana/points/p?awards=0', 422, awards),
  get('a number that is not whole', '/v1/users/ana/points/p?awards=1.5', 422, awards),
  get('a word for a number', '/v1/users/ana/points/p?awards=all', 422, awards),
  get('an empty number', '/v1/users/ana/points/p?awards=', 422, awards),
  get('two numbers', '/v1/users/ana/points/p?awards=1&awards=2', 422, '`awards` must be a string.'),
  get(
    'two bad numbers',
    '/v1/leaderboards/l?offset=-1&limit=x',
    422,
    '`offset` must be a whole number from 0 to 1000000000000000; `limit` must be a whole number from 0 to 1000.',
  ),
  get('a word for yes', '/v1/leaderboards?includeFinished=yes', 422, '`includeFinished` must be one of true, false.'),
  get('no required parameter', '/v1/streaks', 422, '`userIds` is required.'),
  get('no date', '/v1/users/ana/leaderboards/l?run=soon', 422, '`run` must be a date such as 2026-01-31.'),
];

const idempotency = (problem: string): string => `The Idempotency-Key header ${problem}.`;
const noTenant = (name: string): string => `There is no tenant "${name}": check the Tenant-ID header, or leave it out.`;
const otherEncoding = 'The body does not match its Content-Encoding.';
const headers: readonly Row[] = [
  withHeaders('an empty Idempotency-Key', { 'Idempotency-Key': '' }, 422, idempotency(noId)),
  withHeaders('one of spaces, which HTTP drops', { 'Idempotency-Key': '   ' }, 422, idempotency(noId)),
  withHeaders('one of 256 emoji', { 'Idempotency-Key': '🙂'.repeat(256) }, 422, idempotency(noId)),
  withHeaders('one with a tab', { 'Idempotency-Key': 'a\tb' }, 422, idempotency(control)),
  withHeaders('one with a control character beyond ASCII', { 'Idempotency-Key': 'a\u0085' }, 422, idempotency(control)),
  withHeaders('an unknown tenant', { 'Tenant-ID': 'acme' }, 404, noTenant('acme')),
  withHeaders('an empty tenant', { 'Tenant-ID': '' }, 404, noTenant('')),
  withHeaders('gzip that is none', { 'Content-Encoding': 'gzip' }, 400, otherEncoding),
  withHeaders('Brotli that is none', { 'Content-Encoding': 'br' }, 400, otherEncoding),
  withHeaders('an unknown encoding', { 'Content-Encoding': 'lzma' }, 400, 'The body must be JSON in UTF-8.'),
];

const noHttp = 'This is not a valid HTTP request.';
const oneHost = 'An HTTP/1.1 request has one Host header: send it once.';
const keyLine = `X-API-KEY: ${adminKey}`;
const lines = (...all: readonly string[]): string => [...all, '', ''].join('\r\n');
const bytes: readonly Row[] = [
  ['a line of anything', lines('HELLO'), 400, noHttp],
  ['another protocol', lines('PRI * HTTP/2.0', '', 'SM'), 400, noHttp],
  ['a method that HTTP does not have', lines('FETCH /v1/users/ana HTTP/1.1', 'Host: x'), 400, noHttp],
  ['a NUL in a header', lines('GET /v1/users/ana HTTP/1.1', 'Host: x', 'X-API-KEY: a\0b'), 400, noHttp],
  ['a DEL in a header', lines(`POST ${eventPath} HTTP/1.1`, 'Host: x', keyLine, 'Idempotency-Key: a\u007f'), 400, noHttp],
  ['a header without a colon', lines('GET /v1/users/ana HTTP/1.1', 'Host: x', 'Nothing'), 400, noHttp],
  ['a length that is no number', lines('POST /v1/users HTTP/1.1', 'Host: x', 'Content-Length: much'), 400, noHttp],
  ['two lengths', lines('POST /v1/users HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2'), 400, noHttp],
  ['chunks that are none', `${lines('POST /v1/users HTTP/1.1', 'Host: x', keyLine, 'Transfer-Encoding: chunked')}zz\r\n`, 400, noHttp],
  ['bytes in the address', Buffer.from(lines('GET /v1/users/\xff HTTP/1.1', 'Host: x', keyLine), 'latin1'), 400, noHttp],
  [
    'an unknown expectation',
    lines('POST /v1/users HTTP/1.1', 'Host: x', keyLine, 'Expect: wonders', 'Content-Length: 0'),
    417,
    'Only the expectation 100-continue is supported: leave the Expect header out.',
  ],
  [
    'headers of 17 KB',
    lines('GET /v1/users/ana HTTP/1.1', 'Host: x', `X-Pad: ${'x'.repeat(17 * 1024)}`),
    431,
    'The headers are larger than 16384 bytes: send fewer or smaller headers.',
  ],
  ['no Host', lines('GET /v1/users/ana HTTP/1.1', keyLine), 400, oneHost],
  ['two Hosts', lines('GET /v1/users/ana HTTP/1.1', 'Host: x', keyLine, 'host: x'), 400, oneHost],
  ['no key and, as HTTP/1.0 allows, no Host', lines('GET /v1/users/ana HTTP/1.0'), 401, 'Send your API key in the X-API-KEY header.'],
];

const tables = {
  'a key that is': keys,
  'a body that is': bodies,
  'a value that is': values,
  'an id that is': ids,
  'attributes with': attributes,
  'a user with': properties,
  'an address with': addresses,
  'a query with': queries,
  'a header with': headers,
  'HTTP with': bytes,
};

describe('Bad input', () => {
  let world: World;
  let untouched: string;
  before(async () => {
    world = await startWorld({ config: configText(config) });
    // There is something that could be changed.
    await track(world, 'm', { user: { id: 'ana', name: 'Ana', tz: 'Europe/Lisbon', attributes: { city: 'Lisbon' } }, value: 3, key: 'a' });
    await world.drain();
    untouched = await world.snapshot();
  });
  after(() => world.stop());

  async function expectRefusal(request: RawRequest | Buffer | string, status: number, error: string): Promise<void> {
    const isRaw = typeof request === 'string' || Buffer.isBuffer(request);
    const reply = isRaw ? await sendBytes(world.address, request) : await sendRaw(world.address, request);
    expect([reply.status, reply.body]).to.deep.equal([status, { error }]);
    expect(reply.contentType).to.match(/^application\/json/);
    expect(await world.snapshot()).to.equal(untouched);
  }

  for (const [part, table] of Object.entries(tables)) {
    describe(part, () => {
      for (const [what, request, status, error] of table) {
        it(`is refused with ${status}: ${what}`, () => expectRefusal(request, status, error));
      }
    });
  }

  it('is refused with 400: a body that ends too early', async () => {
    const request = `${lines('POST /v1/users HTTP/1.1', 'Host: x', keyLine, 'Content-Length: 9')}{`;
    const reply = await sendBytes(world.address, request, { half: true });
    expect(reply).to.deep.include({ status: 400, body: { error: noHttp } });
    expect(await world.snapshot()).to.equal(untouched);
  });

  it('is refused with 422: the clock set backward', () => {
    const request = { method: 'PUT', path: '/admin/v1/clock', body: JSON.stringify({ now: '2040-01-01T00:00:00Z' }) };
    return expectRefusal(request, 422, 'The test clock only moves forward: it is already at 2040-01-02T12:00:00.000Z.');
  });
});
