import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, read, readProfile, track, userPath } from '../support/answers.js';
import { Contract } from '../support/contract.js';
import { keyNames } from '../../src/redis/contract.js';
import { messagesOf, subscription, type Message } from '../support/messages.js';
import { until } from '../support/stage.js';
import { startHost, startTenant, type World } from '../support/world.js';

const kinds = ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due', 'emails.achievement_due'];
const config = (settings: object = {}, streaks: object = {}): string =>
  configText({
    settings,
    metrics: ['m', 'n'].map((key) => ({ key, name: key })),
    achievements: [
      { key: 'api', name: 'Api', trigger: 'api', status: 'active' },
      { key: 'first', name: 'First', trigger: 'metric', metricKey: 'n', metricValue: 1, status: 'active' },
    ],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], ...streaks },
    webhooks: [subscription(...kinds)],
  });

const contract = new Contract('application');

/** A message as its kind, without `emails.` and `_due`, and its user. */
const brief = ({ kind, user }: Message): string => `${kind.slice('emails.'.length, -'_due'.length)} ${user}`;

describe('E-mails that are due', () => {
  let host: World;
  let world: World;
  let seen = 0;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());
  afterEach(() => world.stop());

  async function start(settings?: object, streaks?: object): Promise<void> {
    // A Monday.
    world = await startTenant(host, { config: config(settings, streaks), now: '2040-01-02T12:00:00Z' });
    seen = 0;
    await fresh('2040-01-02T12:00:01Z');
  }
  const identify = async (id: string, more: object = {}): Promise<void> => {
    bodyOf(await world.request('PUT', userPath(id), { body: { email: `${id}@example.com`, tz: 'UTC', ...more } }), 200);
  };
  /** Identifies more users than fit on a page, by an event of each. Returns their ids. */
  async function identifyMore(key: string): Promise<string[]> {
    const ids = Array.from({ length: limits.emailPageUsers + 1 }, (_, i) => `user-${i}`);
    for (let first = 0; first < ids.length; first += limits.maxBatchEvents) {
      const some = ids.slice(first, first + limits.maxBatchEvents);
      const body = some.map((id) => ({ key, value: 1, user: { id, email: `${id}@example.com`, tz: 'UTC' } }));
      bodyOf(await world.request('POST', '/admin/v1/metrics/events', { body }), 202);
    }
    return ids;
  }
  const event = (user: string): Promise<unknown> => track(world, 'm', { user, value: 1 });
  /** The messages sent when the clock moves to a moment. */
  async function fresh(iso: string): Promise<Message[]> {
    await world.setClock(iso);
    const all = await messagesOf(world);
    const news = all.slice(seen);
    seen = all.length;
    for (const { kind, payload } of news) expect(contract.webhookProblems(kind, payload), kind).to.deep.equal([]);
    return news;
  }
  const sent = async (iso: string): Promise<string[]> => (await fresh(iso)).map(brief).sort();

  it('streak_reminder: four hours before the user’s day ends to those whose streak ends with it, as the API shows the streak', async () => {
    await start();
    for (const [id, tz] of [
      ['ana', 'UTC'],
      ['ben', 'Asia/Tokyo'],
      ['cleo', 'America/New_York'],
      ['dan', 'UTC'],
      ['eve', 'UTC'],
    ] as const)
      await identify(id, { tz });
    for (const id of ['ana', 'ben', 'cleo', 'dan']) await event(id);
    expect(await sent('2040-01-03T10:59:59Z')).to.deep.equal([]);
    expect(await sent('2040-01-03T11:00:00Z')).to.deep.equal(['streak_reminder ben']);
    await event('dan');
    const [reminder, ...others] = await fresh('2040-01-03T20:00:00Z');
    expect(others).to.deep.equal([]);
    expect(reminder).to.deep.include({ kind: 'emails.streak_reminder_due', subject: 'user:ana', user: 'ana' });
    expect(reminder!.payload).to.deep.equal({
      type: 'emails.streak_reminder_due',
      timestamp: '2040-01-03T20:00:00.000Z',
      user: await readProfile(world, 'ana'),
      streak: await read(world, userPath('ana', '/streak?historyPeriods=0')),
    });
    expect(await sent('2040-01-04T00:59:59Z')).to.deep.equal([]);
    expect(await sent('2040-01-04T01:00:00Z')).to.deep.equal(['streak_reminder cleo']);
    // Ana's streak, and Ben's, have been lost since; so has Cleo's.
    expect(await sent('2040-01-04T20:00:00Z')).to.deep.equal(['streak_reminder dan']);
  });

  it('streak_reminder: of a weekly streak on Friday morning, and once of a week, also when its day is changed', async () => {
    await start({}, { frequency: 'weekly' });
    for (const [id, tz] of [
      ['ana', 'UTC'],
      ['ben', 'Asia/Tokyo'],
      ['cleo', 'UTC'],
    ] as const)
      await identify(id, { tz });
    for (const id of ['ana', 'ben', 'cleo']) await event(id);
    // The week is extended already.
    expect(await sent('2040-01-06T12:00:00Z')).to.not.include('streak_reminder ana');
    await world.setClock('2040-01-12T12:00:00Z');
    await event('cleo');
    expect(await sent('2040-01-12T23:59:59Z')).to.not.include('streak_reminder ben');
    expect(await sent('2040-01-13T00:00:00Z')).to.deep.equal(['streak_reminder ben']);
    const [reminder, ...others] = await fresh('2040-01-13T09:00:00Z');
    expect(others).to.deep.equal([]);
    expect(reminder!.payload).to.deep.include({ timestamp: '2040-01-13T09:00:00.000Z' });
    expect(reminder!.user).to.equal('ana');
    await world.configure(config({ streakReminderWeekday: 'saturday', emailHour: 11 }, { frequency: 'weekly' }));
    expect(await sent('2040-01-14T11:00:00Z')).to.deep.equal([]);
    // Ana's streak, and Ben's, have been lost.
    expect(await sent('2040-01-20T12:00:00Z')).to.not.include('streak_reminder cleo');
    expect((await sent('2040-01-21T11:00:00Z')).filter((what) => what.startsWith('streak'))).to.deep.equal(['streak_reminder cleo']);
  });

  it('streak_reminder: of a weekly streak not in a week that a pause covers', async () => {
    await start({ reactivationDays: [] }, { frequency: 'weekly' });
    await identify('ana');
    await event('ana');
    const pauses = [{ userId: 'ana', start: '2040-01-09', end: '2040-01-09' }];
    bodyOf(await world.request('POST', '/admin/v1/streaks/pauses', { body: { pauses } }), 201);
    expect(await sent('2040-01-13T09:00:00Z')).to.not.include('streak_reminder ana');
    expect(await sent('2040-01-20T09:00:00Z')).to.deep.equal(['streak_reminder ana']);
  });

  it('streak_reminder: of a monthly streak on the 25th', async () => {
    await start({ reactivationDays: [] }, { frequency: 'monthly' });
    await identify('ana', { tz: 'America/New_York' });
    await event('ana');
    expect(await sent('2040-01-26T12:00:00Z')).to.not.include('streak_reminder ana');
    expect(await sent('2040-02-25T13:59:59Z')).to.deep.equal([]);
    expect(await sent('2040-02-25T14:00:00Z')).to.deep.equal(['streak_reminder ana']);
  });

  it('streak_reminder: not on a day that a pause keeps', async () => {
    await start();
    await identify('ana');
    await event('ana');
    bodyOf(
      await world.request('POST', '/admin/v1/streaks/pauses', {
        body: { pauses: [{ userId: 'ana', start: '2040-01-03', end: '2040-01-03' }] },
      }),
      201,
    );
    expect(await sent('2040-01-03T20:00:00Z')).to.deep.equal([]);
    expect(await sent('2040-01-04T20:00:00Z')).to.deep.equal(['streak_reminder ana']);
  });

  it('streak_reminder: not to users who have switched their streak off', async () => {
    await start({ reactivationDays: [] }, { personalization: true });
    for (const id of ['ana', 'ben']) {
      await identify(id);
      await event(id);
    }
    bodyOf(await world.request('PATCH', userPath('ana', '/preferences'), { body: { streak: { enabled: false } } }), 200);
    expect(await sent('2040-01-03T20:00:00Z')).to.deep.equal(['streak_reminder ben']);
    await event('ana');
    await event('ben');
    expect(await read<{ length: number }>(world, userPath('ana', '/streak'))).to.include({ length: 1 });
    await world.configure(config({ reactivationDays: [] }, { personalization: false }));
    expect(await sent('2040-01-04T20:00:00Z')).to.deep.equal(['streak_reminder ben']);
  });

  it('recap: on the first day of a week at 9:00, of the week before, to active users', async () => {
    await start();
    for (const id of ['ana', 'ben']) await identify(id);
    await event('ana');
    expect(await sent('2040-01-09T08:59:59Z')).to.not.include('recap ana');
    const news = await fresh('2040-01-09T09:00:00Z');
    expect(news.map(brief).sort()).to.deep.equal(['reactivation ana', 'reactivation ben', 'recap ana'].sort());
    expect(news.find(({ kind }) => kind === 'emails.recap_due')!.payload).to.deep.equal({
      type: 'emails.recap_due',
      timestamp: '2040-01-09T09:00:00.000Z',
      user: await readProfile(world, 'ana'),
      recap: { periodStart: '2040-01-02', periodEnd: '2040-01-08' },
    });
    expect(await sent('2040-01-16T09:00:00Z')).to.not.include('recap ana');
  });

  it('recap: of a month, at the configured hour', async () => {
    await start({ recapFrequency: 'monthly', emailHour: 0, reactivationDays: [] });
    await identify('ana');
    await event('ana');
    expect(await sent('2040-01-31T23:59:59Z')).to.not.include('recap ana');
    const [recap] = await fresh('2040-02-01T00:00:00Z');
    expect(recap!.payload).to.deep.include({ recap: { periodStart: '2040-01-01', periodEnd: '2040-01-31' } });
  });

  const recaps: readonly (readonly [frequency: string, before: string, at: string, period: readonly [first: string, last: string]])[] = [
    ['daily', '2040-01-03T08:59:59Z', '2040-01-03T09:00:00Z', ['2040-01-02', '2040-01-02']],
    ['weekly', '2040-01-08T09:00:00Z', '2040-01-09T09:00:00Z', ['2040-01-02', '2040-01-08']],
    ['monthly', '2040-01-31T09:00:00Z', '2040-02-01T09:00:00Z', ['2040-01-01', '2040-01-31']],
    ['yearly', '2040-12-31T09:00:00Z', '2041-01-01T09:00:00Z', ['2040-01-01', '2040-12-31']],
  ];
  for (const [recapFrequency, before, at, [periodStart, periodEnd]] of recaps) {
    it(`recap: ${recapFrequency}, of ${periodStart} to ${periodEnd}, at ${at}`, async () => {
      await start({ recapFrequency, reactivationDays: [] }, { enabled: false });
      for (const id of ['ana', 'ben']) await identify(id);
      await event('ana');
      expect(await sent(before)).to.deep.equal([]);
      const [recap, ...others] = await fresh(at);
      expect(others).to.deep.equal([]);
      expect(recap!.payload).to.deep.include({ timestamp: at.replace('Z', '.000Z'), recap: { periodStart, periodEnd } });
    });
  }

  type WeekStart = 'monday' | 'sunday';
  type Weeks = readonly (readonly [first: string, last: string])[];
  const weekStarts: readonly (readonly [first: WeekStart, changes: readonly (readonly [date: string, to: WeekStart])[], weeks: Weeks])[] = [
    [
      'monday',
      [['05', 'sunday']],
      [
        ['02', '08'],
        ['09', '14'],
        ['15', '21'],
      ],
    ],
    [
      'sunday',
      [['05', 'monday']],
      [
        ['01', '08'],
        ['09', '15'],
        ['16', '22'],
      ],
    ],
    [
      'monday',
      [['08', 'sunday']],
      [
        ['02', '08'],
        ['09', '14'],
        ['15', '21'],
      ],
    ],
    [
      'sunday',
      [['08', 'monday']],
      [
        ['01', '07'],
        ['08', '15'],
        ['16', '22'],
      ],
    ],
    [
      'monday',
      [
        ['05', 'sunday'],
        ['07', 'monday'],
      ],
      [
        ['02', '08'],
        ['09', '15'],
        ['16', '22'],
      ],
    ],
    [
      'monday',
      [
        ['05', 'sunday'],
        ['10', 'monday'],
      ],
      [
        ['02', '08'],
        ['09', '15'],
        ['16', '22'],
      ],
    ],
    [
      'sunday',
      [
        ['05', 'monday'],
        ['10', 'sunday'],
      ],
      [
        ['01', '08'],
        ['09', '15'],
        ['16', '21'],
      ],
    ],
  ];
  for (const [first, changes, weeks] of weekStarts) {
    it(`recap: of each day once when weeks from ${first} change: ${changes.map(([day, to]) => `on the ${day}th to ${to}`).join(', ')}`, async () => {
      const settings = (weekStart: string) => ({ weekStart, reactivationDays: [] });
      await start(settings(first), { enabled: false });
      await identify('ana');
      const seenWeeks: unknown[] = [];
      for (let day = 2; day <= 24; day += 1) {
        const date = String(day).padStart(2, '0');
        for (const { payload } of await fresh(`2040-01-${date}T13:00:00Z`)) seenWeeks.push([payload.timestamp, payload.recap]);
        for (const [, to] of changes.filter(([on]) => on === date)) await world.configure(config(settings(to), { enabled: false }));
        await event('ana');
      }
      const expected = weeks.map(([from, to]) => [
        `2040-01-${String(Number(to) + 1).padStart(2, '0')}T09:00:00.000Z`,
        { periodStart: `2040-01-${from}`, periodEnd: `2040-01-${to}` },
      ]);
      expect(seenWeeks).to.deep.equal(expected);
    });
  }

  it('recap and reminder: of each day, also of one that lacks the hour because it is the last one', async () => {
    await start({ recapFrequency: 'daily', emailHour: 23, streakReminderHour: 23, reactivationDays: [] });
    await identify('ana', { tz: 'America/Nuuk' });
    for (const at of ['2040-03-23T12:00:00Z', '2040-03-24T12:00:00Z']) {
      await fresh(at);
      await event('ana');
    }
    // In Nuuk, Saturday, the 24th, ends at 22:59, and it is one hour more to UTC until then.
    expect((await fresh('2040-03-27T12:00:00Z')).map((message) => `${message.payload.timestamp} ${brief(message)}`)).to.deep.equal([
      '2040-03-25T00:59:00.000Z recap ana',
      '2040-03-26T00:00:00.000Z recap ana',
      '2040-03-26T00:00:00.000Z streak_reminder ana',
    ]);
    await event('ana');
    await world.setClock('2041-03-29T12:00:00Z');
    await event('ana');
    expect((await fresh('2041-04-01T12:00:00Z')).map((message) => `${message.payload.timestamp} ${brief(message)}`)).to.include.members([
      '2041-03-31T00:59:00.000Z recap ana',
      '2041-03-31T00:59:00.000Z streak_reminder ana',
    ]);
  });

  it('reactivation: after 3, 5, 7, 14 and 30 days', async () => {
    await start({}, { enabled: false });
    await identify('ana', { tz: 'Asia/Tokyo' });
    const days: unknown[] = [];
    for (let day = 1; day <= 40; day += 1) {
      const at = new Date(Date.UTC(2040, 0, 2 + day)).toISOString();
      for (const { payload } of await fresh(at)) days.push([day, payload.reactivation]);
    }
    expect(days).to.deep.equal([3, 5, 7, 14, 30].map((after, n) => [after, { messageNumber: n + 1, daysSinceLastActive: after }]));
  });

  it('reactivation: after each of the configured numbers of days without an event, counted from the last one or from the beginning', async () => {
    await start({ reactivationDays: [2, 5] }, { enabled: false });
    for (const id of ['ana', 'ben']) await identify(id);
    expect(await sent('2040-01-03T09:00:00Z')).to.deep.equal([]);
    await event('ana');
    expect(await sent('2040-01-04T09:00:00Z')).to.deep.equal(['reactivation ben']);
    const [first] = await fresh('2040-01-05T09:00:00Z');
    expect(first).to.deep.include({ user: 'ana' });
    expect(first!.payload).to.deep.equal({
      type: 'emails.reactivation_due',
      timestamp: '2040-01-05T09:00:00.000Z',
      user: await readProfile(world, 'ana'),
      reactivation: { messageNumber: 1, daysSinceLastActive: 2 },
    });
    expect(await sent('2040-01-06T09:00:00Z')).to.deep.equal([]);
    const [second] = await fresh('2040-01-07T09:00:00Z');
    expect(second!.payload).to.deep.include({ reactivation: { messageNumber: 2, daysSinceLastActive: 5 } });
  });

  describe('achievement_completed:', () => {
    const complete = async (user: object): Promise<unknown> => {
      const reply = await world.request('POST', '/v1/achievements/api/complete', { body: { user } });
      return bodyOf<{ achievement: unknown }>(reply, 201).achievement;
    };
    const achievements = async (iso: string): Promise<Message[]> =>
      (await fresh(iso)).filter(({ kind }) => kind === 'emails.achievement_due');

    const cases: readonly (readonly [what: string, tz: string | null, completed: string, notBefore: string | undefined, due: string])[] = [
      ['before 17:00: at 17:00', 'UTC', '2040-01-03T16:59:59Z', '2040-01-03T16:59:59Z', '2040-01-03T17:00:00Z'],
      ['at 17:00: at once', 'UTC', '2040-01-03T17:00:00Z', undefined, '2040-01-03T17:00:00Z'],
      ['before 21:00: at once', 'UTC', '2040-01-03T20:59:59Z', undefined, '2040-01-03T20:59:59Z'],
      ['at 21:00: at 17:00 of the next day', 'UTC', '2040-01-03T21:00:00Z', '2040-01-04T16:59:59Z', '2040-01-04T17:00:00Z'],
      ['in Tokyo in the morning', 'Asia/Tokyo', '2040-01-03T00:00:00Z', '2040-01-03T07:59:59Z', '2040-01-03T08:00:00Z'],
      ['in Tokyo in the evening', 'Asia/Tokyo', '2040-01-03T11:00:00Z', undefined, '2040-01-03T11:00:00Z'],
      ['in Kathmandu at night', 'Asia/Kathmandu', '2040-01-03T15:15:00Z', '2040-01-04T11:14:59Z', '2040-01-04T11:15:00Z'],
      [
        'in New York, the day before clocks go forward',
        'America/New_York',
        '2040-03-11T02:30:00Z',
        '2040-03-11T20:59:59Z',
        '2040-03-11T21:00:00Z',
      ],
      [
        'in New York, the day before clocks go back',
        'America/New_York',
        '2040-11-04T01:30:00Z',
        '2040-11-04T21:59:59Z',
        '2040-11-04T22:00:00Z',
      ],
      ['in the default zone', null, '2040-01-03T12:00:00Z', '2040-01-03T15:59:59Z', '2040-01-03T16:00:00Z'],
    ];
    for (const [what, tz, completed, notBefore, due] of cases) {
      it(`of one completed ${what}`, async () => {
        await start({ defaultTimeZone: 'Europe/Berlin', reactivationDays: [] }, { enabled: false });
        await identify('ana', { tz });
        await fresh(completed);
        const achievement = await complete({ id: 'ana' });
        if (notBefore !== undefined) expect(await achievements(notBefore)).to.deep.equal([]);
        const [message, ...others] = await achievements(due);
        expect(message!.payload).to.deep.equal({
          type: 'emails.achievement_due',
          timestamp: due.replace('Z', '.000Z'),
          user: await readProfile(world, 'ana'),
          achievement,
        });
        const later = new Date(Date.parse(due) + 86_400_000).toISOString();
        expect([...others, ...(await achievements(later))]).to.deep.equal([]);
      });
    }

    it('of several that wait, in the order in which they were completed, and to users who subscribe by then', async () => {
      await start();
      await identify('ana', { email: undefined });
      await identify('ben');
      await complete({ id: 'ana' });
      await track(world, 'n', { user: 'ana', value: 1 });
      await complete({ id: 'ben' });
      await identify('ana');
      await identify('ben', { subscribeToEmails: false });
      const news = await achievements('2040-01-02T17:00:00Z');
      expect(news.map(({ user, payload }) => [user, payload.achievement!.key])).to.deep.equal([
        ['ana', 'api'],
        ['ana', 'first'],
      ]);
      await identify('ben', { subscribeToEmails: true });
      expect(await achievements('2040-01-03T17:00:00Z')).to.deep.equal([]);
    });

    it('by the clock of the user’s current zone, and once', async () => {
      await start();
      for (const id of ['ana', 'ben']) await identify(id, { tz: 'America/New_York' });
      for (const id of ['ana', 'ben']) await complete({ id });
      await identify('ana', { tz: 'Europe/Berlin' });
      expect((await achievements('2040-01-02T16:00:00Z')).map(({ user }) => user)).to.deep.equal(['ana']);
      await identify('ana', { tz: 'America/New_York' });
      expect((await achievements('2040-01-02T22:00:00Z')).map(({ user }) => user)).to.deep.equal(['ben']);
      await identify('ben', { tz: 'Pacific/Honolulu' });
      expect(await achievements('2040-01-03T04:00:00Z')).to.deep.equal([]);
    });

    it('within the configured hours, and once when they change', async () => {
      await start({ achievementFromHour: 14, achievementToHour: 15 });
      await identify('ana');
      await complete({ id: 'ana' });
      expect((await achievements('2040-01-02T14:00:00Z')).length).to.equal(1);
      await track(world, 'n', { user: 'ana', value: 1 });
      expect((await achievements('2040-01-02T14:00:01Z')).length).to.equal(1);
      await world.setClock('2040-01-02T15:00:00Z');
      await identify('ben');
      await complete({ id: 'ben' });
      await world.configure(config({ achievementFromHour: 16, achievementToHour: 24 }));
      expect((await achievements('2040-01-02T16:00:00Z')).map(({ user }) => user)).to.deep.equal(['ben']);
      await world.configure(config({ achievementFromHour: 18 }));
      expect(await achievements('2040-01-02T18:00:00Z')).to.deep.equal([]);
    });

    it('by the hour and the default zone that are configured when they are due', async () => {
      await start();
      await identify('ana');
      await complete({ id: 'ana' });
      expect(await achievements('2040-01-02T14:30:00Z')).to.deep.equal([]);
      await world.configure(config({ achievementFromHour: 14 }));
      const [waited] = await achievements('2040-01-02T14:30:01Z');
      expect(waited!.payload).to.deep.include({ timestamp: '2040-01-02T14:00:00.000Z' });
      await world.configure(config({ defaultTimeZone: 'America/Los_Angeles' }));
      await complete({ id: 'ben', email: 'ben@example.com' });
      await world.configure(config({ defaultTimeZone: 'Asia/Tokyo' }));
      expect(await achievements('2040-01-03T04:59:59Z')).to.deep.equal([]);
      expect((await achievements('2040-01-03T05:00:00Z')).map(({ user }) => user)).to.deep.equal(['ben']);
    });

    it('page by page, each once', async () => {
      await start();
      const ids = await identifyMore('n');
      expect((await achievements('2040-01-02T17:00:00Z')).map(({ user }) => user).sort()).to.deep.equal([...ids].sort());
      expect((await world.pool.query('select 1 from scheduled_notifications where tenant = $1', [world.tenant])).rows).to.deep.equal([]);
    });

    it('not of one completed without a subscription', async () => {
      await start();
      await identify('ana');
      await complete({ id: 'ana' });
      await world.drain();
      const webhook = subscription(...kinds);
      await world.configure(configText({ webhooks: [{ ...webhook, status: 'inactive' }] }));
      await world.setClock('2040-01-02T13:00:00Z');
      await world.configure(configText({ webhooks: [{ ...webhook, status: 'active' }] }));
      expect(await achievements('2040-01-02T17:00:00Z')).to.deep.equal([]);
    });
  });

  const unreached: readonly (readonly [who: string, profile: object, preferences?: object])[] = [
    ['has no address', { email: undefined }],
    ['is not subscribed', { subscribeToEmails: false }],
    ['has turned them off', {}, { achievement_completed: [], recap: ['push'], reactivation: ['push'], streak_reminder: [] }],
  ];
  for (const [who, profile, notifications] of unreached) {
    it(`are not sent to a user who ${who}`, async () => {
      await start({ reactivationDays: [1] });
      await identify('ana', profile);
      if (notifications) bodyOf(await world.request('PATCH', userPath('ana', '/preferences'), { body: { notifications } }), 200);
      await event('ana');
      bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ana' } } }), 201);
      expect(await sent('2040-01-03T09:00:00Z')).to.deep.equal([]);
      expect(await sent('2040-01-03T17:00:00Z')).to.deep.equal([]);
      expect(await sent('2040-01-03T20:00:00Z')).to.deep.equal([]);
      expect(await sent('2040-01-09T09:00:00Z')).to.deep.equal([]);
    });
  }

  it('are not sent to the control group', async () => {
    await start({ controlRatio: 1, reactivationDays: [1] });
    await identify('ana');
    await event('ana');
    expect([...(await sent('2040-01-03T09:00:00Z')), ...(await sent('2040-01-03T20:00:00Z'))]).to.deep.equal([]);
  });

  it('are sent once, and after days of absence only those of the last day', async () => {
    await start({ reactivationDays: [1, 2, 3, 4] }, { enabled: false });
    await identify('ana');
    expect(await sent('2040-01-04T08:00:00Z')).to.deep.equal(['reactivation ana']);
    expect(await sent('2040-01-04T08:30:00Z')).to.deep.equal([]);
    // No worker has run since.
    await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-06T10:00:00Z'));
    const [late] = await fresh('2040-01-06T10:00:00Z');
    expect(late!.payload).to.deep.include({ timestamp: '2040-01-06T09:00:00.000Z' });
    expect(await sent('2040-01-06T23:00:00Z')).to.deep.equal([]);
  });

  it('are sent for each day that the test clock passes in one step', async () => {
    await start({ reactivationDays: [1, 2, 9], recapFrequency: 'daily' });
    await identify('ana', { tz: 'Asia/Tokyo' });
    await identify('ben');
    for (const id of ['ana', 'ben']) await event(id);
    bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ben' } } }), 201);
    const due = (await fresh('2040-01-30T12:00:00Z')).map((message) => `${message.payload.timestamp} ${brief(message)}`);
    expect(due.sort()).to.deep.equal([
      '2040-01-02T17:00:00.000Z achievement ben',
      '2040-01-03T00:00:00.000Z reactivation ana',
      '2040-01-03T00:00:00.000Z recap ana',
      '2040-01-03T09:00:00.000Z reactivation ben',
      '2040-01-03T09:00:00.000Z recap ben',
      '2040-01-03T11:00:00.000Z streak_reminder ana',
      '2040-01-03T20:00:00.000Z streak_reminder ben',
      '2040-01-04T00:00:00.000Z reactivation ana',
      '2040-01-04T09:00:00.000Z reactivation ben',
      '2040-01-11T00:00:00.000Z reactivation ana',
      '2040-01-11T09:00:00.000Z reactivation ben',
    ]);
  });

  it('are sent once a day, also when the hour changes', async () => {
    await start({ reactivationDays: [1, 2] }, { enabled: false });
    await identify('ana');
    expect(await sent('2040-01-03T09:00:00Z')).to.deep.equal(['reactivation ana']);
    await world.configure(config({ reactivationDays: [1, 2], emailHour: 11 }, { enabled: false }));
    expect(await sent('2040-01-03T11:00:00Z')).to.deep.equal([]);
    expect(await sent('2040-01-04T10:59:59Z')).to.deep.equal([]);
    expect(await sent('2040-01-04T11:00:00Z')).to.deep.equal(['reactivation ana']);
  });

  it('are sent once a day, also to a user who has moved to another zone', async () => {
    await start({ reactivationDays: [7, 8] }, { enabled: false });
    for (const id of ['ana', 'ben']) await identify(id, { tz: 'Asia/Tokyo' });
    await identify('cleo', { tz: 'America/New_York' });
    await event('ana');
    expect(await sent('2040-01-09T00:00:00Z')).to.deep.equal(['reactivation ana', 'reactivation ben', 'recap ana']);
    for (const id of ['ana', 'ben']) await identify(id, { tz: 'America/New_York' });
    expect(await sent('2040-01-09T14:00:00Z')).to.deep.equal(['reactivation cleo']);
    expect(await sent('2040-01-10T14:00:00Z')).to.deep.equal(['reactivation ana', 'reactivation ben', 'reactivation cleo']);
  });

  it('follow the ledger, also while Postgres lags behind it', async () => {
    await start({ reactivationDays: [1] }, { enabled: false });
    for (const id of ['ana', 'ben', 'cleo']) await identify(id);
    await world.drain();
    // The write-behind and the publisher wait for this lock.
    const client = await world.pool.connect();
    try {
      await client.query(`begin; select 1 from stream_offsets where tenant = ${world.tenant} for update`);
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-03T08:59:59Z'));
      await event('ana');
      await identify('ben', { subscribeToEmails: false });
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-03T09:00:00Z'));
      const rounds = async (where: string): Promise<boolean> =>
        (
          await world.pool.query(
            `select 1 from notification_state where tenant = ${world.tenant} and zone = 'UTC' and kind = 'emails.reactivation_due' and ${where}`,
          )
        ).rowCount === 1;
      await until('the round', () => rounds('not done'));
      await client.query('commit');
      await until('its end', () => rounds('done'));
    } finally {
      client.release();
    }
    expect((await messagesOf(world)).map(brief)).to.deep.equal(['reactivation cleo']);
  });

  it('are sent page by page, once to each user', async () => {
    await start({ reactivationDays: [1] }, { enabled: false });
    const ids = await identifyMore('m');
    expect(await sent('2040-01-03T09:00:00Z')).to.deep.equal(ids.map((id) => `reactivation ${id}`).sort());
  });

  it('are not sent for times before the subscription', async () => {
    await start({ reactivationDays: [1] }, { enabled: false });
    await world.configure(configText({ webhooks: [] }), { prune: false });
    await identify('ana');
    await world.configure(configText({ webhooks: [{ ...subscription(...kinds), status: 'inactive' }] }));
    expect(await sent('2040-01-03T09:00:00Z')).to.deep.equal([]);
    await world.configure(configText({ webhooks: [{ ...subscription(...kinds), status: 'active' }] }));
    expect(await sent('2040-01-03T09:30:00Z')).to.deep.equal([]);
  });
});
