import { expect } from 'chai';
import { answer, configText, track } from '../support/answers.js';
import { type RequestOptions, startWorld, type World } from '../support/world.js';

const config = {
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'device', name: 'Device', type: 'event' },
  ],
  metrics: [{ key: 'm', name: 'M' }],
  points: [
    { key: 'p', name: 'P', triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }] },
  ],
  leaderboards: [{ key: 'l', name: 'L', status: 'active', rankBy: 'metric', metricKey: 'm' }],
};

/** A request, and what it must be answered with. */
type Case = readonly [what: string, method: string, path: string, request: RequestOptions, status: number, error: string];

const eventPath = '/v1/metrics/m/event';
const good = { user: { id: 'ana' }, value: 1 };
const long = 'x'.repeat(256);

/** An event with this body, and with this raw text. */
const event = (what: string, body: unknown, status: number, error: string): Case => [what, 'POST', eventPath, { body }, status, error];
const rawEvent = (what: string, raw: string, status: number, error: string): Case => [what, 'POST', eventPath, { raw }, status, error];

const noKey = 'Send your API key in the X-API-KEY header.';
const wrongKey = 'This API key is not valid: check the X-API-KEY header.';
const keys: readonly Case[] = [
  ['no key', 'POST', eventPath, { body: good, key: null }, 401, noKey],
  ['an empty key', 'POST', eventPath, { body: good, key: '' }, 401, noKey],
  ['an unknown key', 'POST', eventPath, { body: good, key: 'nobody.0123456789abcdef' }, 401, wrongKey],
  ['a key without a dot', 'POST', eventPath, { body: good, key: 'test' }, 401, wrongKey],
  ['a key that differs in its last character', 'POST', eventPath, { body: good, key: 'test.0123456789abcdeg' }, 401, wrongKey],
  ['a key with more behind it', 'POST', eventPath, { body: good, key: 'test.0123456789abcdef0' }, 401, wrongKey],
  ['a wrong key and a bad body', 'POST', eventPath, { raw: '{', key: 'wrong' }, 401, wrongKey],
  ['no key and a user who does not exist', 'GET', '/v1/users/nobody', { key: null }, 401, noKey],
  ['no key for the Admin API', 'PUT', '/admin/v1/clock', { body: { now: '2041-01-01T00:00:00Z' }, key: null }, 401, noKey],
];

const notJson = 'The body is not valid JSON.';
const notObject = 'The body must be an object.';
const tooLarge = 'The body is larger than 131072 bytes: split it into smaller requests.';
const bodies: readonly Case[] = [
  rawEvent('no body', '', 400, 'Send a JSON body.'),
  rawEvent('half of one', '{"user":{"id":"ana"},', 400, notJson),
  rawEvent('two', '{}{}', 400, notJson),
  rawEvent('a form', 'user=ana&value=1', 400, notJson),
  rawEvent('JavaScript', "{user:{id:'ana'},value:1}", 400, notJson),
  rawEvent('white space', ' \n ', 400, notJson),
  rawEvent('a NUL', '\0', 400, notJson),
  rawEvent('null', 'null', 422, notObject),
  rawEvent('a text', '"ana"', 422, notObject),
  rawEvent('a number', '1', 422, notObject),
  rawEvent('a list', '[]', 422, notObject),
  rawEvent('a list of events', JSON.stringify([good]), 422, notObject),
  rawEvent('1 MB', JSON.stringify({ ...good, pad: 'x'.repeat(1024 * 1024) }), 413, tooLarge),
  rawEvent('one byte too many', JSON.stringify(good).padEnd(131_073), 413, tooLarge),
  rawEvent('lists 60,000 deep', `{"user":${'['.repeat(60_000)}${']'.repeat(60_000)},"value":1}`, 422, '`user` must be an object.'),
  rawEvent(
    'objects 20,000 deep',
    `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    422,
    '`user` is required and must be an object; `value` is required and must be a number.',
  ),
  rawEvent('a `__proto__`', '{"__proto__":{"value":1},"user":{"id":"ana"}}', 422, 'The body must not have a field named `__proto__`.'),
  ['a list for a user', 'PUT', '/v1/users/ana', { raw: '[]' }, 422, notObject],
  ['nothing for a user', 'PATCH', '/v1/users/ana', { raw: '' }, 400, 'Send a JSON body.'],
  ['null for the clock', 'PUT', '/admin/v1/clock', { raw: 'null' }, 422, notObject],
];

const notNumber = '`value` must be a number.';
const values: readonly Case[] = [
  event('no value', { user: { id: 'ana' } }, 422, '`value` is required and must be a number.'),
  rawEvent('NaN', '{"user":{"id":"ana"},"value":NaN}', 400, notJson),
  rawEvent('Infinity', '{"user":{"id":"ana"},"value":Infinity}', 400, notJson),
  rawEvent('1e400', '{"user":{"id":"ana"},"value":1e400}', 422, notNumber),
  rawEvent('-1e400', '{"user":{"id":"ana"},"value":-1e400}', 422, notNumber),
  event('a text', { ...good, value: '1' }, 422, notNumber),
  event('null', { ...good, value: null }, 422, notNumber),
  event('a list', { ...good, value: [1] }, 422, notNumber),
  event('true', { ...good, value: true }, 422, notNumber),
  event('more than 1e15', { ...good, value: 1_000_000_000_000_001 }, 422, '`value` must be at most 1000000000000000.'),
  event('less than -1e15', { ...good, value: -1_000_000_000_000_001 }, 422, '`value` must be at least -1000000000000000.'),
];

const idChars = 'must have 1 to 255 characters';
const idControl = 'must not contain control characters';
const idBroken = 'must be well-formed Unicode';
const badIds: readonly (readonly [what: string, id: unknown, predicate: string])[] = [
  ['none', undefined, 'is required and must be a string'],
  ['null', null, 'must be a string'],
  ['a number', 5, 'must be a string'],
  ['a list', ['ana'], 'must be a string'],
  ['an empty text', '', idChars],
  ['256 characters', long, idChars],
  ['256 emoji', '🙂'.repeat(256), idChars],
  ['a NUL', 'a\0b', idControl],
  ['a line break', 'a\nb', idControl],
  ['an escape', '\u001b[2J', idControl],
  ['a delete', 'a\u007f', idControl],
  ['a control character beyond ASCII', 'a\u0085b', idControl],
  ['half of a surrogate pair', 'a\ud800', idBroken],
  ['the other half', '\udc00a', idBroken],
];
const ids: readonly Case[] = [
  ...badIds.map(([what, id, predicate]) => event(`${what}, in an event`, { user: { id }, value: 1 }, 422, `\`user.id\` ${predicate}.`)),
  ...badIds.map(([what, id, predicate]): Case => [
    `${what}, in a new user`,
    'POST',
    '/v1/users',
    { body: { id } },
    422,
    `\`id\` ${predicate}.`,
  ]),
  ...['GET', 'PUT', 'PATCH'].flatMap((method): Case[] => [
    [`256 characters, in the path of a ${method}`, method, `/v1/users/${long}`, bodyFor(method), 422, `\`id\` ${idChars}.`],
    [`a NUL, in the path of a ${method}`, method, '/v1/users/a%00b', bodyFor(method), 422, `\`id\` ${idControl}.`],
    [`a line break, in the path of a ${method}`, method, '/v1/users/a%0Ab', bodyFor(method), 422, `\`id\` ${idControl}.`],
  ]),
  ['an empty text, in a query', 'GET', '/v1/leaderboards/l?userId=', {}, 422, `\`userId\` ${idChars}.`],
  ['a NUL, in a query', 'GET', '/v1/leaderboards/l?userId=%00', {}, 422, `\`userId\` ${idControl}.`],
  event('no user', { value: 1 }, 422, '`user` is required and must be an object.'),
  event('a user who is a text', { user: 'ana', value: 1 }, 422, '`user` must be an object.'),
  event('a user who is null', { user: null, value: 1 }, 422, '`user` must be an object.'),
];

function bodyFor(method: string): RequestOptions {
  return method === 'GET' ? {} : { body: { name: 'Ana' } };
}

const attributeKeys = (unknown: string): string =>
  `Invalid attribute keys: ${unknown}. Please ensure all attribute keys match those set up under \`attributes\` in the tenant's configuration file, or with POST /admin/v1/attributes.`;
const sent = (user: unknown, ofEvent?: unknown): unknown => ({ user: { id: 'ana', attributes: user }, value: 1, attributes: ofEvent });
const attributes: readonly Case[] = [
  event('one unknown key of the user', sent({ city: 'Porto', town: 'x' }), 422, attributeKeys('town')),
  event('one unknown key of the event', sent({ city: 'Porto' }, { device: 'phone', mode: 'x' }), 422, attributeKeys('mode')),
  event('several, of both', sent({ a: '1', city: 'x', b: '2' }, { c: '3', device: 'x', a: '4' }), 422, attributeKeys('a, b, c')),
  event('a key of the event, given to the user', sent({ device: 'phone' }), 422, attributeKeys('device')),
  event('a key of the user, given to the event', sent({}, { city: 'Porto' }), 422, attributeKeys('city')),
  event('a key in other letters', sent({ City: 'Porto' }), 422, attributeKeys('City')),
  event('keys that JavaScript knows', sent({ constructor: 'x', toString: 'y' }), 422, attributeKeys('constructor, toString')),
  rawEvent(
    'the key `__proto__`',
    '{"user":{"id":"ana","attributes":{"__proto__":"x"}},"value":1}',
    422,
    'The body must not have a field named `__proto__`.',
  ),
  event('a number', sent({ city: 1 }), 422, '`user.attributes.city` must be a string.'),
  event('null', sent({ city: null }), 422, '`user.attributes.city` must be a string.'),
  event('an object', sent({ city: { name: 'Porto' } }), 422, '`user.attributes.city` must be a string.'),
  event('a list of attributes', sent(['Porto']), 422, '`user.attributes` must be an object.'),
  event('attributes that are null', sent(null), 422, '`user.attributes` must be an object.'),
  event('a text as attributes of the event', sent({}, 'phone'), 422, '`attributes` must be an object.'),
  event('1,001 characters', sent({ city: 'x'.repeat(1001) }), 422, '`user.attributes.city` must have at most 1000 characters.'),
  ['an unknown key by PUT', 'PUT', '/v1/users/ana', { body: { name: 'A', attributes: { x: '1', y: '2' } } }, 422, attributeKeys('x, y')],
  ['an unknown key by PATCH', 'PATCH', '/v1/users/ana', { body: { name: 'A', attributes: { x: '1' } } }, 422, attributeKeys('x')],
  ['an unknown key by POST', 'POST', '/v1/users', { body: { id: 'new', attributes: { x: '1' } } }, 422, attributeKeys('x')],
];

const noSuchZone = '`@tz` must be an IANA time zone such as Europe/Paris.';
const nul = 'must not contain NUL characters or broken Unicode';
/** `@` stands before the names of fields: they are those of the body, or of its `user` in an event. */
const properties: readonly (readonly [what: string, body: Readonly<Record<string, unknown>>, error: string])[] = [
  ...['Mars/Olympus', '', ' ', '+02:00', 'UTC+2', 'local', 'Europe/Paris ', long].map(
    (tz) => [`the zone ${JSON.stringify(tz.slice(0, 20))}`, { tz }, noSuchZone] as const,
  ),
  ['a zone that is a number', { tz: 2 }, '`@tz` must be a string.'],
  ['an empty email', { email: '' }, '`@email` must not be empty.'],
  ['an email of 321 characters', { email: 'x'.repeat(321) }, '`@email` must have at most 320 characters.'],
  ['a name of 1,001 characters', { name: 'x'.repeat(1001) }, '`@name` must have at most 1000 characters.'],
  ['a name of 1,001 emoji', { name: '🙂'.repeat(1001) }, '`@name` must have at most 1000 characters.'],
  ['a name with a NUL', { name: 'a\0' }, `\`@name\` ${nul}.`],
  ['a name with half of a surrogate pair', { name: '\udfff' }, `\`@name\` ${nul}.`],
  ['an email with a NUL', { email: '\0@b.c' }, `\`@email\` ${nul}.`],
  ['an attribute with a NUL', { attributes: { city: '\0' } }, `\`@attributes.city\` ${nul}.`],
  ['an attribute with half of a surrogate pair', { attributes: { city: 'a\ud83d' } }, `\`@attributes.city\` ${nul}.`],
  ['a device token with a NUL', { deviceTokens: ['ok', 'a\0'] }, `\`@deviceTokens.1\` ${nul}.`],
  ['an empty device token', { deviceTokens: [''] }, '`@deviceTokens.0` must not be empty.'],
  ['device tokens that are a text', { deviceTokens: 'a' }, '`@deviceTokens` must be an array.'],
  ['101 device tokens', { deviceTokens: Array.from({ length: 101 }, String) }, '`@deviceTokens` must have at most 100 items.'],
  ['a subscription that is a text', { subscribeToEmails: 'true' }, '`@subscribeToEmails` must be a boolean.'],
  [
    'a subscription without an email',
    { name: 'Ana', subscribeToEmails: true },
    'A user without an email address cannot be subscribed to emails: send `email` as well.',
  ],
  [
    'several of these at once',
    { name: 5, tz: 'Nowhere', subscribeToEmails: null },
    `\`@name\` must be a string; ${noSuchZone.slice(0, -1)}; \`@subscribeToEmails\` must be a boolean.`,
  ],
];
const users: readonly Case[] = properties.flatMap(([what, body, error]): Case[] => [
  [`${what}, by PUT`, 'PUT', '/v1/users/ana', { body }, 422, error.replaceAll('@', '')],
  [`${what}, by POST`, 'POST', '/v1/users', { body: { id: 'new', ...body } }, 422, error.replaceAll('@', '')],
  event(`${what}, in an event`, { user: { id: 'new', ...body }, value: 1 }, 422, error.replaceAll('@', 'user.')),
]);

const tables = {
  'a key that is': keys,
  'a body that is': bodies,
  'a value that is': values,
  'an id that is': ids,
  'attributes with': attributes,
  'a user with': users,
};

describe('Bad input is answered with its status and a sentence, and changes nothing:', () => {
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

  for (const [part, table] of Object.entries(tables)) {
    describe(part, () => {
      for (const [what, method, path, request, status, error] of table) {
        it(`${what} (${status})`, async () => {
          expect(answer(await world.request(method, path, request))).to.deep.equal([status, { error }]);
          expect(await world.snapshot()).to.equal(untouched);
        });
      }
    });
  }
});
