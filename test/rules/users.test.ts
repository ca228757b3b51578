import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { answer, bodyOf, configText, type EventBody, type Profile, readPoints, readProfile, track, userPath } from '../support/answers.js';
import { cityPlanAndDevice } from '../support/configs.js';
import { startHost, startTenant, startWorld, type Reply, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

type Properties = Readonly<Record<string, unknown>>;

const config = {
  attributes: cityPlanAndDevice,
  metrics: [{ key: 'm', name: 'M' }],
  points: [
    { key: 'daily', name: 'Daily', triggers: [{ key: 't', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' }] },
  ],
};

/** The four ways in which a caller can say something of a user. */
const ways = {
  'PUT /users/{id}': (world: World, id: string, properties: Properties) => world.request('PUT', userPath(id), { body: properties }),
  'PATCH /users/{id}': (world: World, id: string, properties: Properties) => world.request('PATCH', userPath(id), { body: properties }),
  'POST /users': (world: World, id: string, properties: Properties) => world.request('POST', '/v1/users', { body: { id, ...properties } }),
  'an event': (world: World, id: string, properties: Properties) => world.event('m', { user: { id, ...properties }, value: 1 }),
} satisfies Record<string, (world: World, id: string, properties: Properties) => Promise<Reply>>;
type Way = keyof typeof ways;
const creating: readonly Way[] = ['PUT /users/{id}', 'POST /users', 'an event'];
const changing: readonly Way[] = ['PUT /users/{id}', 'PATCH /users/{id}', 'an event'];

const whole = {
  name: 'Ana Sá',
  email: 'ana@example.com',
  tz: 'Europe/Lisbon',
  signUpDate: '2039-12-31',
  subscribeToEmails: true,
  deviceTokens: ['one', 'two'],
  attributes: { city: 'Lisbon', plan: 'pro' },
};
const nothing = { name: null, email: null, tz: null, signUpDate: null, subscribeToEmails: true, deviceTokens: null, attributes: {} };

/** The users of docs/rules/users.md; what the other files of tests say of users is beyond it. */
describe('Users', () => {
  const now = '2040-01-02T12:00:00.000Z';
  let world: World;
  let users = 0;
  /** An id that no other test has. */
  const fresh = (): string => `user ${(users += 1)}`;
  /** What Postgres has of a user, in the names of the API. */
  async function stored(id: string): Promise<unknown> {
    await world.drain();
    const { rows } = await world.pool.query(
      `select id, name, email, tz, sign_up_date::text as "signUpDate", subscribe_to_emails as "subscribeToEmails", device_tokens as "deviceTokens", control, created, updated
         from users where id = $1`,
      [id],
    );
    return rows[0];
  }
  /** That every read has this profile, Postgres included. */
  async function expectProfile(id: string, expected: Properties): Promise<void> {
    const profile = await readProfile(world, id);
    expect(profile).to.deep.equal({ id, control: false, ...expected });
    const { attributes: _, created, updated, ...columns } = profile;
    expect(await stored(id)).to.deep.equal({ ...columns, created: new Date(created), updated: new Date(updated) });
  }

  before(async () => {
    world = await startWorld({ config: configText(config), now });
  });
  after(() => world.stop());

  describe('A user id, and an idempotency key, has 1 to 255 characters, none of them a control character; every other character is allowed and kept exactly.', () => {
    const ids: readonly (readonly [what: string, text: string, status: 201 | 422])[] = [
      ['no character', '', 422],
      ['one', 'a', 201],
      ['255', 'x'.repeat(255), 201],
      ['256', 'x'.repeat(256), 422],
      ['255 emoji, each one character', '🙂'.repeat(255), 201],
      ['256 emoji', '🙂'.repeat(256), 422],
      ['a tab', 'a\tb', 422],
      ['a control character beyond ASCII', 'a\u0085b', 422],
      ['signs that mean something elsewhere', '{a}:*%2F/?#..\\"\'', 201],
      ['letters of many scripts', 'Ünïcödé 名前 שם', 201],
    ];
    for (const [what, text, status] of ids) {
      it(`an id of ${what} is ${status === 201 ? 'kept' : 'refused'}`, async () => {
        expect((await world.event('m', { user: { id: text }, value: 1 })).status).to.equal(status);
        expect((await world.request('POST', '/v1/users', { body: { id: text } })).status, 'it is there already, or is none').to.equal(422);
        if (status === 201) expect(await readProfile(world, text)).to.include({ id: text });
      });
      it(`a key of ${what} is ${status === 201 ? 'kept' : 'refused'}`, async () => {
        const [id, event] = [fresh(), (user: string) => ({ user: { id: user }, value: 1 })];
        // HTTP carries headers as bytes.
        const headers = { 'idempotency-key': Buffer.from(text, 'utf8').toString('latin1') };
        const reply = await world.event('m', event(id), headers);
        expect(reply.status).to.equal(status);
        if (status === 422) return;
        expect((reply.body as EventBody).idempotencyKey).to.equal(text);
        expect((await world.event('m', event(id), headers)).status).to.equal(202);
      });
    }
  });

  describe('are created', () => {
    for (const way of creating) {
      it(`with every property that ${way} sends`, async () => {
        const id = fresh();
        expect((await ways[way](world, id, whole)).status).to.be.oneOf([200, 201]);
        await expectProfile(id, { ...whole, created: now, updated: now });
      });
      it(`with an id alone by ${way}`, async () => {
        const id = fresh();
        expect((await ways[way](world, id, {})).status).to.be.oneOf([200, 201]);
        await expectProfile(id, { ...nothing, created: now, updated: now });
      });
    }

    it('once: POST with a known id is refused, and changes nothing', async () => {
      const id = fresh();
      await ways['POST /users'](world, id, whole);
      const error = `A user with the id "${id}" already exists: change it with PUT or PATCH.`;
      expect(answer(await ways['POST /users'](world, id, { name: 'Other' }))).to.deep.equal([422, { error }]);
      await expectProfile(id, { ...whole, created: now, updated: now });
    });

    it('not by PATCH, and not by a read', async () => {
      const id = fresh();
      const refused = [404, { error: `There is no user with the id "${id}": identify the user with PUT first.` }];
      const replies = [
        await ways['PATCH /users/{id}'](world, id, { name: 'Ana' }),
        ...(await Promise.all(['', '/metrics', '/metrics/m'].map((rest) => world.get(userPath(id, rest))))),
      ];
      for (const reply of replies) expect(answer(reply)).to.deep.equal(refused);
    });
  });

  describe('Upsert touches only the properties that were sent; `null` clears where the contract allows null:', () => {
    const changes: readonly (readonly [what: string, sent: Properties, expected: Properties])[] = [
      ['one property', { name: 'Anna' }, { name: 'Anna' }],
      ['to a name of 1,000 emoji', { name: '🙂'.repeat(1000) }, { name: '🙂'.repeat(1000) }],
      ['the name to an empty one, which is none', { name: '' }, { name: null }],
      ['the name to none', { name: null }, { name: null }],
      ['the date of signing up', { signUpDate: '2030-02-28' }, { signUpDate: '2030-02-28' }],
      ['the date of signing up to none', { signUpDate: null }, { signUpDate: null }],
      ['the email address to none', { email: null }, { email: null }],
      ['the email address to none, and to no emails', { email: null, subscribeToEmails: false }, { email: null, subscribeToEmails: false }],
      ['one of several attributes', { attributes: { city: 'Porto' } }, { attributes: { city: 'Porto', plan: 'pro' } }],
      ['an attribute to an empty text', { attributes: { plan: '' } }, { attributes: { city: 'Lisbon', plan: '' } }],
      ['the time zone', { tz: 'Asia/Tokyo' }, { tz: 'Asia/Tokyo' }],
      ['the device tokens as a whole', { deviceTokens: ['three'] }, { deviceTokens: ['three'] }],
      ['the device tokens to none', { deviceTokens: [] }, { deviceTokens: [] }],
      ['to no emails', { subscribeToEmails: false }, { subscribeToEmails: false }],
      ['the time zone to none', { tz: null }, { tz: null }],
      ['the device tokens to null', { deviceTokens: null }, { deviceTokens: null }],
      ['several at once', { name: 'A', email: 'a@b.c', tz: null }, { name: 'A', email: 'a@b.c', tz: null }],
    ];
    for (const way of changing) {
      for (const [what, sent, expected] of changes) {
        it(`changes ${what} by ${way}, and nothing else`, async () => {
          const id = fresh();
          await ways['PUT /users/{id}'](world, id, whole);
          expect((await ways[way](world, id, sent)).status).to.be.oneOf([200, 201]);
          await expectProfile(id, { ...whole, ...expected, created: now, updated: now });
        });
      }
    }

    it('is answered with the whole user', async () => {
      const id = fresh();
      const put = bodyOf<Profile>(await ways['PUT /users/{id}'](world, id, whole), 200);
      expect(put).to.deep.equal(await readProfile(world, id));
      const patched = bodyOf<Profile>(await ways['PATCH /users/{id}'](world, id, { name: 'B' }), 200);
      expect(patched).to.deep.equal({ ...put, name: 'B' });
      const created = bodyOf<Profile>(await ways['POST /users'](world, fresh(), whole), 201);
      expect(created).to.deep.equal({ ...put, id: created.id });
    });

    it('leaves fields alone that are not the caller’s', async () => {
      const id = fresh();
      const sent = { control: true, created: '2000-01-01T00:00:00.000Z', updated: '2000-01-01T00:00:00.000Z', id: 'other', unknown: 1 };
      bodyOf(await world.request('PUT', userPath(id), { body: sent }), 200);
      await expectProfile(id, { ...nothing, created: now, updated: now });
    });
  });

  describe('`tz` must be a known IANA zone (422). A user with none is on UTC.', () => {
    const zones: readonly (readonly [tz: string | null, isKnown: boolean])[] = [
      ['Europe/Lisbon', true],
      ['Asia/Kathmandu', true],
      ['Etc/GMT+12', true],
      ['UTC', true],
      [null, true],
      ['Mars/Olympus', false],
      ['+02:00', false],
      ['', false],
    ];
    for (const [tz, isKnown] of zones) {
      it(`${JSON.stringify(tz)} is ${isKnown ? 'known' : 'refused, and no user is created'}`, async () => {
        const id = fresh();
        const reply = await ways['PUT /users/{id}'](world, id, { tz });
        expect(reply.status).to.equal(isKnown ? 200 : 422);
        expect((await world.get(userPath(id))).status).to.equal(isKnown ? 200 : 404);
      });
    }
  });

  describe('`signUpDate` is a local date that is not after today in the zone of the user:', () => {
    // It is 2 January at noon in UTC, and 3 January already in Kiritimati.
    const rows: readonly (readonly [what: string, sent: Properties, status: 200 | 422, shown: string | null])[] = [
      ['today', { signUpDate: '2040-01-02' }, 200, '2040-01-02'],
      ['tomorrow', { signUpDate: '2040-01-03' }, 422, null],
      ['today, sent together with its zone', { signUpDate: '2040-01-03', tz: 'Pacific/Kiritimati' }, 200, '2040-01-03'],
      ['the first day', { signUpDate: '0001-01-01' }, 200, '0001-01-01'],
      ['the day on which Unix time begins', { signUpDate: '1970-01-01' }, 200, '1970-01-01'],
      ['a date-time, which is its day in UTC', { signUpDate: '2039-05-01T23:30:00-02:00' }, 200, '2039-05-02'],
      ['a date-time in UTC', { signUpDate: '2039-05-01T23:30:00.123Z' }, 200, '2039-05-01'],
    ];
    for (const way of ['PUT /users/{id}', 'PATCH /users/{id}', 'an event'] as const) {
      for (const [what, sent, status, shown] of rows) {
        it(`${what}, by ${way}`, async () => {
          const id = fresh();
          await ways['POST /users'](world, id, {});
          const reply = await ways[way](world, id, sent);
          expect(reply.status).to.equal(status === 200 && way === 'an event' ? 201 : status);
          expect((await readProfile(world, id)).signUpDate).to.equal(shown);
          expect(await stored(id)).to.include({ signUpDate: shown });
        });
      }
    }

    it('a new user has none if it is refused', async () => {
      const id = fresh();
      for (const way of creating) expect((await ways[way](world, id, { signUpDate: '2040-01-03' })).status).to.equal(422);
      expect((await world.get(userPath(id))).status).to.equal(404);
    });

    it('one that a move has put after today may be sent again, and no other', async () => {
      const id = fresh();
      await ways['PUT /users/{id}'](world, id, { signUpDate: '2040-01-03', tz: 'Pacific/Kiritimati' });
      await ways['PUT /users/{id}'](world, id, { tz: 'America/Lima' });
      const { updated } = await readProfile(world, id);
      expect((await ways['an event'](world, id, { signUpDate: '2040-01-03' })).status).to.equal(201);
      expect((await ways['an event'](world, id, { signUpDate: '2040-01-04' })).status).to.equal(422);
      expect(await readProfile(world, id)).to.include({ signUpDate: '2040-01-03', updated });
    });

    it('a batch of events does not take one', async () => {
      const id = fresh();
      const body = [{ key: 'm', user: { id, signUpDate: '2040-01-01' }, value: 1 }];
      const reply = await world.request('POST', '/admin/v1/metrics/events', { body });
      expect([reply.status, reply.headers.get('laurel-ignored-fields')]).to.deep.equal([202, '0.user.signUpDate']);
      expect((await readProfile(world, id)).signUpDate).to.equal(null);
    });
  });

  describe('`subscribeToEmails: true` (sent, not defaulted) for a user who ends up with no email is a 422, and nothing is stored:', () => {
    const error = 'A user without an email address cannot be subscribed to emails: send `email` as well.';
    const settled = async (): Promise<string> => {
      await world.drain();
      return world.snapshot();
    };
    for (const way of creating) {
      it(`${way} without an email creates no user`, async () => {
        const id = fresh();
        const before = await settled();
        const reply = await ways[way](world, id, { name: 'Ana', subscribeToEmails: true });
        expect(answer(reply)).to.deep.equal([422, { error }]);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
      it(`${way} may send the email along`, async () => {
        const id = fresh();
        await ways[way](world, id, { email: 'a@b.c', subscribeToEmails: true });
        expect(await readProfile(world, id)).to.include({ email: 'a@b.c', subscribeToEmails: true });
      });
    }
    for (const way of changing) {
      it(`${way} without an email changes nothing`, async () => {
        const id = fresh();
        await ways['PUT /users/{id}'](world, id, { subscribeToEmails: false });
        const before = await settled();
        const reply = await ways[way](world, id, { name: 'Ana', subscribeToEmails: true });
        expect(answer(reply)).to.deep.equal([422, { error }]);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
    }
    for (const way of creating) {
      it(`${way} stores no address that comes with \`subscribeToEmails: false\``, async () => {
        const id = fresh();
        await ways[way](world, id, { name: 'Ana', email: 'unstored@b.c', subscribeToEmails: false });
        expect(await readProfile(world, id)).to.include({ name: 'Ana', email: null, subscribeToEmails: false });
        await world.drain();
        expect(await world.snapshot()).not.to.contain('unstored@b.c');
      });
    }
    it('an address that is stored already stays, and one that comes by itself is stored', async () => {
      const id = fresh();
      await ways['PUT /users/{id}'](world, id, { email: 'old@b.c' });
      await ways['PUT /users/{id}'](world, id, { email: 'new@b.c', subscribeToEmails: false });
      expect(await readProfile(world, id)).to.include({ email: 'old@b.c', subscribeToEmails: false });
      await ways['PUT /users/{id}'](world, id, { email: 'newer@b.c' });
      expect(await readProfile(world, id)).to.include({ email: 'newer@b.c', subscribeToEmails: false });
    });
    it('an address that is cleared does not count', async () => {
      const id = fresh();
      await ways['PUT /users/{id}'](world, id, { email: 'a@b.c' });
      const both = { email: null, subscribeToEmails: true };
      expect(answer(await ways['PUT /users/{id}'](world, id, both))).to.deep.equal([422, { error }]);
      await ways['PUT /users/{id}'](world, id, { email: null });
      expect(answer(await ways['PUT /users/{id}'](world, id, { subscribeToEmails: true }))).to.deep.equal([422, { error }]);
      expect(await readProfile(world, id)).to.include({ email: null, subscribeToEmails: true });
    });
    it('being subscribed by default asks for none', async () => {
      const id = fresh();
      await ways['PUT /users/{id}'](world, id, {});
      await ways['PUT /users/{id}'](world, id, { name: 'Ana' });
      expect(await readProfile(world, id)).to.include({ email: null, subscribeToEmails: true });
    });
  });

  describe('Unknown attribute keys are a 422 with the spec’s message, naming all of them; nothing is stored:', () => {
    const refused = /^Invalid attribute keys: town, country\. Please ensure all attribute keys match those set up/;
    for (const way of creating) {
      it(`of a user, by ${way}`, async () => {
        const id = fresh();
        const reply = await ways[way](world, id, { name: 'Ana', attributes: { town: 'x', city: 'Lisbon', country: 'y' } });
        expect(reply.status).to.equal(422);
        expect((reply.body as { error: string }).error).to.match(refused);
        expect((await world.get(userPath(id))).status).to.equal(404);
      });
    }
    it('of an event, those of users included', async () => {
      const id = fresh();
      const reply = await world.event('m', { user: { id }, value: 1, attributes: { city: 'Lisbon', device: 'phone' } });
      expect([reply.status, (reply.body as { error: string }).error]).to.satisfy(
        ([status, error]: [number, string]) => status === 422 && error.startsWith('Invalid attribute keys: city.'),
      );
      expect((await world.get(userPath(id))).status).to.equal(404);
    });
  });

  describe('A user with none is on UTC:', () => {
    it('the day begins at midnight there', async () => {
      for (const [id, tz] of [
        ['utc', null],
        ['kathmandu', 'Asia/Kathmandu'],
      ] as const)
        await ways['PUT /users/{id}'](world, id, { tz });
      const paid = async (): Promise<number[]> => [
        (await readPoints(world, 'utc', 'daily')).total,
        (await readPoints(world, 'kathmandu', 'daily')).total,
      ];
      await world.setClock('2040-01-02T18:15:00.000Z');
      expect(await paid()).to.deep.equal([0, 1]);
      await world.setClock('2040-01-02T23:59:59.999Z');
      expect(await paid()).to.deep.equal([0, 1]);
      await world.setClock('2040-01-03T00:00:00.000Z');
      expect(await paid()).to.deep.equal([1, 1]);
    });
  });
});

describe('Users: when one was created and updated', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config), now: '2040-01-02T12:00:00.000Z' });
  });
  after(() => world.stop());

  it('moves with what really changes, and with nothing else', async () => {
    const steps: readonly (readonly [way: Way, sent: Properties, isChange: boolean])[] = [
      ['PUT /users/{id}', {}, true],
      // Clearing what is not there changes nothing.
      ['PUT /users/{id}', { tz: null, deviceTokens: null }, false],
      ['PUT /users/{id}', whole, true],
      ['PUT /users/{id}', whole, false],
      ['PATCH /users/{id}', {}, false],
      ['an event', {}, false],
      ['an event', whole, false],
      ['an event', { name: 'Anna' }, true],
      ['PATCH /users/{id}', { attributes: {} }, false],
      ['PATCH /users/{id}', { attributes: { city: 'Lisbon' } }, false],
      ['PATCH /users/{id}', { attributes: { city: 'Porto' } }, true],
      ['PUT /users/{id}', { tz: null }, true],
      ['PUT /users/{id}', { tz: null }, false],
      ['PUT /users/{id}', { signUpDate: '2039-12-31' }, false],
      ['PUT /users/{id}', { signUpDate: null }, true],
      ['an event', { signUpDate: null }, false],
      ['PUT /users/{id}', { deviceTokens: null }, true],
      ['PUT /users/{id}', { deviceTokens: null }, false],
      ['PUT /users/{id}', { subscribeToEmails: false }, true],
      ['PUT /users/{id}', { subscribeToEmails: false }, false],
    ];
    let updated = '';
    for (const [i, [way, sent, isChange]] of steps.entries()) {
      const at = new Date(Date.UTC(2040, 0, 3, i)).toISOString();
      await world.setClock(at);
      await ways[way](world, 'ana', sent);
      if (isChange) updated = at;
      expect(await readProfile(world, 'ana'), `step ${i}: ${way}`).to.include({ created: '2040-01-03T00:00:00.000Z', updated });
    }
  });
});

describe('Users: `control` is decided once, at creation, by a hash of the user id against the account’s control ratio.', () => {
  let host: World;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());

  const ids = Array.from({ length: 300 }, (_, i) => `user-${i}`);
  /** Whom a ratio puts into the control group, of so many ids. */
  async function controlled(
    ratio: number,
    list: readonly string[],
    create: (world: World, id: string) => Promise<boolean>,
  ): Promise<string[]> {
    const world = await startTenant(host, { config: configText({ ...config, settings: { controlRatio: ratio } }) });
    try {
      const found: string[] = [];
      for (let from = 0; from < list.length; from += 100) {
        const some = list.slice(from, from + 100);
        const flags = await Promise.all(some.map((id) => create(world, id)));
        found.push(...some.filter((_, i) => flags[i]));
      }
      return found;
    } finally {
      await world.stop();
    }
  }
  const byPut = async (world: World, id: string): Promise<boolean> =>
    bodyOf<Profile>(await ways['PUT /users/{id}'](world, id, {}), 200).control;
  const byEvent = async (world: World, id: string): Promise<boolean> => {
    await track(world, 'm', { user: id, value: 1 });
    return (await readProfile(world, id)).control;
  };

  it('has about the share of users that is configured, and the same ones every time', async () => {
    const fifth = await controlled(0.2, ids, byPut);
    // Four standard deviations around 60 of 300.
    expect(fifth.length).to.be.within(32, 88);
    const share = (id: string): number => createHash('sha1').update(id).digest().readUInt32BE() / 2 ** 32;
    expect(fifth).to.deep.equal(ids.filter((id) => share(id) < 0.2));
    const some = ids.slice(0, 100);
    const inSome = fifth.filter((id) => some.includes(id));
    expect(await controlled(0.2, some, byEvent)).to.deep.equal(inSome);
    // A larger share takes more, and lets go of none.
    expect(await controlled(0.5, some, byPut)).to.include.members(inSome);
    expect(await controlled(0, some, byPut)).to.deep.equal([]);
    expect(await controlled(1, some, byPut)).to.deep.equal(some);
  });

  it('is decided when a user is created, and stays', async () => {
    const world = await startTenant(host, { config: configText({ ...config, settings: { controlRatio: 1 } }) });
    try {
      await byPut(world, 'ana');
      await world.configure(configText({ settings: { controlRatio: 0 } }));
      await ways['PUT /users/{id}'](world, 'ana', { name: 'Ana' });
      expect((await readProfile(world, 'ana')).control).to.equal(true);
      expect(await byPut(world, 'ben')).to.equal(false);
    } finally {
      await world.stop();
    }
  });
});
