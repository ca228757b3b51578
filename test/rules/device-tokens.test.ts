import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { removeDeviceToken } from '../../src/engine/users.js';
import { halfOf, readPages } from '../../src/ledger/stream-entries.js';
import { keyNames, metaFields } from '../../src/redis/contract.js';
import { configText, readProfile, track, userPath } from '../support/answers.js';
import { differences } from '../support/differences.js';
import { startArena, type Arena, type Loss, type Session } from '../support/engine-subject.js';
import { baseMs } from '../support/model/documents.js';
import { Model } from '../support/model/index.js';
import { startWorld, type World } from '../support/world.js';

describe('A device token that its provider no longer accepts', () => {
  const odd = 'a/b "é" \\/ ExponentPushToken[x]';
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  const identify = (id: string, deviceTokens: readonly string[] | null): Promise<unknown> =>
    world.request('PUT', userPath(id), { body: { name: id, deviceTokens } });
  const remove = (id: string, token: string): Promise<boolean> => removeDeviceToken(world.engine, world.tenant, id, token);

  const rows: readonly (readonly [what: string, before: string[] | null, token: string, after: string[] | null])[] = [
    ['the first of two', ['one', 'two'], 'one', ['two']],
    ['the last one', ['one'], 'one', []],
    ['one that is listed twice', ['one', 'two', 'one'], 'one', ['two']],
    ['one in both spellings', ['expo:one', 'two', 'one'], 'one', ['two']],
    ['one that is listed with its prefix', ['fcm:one', 'two'], 'one', ['two']],
    ['one beside odd characters', ['one', odd], 'one', [odd]],
    ['one with odd characters', ['one', odd], odd, ['one']],
    ['one that the user does not have', ['one'], 'two', ['one']],
    ['one of a user without tokens', null, 'one', null],
  ];
  for (const [what, before, token, after] of rows) {
    it(`is removed from the user: ${what}`, async () => {
      const id = what;
      await identify(id, before);
      await world.setClock(new Date(Date.parse((await readProfile(world, id)).updated) + 60_000).toISOString());
      const earlier = await readProfile(world, id);
      const end = await world.ledgerEnd();
      const isChanged = JSON.stringify(before) !== JSON.stringify(after);
      expect(await remove(id, token)).to.equal(isChanged);
      const { updated, ...later } = await readProfile(world, id);
      expect(later).to.deep.equal({ ...later, deviceTokens: after });
      expect(updated > earlier.updated, 'updated moves').to.equal(isChanged);
      expect((await world.ledgerEnd()) !== end, 'in the ledger').to.equal(isChanged);
      await world.drain();
      const { rows: stored } = await world.pool.query<{ tokens: string[] | null }>(
        'select device_tokens as tokens from users where id = $1',
        [id],
      );
      expect(stored[0]?.tokens).to.deep.equal(after);
    });
  }

  it('is removed without creating an unknown user', async () => {
    const end = await world.ledgerEnd();
    expect(await remove('unknown', 'one')).to.equal(false);
    expect(await world.ledgerEnd()).to.equal(end);
    expect((await world.get(userPath('unknown'))).status).to.equal(404);
  });

  it('takes no token along that is added at the same time', async () => {
    await identify('busy', ['dead', 'old']);
    const tokens = ['dead', 'old', ...Array.from({ length: 20 }, (_, i) => `new ${i}`)];
    await Promise.all([identify('busy', tokens), ...Array.from({ length: 5 }, () => remove('busy', 'dead')), identify('busy', tokens)]);
    await remove('busy', 'dead');
    expect((await readProfile(world, 'busy')).deviceTokens).to.deep.equal(tokens.slice(1));
  });

  it('is gone from Redis and Postgres alike', async () => {
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });
});

type Tokens = readonly string[] | null;
/** A call that sends the tokens of a user, or deletes the user. */
type Call = readonly [user: string, tokens: Tokens | 'deleted'];
type Owners = Readonly<Record<string, Tokens>>;

const many = Array.from({ length: 100 }, (_, i) => `d${i}`);
const rows: readonly (readonly [rule: string, calls: readonly Call[], after: Owners])[] = [
  [
    'the user who registered it last',
    [
      ['a', ['t']],
      ['b', ['t']],
    ],
    { a: [], b: ['t'] },
  ],
  [
    'that user alone of three',
    [
      ['a', ['t']],
      ['b', ['t']],
      ['c', ['t']],
    ],
    { a: [], b: [], c: ['t'] },
  ],
  [
    'the first user again, who comes back',
    [
      ['a', ['t']],
      ['b', ['t']],
      ['a', ['t']],
    ],
    { a: ['t'], b: [] },
  ],
  [
    'that user, and the others of the list stay',
    [
      ['a', ['s', 't', 'u']],
      ['b', ['t']],
    ],
    { a: ['s', 'u'], b: ['t'] },
  ],
  [
    'that user, of several former owners',
    [
      ['a', ['s', 'x']],
      ['b', ['t', 'y']],
      ['c', ['s', 't']],
    ],
    { a: ['x'], b: ['y'], c: ['s', 't'] },
  ],
  [
    'that user, of a hundred former owners',
    [...many.map((token): Call => [`of ${token}`, [token]]), ['a', many]],
    { 'of d0': [], 'of d99': [], a: many },
  ],
  [
    'that user, whatever the prefix',
    [
      ['a', ['expo:t', 's']],
      ['b', ['t']],
    ],
    { a: ['s'], b: ['t'] },
  ],
  [
    'that user, in all spellings',
    [
      ['a', ['t', 'expo:t', 'fcm:t', 's']],
      ['b', ['apns:t']],
    ],
    { a: ['s'], b: ['apns:t'] },
  ],
  [
    'its user, who spells it in another way',
    [
      ['a', ['expo:t']],
      ['a', ['t']],
    ],
    { a: ['t'] },
  ],
  ['its user, who lists it twice', [['a', ['expo:t', 't']]], { a: ['expo:t', 't'] }],
  [
    'nobody once it is removed, and then the next user',
    [
      ['a', ['t']],
      ['a', []],
      ['b', ['t']],
    ],
    { a: [], b: ['t'] },
  ],
  [
    'nobody once it is cleared, and then the next user',
    [
      ['a', ['t']],
      ['a', null],
      ['b', ['t']],
    ],
    { a: null, b: ['t'] },
  ],
  [
    'nobody once its user is deleted, and then the next user',
    [
      ['a', ['t']],
      ['a', 'deleted'],
      ['b', ['t']],
      ['a', null],
    ],
    { a: null, b: ['t'] },
  ],
  [
    'its user, also when the former owner is deleted',
    [
      ['a', ['t']],
      ['b', ['t']],
      ['a', 'deleted'],
      ['c', ['s']],
    ],
    { b: ['t'], c: ['s'] },
  ],
  [
    'odd characters included',
    [
      ['a', ['a/b "é" \\/', 's']],
      ['b', ['a/b "é" \\/']],
    ],
    { a: ['s'], b: ['a/b "é" \\/'] },
  ],
];

describe('A device belongs to', () => {
  const { document } = planApply(emptyConfig, configFileOf({ metrics: [{ key: 'm', name: 'M' }] }), {
    now: new Date(baseMs).toISOString(),
    prune: false,
    newId: randomUUID,
  });
  let arena: Arena;
  let session: Session;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());
  beforeEach(async () => {
    session = await arena.enter(document, baseMs);
  });
  afterEach(() => session.leave());

  for (const [rule, calls, owners] of rows) {
    it(rule, async () => {
      const sides = [session.subject, new Model(document, baseMs)];
      const tokensOf = async (): Promise<Owners[]> => {
        const found: Owners[] = [];
        for (const side of sides) {
          const tokens: Record<string, Tokens> = {};
          for (const user of Object.keys(owners)) tokens[user] = ((await side.user(user)).body as { deviceTokens: Tokens }).deviceTokens;
          found.push(tokens);
        }
        return found;
      };
      for (const [user, tokens] of calls) {
        for (const side of sides) {
          if (tokens === 'deleted') await side.deleteUser(user);
          else await side.identify('upsert', user, { deviceTokens: tokens });
        }
      }
      expect(await tokensOf()).to.deep.equal([owners, owners]);
      expect(await session.verify()).to.deep.equal([]);
      // Redis is restored with the owners, so the next registration finds them.
      for (const loss of ['empty', 'older'] satisfies Loss[]) {
        await session.loseRedis(loss);
        expect(await tokensOf()).to.deep.equal([owners, owners]);
        expect(await session.verify()).to.deep.equal([]);
      }
      const all = Object.values(owners).flatMap((tokens) => tokens ?? []);
      for (const side of sides) await side.identify('upsert', 'next', { deviceTokens: all.slice(0, 100) });
      const [engine, model] = await tokensOf();
      expect(engine).to.deep.equal(model);
      expect(Object.values(engine ?? {}).flatMap((tokens) => tokens ?? [])).to.deep.equal([]);
      expect(await session.verify()).to.deep.equal([]);
    });
  }
});

describe('A device that another user registers', () => {
  let world: World;
  before(async () => {
    world = await startWorld({
      config: configText({
        metrics: [{ key: 'm', name: 'M' }],
        achievements: [{ key: 'call', name: 'Call', status: 'active', trigger: 'api' }],
      }),
    });
  });
  after(() => world.stop());

  const later = async (): Promise<void> => {
    const { updated } = await readProfile(world, 'ana');
    await world.setClock(new Date(Date.parse(updated) + 60_000).toISOString());
  };
  const registrations: readonly (readonly [how: string, register: (id: string, deviceTokens: string[]) => Promise<unknown>])[] = [
    ['with PUT', (id, deviceTokens) => world.request('PUT', userPath(id), { body: { deviceTokens } })],
    ['with POST', (id, deviceTokens) => world.request('POST', '/v1/users', { body: { id: `new ${id}`, deviceTokens } })],
    ['with an event', (id, deviceTokens) => track(world, 'm', { user: { id, deviceTokens }, value: 1 })],
    [
      'with a completion',
      (id, deviceTokens) => world.request('POST', '/v1/achievements/call/complete', { body: { user: { id, deviceTokens } } }),
    ],
    [
      'with a batch of events',
      (id, deviceTokens) =>
        world.request('POST', '/admin/v1/metrics/events', { body: [{ key: 'm', user: { id, deviceTokens }, value: 1 }] }),
    ],
  ];
  for (const [how, register] of registrations) {
    it(`is taken from its former owner ${how}`, async () => {
      await world.request('PUT', userPath('ana'), { body: { name: 'Ana', tz: 'Asia/Tokyo', deviceTokens: ['phone', 'tablet'] } });
      await later();
      const { updated, ...earlier } = await readProfile(world, 'ana');
      await register(how, ['fcm:phone']);
      const { updated: moved, ...now } = await readProfile(world, 'ana');
      expect(now).to.deep.equal({ ...earlier, deviceTokens: ['tablet'] });
      expect(moved > updated, 'updated moves').to.equal(true);
      await world.drain();
      expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
    });
  }

  it('changes nothing when the call is refused', async () => {
    await world.request('PUT', userPath('ana'), { body: { deviceTokens: ['phone'] } });
    const end = await world.ledgerEnd();
    const refused = await world.request('PUT', userPath('ed'), { body: { subscribeToEmails: true, deviceTokens: ['phone'] } });
    expect(refused.status).to.equal(422);
    expect(await world.ledgerEnd()).to.equal(end);
    expect((await readProfile(world, 'ana')).deviceTokens).to.deep.equal(['phone']);
  });
});

describe('The ledger of a device that another user registers', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ roles: { api: true, worker: false } });
  });
  after(() => world.stop());

  it('is committed whole: no batch ends, and none is halved, between the entries of one call', async () => {
    const { redis, partition } = world;
    const put = (id: string, deviceTokens: readonly string[]): Promise<unknown> =>
      world.request('PUT', userPath(id), { body: { deviceTokens } });
    for (const id of ['a', 'b', 'c', 'd']) await put(id, [id]);
    await put('all', ['a', 'b', 'c', 'd']);
    await put('a', ['a']);
    const epoch = (await redis.hget(partition + keyNames.meta, metaFields.epoch)) ?? '';
    const kinds = async (maxEntries: number): Promise<string[]> => {
      const pages = await readPages(redis, partition, { epoch, after: '0-0', maxEntries });
      if (typeof pages === 'string') throw new Error(pages);
      const half = halfOf(pages.entries);
      if (pages.entries.length > 1) expect(pages.entries[half - 1]?.entry?.kind, `half of ${maxEntries}`).to.equal('user');
      return pages.entries.map(({ entry }) => entry?.kind ?? '');
    };
    const one = ['user', 'user', 'user', 'user'];
    const all = [...one, 'handover', 'handover', 'handover', 'handover', 'user', 'handover', 'user'];
    expect(await kinds(100)).to.deep.equal(all);
    for (const [max, read] of [
      [1, 1],
      [4, 4],
      [5, 9],
      [8, 9],
      [9, 9],
      [10, 11],
    ] as const) {
      expect(await kinds(max), `at most ${max}`).to.deep.equal(all.slice(0, read));
    }
  });
});
