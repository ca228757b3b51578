import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { userFields, userRecords } from '../../src/redis/contract.js';
import { userLayouts } from '../../src/redis/layout.js';
import { packMessage, unpackMessage } from '../../src/redis/encoding.js';
import { bodyOf, configText, read, readPlace, readPoints, readProfile, track, userPath } from '../support/answers.js';
import { cityPlanAndDevice } from '../support/configs.js';
import { stores } from '../support/stores.js';
import { freshDatabase, startWorld, tenant, type TestDatabase, type World } from '../support/world.js';

/** What the decoder makes of packed values, as texts. */
async function decoded(pool: pg.Pool, messages: readonly Buffer[]): Promise<string[]> {
  const { rows } = await pool.query<{ value: string }>(
    'select unpack_message(message)::text as value from unnest($1::bytea[]) with ordinality as messages (message, at) order by at',
    [messages],
  );
  return rows.map(({ value }) => value);
}

/** A value as jsonb tells it: without a sign of 0. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Postgres keeps no NUL, and Laurel takes none. */
const isStorable = (value: unknown): boolean => !JSON.stringify(value).includes('\\u0000');
const values = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }).filter(isStorable);
const batches = fc.array(values, { minLength: 40, maxLength: 40 });
const runs = 20;

/** Lua knows no empty map apart from an empty list. */
function asLua(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asLua);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return entries.length === 0 ? [] : Object.fromEntries(entries.map(([key, item]) => [key, asLua(item)]));
}

describe('MessagePack in SQL', () => {
  let database: TestDatabase;
  let redis: Redis;
  before(async () => {
    database = await freshDatabase();
    redis = new Redis((await stores()).redisUrl);
  });
  after(async () => {
    redis.disconnect();
    await database.drop();
  });

  const texts = (count: number): string => 'é'.repeat(count / 2);
  const list = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  const map = (count: number): Record<string, number> => Object.fromEntries(list(count).map((i) => [`k${i}`, i]));
  /** What msgpackr makes of values at the edges of each type. */
  const packed: readonly (readonly [type: string, values: readonly unknown[]])[] = [
    ['fixint', [0, 1, 127, -1, -32]],
    ['uint 8 to 32', [128, 255, 256, 65_535, 65_536, 4_294_967_295]],
    ['int 8 to 32', [-33, -128, -129, -32_768, -32_769, -2_147_483_648]],
    [
      'float 64',
      [0.1, -2.5, 4_294_967_296, -2_147_483_649, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, -Number.MIN_VALUE, 2.225e-308, 1e22],
    ],
    ['nil and booleans', [null, true, false]],
    ['text', ['', 'a', texts(30), texts(32), texts(254), texts(256), texts(65_534), texts(65_536), '"\\\n\u2028🙂\u0001']],
    ['list', [[], [[]], list(15), list(16), list(65_535), list(65_536), [null, [false, {}], 'a']]],
    ['map', [{}, { a: {} }, map(15), map(16), map(65_535), { '': null, '1': [2], 'é"': { b: [] } }]],
  ];
  for (const [type, some] of packed) {
    it(`reads what msgpackr writes: ${type}`, async () => {
      const found = await decoded(
        database.pool,
        some.map((value) => packMessage(value)),
      );
      expect(found.map((text) => JSON.parse(text) as unknown)).to.deep.equal(some);
    });
  }

  /** Bytes in hexadecimal digits, and the text of what they are. */
  const written: readonly (readonly [type: string, bytes: string, text: string])[] = [
    ['uint 8', 'ccff', '255'],
    ['uint 16', 'cdffff', '65535'],
    ['uint 32', 'ceffffffff', '4294967295'],
    ['uint 64', 'cf0020000000000001', '9007199254740993'],
    ['the largest uint 64', 'cfffffffffffffffff', '18446744073709551615'],
    ['int 8', 'd080', '-128'],
    ['a positive int 8', 'd07f', '127'],
    ['int 16', 'd18000', '-32768'],
    ['int 32', 'd280000000', '-2147483648'],
    ['a positive int 32', 'd27fffffff', '2147483647'],
    ['int 64', 'd38000000000000000', '-9223372036854775808'],
    ['a positive int 64', 'd37fffffffffffffff', '9223372036854775807'],
    ['float 32', 'ca3fc00000', '1.5'],
    ['the smallest float 32', 'ca80000001', '-0.0000000000000000000000000000000000000000000014012984643248170'],
    ['float 64', 'cb3ff8000000000000', '1.5'],
    ['0 with a sign', 'cb8000000000000000', '0'],
    ['not a number', 'cb7ff8000000000000', '"NaN"'],
    ['not a number, float 32', 'caffc00000', '"NaN"'],
    ['infinity', 'cb7ff0000000000000', '"Infinity"'],
    ['minus infinity, float 32', 'caff800000', '"-Infinity"'],
    ['text of 8 bits length', 'd90161', '"a"'],
    ['text of 16 bits length', 'da000161', '"a"'],
    ['text of 32 bits length', 'db0000000161', '"a"'],
    ['binary data', 'c403000aff', '"\\\\x000aff"'],
    ['binary data of 16 bits length', 'c50001ff', '"\\\\xff"'],
    ['binary data of 32 bits length', 'c600000001ff', '"\\\\xff"'],
    ['list of 16 bits length', 'dc0001c0', '[null]'],
    ['list of 32 bits length', 'dd00000001c3', '[true]'],
    ['map of 16 bits length', 'de0001a161c2', '{"a": false}'],
    ['map of 32 bits length', 'df00000001a16101', '{"a": 1}'],
    ['numbers as keys', '8301a161ffa162cd03e880', '{"1": "a", "-1": "b", "1000": {}}'],
  ];
  it('reads each type to its last value', async () => {
    const found = await decoded(
      database.pool,
      written.map(([, bytes]) => Buffer.from(bytes, 'hex')),
    );
    const normal = (text: string): string => text.replace(/(\.\d*?)0+$/, '$1');
    expect(written.map(([type], i) => [type, normal(found[i] ?? '')])).to.deep.equal(written.map(([type, , text]) => [type, normal(text)]));
  });

  const refused: readonly (readonly [what: string, bytes: string, reason: RegExp])[] = [
    ['nothing', '', /ends early/],
    ['half a number', 'cd01', /ends early/],
    ['half a text', 'a261', /ends early/],
    ['half a list', '9201', /ends early/],
    ['half a map', '81a161', /ends early/],
    ['a length beyond the end', 'ddffffffff', /ends early/],
    ['two values', '0102', /has bytes after its end/],
    ['an extension', 'd40000', /does not write: 0xd4/],
    ['a type that there is not', 'c1', /does not write: 0xc1/],
    ['a list as a key', '819001', /as a key/],
    ['text that is not UTF-8', 'a1ff', /encoding/],
  ];
  for (const [what, bytes, reason] of refused) {
    it(`refuses ${what}`, async () => {
      const error: unknown = await decoded(database.pool, [Buffer.from(bytes, 'hex')]).catch((thrown: unknown) => thrown);
      expect(error).to.be.an('error').with.property('message').that.matches(reason);
    });
  }

  it('reads random values of msgpackr', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (some) => {
        const found = await decoded(
          database.pool,
          some.map((value) => packMessage(value)),
        );
        expect(found.map((text) => JSON.parse(text) as unknown)).to.deep.equal(some.map(asJson));
      }),
      { numRuns: runs },
    );
  });

  it('reads random values of cmsgpack, as Redis packs them', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (some) => {
        const pack = 'local packed = {} for i, text in ipairs(ARGV) do packed[i] = cmsgpack.pack(cjson.decode(text)) end return packed';
        const messages = (await redis.callBuffer('EVAL', pack, '0', ...some.map((value) => JSON.stringify([value])))) as Buffer[];
        const found = await decoded(database.pool, messages);
        expect(found.map((text) => JSON.parse(text) as unknown)).to.deep.equal(some.map((value) => asLua(asJson([value]))));
      }),
      { numRuns: runs },
    );
  });

  it('is immutable, strict and parallel safe', async () => {
    const { rows } = await database.pool.query(
      `select provolatile, proisstrict, proparallel from pg_proc where oid = 'unpack_message(bytea)'::regprocedure`,
    );
    expect(rows).to.deep.equal([{ provolatile: 'i', proisstrict: true, proparallel: 's' }]);
  });
});

/** The places that a module of the function library names: the list of constants that begins with `first`, in camel case. */
function placesInLua(module: string, first: string): string[] {
  const source = readFileSync(new URL(`../../lua/modules/${module}.lua`, import.meta.url), 'utf8');
  const [, names = '', positions = ''] = new RegExp(`^local (${first}, [A-Z_, ]+) = ([0-9, ]+)$`, 'm').exec(source) ?? [];
  const places = names.split(', ').map((name) => name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  expect(positions).to.equal(places.map((_, i) => i + 1).join(', '));
  return places;
}

describe("The names of a user's state in SQL", () => {
  let database: TestDatabase;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database.drop());

  it('are those of the function library, slot by slot', async () => {
    const { rows } = await database.pool.query('select state_layout() as layout');
    expect(rows).to.deep.equal([
      {
        layout: {
          records: userRecords,
          profile: userFields,
          ...userLayouts,
          place: placesInLua('leaderboards', 'RUN'),
        },
      },
    ]);
  });
});

const filter = { eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }] };
const board = { status: 'active', start: '2040-01-01' };
const config = {
  settings: { weekStart: 'sunday', defaultTimeZone: 'America/New_York' },
  attributes: cityPlanAndDevice,
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: 'minutes', name: 'Minutes' },
  ],
  points: [
    {
      key: 'xp',
      name: 'Experience',
      levels: [{ key: 'novice', name: 'Novice', points: 20 }],
      triggers: [
        { key: 'cards', type: 'metric', metricKey: 'cards', metricThreshold: 5, points: 7, status: 'active' },
        { key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' },
      ],
    },
    {
      key: 'gems',
      name: 'Gems',
      triggers: [{ key: 'cards', type: 'metric', metricKey: 'cards', metricThreshold: 100, points: 1, status: 'active', ...filter }],
    },
  ],
  achievements: [
    { key: 'hundred', name: 'First hundred', status: 'active', trigger: 'metric', metricKey: 'cards', metricValue: 10 },
    { key: 'on-phone', name: 'On the phone', status: 'active', trigger: 'metric', metricKey: 'cards', metricValue: 1_000, ...filter },
    { key: 'hello', name: 'Hello', status: 'active', trigger: 'api' },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    personalization: true,
    metrics: [{ metricKey: 'cards', threshold: 5 }],
    freezes: { initial: 1, maximum: 3, earnInterval: 0, earnAmount: 0 },
  },
  leaderboards: [
    { key: 'all-cards', name: 'All cards', rankBy: 'metric', metricKey: 'cards', ...board },
    { key: 'cards-by-city', name: 'Cards by city', rankBy: 'metric', metricKey: 'cards', breakdownAttributes: ['city'], ...board },
    {
      key: 'weekly-cards',
      name: 'Weekly cards',
      rankBy: 'metric',
      metricKey: 'cards',
      runUnit: 'day',
      runInterval: 7,
      ...board,
      start: '2040-01-02',
    },
    { key: 'top-xp', name: 'Top experience', rankBy: 'points', pointsSystemKey: 'xp', ...board },
    { key: 'streaks', name: 'Streaks', rankBy: 'streak', ...board },
  ],
};

interface Words {
  readonly field: string;
  readonly record: string;
  readonly key: string | null;
  readonly name: string | null;
  readonly place: string | null;
  readonly value: unknown;
}

describe("A user's state in words", () => {
  let world: World;
  let words: readonly Words[];
  let pause: string;

  /** Ana with everything, Ben with next to nothing, and Cleo, who loses a streak and then moves. */
  async function live(): Promise<void> {
    const ana = {
      id: 'ana',
      name: 'Ana',
      email: 'ana@example.com',
      tz: 'Europe/Lisbon',
      signUpDate: '2039-12-31',
      attributes: { city: 'Lisbon', plan: 'pro' },
    };
    const event = (value: number, device = 'desk') => track(world, 'cards', { user: 'ana', value, attributes: { device } });
    await track(world, 'cards', { user: { ...ana, deviceTokens: ['token'] }, value: 12, attributes: { device: 'phone' } });
    await track(world, 'cards', { user: { id: 'cleo', tz: 'Europe/Lisbon' }, value: 5 });
    await world.setClock('2040-01-03T09:30:00.250Z');
    await event(5);
    await track(world, 'cards', { user: 'cleo', value: 5 });
    // The 4th is paused, and the 5th is frozen.
    const paused = { pauses: [{ userId: 'ana', start: '2040-01-04', end: '2040-01-04' }] };
    pause = bodyOf<{ created: [{ id: string }] }>(await world.request('POST', '/admin/v1/streaks/pauses', { body: paused }), 201).created[0]
      .id;
    bodyOf(await world.request('POST', '/admin/v1/streaks/freezes', { body: { freezes: [{ userId: 'ana' }] } }), 201);
    await world.setClock('2040-01-06T20:00:00Z');
    await event(6.5, 'phone');
    await event(-3);
    await track(world, 'minutes', { user: 'ana', value: 30 });
    bodyOf(await world.request('POST', '/v1/achievements/hello/complete', { body: { user: { id: 'ana' } } }), 201);
    const preferences = { notifications: { recap: ['email'] }, streak: { metrics: [{ key: 'minutes', threshold: 20 }] } };
    bodyOf(await world.request('PATCH', userPath('ana', '/preferences'), { body: preferences }), 200);
    await track(world, 'minutes', { user: 'ben', value: 1 });
    await track(world, 'cards', { user: 'cleo', value: 5 });
    bodyOf(await world.request('PATCH', userPath('cleo'), { body: { tz: 'America/New_York' } }), 200);
    await world.drain();
  }

  const inWords = async (user: string): Promise<Words[]> =>
    (await world.pool.query<Words>('select * from user_state_in_words($1, $2)', [tenant, user])).rows;

  before(async () => {
    world = await startWorld({ config: configText(config) });
    await live();
    words = await inWords('ana');
  });
  after(() => world.stop());

  /** The values of a record by place, or by key where each key has a record of its own. */
  const valuesOf = (record: string, key: string | null = null): Record<string, unknown> =>
    Object.fromEntries<unknown>(
      words.filter((row) => row.record === record && row.key === key).map(({ place, value }) => [String(place), value]),
    );
  const byKey = (record: string): Record<string, unknown> =>
    Object.fromEntries<unknown>(words.filter((row) => row.record === record).map(({ key, value }) => [String(key), value]));
  const instant = (value: unknown): string => new Date(String(value)).toISOString();

  it('has every slot, moments and days as such, and objects by their keys', async () => {
    const stored = await world.pool.query<{ board: string; seq: string }>(
      `select key as board, seq from leaderboard_entries as entry
         join configured_objects as object on object.tenant = entry.tenant and no = leaderboard where user_id = 'ana'`,
    );
    const seqs = Object.fromEntries(stored.rows.map(({ board, seq }) => [board, Number(seq)]));
    const [first, last] = ['2040-01-02T12:00:00+00:00', '2040-01-06T20:00:00+00:00'];
    const longer = { length: 1, extendedAt: first, counts: { cards: 20.5 }, lostLength: 0 };
    const newYear = '2040-01-01';
    const lisbon = { seq: seqs['cards-by-city'], value: 20.5, group: '6:Lisbon' };
    const week = { run: '2040-01-02', seq: seqs['weekly-cards'], value: 20.5 };
    const rows = words.map(({ field, record, key, name, place, value }) => [field, [record, key, name, place].join(' '), value]);
    const none = '  ';
    expect(rows).to.deep.equal([
      ['c', `core${none} rev`, 13],
      ['c', `core${none} created`, first],
      ['c', `core${none} createdDay`, '2040-01-02'],
      ['c', `core${none} newestDay`, '2040-01-06'],
      ['c', `core${none} tz`, 'Europe/Lisbon'],
      ['c', `core${none} settledHour`, '2040-01-06T00:00:00+00:00'],
      ['c', `core${none} settledDay`, '2040-01-06'],
      ['c', `core${none} streakPreferences`, { mode: 'OR', metrics: [{ key: 'minutes', threshold: 20 }] }],
      ['c', `core${none} signUpDay`, '2039-12-31'],
      ['c', `streaks${none} streakDay`, '2040-01-06'],
      ['c', `streaks${none} freezes`, 1],
      ['c', `streaks${none} earnedUpTo`, '2040-01-06'],
      [
        'c',
        `streaks${none} daily`,
        {
          length: 3,
          started: '2040-01-02',
          last: '2040-01-06',
          extendedAt: last,
          counted: '2040-01-06',
          counts: { cards: 3.5 },
          lostLength: 0,
        },
      ],
      ['c', `streaks${none} weekly`, { ...longer, started: newYear, last: newYear, counted: newYear }],
      ['c', `streaks${none} monthly`, { ...longer, started: newYear, last: newYear, counted: newYear }],
      ['c', `pauses ${pause}  first`, '2040-01-04'],
      ['c', `pauses ${pause}  last`, '2040-01-04'],
      ['u', `profile${none} control`, false],
      ['u', `profile${none} deviceTokens`, ['token']],
      ['u', `profile${none} email`, 'ana@example.com'],
      ['u', 'profile recap  notification', ['email']],
      ['u', `profile${none} subscribeToEmails`, true],
      ['u', `profile${none} updated`, first],
      ['n', `profile${none} name`, 'Ana'],
      ['a', 'attributes city City value', 'Lisbon'],
      ['a', 'attributes plan Plan value', 'pro'],
      ['x', 'achievements hello Hello completed', last],
      ['x', 'achievements hundred First hundred completed', first],
      ['m-4', 'metric cards Cards total', 20.5],
      ['m-4', 'metric cards Cards progress', { 'xp/cards': 20.5, 'gems/cards': 18.5 }],
      ['m-4', 'metric cards Cards highs', { 'xp/cards': 23.5 }],
      ['m-4', 'metric cards Cards sums', { 'on-phone': 18.5 }],
      ['m-4', 'metric cards Cards places', { 'all-cards': { seq: seqs['all-cards'] }, 'weekly-cards': [week], 'cards-by-city': [lisbon] }],
      ['m-5', 'metric minutes Minutes total', 30],
      ['p-9', 'points xp Experience total', 32],
      ['p-9', 'points xp Experience level', 'novice'],
      ['p-9', 'points xp Experience places', { 'top-xp': { seq: seqs['top-xp'] } }],
      ['k', `streakPlaces${none} places`, { streaks: { seq: seqs.streaks } }],
    ]);
  });

  it('agrees with the API', async () => {
    const metrics = await read<{ key: string; current: number }[]>(world, userPath('ana', '/metrics?keys=cards,minutes'));
    for (const { key, current } of metrics) expect(valuesOf('metric', key).total, key).to.equal(current);
    expect(metrics).to.have.lengthOf(2);
    const xp = await readPoints(world, 'ana', 'xp');
    expect(valuesOf('points', 'xp')).to.include({ total: xp.total, level: xp.level?.key });
    const streak = await read<{ length: number; started: string; freezes: number }>(world, userPath('ana', '/streak'));
    expect(valuesOf('streaks').daily).to.include({ length: streak.length, started: streak.started });
    expect(valuesOf('streaks').freezes).to.equal(streak.freezes);
    const achievements = await read<{ key: string; achievedAt: string }[]>(world, userPath('ana', '/achievements'));
    const completed = Object.entries(byKey('achievements')).map(([key, at]) => [key, instant(at)]);
    expect(completed).to.have.deep.members(achievements.map(({ key, achievedAt }) => [key, achievedAt]));
    const profile = await readProfile(world, 'ana');
    const { name, email, deviceTokens, subscribeToEmails, control } = profile;
    expect(valuesOf('profile')).to.deep.include({ name, email, deviceTokens, subscribeToEmails, control });
    expect([instant(valuesOf('core').created), instant(valuesOf('profile').updated)]).to.deep.equal([profile.created, profile.updated]);
    expect(byKey('attributes')).to.deep.equal(profile.attributes);
    expect(valuesOf('core').tz).to.equal(profile.tz);
    const preferences = await read<{ notifications: object; streak: { metrics: unknown } }>(world, userPath('ana', '/preferences'));
    expect(valuesOf('core').streakPreferences).to.deep.include({ metrics: preferences.streak.metrics });
    expect(preferences.notifications).to.deep.equal({ recap: valuesOf('profile', 'recap').notification });
    const places = valuesOf('metric', 'cards').places as { 'weekly-cards': [{ value: number }] };
    expect((await readPlace(world, 'ana', 'weekly-cards')).value).to.equal(places['weekly-cards'][0].value);
  });

  it('leaves out empty values', async () => {
    const rows = (await inWords('ben')).map(({ record, key, place, value }) => [[record, key ?? '', place].join(' '), value]);
    const now = '2040-01-06T20:00:00+00:00';
    const noStreak = { length: 0, lostLength: 0 };
    expect(rows).to.deep.equal([
      ['core  rev', 1],
      ['core  created', now],
      ['core  createdDay', '2040-01-06'],
      ['core  newestDay', '2040-01-06'],
      ['streaks  streakDay', '2040-01-06'],
      ['streaks  freezes', 1],
      ['streaks  earnedUpTo', '2040-01-06'],
      ['streaks  home', 'America/New_York'],
      ['streaks  daily', noStreak],
      ['streaks  weekly', noStreak],
      ['streaks  monthly', noStreak],
      ['profile  control', false],
      ['profile  subscribeToEmails', true],
      ['profile  updated', now],
      ['metric minutes total', 1],
    ]);
    expect(await inWords('nobody')).to.deep.equal([]);
  });

  it('has what a streak was when it was lost, and until when a move between zones leaves it', async () => {
    const cleo = await inWords('cleo');
    expect(cleo.find(({ record, place }) => record === 'streaks' && place === 'daily')?.value).to.deep.equal({
      length: 1,
      started: '2040-01-06',
      last: '2040-01-06',
      extendedAt: '2040-01-06T20:00:00+00:00',
      grace: '2040-01-08T00:00:00+00:00',
      counted: '2040-01-06',
      counts: { cards: 5 },
      lostLength: 2,
      lostStarted: '2040-01-02',
    });
    expect(cleo.find(({ place }) => place === 'tz')?.value).to.equal('America/New_York');
  });

  it('is the same from the values that `laurel verify` prints, field by field', async () => {
    const { rows } = await world.pool.query<{ field: string; value: Buffer }>(
      "select field, value from user_state where tenant = $1 and user_id = 'ana'",
      [tenant],
    );
    for (const { field, value } of rows) {
      const printed = JSON.stringify(field === userRecords.name ? value.toString() : unpackMessage(value));
      const said = await world.pool.query('select $2 as field, words.* from user_record_in_words($1, $2::text, $3::jsonb) as words', [
        tenant,
        field,
        printed,
      ]);
      expect(said.rows, field).to.deep.equal(words.filter((row) => row.field === field));
    }
    const unknown = await world.pool.query('select value from user_record_in_words($1, $2, $3)', [tenant, 'y-1', '[1]']);
    expect(unknown.rows).to.deep.equal([{ value: [1] }]);
  });

  it('can be read by a role that may select from three relations, whatever its search path and time zone are', async () => {
    const client = await world.pool.connect();
    try {
      await client.query('begin');
      await client.query(`create role analyst_${process.pid}`);
      await client.query(`grant select on user_state, config_versions, configured_objects to analyst_${process.pid}`);
      await client.query(`set local role analyst_${process.pid}`);
      await client.query("set local search_path = ''; set local timezone = 'Asia/Tokyo'");
      const { rows } = await client.query('select * from public.user_state_in_words($1, $2)', [tenant, 'ana']);
      expect(rows).to.deep.equal(words);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  it('names the objects of the configuration by their numbers, those of points systems with these', async () => {
    const { rows } = await world.pool.query<{ object: string }>(
      `select concat_ws(' ', kind, points_system, key) as object from configured_objects where tenant = $1 and not archived order by no`,
      [tenant],
    );
    expect(rows.map(({ object }) => object)).to.have.members([
      ...['attribute city', 'attribute plan', 'attribute device', 'metric cards', 'metric minutes'],
      ...['points system xp', 'level xp novice', 'trigger xp cards', 'trigger xp daily', 'points system gems', 'trigger gems cards'],
      ...['achievement hundred', 'achievement on-phone', 'achievement hello'],
      ...config.leaderboards.map(({ key }) => `leaderboard ${key}`),
    ]);
    // What has left the configuration keeps its name.
    await world.configure(configText({ ...config, achievements: [] }), { prune: true });
    expect((await inWords('ana')).filter(({ record }) => record === 'achievements')).to.deep.equal(
      words.filter(({ record }) => record === 'achievements'),
    );
  });
});
