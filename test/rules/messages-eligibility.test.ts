import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { openChannels } from '../../src/app/messages.js';
import { startService } from '../../src/app/service.js';
import { Sweep } from '../../src/jobs/sweep.js';
import { DueNotifications } from '../../src/messages/schedule/due.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { keyNames } from '../../src/redis/contract.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, track } from '../support/answers.js';
import { briefly, identify, prefer, sentMessages, untilEnded } from '../support/sent-messages.js';
import { until } from '../support/stage.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, tenant, type World } from '../support/world.js';

const silent = pino({ level: 'silent' });
/** Reactivations, recaps and reminders are all due at 20:00 on Monday, the 9th. */
const config = (messages: object = {}): string =>
  configText({
    settings: { emailHour: 20, reactivationDays: [7] },
    metrics: [{ key: 'm', name: 'M' }],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
    messages: { achievementCompleted: [], ...messages },
  });
const due = '2040-01-09T20:00:00Z';

/** The process that sweeps here sends nothing, until a test starts one that does. */
describe('Messages to users that are queued', () => {
  let world: World;
  let writeBehind: Worker;
  beforeEach(async () => {
    world = await startWorld({ config: config(), settings: { messages: 'log' }, roles: { api: true, worker: false } });
    writeBehind = startWorker(world);
  });
  afterEach(async () => {
    await writeBehind.stop();
    await world.stop();
  });

  const event = (user: string): Promise<unknown> => track(world, 'm', { user, value: 1 });
  const setEngineClock = (iso: string): Promise<unknown> => world.redis.set(world.partition + keyNames.clock, Date.parse(iso));

  /** Starts a worker late, and returns what it made of the messages. */
  async function deliver(): Promise<string[]> {
    await world.drain();
    await writeBehind.stop();
    const service = await startService({ settings: world.settings, log: silent, print: () => undefined }, { api: false, worker: true });
    try {
      await untilEnded(world);
    } finally {
      await service.stop();
    }
    return (await sentMessages(world)).map(briefly).sort();
  }

  it('are sent by a worker that starts late, to users for whom nothing has changed', async () => {
    for (const user of ['ana', 'ben']) {
      await identify(world, user);
      await event(user);
    }
    await setEngineClock('2040-01-08T12:00:00Z');
    await world.setClock('2040-01-08T12:00:00Z');
    await event('ana');
    await setEngineClock(due);
    await world.setClock(due);
    expect((await sentMessages(world)).map(({ status }) => status)).to.deep.equal(Array.from({ length: 8 }, () => 'pending'));
    await setEngineClock('2040-01-09T21:59:00Z');
    const both = (type: string, user: string): string[] => [`${type} email ${user}`, `${type} push ${user}`];
    const expected = [...both('recap', 'ana'), ...both('streak_reminder', 'ana'), ...both('reactivation', 'ben'), ...both('recap', 'ben')];
    expect(await deliver()).to.deep.equal(expected.sort());
  });

  it('are skipped for users and settings that have changed, with the reason', async () => {
    const put = (user: string, profile: object): Promise<void> => identify(world, user, profile);
    const pause = async (userId: string): Promise<void> => {
      const pauses = [{ userId, start: '2040-01-09', end: '2040-01-09' }];
      bodyOf(await world.request('POST', '/admin/v1/streaks/pauses', { body: { pauses } }), 201);
    };
    const noEmail = 'The user no longer receives emails of this type.';
    const noPush = 'The user no longer receives push notifications of this type.';
    const noStreak = 'The streak was extended, lost, paused or switched off, or the day is off.';
    type Case = readonly [user: string, change: (user: string) => Promise<unknown>, what: string, reason: string];
    const cases: readonly Case[] = [
      ['unsubscribed', (id) => put(id, { subscribeToEmails: false }), 'recap email', noEmail],
      ['prefers-push', (id) => prefer(world, id, { recap: ['push'] }), 'recap email', noEmail],
      ['prefers-email', (id) => prefer(world, id, { recap: ['email'] }), 'recap push', noPush],
      ['without-device', (id) => put(id, { deviceTokens: [] }), 'recap push', noPush],
      ['new-device', (id) => put(id, { deviceTokens: ['fcm:new'] }), 'recap push', 'The user no longer has the device token.'],
      ['lost-device', (id) => put('suppressed', { deviceTokens: [id] }), 'recap push', noPush],
      [
        'suppressed',
        (id) => new Suppressions(world.pool).add(tenant, `${id}@example.com`, 'manual'),
        'recap email',
        'The address is suppressed.',
      ],
      ['active', event, 'reactivation email', 'The user is active again.'],
      [
        'switched-off',
        () => world.configure(config({ reactivation: ['email'] })),
        'reactivation push',
        'Messages of this type are switched off for the channel.',
      ],
      ['streak-extended', event, 'streak_reminder email', noStreak],
      ['streak-paused', pause, 'streak_reminder push', noStreak],
    ];
    const users = cases.map(([user]) => user);
    for (const user of [...users, 'deleted']) await identify(world, user);
    for (const user of [...users, 'deleted']) await event(user);
    await world.setClock('2040-01-08T12:00:00Z');
    for (const user of users.filter((name) => name.startsWith('streak'))) await event(user);
    await world.setClock(due);
    for (const [user, change] of cases) await change(user);
    bodyOf(await world.request('DELETE', '/admin/v1/users/deleted'), 200);
    const ended = await deliver();
    for (const [user, , what, reason] of cases) expect(ended, user).to.include(`${what} ${user} skipped: ${reason}`);
    // The other messages of these users.
    expect(ended).to.include.members([
      'recap push unsubscribed',
      'recap email new-device',
      'recap email active',
      'reactivation email switched-off',
    ]);
    expect(ended.filter((one) => one.includes('deleted'))).to.deep.equal([]);
  });

  it('are skipped when they are a day late', async () => {
    await identify(world, 'ana', { deviceTokens: [] });
    await event('ana');
    await setEngineClock(due);
    await world.setClock(due);
    await setEngineClock('2040-01-10T20:00:01Z');
    const reason = 'skipped: It could not be sent in time.';
    expect(await deliver()).to.deep.equal([`reactivation email ana ${reason}`, `recap email ana ${reason}`]);
  });

  it('wait for the end of quiet hours that have begun, by the clock of deliveries', async () => {
    await identify(world, 'ana', { deviceTokens: [] });
    await event('ana');
    await setEngineClock(due);
    await world.setClock(due);
    await setEngineClock('2040-01-09T22:00:00Z');
    await writeBehind.stop();
    let aheadMs = 0;
    const options = { settings: world.settings, log: silent, print: () => undefined, overrides: { deliveryAheadMs: () => aheadMs } };
    const service = await startService(options, { api: false, worker: true });
    try {
      await until('an attempt of both', async () => (await sentMessages(world)).every(({ attempts }) => attempts > 0));
      expect((await sentMessages(world)).map(({ status, reason }) => `${status} ${reason}`)).to.have.members([
        'pending Quiet hours.',
        'pending Quiet hours.',
      ]);
      await setEngineClock('2040-01-10T08:00:00Z');
      aheadMs = 10 * 3_600_000;
      await untilEnded(world);
      expect((await sentMessages(world)).map(briefly).sort()).to.deep.equal(['reactivation email ana', 'recap email ana']);
    } finally {
      await service.stop();
    }
  });

  describe('page by page', () => {
    const ids = Array.from({ length: limits.emailPageUsers + 1 }, (_, i) => `user-${i}`);
    const contexts: Context[] = [];
    beforeEach(async () => {
      for (let first = 0; first < ids.length; first += limits.maxBatchEvents) {
        const users = ids.slice(first, first + limits.maxBatchEvents).map((id) => ({ id, tz: 'UTC', deviceTokens: [`fcm:${id}`] }));
        const body = users.map((user) => ({ key: 'm', value: 1, user }));
        bodyOf(await world.request('POST', '/admin/v1/metrics/events', { body }), 202);
      }
      await world.configure(config({ recap: [], streakReminder: [] }));
      await world.drain();
      // The schedule begins.
      await world.setClock('2040-01-09T19:59:59Z');
      await setEngineClock(due);
    });
    afterEach(async () => {
      await Promise.all(contexts.splice(0).map((context) => context.stop()));
    });
    async function process(): Promise<Context> {
      const context = await Context.start({ settings: world.settings, log: silent, print: () => undefined });
      contexts.push(context);
      await context.engine.loadLibrary();
      await context.engine.refreshConfig(tenant);
      return context;
    }
    const expected = ids.map((id) => `reactivation push ${id}`).sort();
    const queued = async (): Promise<string[]> =>
      (await sentMessages(world)).map(({ type, channel, user }) => `${type} ${channel} ${user}`).sort();

    it('are queued once by processes that sweep concurrently', async () => {
      const processes = await Promise.all([process(), process(), process()]);
      const sweeps = processes.map(
        ({ engine, clock, history, pool }) => new Sweep({ engine, clock, history, pool, log: silent }, openChannels(world.settings)),
      );
      await Promise.all(sweeps.map((sweep) => sweep.run(tenant)));
      expect(await queued()).to.deep.equal(expected);
    });

    it('are queued while the users of a new configuration are checked, which can take minutes', async () => {
      const { engine, clock, history, pool } = await process();
      const sweep = new Sweep({ engine, clock, history, pool, log: silent }, openChannels(world.settings));
      const blocker = await world.pool.connect();
      await blocker.query('begin; lock table activations in access exclusive mode');
      const running = sweep.run(tenant);
      await sweep.runDue(tenant);
      expect(await queued()).to.deep.equal(expected);
      await blocker.query('rollback');
      blocker.release();
      await running;
    });

    it('are queued once by a process that continues after another', async () => {
      const [one, other] = [await process(), await process()];
      const publish = async (context: Context, pages: number): Promise<void> => {
        const { pool, engine } = context;
        const due = new DueNotifications({ stores: context, pool, open: openChannels(world.settings), onQueued: () => undefined });
        await due.publish(await engine.config(tenant), await context.clock.now(tenant), pages);
      };
      await publish(one, 1);
      expect((await queued()).length).to.equal(limits.emailPageUsers);
      await publish(other, 1);
      expect(await queued()).to.deep.equal(expected);
    });
  });
});
