import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { accountPrefix, keyNames, userFields } from '../../src/redis/contract.js';
import { profileOf } from '../../src/redis/encoding.js';
import { bodyOf, configText, type EventBody, type Profile, type Rankings, track, type UserPlace } from '../support/answers.js';
import { cityAndDevice, pointPerUnit } from '../support/configs.js';
import { sendRaw } from '../support/raw-http.js';
import { adminKey, keysOf, startWorld, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const config = {
  attributes: cityAndDevice,
  metrics: Array.from({ length: 12 }, (_, i) => ({ key: `m${i}`, name: `Metric ${i}` })),
  points: [pointPerUnit('m0')],
  leaderboards: [{ key: 'l', name: 'L', status: 'active', rankBy: 'metric', metricKey: 'm0' }],
};

/** Texts that have been the end of some service. None has a control character, so each is a valid id. */
const oddities: Readonly<Record<string, string>> = {
  braces: '{}',
  'a hash tag': '{other}:u:ana',
  'half of a hash tag': '}{',
  colons: 'a:b::c',
  'a space': ' ',
  'spaces around': '  two  words ',
  'double quotes': '"ana"',
  'single quotes': "it's ''",
  'an emoji': '🙂',
  'a family of emoji': '👩‍👩‍👧‍👦',
  '255 emoji': '🙂'.repeat(255),
  '255 letters': 'x'.repeat(255),
  'a percent sign': '100%',
  'an escaped slash': '%2F%00',
  backslashes: '\\ \\\\ \\n \\u0000',
  wildcards: 'u:* [a-z]? ^',
  slashes: '/a//b/',
  'a query and a fragment': 'a?b=c&d#e',
  'a plus sign': 'ana+test@example.com',
  'three dots': '...',
  'a path': '../../etc/passwd',
  SQL: "'; drop table users; --",
  'a dollar and a number': '$1 ${x} %s',
  markup: '<b onclick="x">&amp;</b>',
  'accents, composed': 'caf\u00e9',
  'accents, decomposed': 'cafe\u0301',
  'letters of other scripts': 'Ωмега 漢字 العربية',
  'a letter beyond the first plane': '𝒳',
  'a mark that turns the direction': '\u202eana',
  'a byte order mark': '\ufeffana',
  'a line separator': 'a\u2028b',
  'a replacement character': '\ufffd',
  'a code point that is no character': '\uffff',
  'a word of JSON': 'null',
  'a number': '-0',
  'what JavaScript knows': '__proto__',
  'a list of JSON': '["ana"]',
};

/** Whatever accepts the id of a user. */
const takers: readonly (readonly [method: string, path: string, body?: (id: string) => unknown])[] = [
  ['POST', '/v1/users', (id) => ({ id })],
  ['PUT', '/v1/users/{id}', () => ({})],
  ['PATCH', '/v1/users/{id}', () => ({})],
  ['POST', '/v1/metrics/m0/event', (id) => ({ user: { id }, value: 1 })],
  ['POST', '/v1/achievements/a/complete', (id) => ({ user: { id } })],
  ['POST', '/admin/v1/metrics/events', (id) => [{ key: 'm0', user: { id }, value: 1 }]],
  ['POST', '/admin/v1/application-api-keys', (id) => [{ userId: id }]],
  ['POST', '/admin/v1/streaks/freezes', (id) => ({ freezes: [{ userId: id }] })],
  ['POST', '/admin/v1/points/{system}/boosts', (id) => [{ name: 'B', start: '2040-01-01', multiplier: 2, userId: id }]],
];

/** The Idempotency-Key that goes with a text. HTTP drops white space at the ends of a header. */
const keyOf = (text: string): string => (text === text.trim() ? text : `<${text}>`);

/** Characters that mean something to HTTP, Redis, Lua or JSON. */
const meaningful = Array.from('{}:*?[]\\%\'" +/0u');

/** Ids that look like keys of Redis, or like the ends of other users' keys. */
const idsLikeKeys = (partition: string): string[] =>
  [
    ...['', ':', '1:', '2:', '1:1:', '11:', 'u:', 'i:', 'a:', 'b:', 'i:1:', 'u:u:', '0:', ' '].map((suffix) => `${suffix}ana`),
    ...Object.values(keyNames).flatMap((name) => [name, `${partition}${name}`, `${name}1`, `1:${name}`]),
  ].filter((id) => id !== 'ana');

describe('Odd characters', () => {
  let world: World;
  let others: ReadonlySet<string>;
  before(async () => {
    world = await startWorld({ config: configText(config) });
    await track(world, 'm0', { user: 'ana', value: 1, key: 'k' });
    others = new Set(await keysElsewhere());
  });
  after(() => world.stop());

  /** All keys but those of the tenant and of the account, to which each process writes a probe. */
  async function keysElsewhere(): Promise<string[]> {
    const own = [world.partition, accountPrefix(world.settings.redisPrefix)];
    return (await keysOf(world.redis, '')).filter((key) => !own.some((prefix) => key.startsWith(prefix)));
  }

  /** Sends a request as it is: client libraries would resolve a path such as `/users/..`. */
  async function send<T>(method: string, path: string, body?: object, key?: string): Promise<readonly [status: number, body: T]> {
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    const reply = await sendRaw(world.address, { method, path: `/v1${path}`, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    return [reply.status, reply.body as T];
  }

  /** Uses a text wherever a caller's text can be, and checks every answer. */
  async function useEverywhere(text: string): Promise<void> {
    const path = `/users/${encodeURIComponent(text)}`;
    const properties = { name: text, email: `${text}@`, deviceTokens: [text, `${text}2`], attributes: { city: text } };
    const key = keyOf(text);
    const event = { user: { id: text, ...properties }, value: 5, attributes: { device: text } };
    const [created, first] = await send<EventBody>('POST', '/metrics/m0/event', event, key);
    expect([created, first.total, first.idempotencyKey]).to.deep.equal([201, 5, key]);
    const [replayed, second] = await send<EventBody>('POST', '/metrics/m0/event', event, key);
    expect([replayed, second.eventId, second.idempotencyKey]).to.deep.equal([202, first.eventId, key]);
    const [, profile] = await send<Profile>('GET', path);
    expect(profile).to.deep.include({ id: text, ...properties });
    for (const method of ['PUT', 'PATCH']) expect((await send<Profile>(method, path, properties))[1]).to.deep.equal(profile);
    const [, rankings] = await send<Rankings>('GET', `/leaderboards/l?limit=1&userId=${encodeURIComponent(text)}`);
    expect(rankings.rankings.map(({ userId, userName, value }) => [userId, userName, value])).to.deep.equal([[text, text, 5]]);
    const [, metric] = await send<{ current: number }>('GET', `${path}/metrics/m0`);
    expect(metric.current).to.equal(5);
    const [, points] = await send<{ total: number }>('GET', `${path}/points/p`);
    expect(points.total).to.equal(5);
    const [, place] = await send<UserPlace>('GET', `${path}/leaderboards/l`);
    expect([place.value, place.history.length]).to.deep.equal([5, 1]);
  }

  /** Checks what the stores hold of a user for whom `useEverywhere` was called. */
  async function expectStored(text: string): Promise<void> {
    const hash = await world.redis.hgetallBuffer(`${world.partition}${keyNames.user}${text}`);
    const fields = profileOf(new Map(Object.entries(hash)));
    expect(fields).to.include({ [userFields.name]: text, [userFields.email]: `${text}@` });
    expect(Object.values(fields)).to.include(JSON.stringify([text, `${text}2`]));
    const { rows } = await world.pool.query(
      `select u.id, u.name, u.email, u.device_tokens, e.idempotency_key, l.value,
              (select json_agg(value) from jsonb_each_text(u.attributes)) as cities,
              (select json_agg(value) from jsonb_each_text(e.attributes)) as devices
         from users u
         join events e on e.user_id = u.id join leaderboard_entries l on l.user_id = u.id
         join user_metrics m on m.user_id = u.id join user_points p on p.user_id = u.id join awards a on a.user_id = u.id
        where u.id = $1`,
      [text],
    );
    expect(rows).to.deep.equal([
      {
        id: text,
        name: text,
        email: `${text}@`,
        device_tokens: [text, `${text}2`],
        idempotency_key: keyOf(text),
        value: 5,
        cities: [text],
        devices: [text],
      },
    ]);
  }

  describe('are kept exactly in ids, Idempotency-Keys, names, tokens and attributes, by every read and in both stores:', () => {
    for (const [what, text] of Object.entries(oddities)) {
      it(`${what}: ${JSON.stringify(text.slice(0, 30))}`, async () => {
        await useEverywhere(text);
        await world.drain();
        await expectStored(text);
      });
    }

    it('random texts', async () => {
      const used: string[] = [];
      // Those of other tests have values there.
      const taken = new Set(['ana', ...Object.values(oddities), ...idsLikeKeys(world.partition)]);
      // Clients leave these out of URLs (WHATWG URL, "single-dot" and "double-dot path segment").
      for (const segment of ['.', '..']) taken.add(segment);
      const id = fc
        .oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom(...meaningful) }))
        .map((text) => text.replace(/\p{Cc}/gu, ''))
        .filter((text) => text !== '' && Array.from(text).length <= 255 && !taken.has(text));
      await fc.assert(
        fc.asyncProperty(id, async (text) => {
          if (used.includes(text)) return;
          used.push(text);
          await useEverywhere(text);
        }),
        { numRuns: 60 },
      );
      await world.drain();
      for (const text of used) await expectStored(text);
    });

    it('are refused everywhere as user ids if they are `.` or `..`, which no client reaches by a URL', async () => {
      const [{ id: system }] = bodyOf<[{ id: string }]>(await world.get('/admin/v1/points'), 200);
      const file = (id: string): string =>
        configText({
          points: [{ key: 'p', name: 'P', boosts: [{ key: 'b', name: 'B', start: '2040-01-01', multiplier: 2, userId: id }] }],
        });
      await world.drain();
      const before = await world.snapshot();
      for (const id of ['.', '..']) {
        for (const [method, path, body] of takers) {
          const address = path.replace('{id}', encodeURIComponent(id)).replace('{system}', system);
          const sent = body ? { body: JSON.stringify(body(id)) } : {};
          const reply = await sendRaw(world.address, { method, path: address, ...sent });
          expect(reply.status, `${method} ${path} ${id}`).to.equal(422);
          expect((reply.body as { error: string }).error).to.match(/^`[\w.]+` must not be \. or \.\.[,:]/);
        }
        const dry = await world.request('POST', '/admin/v1/configuration/dry-run', { body: { file: file(id) } });
        expect(JSON.stringify(dry.body), id).to.contain('must not be . or ..');
      }
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });

    it('are accepted as Idempotency-Keys, `.` and `..` included', async () => {
      for (const key of ['.', '..']) {
        const [status, { idempotencyKey }] = await send<EventBody>('POST', '/metrics/m1/event', { user: { id: 'ana' }, value: 1 }, key);
        expect([status, idempotencyKey]).to.deep.equal([201, key]);
      }
    });

    it('in headers are read as Latin-1 if they are not UTF-8', async () => {
      const body = { user: { id: 'latin' }, value: 1 };
      const reply = await world.event('m0', body, { 'idempotency-key': 'caf\u00e9' });
      expect((reply.body as EventBody).idempotencyKey).to.equal('café');
      expect((await send<EventBody>('POST', '/metrics/m0/event', body, 'café'))[1].idempotentReplayed).to.equal(true);
    });
  });

  describe('reach no other key', () => {
    it('of Redis: all keys are in the one slot of the tenant', async () => {
      const keys = await keysOf(world.redis, '');
      // Counters of other tests expire by the wall clock.
      expect((await keysElsewhere()).filter((key) => !others.has(key))).to.deep.equal([]);
      // Redis Cluster hashes what is between the first brace and the first one that closes it, if there is something between them.
      const tags = keys.filter((key) => key.startsWith(world.partition)).map((key) => /\{([^}]*)\}/.exec(key)?.[1]);
      expect(new Set(tags)).to.deep.equal(new Set([world.partition.slice(1, -2)]));
    });

    it('by ids that look like the ends of other users’ keys', async () => {
      const ids = idsLikeKeys(world.partition);
      const metrics = config.metrics.map(({ key }) => key);
      const first = new Map<string, EventBody>();
      // Everybody has a value of their own on every metric, under the same key.
      for (const [i, user] of ids.entries()) {
        for (const [n, metric] of metrics.entries()) {
          const sent = await track(world, metric, { user, value: 1000 * i + n, key: 'k' });
          expect(sent.total, `${user} on ${metric}`).to.equal(1000 * i + n);
          first.set(`${metric} ${user}`, sent);
        }
      }
      for (const [i, user] of ids.entries()) {
        for (const [n, metric] of metrics.entries()) {
          const replay = await track(world, metric, { user, value: 1, key: 'k' }, 202);
          expect(replay).to.include({ total: 1000 * i + n, eventId: first.get(`${metric} ${user}`)?.eventId });
        }
      }
      const [, ana] = await send<{ current: number }>('GET', '/users/ana/metrics/m0');
      expect(ana.current).to.equal(1);
    });
  });

  describe('that are not UTF-8 are refused with a 400 that changes nothing, and are not taken for one another', () => {
    const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
    const packings: Readonly<Record<string, (body: Buffer) => Buffer>> = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

    async function post(path: string, body: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<readonly [number, unknown]> {
      const response = await fetch(`${world.address}${path}`, { method: 'POST', body, headers: { 'X-API-KEY': adminKey, ...headers } });
      return [response.status, await response.json()];
    }
    const refused = [400, { error: 'The body is not valid UTF-8.' }];

    const file = JSON.stringify({ file: 'metrics: [{ key: m0, name: M\u00e9 }]' }).replace('\\u00e9', '\u00e9');
    const bodies: readonly (readonly [what: string, path: string, body: string])[] = [
      ['the id of a user', '/v1/metrics/m0/event', '{"user":{"id":"m\xe9"},"value":1}'],
      ['the name of a user', '/v1/users', '{"id":"latin","name":"Am\xe9lie"}'],
      ['an event of a batch', '/admin/v1/metrics/events', '[{"key":"m0","user":{"id":"m\xe8"},"value":1}]'],
      ['a part of the Admin API', '/admin/v1/attributes', '[{"key":"latin","name":"\xe9","type":"user"}]'],
      ['a configuration file', '/admin/v1/configuration/apply', file],
      ['half of a character', '/v1/users', '{"id":"\xf0\x9f\x99"}'],
      ['a surrogate', '/v1/users', '{"id":"\xed\xa0\x80"}'],
    ];
    for (const [what, path, body] of bodies) {
      it(what, async () => {
        await world.drain();
        const before = await world.snapshot();
        expect(await post(path, latin(body))).to.deep.equal(refused);
        for (const [name, pack] of Object.entries(packings)) {
          expect(await post(path, pack(latin(body)), { 'Content-Encoding': name }), name).to.deep.equal(refused);
        }
        expect(await world.snapshot()).to.deep.equal(before);
      });
    }

    it('but a replacement character that was sent is accepted', async () => {
      const body = (id: string): Buffer => Buffer.from(JSON.stringify({ id }));
      expect((await post('/v1/users', body('m\ufffd')))[0]).to.equal(201);
      expect((await post('/v1/users', gzipSync(body('n\ufffd')), { 'Content-Encoding': 'GZIP' }))[0]).to.equal(201);
    });
  });
});
