import { expect } from 'chai';
import { limits } from '../src/limits.js';
import { newestRound, type RoundKind } from '../src/notify/email-rounds.js';
import { emptyConfig } from '../src/config/model.js';
import { bodyOf, configText, read, readProfile, track, userPath } from './support/answers.js';
import { Contract, hasContract } from './support/contract.js';
import { keyNames } from '../src/redis/contract.js';
import { messagesOf, subscription, type Message } from './support/messages.js';
import { until } from './support/stage.js';
import { startWorld, type World } from './support/world.js';

const kinds = ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due', 'emails.achievement_due'];
const config = (settings: object = {}, streaks: object = {}): string =>
  configText({
    settings,
    metrics: [{ key: 'm', name: 'M' }],
    achievements: [{ key: 'api', name: 'Api', trigger: 'api', status: 'active' }],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], ...streaks },
    webhooks: [subscription(...kinds)],
  });

/** The contract, where it is there to compare with. */
const contract = hasContract ? new Contract('application') : undefined;

/** What a message is about: its kind without `emails.` and `_due`, and its user. */
const brief = ({ kind, user }: Message): string => `${kind.slice('emails.'.length, -'_due'.length)} ${user}`;

describe('E-mails that are due', function () {
  this.timeout(60_000);
  let world: World;
  let seen = 0;
  afterEach(() => world.stop());

  async function start(settings?: object, streaks?: object): Promise<void> {
    // A Monday.
    world = await startWorld({ config: config(settings, streaks), now: '2040-01-02T12:00:00Z' });
    seen = 0;
    await fresh('2040-01-02T12:00:01Z');
  }
  const identify = async (id: string, more: object = {}): Promise<void> => {
    bodyOf(await world.request('PUT', userPath(id), { body: { email: `${id}@example.com`, tz: 'UTC', ...more } }), 200);
  };
  const event = (user: string): Promise<unknown> => track(world, 'm', { user, value: 1 });
  /** What is told when the clock moves to a moment. */
  async function fresh(iso: string): Promise<Message[]> {
    await world.setClock(iso);
    const all = await messagesOf(world);
    const news = all.slice(seen);
    seen = all.length;
    if (contract) for (const { kind, payload } of news) expect(contract.webhookProblems(kind, payload), kind).to.deep.equal([]);
    return news;
  }
  const told = async (iso: string): Promise<string[]> => (await fresh(iso)).map(brief).sort();

  it('streak_reminder: at 18:00 of the user’s day to whom the streak ends with it, as the API shows the streak', async () => {
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
    expect(await told('2040-01-03T08:59:59Z')).to.deep.equal([]);
    expect(await told('2040-01-03T09:00:00Z')).to.deep.equal(['streak_reminder ben']);
    await event('dan');
    const [reminder, ...others] = await fresh('2040-01-03T18:00:00Z');
    expect(others).to.deep.equal([]);
    expect(reminder).to.deep.include({ kind: 'emails.streak_reminder_due', subject: 'user:ana', user: 'ana' });
    expect(reminder!.payload).to.deep.equal({
      type: 'emails.streak_reminder_due',
      timestamp: '2040-01-03T18:00:00.000Z',
      user: await readProfile(world, 'ana'),
      streak: await read(world, userPath('ana', '/streak?historyPeriods=0')),
    });
    expect(await told('2040-01-03T22:59:59Z')).to.deep.equal([]);
    expect(await told('2040-01-03T23:00:00Z')).to.deep.equal(['streak_reminder cleo']);
    // Ana's streak, and Ben's, have been lost since; so has Cleo's.
    expect(await told('2040-01-04T18:00:00Z')).to.deep.equal(['streak_reminder dan']);
  });

  it('streak_reminder: of a weekly streak on its last day, at the configured hour', async () => {
    await start({ streakReminderHour: 20, weekStart: 'sunday' }, { frequency: 'weekly' });
    await identify('ana');
    await event('ana');
    // The week is kept until Saturday the 7th, and the streak with the next one.
    for (const day of ['07', '08', '13']) expect(await told(`2040-01-${day}T20:00:00Z`)).to.not.include('streak_reminder ana');
    expect(await told('2040-01-14T19:59:59Z')).to.deep.equal([]);
    expect(await told('2040-01-14T20:00:00Z')).to.deep.equal(['streak_reminder ana']);
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
    expect(await told('2040-01-03T18:00:00Z')).to.deep.equal([]);
    expect(await told('2040-01-04T18:00:00Z')).to.deep.equal(['streak_reminder ana']);
  });

  it('recap: on the first day of a week at 9:00, of the week before, to whoever did anything in it', async () => {
    await start();
    for (const id of ['ana', 'ben']) await identify(id);
    await event('ana');
    expect(await told('2040-01-09T08:59:59Z')).to.not.include('recap ana');
    const news = await fresh('2040-01-09T09:00:00Z');
    expect(news.map(brief).sort()).to.deep.equal(['reactivation ana', 'reactivation ben', 'recap ana'].sort());
    expect(news.find(({ kind }) => kind === 'emails.recap_due')!.payload).to.deep.equal({
      type: 'emails.recap_due',
      timestamp: '2040-01-09T09:00:00.000Z',
      user: await readProfile(world, 'ana'),
      recap: { periodStart: '2040-01-02', periodEnd: '2040-01-08' },
    });
    expect(await told('2040-01-16T09:00:00Z')).to.not.include('recap ana');
  });

  it('recap: of a month, at the configured hour', async () => {
    await start({ recapFrequency: 'monthly', emailHour: 0, reactivationDays: [] });
    await identify('ana');
    await event('ana');
    expect(await told('2040-01-31T23:59:59Z')).to.deep.equal([]);
    const [recap] = await fresh('2040-02-01T00:00:00Z');
    expect(recap!.payload).to.deep.include({ recap: { periodStart: '2040-01-01', periodEnd: '2040-01-31' } });
  });

  it('reactivation: after each of the configured numbers of days without an event, counted from the last one or from the beginning', async () => {
    await start({ reactivationDays: [2, 5] }, { enabled: false });
    for (const id of ['ana', 'ben']) await identify(id);
    expect(await told('2040-01-03T09:00:00Z')).to.deep.equal([]);
    await event('ana');
    expect(await told('2040-01-04T09:00:00Z')).to.deep.equal(['reactivation ben']);
    const [first] = await fresh('2040-01-05T09:00:00Z');
    expect(first).to.deep.include({ user: 'ana' });
    expect(first!.payload).to.deep.equal({
      type: 'emails.reactivation_due',
      timestamp: '2040-01-05T09:00:00.000Z',
      user: await readProfile(world, 'ana'),
      reactivation: { messageNumber: 1, daysSinceLastActive: 2 },
    });
    expect(await told('2040-01-06T09:00:00Z')).to.deep.equal([]);
    const [second] = await fresh('2040-01-07T09:00:00Z');
    expect(second!.payload).to.deep.include({ reactivation: { messageNumber: 2, daysSinceLastActive: 5 } });
  });

  it('achievement: with each that is completed, as the message about it tells it', async () => {
    await start();
    await identify('ana');
    const { achievement } = bodyOf<{ achievement: unknown }>(
      await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ana' } } }),
      201,
    );
    const [message] = await fresh('2040-01-02T12:00:02Z');
    expect(message!.payload).to.deep.equal({
      ...{ type: 'emails.achievement_due', timestamp: '2040-01-02T12:00:01.000Z' },
      ...{ user: await readProfile(world, 'ana'), achievement },
    });
  });

  const unreached: readonly (readonly [who: string, profile: object, preferences?: object])[] = [
    ['has no address', { email: undefined }],
    ['is not subscribed', { subscribeToEmails: false }],
    ['has turned them off', {}, { achievement_completed: [], recap: ['push'], reactivation: ['push'], streak_reminder: [] }],
  ];
  for (const [who, profile, notifications] of unreached) {
    it(`go to nobody who ${who}`, async () => {
      await start({ reactivationDays: [1] });
      await identify('ana', profile);
      if (notifications) bodyOf(await world.request('PATCH', userPath('ana', '/preferences'), { body: { notifications } }), 200);
      await event('ana');
      bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ana' } } }), 201);
      expect(await told('2040-01-03T09:00:00Z')).to.deep.equal([]);
      expect(await told('2040-01-03T18:00:00Z')).to.deep.equal([]);
      expect(await told('2040-01-09T09:00:00Z')).to.deep.equal([]);
    });
  }

  it('go to nobody in the control group', async () => {
    await start({ controlRatio: 1, reactivationDays: [1] });
    await identify('ana');
    await event('ana');
    expect([...(await told('2040-01-03T09:00:00Z')), ...(await told('2040-01-03T18:00:00Z'))]).to.deep.equal([]);
  });

  it('are told once, and of what was missed for days only what is not older than one', async () => {
    await start({ reactivationDays: [1, 2, 3, 4] }, { enabled: false });
    await identify('ana');
    expect(await told('2040-01-04T08:00:00Z')).to.deep.equal(['reactivation ana']);
    expect(await told('2040-01-04T08:30:00Z')).to.deep.equal([]);
    const [late] = await fresh('2040-01-06T10:00:00Z');
    expect(late!.payload).to.deep.include({ timestamp: '2040-01-06T09:00:00.000Z' });
    expect(await told('2040-01-06T23:00:00Z')).to.deep.equal([]);
  });

  it('are told once of a day, also when its hour is changed', async () => {
    await start({ reactivationDays: [1, 2] }, { enabled: false });
    await identify('ana');
    expect(await told('2040-01-03T09:00:00Z')).to.deep.equal(['reactivation ana']);
    await world.configure(config({ reactivationDays: [1, 2], emailHour: 11 }, { enabled: false }));
    expect(await told('2040-01-03T11:00:00Z')).to.deep.equal([]);
    expect(await told('2040-01-04T10:59:59Z')).to.deep.equal([]);
    expect(await told('2040-01-04T11:00:00Z')).to.deep.equal(['reactivation ana']);
  });

  it('are told once of a day, also to somebody who is in another zone meanwhile', async () => {
    await start({ reactivationDays: [7, 8] }, { enabled: false });
    for (const id of ['ana', 'ben']) await identify(id, { tz: 'Asia/Tokyo' });
    await identify('cleo', { tz: 'America/New_York' });
    await event('ana');
    expect(await told('2040-01-09T00:00:00Z')).to.deep.equal(['reactivation ana', 'reactivation ben', 'recap ana']);
    for (const id of ['ana', 'ben']) await identify(id, { tz: 'America/New_York' });
    expect(await told('2040-01-09T14:00:00Z')).to.deep.equal(['reactivation cleo']);
    expect(await told('2040-01-10T14:00:00Z')).to.deep.equal(['reactivation ana', 'reactivation ben', 'reactivation cleo']);
  });

  it('are told by what has happened, also while Postgres does not have all of it yet', async () => {
    await start({ reactivationDays: [1] }, { enabled: false });
    for (const id of ['ana', 'ben', 'cleo']) await identify(id);
    await world.drain();
    // The write-behind, and whoever tells, wait for this.
    const client = await world.pool.connect();
    try {
      await client.query('begin; select 1 from stream_offsets where tenant = 1 for update');
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-03T08:59:59Z'));
      await event('ana');
      await identify('ben', { subscribeToEmails: false });
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-03T09:00:00Z'));
      const rounds = async (where: string): Promise<boolean> =>
        (await world.pool.query(`select 1 from told_emails where zone = 'UTC' and kind = 'emails.reactivation_due' and ${where}`))
          .rowCount === 1;
      await until('the round', () => rounds('not done'));
      await client.query('commit');
      await until('its end', () => rounds('done'));
    } finally {
      client.release();
    }
    expect((await messagesOf(world)).map(brief)).to.deep.equal(['reactivation cleo']);
  });

  it('are told page by page, each user once', async () => {
    await start({ reactivationDays: [1] }, { enabled: false });
    const ids = Array.from({ length: limits.emailPageUsers + 1 }, (_, i) => `user-${i}`);
    for (let first = 0; first < ids.length; first += 50) await Promise.all(ids.slice(first, first + 50).map((id) => identify(id)));
    expect(await told('2040-01-03T09:00:00Z')).to.deep.equal(ids.map((id) => `reactivation ${id}`).sort());
  });

  it('are not told of what had been due before anybody subscribed', async () => {
    await start({ reactivationDays: [1] }, { enabled: false });
    await world.configure(configText({ webhooks: [] }), { prune: false });
    await identify('ana');
    await world.configure(configText({ webhooks: [{ ...subscription(...kinds), status: 'inactive' }] }));
    expect(await told('2040-01-03T09:00:00Z')).to.deep.equal([]);
    await world.configure(configText({ webhooks: [{ ...subscription(...kinds), status: 'active' }] }));
    expect(await told('2040-01-03T09:30:00Z')).to.deep.equal([]);
  });
});

describe('The newest round of e-mails', () => {
  const rules = {
    ...emptyConfig,
    settings: { ...emptyConfig.settings, emailHour: 2, streakReminderHour: 18 },
    streaks: { ...emptyConfig.streaks, enabled: true },
  };
  const [recap, reactivation, reminder]: readonly RoundKind[] = [
    'emails.recap_due',
    'emails.reactivation_due',
    'emails.streak_reminder_due',
  ];
  const cases: readonly (readonly [what: string, kind: RoundKind, zone: string, now: string, at: string | undefined])[] = [
    ['at the hour itself', reactivation!, 'UTC', '2040-01-02T02:00:00Z', '2040-01-02T02:00:00.000Z'],
    ['just before it: yesterday’s', reactivation!, 'UTC', '2040-01-02T01:59:59Z', '2040-01-01T02:00:00.000Z'],
    ['a zone that is three quarters of an hour off', reactivation!, 'Asia/Kathmandu', '2040-01-01T20:15:00Z', '2040-01-01T20:15:00.000Z'],
    ['an hour that the day lacks', reactivation!, 'America/New_York', '2040-03-11T12:00:00Z', '2040-03-11T07:00:00.000Z'],
    ['an hour that the day has twice', reactivation!, 'Europe/Lisbon', '2040-10-28T12:00:00Z', '2040-10-28T02:00:00.000Z'],
    ['a recap on a Monday', recap!, 'UTC', '2040-01-02T12:00:00Z', '2040-01-02T02:00:00.000Z'],
    ['a recap on another day, no longer than a day ago', recap!, 'UTC', '2040-01-03T01:00:00Z', '2040-01-02T02:00:00.000Z'],
    ['a recap that is over for a day', recap!, 'UTC', '2040-01-03T02:00:00Z', undefined],
    ['a reminder', reminder!, 'Pacific/Kiritimati', '2040-01-02T04:00:00Z', '2040-01-02T04:00:00.000Z'],
  ];
  for (const [what, kind, zone, now, at] of cases) {
    it(what, () => {
      const round = newestRound(kind, rules, zone, Date.parse(now));
      expect(round && new Date(round.at).toISOString()).to.equal(at);
    });
  }
});
