import { expect } from 'chai';
import { channels, notificationTypes, type NotificationType } from '../../src/config/schema/message-types.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { configText, track } from '../support/answers.js';
import { messagesOf, subscription } from '../support/messages.js';
import { briefly, identify, prefer, sentMessages, type SentMessage, Timeline, untilEnded } from '../support/sent-messages.js';
import { startHost, startTenant, startWorld, type World } from '../support/world.js';

const webhookKinds = ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due', 'emails.achievement_due'];
/** The first event completes an achievement and starts a streak; three days later a reactivation is due, and on Monday a recap. */
const config = (more: object = {}, settings: object = {}): string =>
  configText({
    settings: { reactivationDays: [3], ...settings },
    metrics: [{ key: 'm', name: 'M' }],
    achievements: [{ key: 'first', name: 'First', trigger: 'metric', metricKey: 'm', metricValue: 1, status: 'active' }],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
    ...more,
  });

const start = '2040-01-02T12:00:00Z';
const steps = ['2040-01-02T17:00:00Z', '2040-01-03T20:00:00Z', '2040-01-05T09:00:00Z', '2040-01-09T09:00:00Z'];

/** Lets one message of each type become due to each user, by one event of each user. */
async function passWeek(world: World, users: readonly string[]): Promise<SentMessage[]> {
  for (const user of users) await track(world, 'm', { user, value: 1 });
  const timeline = new Timeline(world);
  const sent: SentMessage[] = [];
  for (const step of steps) sent.push(...(await timeline.messages(step)));
  return sent;
}

describe('Messages to users that are due', () => {
  let host: World;
  let world: World;
  before(async () => {
    host = await startHost({ messages: 'log' });
  });
  after(() => host.stop());

  describe('reach', () => {
    const all = (wanted: readonly string[]): Record<string, readonly string[]> =>
      Object.fromEntries(notificationTypes.map((type) => [type, wanted]));
    type Case = readonly [user: string, profile: object, preferences: readonly string[] | undefined, reached: readonly string[]];
    const suppressed = 'email skipped: The address is suppressed.';
    const cases: readonly Case[] = [
      ['a user with an address and a device', {}, undefined, ['email', 'push']],
      ['a user with two devices, on each', { deviceTokens: ['fcm:1', 'fcm:2'] }, undefined, ['email', 'push', 'push']],
      ['a user with one device in two spellings, once', { deviceTokens: ['fcm:3', '3'] }, undefined, ['email', 'push']],
      ['a user without an address', { email: undefined }, undefined, ['push']],
      ['a user without a device', { deviceTokens: [] }, undefined, ['email']],
      ['a user with neither', { email: undefined, deviceTokens: [] }, undefined, []],
      ['a user who has unsubscribed from emails', { subscribeToEmails: false }, undefined, ['push']],
      ['a user who prefers emails', {}, ['email'], ['email']],
      ['a user who prefers push notifications', {}, ['push'], ['push']],
      ['a user who prefers neither', {}, [], []],
      ['a user whose address is suppressed', { email: 'gone@example.com' }, undefined, [suppressed, 'push']],
      ['a user in the control group', {}, undefined, []],
    ];
    let sent: readonly SentMessage[];
    before(async () => {
      world = await startTenant(host, { config: config(), now: start });
      for (const [user, profile, preferences] of cases) {
        if (user.endsWith('control group')) await world.configure(config({}, { controlRatio: 1 }));
        await identify(world, user, profile);
        if (preferences) await prefer(world, user, all(preferences));
      }
      await new Suppressions(world.pool).add(world.tenant, 'gone@example.com', 'bounced');
      await world.configure(config({}, { controlRatio: 0 }));
      sent = await passWeek(
        world,
        cases.map(([user]) => user),
      );
    });
    after(() => world.stop());

    for (const type of notificationTypes) {
      for (const [user, , , reached] of cases) {
        it(`${type}: ${user}: ${reached.length === 0 ? 'by no channel' : reached.join(', ')}`, () => {
          const own = sent.filter((one) => one.user === user && one.type === type);
          expect(own.map((one) => briefly(one).replace(`${type} `, '').replace(` ${user}`, '')).sort()).to.deep.equal(reached);
        });
      }
    }
  });

  describe('by the channels of their type', () => {
    afterEach(() => world.stop());
    const of: Readonly<Record<NotificationType, string>> = {
      achievement_completed: 'achievementCompleted',
      recap: 'recap',
      reactivation: 'reactivation',
      streak_reminder: 'streakReminder',
    };
    for (const type of notificationTypes) {
      it(`${type}: none if the settings name none, and only by those that they name`, async () => {
        const messages = Object.fromEntries(notificationTypes.map((one) => [of[one], one === type ? ['push'] : []]));
        world = await startTenant(host, { config: config({ messages }), now: start });
        await identify(world, 'ana');
        const sent = await passWeek(world, ['ana']);
        expect(sent.map(briefly)).to.deep.equal([`${type} push ana`]);
      });
    }
  });

  it('are not queued with MESSAGES=off, and the webhooks are sent all the same', async () => {
    world = await startWorld({ config: config({ webhooks: [subscription(...webhookKinds)] }), settings: { messages: 'off' }, now: start });
    try {
      await identify(world, 'ana');
      expect(await passWeek(world, ['ana'])).to.deep.equal([]);
      expect((await world.pool.query('select 1 from scheduled_notifications')).rows).to.deep.equal([]);
      expect((await messagesOf(world)).map(({ kind }) => kind).sort()).to.deep.equal([...webhookKinds].sort());
    } finally {
      await world.stop();
    }
  });

  it('go beside the webhooks, which concern only users who receive emails', async () => {
    world = await startTenant(host, { config: config({ webhooks: [subscription(...webhookKinds)] }), now: start });
    await identify(world, 'ana');
    await identify(world, 'ben', { subscribeToEmails: false });
    for (const user of ['ana', 'ben']) await track(world, 'm', { user, value: 1 });
    for (const step of steps) {
      await world.setClock(step);
      await untilEnded(world);
    }
    const webhooks = (await messagesOf(world)).filter(({ kind }) => webhookKinds.includes(kind));
    expect(webhooks.map(({ kind, user }) => `${kind} ${user}`).sort()).to.deep.equal(webhookKinds.map((kind) => `${kind} ana`).sort());
    const sent = (await sentMessages(world)).map(briefly).sort();
    const expected = notificationTypes.flatMap((type) => [...channels.map((channel) => `${type} ${channel} ana`), `${type} push ben`]);
    expect(sent).to.deep.equal(expected.sort());
    await world.stop();
  });
});
