import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { openChannels } from '../../src/app/messages.js';
import { Sweep } from '../../src/jobs/sweep.js';
import { keyNames } from '../../src/redis/contract.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, track } from '../support/answers.js';
import { briefly, identify, sentMessages, Timeline, untilEnded } from '../support/sent-messages.js';
import { until } from '../support/stage.js';
import { startHost, startTenant, type World } from '../support/world.js';

interface Parts {
  readonly settings?: object;
  readonly streaks?: object;
  readonly messages?: object;
}
/** Emails only, about nothing unless a test turns it on. */
const off = { achievementCompleted: [], recap: [], reactivation: [], streakReminder: [] };
const config = ({ settings = {}, streaks = { enabled: false }, messages = {} }: Parts): string =>
  configText({
    settings,
    metrics: ['m', 'n'].map((key) => ({ key, name: key })),
    achievements: [
      { key: 'api', name: 'Api', trigger: 'api', status: 'active' },
      { key: 'one', name: 'One', trigger: 'metric', metricKey: 'n', metricValue: 1, status: 'active' },
      { key: 'two', name: 'Two', trigger: 'metric', metricKey: 'n', metricValue: 2, status: 'active' },
    ],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], ...streaks },
    messages: { ...off, ...messages },
  });

const email = ['email'];
const achievements = { achievementCompleted: email };
const reminders = { streakReminder: email };
const noQuiet = { quietFromHour: null, quietToHour: null };

describe('Messages to users by the calendar', () => {
  let host: World;
  let world: World;
  let timeline: Timeline;
  before(async () => {
    host = await startHost({ messages: 'log' });
  });
  after(() => host.stop());
  afterEach(() => world.stop());

  async function start(parts: Parts, now = '2040-01-02T12:00:00Z'): Promise<void> {
    world = await startTenant(host, { config: config(parts), now });
    timeline = new Timeline(world);
  }
  const complete = async (user: string): Promise<void> => {
    bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: user } } }), 201);
  };
  const event = (user: string, metric = 'm', value = 1): Promise<unknown> => track(world, metric, { user, value });
  const names = (about: unknown): string[] => (about as { achievements: { name: string }[] }).achievements.map(({ name }) => name);

  it('achievement_completed: those of some minutes are one message, in the order of their completion', async () => {
    await start({ messages: achievements }, '2040-01-02T18:00:00Z');
    for (const user of ['ana', 'ben']) await identify(world, user);
    await complete('ana');
    await world.setClock('2040-01-02T18:09:00Z');
    await event('ana', 'n', 2);
    await event('ben', 'n', 1);
    expect(await timeline.at('2040-01-02T18:09:59Z')).to.deep.equal([]);
    const [message, ...others] = await timeline.messages('2040-01-02T18:10:00Z');
    expect(others).to.deep.equal([]);
    expect([message!.user, message!.timestamp, ...names(message!.about)]).to.deep.equal([
      'ana',
      '2040-01-02T18:00:00.000Z',
      'Api',
      'One',
      'Two',
    ]);
    const [late] = await timeline.messages('2040-01-02T18:19:00Z');
    expect([late!.user, ...names(late!.about)]).to.deep.equal(['ben', 'One']);
  });

  it('achievement_completed: those of the morning are one message at 17:00, those of the night one on the next day', async () => {
    await start({ messages: achievements });
    await identify(world, 'ana');
    await complete('ana');
    await world.setClock('2040-01-02T16:55:00Z');
    await event('ana', 'n', 1);
    expect(await timeline.at('2040-01-02T16:59:59Z')).to.deep.equal([]);
    expect((await timeline.messages('2040-01-02T17:00:00Z')).map(({ about }) => names(about))).to.deep.equal([['Api', 'One']]);
    expect(await timeline.at('2040-01-02T21:00:00Z')).to.deep.equal([]);
    await event('ana', 'n', 1);
    expect(await timeline.at('2040-01-03T16:59:59Z')).to.deep.equal([]);
    expect((await timeline.messages('2040-01-03T17:00:00Z')).map(({ about }) => names(about))).to.deep.equal([['Two']]);
  });

  it('achievement_completed: the hours of the zone to which the user has moved count', async () => {
    await start({ messages: achievements });
    await identify(world, 'ana', { tz: 'Europe/Berlin' });
    await identify(world, 'ben', { tz: 'Pacific/Kiritimati' });
    for (const user of ['ana', 'ben']) await complete(user);
    await identify(world, 'ana', { tz: 'America/New_York' });
    // The same hour of the day before.
    await identify(world, 'ben', { tz: 'Pacific/Honolulu' });
    expect(await timeline.at('2040-01-02T16:00:00Z')).to.deep.equal([]);
    expect(await timeline.at('2040-01-02T21:59:59Z')).to.deep.equal([]);
    expect(await timeline.at('2040-01-02T22:00:00Z')).to.deep.equal(['achievement_completed email ana']);
    expect(await timeline.at('2040-01-03T03:00:00Z')).to.deep.equal(['achievement_completed email ben']);
  });

  it('achievement_completed: never if all of its hours are quiet, and other messages are sent', async () => {
    await start({
      messages: { ...achievements, ...reminders, quietFromHour: 16, quietToHour: 21 },
      streaks: {},
      settings: { streakReminderHour: 22 },
    });
    await identify(world, 'ana');
    await complete('ana');
    const counted = bodyOf(await world.get('/admin/v1/messages/recipients?type=achievement_completed'), 200);
    expect(counted).to.deep.include({ email: 0 });
    await event('ana');
    for (const at of ['2040-01-02T17:00:00Z', '2040-01-02T21:30:00Z']) expect(await timeline.at(at), at).to.deep.equal([]);
    expect(await timeline.at('2040-01-03T22:00:00Z')).to.deep.equal(['streak_reminder email ana']);
    expect((await world.pool.query('select 1 from scheduled_notifications where tenant = $1', [world.tenant])).rows).to.deep.equal([]);
  });

  const reminded: readonly (readonly [frequency: string, from: string, notYet: string, at: string])[] = [
    ['daily', '2040-01-02T12:00:00Z', '2040-01-03T19:59:59Z', '2040-01-03T20:00:00Z'],
    ['weekly', '2040-01-02T12:00:00Z', '2040-01-13T08:59:59Z', '2040-01-13T09:00:00Z'],
    ['monthly', '2040-01-02T12:00:00Z', '2040-02-25T08:59:59Z', '2040-02-25T09:00:00Z'],
  ];
  for (const [frequency, from, notYet, at] of reminded) {
    it(`streak_reminder: ${frequency}, to those who have not extended their streak, have no pause, and would lose it or a freeze`, async () => {
      await start({ streaks: { frequency, freezes: { initial: 1, maximum: 1 } }, messages: reminders }, from);
      for (const user of ['ana', 'ben', 'cleo', 'dan']) await identify(world, user);
      for (const user of ['ana', 'ben', 'cleo']) await event(user);
      const day = at.slice(0, 'YYYY-MM-DD'.length);
      const pauses = [{ userId: 'cleo', start: day, end: day }];
      bodyOf(await world.request('POST', '/admin/v1/streaks/pauses', { body: { pauses } }), 201);
      expect(await timeline.at(notYet)).to.deep.equal([]);
      await event('ben');
      expect(await timeline.at(at)).to.deep.equal(['streak_reminder email ana']);
    });
  }

  it('reactivation: on each of the days, until the user comes back', async () => {
    await start({ settings: { reactivationDays: [2, 4, 5] }, messages: { reactivation: email } });
    for (const user of ['ana', 'ben']) await identify(world, user);
    const sent: string[] = [];
    for (let day = 3; day <= 9; day += 1) {
      // Ben comes back on the 5th.
      if (day === 6) await event('ben');
      const messages = await timeline.messages(`2040-01-0${day}T09:00:00Z`);
      for (const { user, about } of messages)
        if (about.type === 'reactivation') sent.push(`${day} ${user} ${about.messageNumber} ${about.daysSinceLastActive}`);
    }
    expect(sent.sort()).to.deep.equal(['4 ana 1 2', '4 ben 1 2', '6 ana 2 4', '7 ana 3 5', '7 ben 1 2', '9 ben 2 4']);
  });

  const recaps: readonly (readonly [frequency: string, at: string, periodStart: string, periodEnd: string])[] = [
    ['daily', '2040-01-03T09:00:00Z', '2040-01-02', '2040-01-02'],
    ['weekly', '2040-01-09T09:00:00Z', '2040-01-02', '2040-01-08'],
    ['monthly', '2040-02-01T09:00:00Z', '2040-01-01', '2040-01-31'],
    ['yearly', '2041-01-01T09:00:00Z', '2040-01-01', '2040-12-31'],
  ];
  for (const [recapFrequency, at, periodStart, periodEnd] of recaps) {
    it(`recap: ${recapFrequency}, of ${periodStart} to ${periodEnd}, to those who were active`, async () => {
      await start({ settings: { recapFrequency }, messages: { recap: email } });
      for (const user of ['ana', 'ben']) await identify(world, user);
      await event('ana');
      const [recap, ...others] = await timeline.messages(at);
      expect(others).to.deep.equal([]);
      expect([recap!.user, recap!.about]).to.deep.equal(['ana', { type: 'recap', periodStart, periodEnd }]);
    });
  }

  it('wait for the end of quiet hours in the user’s zone, and are then checked again', async () => {
    await start({ settings: { reactivationDays: [2], emailHour: 6 }, messages: { reactivation: email } });
    for (const user of ['ana', 'ben', 'cleo']) await identify(world, user);
    await identify(world, 'dan', { tz: 'Europe/Berlin' });
    expect(await timeline.at('2040-01-04T05:00:00Z')).to.deep.equal([]);
    expect(await timeline.at('2040-01-04T06:59:59Z')).to.deep.equal([]);
    expect(await timeline.at('2040-01-04T07:00:00Z')).to.deep.equal(['reactivation email dan']);
    await identify(world, 'ben', { subscribeToEmails: false });
    await event('cleo');
    expect(await timeline.at('2040-01-04T07:59:59Z')).to.deep.equal([]);
    expect(await timeline.at('2040-01-04T08:00:00Z')).to.deep.equal([
      'reactivation email ana',
      'reactivation email cleo skipped: The user is active again.',
    ]);
  });

  it('that waited for the end of quiet hours are not sent about a streak that was extended, or lost', async () => {
    await start({ streaks: {}, messages: { ...reminders, quietFromHour: 19 } });
    for (const user of ['ana', 'ben']) {
      await identify(world, user);
      await event(user);
    }
    expect(await timeline.at('2040-01-03T20:00:00Z')).to.deep.equal([]);
    await event('ana');
    const reason = 'skipped: The streak was extended, lost, paused or switched off, or the day is off.';
    expect(await timeline.at('2040-01-04T08:00:00Z')).to.deep.equal([
      `streak_reminder email ana ${reason}`,
      `streak_reminder email ben ${reason}`,
    ]);
  });

  it('are sent at night without quiet hours', async () => {
    await start({ settings: { reactivationDays: [2], emailHour: 3 }, messages: { reactivation: email, ...noQuiet } });
    await identify(world, 'ana');
    expect(await timeline.at('2040-01-04T03:00:00Z')).to.deep.equal(['reactivation email ana']);
  });

  it('are sent once to a user who moves to another zone, also during quiet hours', async () => {
    await start({ settings: { reactivationDays: [2, 3], emailHour: 7 }, messages: { reactivation: email } });
    for (const user of ['ana', 'ben']) await identify(world, user, { tz: 'Asia/Tokyo' });
    expect(await timeline.at('2040-01-03T22:30:00Z')).to.deep.equal([]);
    await identify(world, 'ana', { tz: 'Europe/Berlin' });
    expect(await timeline.at('2040-01-03T23:00:00Z')).to.deep.equal(['reactivation email ben']);
    await identify(world, 'ben', { tz: 'Europe/Berlin' });
    expect(await timeline.at('2040-01-04T06:30:00Z')).to.deep.equal([]);
    expect(await timeline.at('2040-01-04T07:00:00Z')).to.deep.equal(['reactivation email ana']);
  });

  const moves: readonly (readonly [type: string, parts: Parts, hour: string])[] = [
    ['recap', { settings: { recapFrequency: 'daily' }, messages: { recap: email } }, '08'],
    ['reactivation', { settings: { reactivationDays: [1] }, messages: { reactivation: email } }, '08'],
    ['streak_reminder', { streaks: {}, messages: reminders }, '19'],
  ];
  for (const [type, parts, hour] of moves) {
    for (const others of [[], ['ben']]) {
      it(`${type}: not on the day on which a user moves to a zone whose hour has passed, ${others.length} other users living there`, async () => {
        await start(parts);
        await identify(world, 'ana', { tz: 'Europe/Lisbon' });
        for (const id of others) await identify(world, id, { tz: 'Europe/Berlin' });
        for (const id of ['ana', ...others]) await event(id);
        await timeline.at(`2040-01-03T${hour}:30:00Z`);
        await identify(world, 'ana', { tz: 'Europe/Berlin' });
        expect(await timeline.users(type, `2040-01-03T${hour}:45:00Z`)).to.deep.equal([]);
        expect(await timeline.users(type, '2040-01-03T22:30:00Z')).to.deep.equal([]);
        expect((await sentMessages(world)).filter(({ user }) => user === 'ana')).to.deep.equal([]);
      });
    }
  }

  it('are sent from the moment on at which their type is switched on, also when the clock moves right after it', async () => {
    await start({ settings: { reactivationDays: [1] } });
    await identify(world, 'ana');
    await world.drain();
    await world.configure(config({ settings: { reactivationDays: [1] }, messages: { reactivation: email } }));
    expect(await timeline.users('reactivation', '2040-01-03T10:00:00Z')).to.deep.equal(['ana']);
  });

  const inZone = ({ settings, ...parts }: Parts, defaultTimeZone: string): Parts => ({
    ...parts,
    settings: { ...settings, defaultTimeZone },
  });
  for (const [type, parts, hour] of moves) {
    it(`${type}: not on the day on which users without a zone move to a default one whose hour has passed`, async () => {
      await start(inZone(parts, 'Europe/Lisbon'));
      await identify(world, 'ana', { tz: null });
      await event('ana');
      await timeline.at(`2040-01-03T${hour}:30:00Z`);
      await world.configure(config(inZone(parts, 'Europe/Berlin')));
      expect(await timeline.users(type, `2040-01-03T${hour}:45:00Z`)).to.deep.equal([]);
      expect(await timeline.users(type, '2040-01-03T22:30:00Z')).to.deep.equal([]);
    });

    it(`${type}: late where another setting than the default zone has changed since the hour`, async () => {
      await start(inZone(parts, 'Europe/Berlin'));
      await identify(world, 'ana', { tz: null });
      await event('ana');
      await world.drain();
      await world.redis.set(world.partition + keyNames.clock, Date.parse(`2040-01-03T${hour}:30:00Z`));
      await world.configure(config({ ...inZone(parts, 'Europe/Berlin'), messages: { ...parts.messages, ...noQuiet } }));
      expect(await timeline.users(type, `2040-01-03T${hour}:45:00Z`)).to.deep.equal(['ana']);
    });
  }

  it('are sent to a user who moves before the hour, whatever else changes after it in the same batch of the ledger', async () => {
    await start({ settings: { reactivationDays: [1] }, messages: { reactivation: email } });
    await identify(world, 'ana', { tz: 'Europe/Lisbon' });
    await world.drain();
    const client = await world.pool.connect();
    try {
      // The write-behind waits for this lock with the batch that it has read, and so reads the next two changes together.
      await client.query(`begin; select 1 from stream_offsets where tenant = ${world.tenant} for update`);
      await identify(world, 'ben', { tz: 'America/New_York' });
      const blocked = 'select 1 from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))';
      await until('the write-behind to wait', async () => (await client.query(blocked)).rowCount !== 0);
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-03T07:59:00Z'));
      await identify(world, 'ana', { tz: 'Europe/Berlin' });
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-03T08:00:01Z'));
      await identify(world, 'ana', { tz: 'Europe/Berlin', name: 'Ana' });
    } finally {
      await client.query('rollback');
      client.release();
    }
    expect(await timeline.users('reactivation', '2040-01-03T08:30:00Z')).to.deep.equal(['ana']);
  });

  describe('in a jump of the clock', () => {
    const all = { achievementCompleted: email, recap: email, reactivation: ['push'], streakReminder: email };
    const parts = { streaks: { frequency: 'daily' }, settings: { reactivationDays: [1, 3, 7] }, messages: all };
    const zones = { ana: 'UTC', ben: 'Asia/Tokyo', cleo: 'America/New_York' };
    const shown = async (): Promise<string[]> =>
      (await sentMessages(world))
        .map((one) => `${one.timestamp} ${briefly(one)} ${one.type === 'achievement_completed' ? names(one.about).join() : ''}`)
        .sort();
    /** Two events, and achievements that wait for 17:00 and for others to join them. */
    async function begin(): Promise<void> {
      await start(parts);
      for (const [id, tz] of Object.entries(zones)) await identify(world, id, { tz });
      for (const id of Object.keys(zones)) await event(id);
      await complete('ana');
      await complete('cleo');
      await world.drain();
    }

    it('are what they would have been without it, each at its time', async () => {
      await begin();
      await world.setClock('2040-02-14T12:00:00Z');
      await untilEnded(world);
      expect(await shown()).to.deep.equal([
        '2040-01-02T12:00:00.000Z achievement_completed email ana Api',
        '2040-01-02T12:00:00.000Z achievement_completed email cleo Api',
        '2040-01-03T00:00:00.000Z reactivation push ben ',
        '2040-01-03T09:00:00.000Z reactivation push ana ',
        '2040-01-03T11:00:00.000Z streak_reminder email ben ',
        '2040-01-03T14:00:00.000Z reactivation push cleo ',
        '2040-01-03T20:00:00.000Z streak_reminder email ana ',
        '2040-01-04T01:00:00.000Z streak_reminder email cleo ',
        '2040-01-05T00:00:00.000Z reactivation push ben ',
        '2040-01-05T09:00:00.000Z reactivation push ana ',
        '2040-01-05T14:00:00.000Z reactivation push cleo ',
        '2040-01-09T00:00:00.000Z reactivation push ben ',
        '2040-01-09T00:00:00.000Z recap email ben ',
        '2040-01-09T09:00:00.000Z reactivation push ana ',
        '2040-01-09T09:00:00.000Z recap email ana ',
        '2040-01-09T14:00:00.000Z reactivation push cleo ',
        '2040-01-09T14:00:00.000Z recap email cleo ',
      ]);
    });

    it('stop with the request, and go on with the next one', async () => {
      await begin();
      const context = await Context.start({ settings: host.settings, log: pino({ level: 'silent' }), print: () => undefined });
      await context.engine.loadLibrary();
      await context.engine.refreshConfig(world.tenant);
      const sweep = new Sweep(context, openChannels(host.settings));
      const to = Date.parse('2040-02-14T12:00:00Z');
      const reached: number[] = [];
      // Each deadline has passed before the first step ends.
      while (reached.at(-1) !== to) reached.push(await sweep.advance(world.tenant, to, 0));
      await untilEnded(world);
      await context.stop();
      expect(reached).to.deep.equal(reached.toSorted((one, other) => one - other));
      expect(new Set(reached).size).to.be.above(10);
      expect(await shown()).to.have.length(17);
    });
  });

  it('are at most maxPerUserDay on a local day of a user, whatever the channels and devices', async () => {
    await start({
      settings: { recapFrequency: 'daily', reactivationDays: [1], emailHour: 9 },
      messages: { ...achievements, recap: ['email', 'push'], reactivation: email, maxPerUserDay: 3 },
    });
    await identify(world, 'ana', { deviceTokens: ['fcm:1', 'fcm:2'] });
    await event('ana');
    expect((await timeline.at('2040-01-03T09:00:00Z')).length).to.equal(4);
    await complete('ana');
    expect(await timeline.at('2040-01-03T17:00:00Z')).to.deep.equal(['achievement_completed email ana']);
    const skipped = 'achievement_completed email ana skipped: The daily limit is reached.';
    await event('ana', 'n', 1);
    expect(await timeline.at('2040-01-03T17:30:00Z')).to.deep.equal([skipped]);
    expect((await timeline.at('2040-01-04T09:00:00Z')).map((one) => one.split(' ')[0])).to.include.members(['recap', 'reactivation']);
  });

  it('are queued page by page, once for each user', async () => {
    await start({ settings: { reactivationDays: [2] }, messages: { reactivation: ['push'], achievementCompleted: ['push'] } });
    const ids = Array.from({ length: limits.emailPageUsers + 1 }, (_, i) => `user-${i}`);
    for (let first = 0; first < ids.length; first += limits.maxBatchEvents) {
      const users = ids.slice(first, first + limits.maxBatchEvents).map((id) => ({ id, tz: 'UTC', deviceTokens: [`fcm:${id}`] }));
      const body = users.map((user) => ({ key: 'n', value: 1, user }));
      bodyOf(await world.request('POST', '/admin/v1/metrics/events', { body }), 202);
    }
    await timeline.at('2040-01-02T17:00:00Z');
    await timeline.at('2040-01-04T09:00:00Z');
    const expected = ids.flatMap((id) => [`achievement_completed push ${id}`, `reactivation push ${id}`]);
    expect((await sentMessages(world)).map(briefly).sort()).to.deep.equal(expected.sort());
  });
});
