import { expect } from 'chai';
import pino from 'pino';
import { saveTickets } from '../../src/messages/send/push/receipts.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, track } from '../support/answers.js';
import { type MailServer, startMailServer } from '../support/mail-server.js';
import { type ExpoStandIn, startExpo } from '../support/push-providers.js';
import { scrape } from '../support/scrape.js';
import { briefly, identify, sentMessages, untilEnded } from '../support/sent-messages.js';
import { until } from '../support/stage.js';
import { startTenant, startWorld, type World } from '../support/world.js';

const config = (more: object = {}): string =>
  configText({
    settings: { reactivationDays: [1, 2], ...more },
    metrics: [{ key: 'm', name: 'M' }],
    achievements: [{ key: 'api', name: 'Api', trigger: 'api', status: 'active' }],
    messages: { recap: [], streakReminder: [] },
  });
const due = '2040-01-03T09:00:00Z';

describe('Emails to users through an SMTP server', () => {
  let server: MailServer;
  let expo: ExpoStandIn;
  let host: World;
  let world: World;
  let aheadMs = 0;
  const lines: { readonly msg: string; readonly level: number }[] = [];
  before(async () => {
    [server, expo] = await Promise.all([startMailServer(), startExpo()]);
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
    host = await startWorld({
      ...{ now: null, log, overrides: { deliveryAheadMs: () => aheadMs } },
      settings: {
        testClock: true,
        metricsPort: 0,
        messages: 'on',
        smtpUrl: server.url,
        pushExpo: true,
        expoUrl: expo.url,
        emailFrom: 'Laurel <laurel@example.com>',
        publicUrl: 'https://laurel.example.com',
      },
    });
  });
  after(async () => {
    await host.stop();
    await Promise.all([server.stop(), expo.stop()]);
  });
  beforeEach(async () => {
    world = await startTenant(host, { config: config(), now: '2040-01-02T12:00:00Z' });
    server.messages.length = 0;
    lines.length = 0;
  });
  afterEach(async () => {
    server.accept();
    await world.stop();
  });

  async function queue(...users: readonly string[]): Promise<void> {
    for (const user of users) await identify(world, user, { deviceTokens: [] });
    await world.drain();
    await world.setClock(due);
  }
  const untilAttempts = (count: number): Promise<unknown> =>
    until('the attempts', async () => (await sentMessages(world)).every(({ attempts }) => attempts >= count));
  const outcomes = async (): Promise<string[]> => (await sentMessages(world)).map(briefly);
  /** Lets the retries be due. */
  const retry = (): void => {
    aheadMs += limits.messageRetryMs;
  };

  it('are sent, each with the id of its delivery', async () => {
    await queue('ana', 'ben');
    await untilEnded(world);
    const sent = await sentMessages(world);
    expect(sent.map(briefly)).to.deep.equal(['reactivation email ana', 'reactivation email ben']);
    const received = server.messages.map(({ to, raw }) => `${to.join(' ')} ${/^Message-ID: <([^@]*)@/im.exec(raw)?.[1]}`);
    expect(received.sort()).to.deep.equal(sent.map(({ id, user }) => `${user}@example.com ${id}`).sort());
  });

  it('are retried after a temporary refusal, and sent once', async () => {
    server.refuse('to', { code: 451, text: '4.7.1 Greylisted', to: 'ana@example.com', times: 2 });
    await queue('ana');
    for (const attempts of [1, 2, 3]) {
      await untilAttempts(attempts);
      retry();
    }
    const [message] = await sentMessages(world);
    expect([message!.status, message!.attempts, server.messages.length]).to.deep.equal(['delivered', 3, 1]);
    expect(bodyOf<{ tries: unknown[] }[]>(await world.get('/admin/v1/messages'), 200)[0]!.tries).to.have.length(3);
  });

  it('fail for good at an address that does not exist, which is suppressed', async () => {
    server.refuse('to', { code: 550, text: '5.1.1 No such user ana@example.com', to: 'ana@example.com' });
    await queue('ana');
    await untilEnded(world);
    expect(await outcomes()).to.deep.equal(['reactivation email ana failed: 550 5.1.1 No such user [removed]']);
    expect(await new Suppressions(world.pool).find(world.tenant, 'ana@example.com')).to.include({ reason: 'refused' });
    server.accept();
    await world.setClock('2040-01-04T09:00:00Z');
    await untilEnded(world);
    expect((await outcomes())[1]).to.equal('reactivation email ana skipped: The address is suppressed.');
    expect(server.messages).to.deep.equal([]);
  });

  it('fail for good when the server refuses their content, and the next is sent', async () => {
    server.refuse('data', { code: 554, text: '5.7.1 Looks like spam', to: 'ana@example.com', times: 1 });
    await queue('ana');
    await untilEnded(world);
    expect((await outcomes())[0]).to.match(/^reactivation email ana failed: .*spam$/);
    await world.setClock('2040-01-04T09:00:00Z');
    await untilEnded(world);
    expect((await outcomes())[1]).to.equal('reactivation email ana');
  });

  it('wait while the server is unavailable, which is logged once and shown in a metric', async () => {
    const isUp = async (): Promise<number | undefined> =>
      (await scrape(host.metricsAddress)).value('laurel_message_channel_up', { channel: 'email' });
    const logged = (msg: string): number => lines.filter((line) => line.msg === msg).length;
    expect(await isUp()).to.equal(1);
    server.refuse('from', { code: 550, text: '5.7.1 Sender refused' });
    await queue('ana', 'ben', 'cleo');
    await untilAttempts(1);
    expect(await isUp()).to.equal(0);
    expect(logged('message provider unavailable, will retry')).to.equal(1);
    server.accept();
    retry();
    await untilEnded(world);
    expect(await outcomes()).to.deep.equal(['ana', 'ben', 'cleo'].map((user) => `reactivation email ${user}`));
    expect(await isUp()).to.equal(1);
    expect(logged('message provider available again')).to.equal(1);
  });

  it('fail when they could not be sent within a day', async () => {
    server.refuse('to', { code: 451, text: '4.3.0 Later' });
    await queue('ana');
    await untilAttempts(1);
    // The last retry would be more than a day after it became due.
    await world.setClock('2040-01-04T08:59:00Z');
    retry();
    await untilEnded(world);
    expect(await outcomes()).to.deep.equal(['reactivation email ana failed: 451 4.3.0 Later']);
  });

  it('fail when they could not be rendered within their time, each attempt being recorded', async () => {
    server.refuse('to', { code: 451, text: '4.3.0 Later' });
    await queue('ana');
    await untilAttempts(1);
    const unreadable = { type: 'recap', periodStart: 'x', periodEnd: 'x' };
    await world.pool.query("update outbox set payload = jsonb_set(payload::jsonb, '{about}', $2) where tenant = $1", [
      world.tenant,
      JSON.stringify(unreadable),
    ]);
    retry();
    await untilAttempts(2);
    const pending = 'reactivation email ana pending: The message could not be rendered: see the log.';
    expect(await outcomes()).to.deep.equal([pending]);
    await world.setClock('2040-01-04T08:59:00Z');
    retry();
    await untilAttempts(3);
    expect(await outcomes()).to.deep.equal([pending.replace('pending', 'failed')]);
  });

  it('wait for the next hours for achievements if a retry is due after them', async () => {
    server.refuse('to', { code: 451, text: '4.3.0 Later' });
    await identify(world, 'ana', { deviceTokens: [] });
    bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ana' } } }), 201);
    await world.drain();
    await world.setClock('2040-01-02T17:00:00Z');
    await untilAttempts(1);
    server.accept();
    await world.configure(config({ reactivationDays: [] }));
    await world.setClock('2040-01-02T21:00:00Z');
    retry();
    await untilAttempts(2);
    expect(await outcomes()).to.deep.equal(['achievement_completed email ana pending: Outside of the hours for achievements.']);
    await world.setClock('2040-01-03T17:00:00Z');
    aheadMs += 20 * limits.messageRetryMs;
    await untilEnded(world);
    expect(await outcomes()).to.deep.equal(['achievement_completed email ana']);
  });

  it('are sent in order to a user, while others are not delayed', async () => {
    server.refuse('to', { code: 451, text: '4.3.0 Later', to: 'ana@example.com' });
    await queue('ana', 'ben');
    await until('the attempts', async () =>
      (await sentMessages(world)).every(({ attempts, status }) => attempts > 0 || status === 'delivered'),
    );
    await world.setClock('2040-01-04T08:00:00Z');
    await track(world, 'm', { user: 'ben', value: 1 });
    expect((await sentMessages(world)).map(({ user, status }) => `${user} ${status}`)).to.deep.equal(['ana pending', 'ben delivered']);
    server.accept();
    retry();
    await untilEnded(world);
    expect((await sentMessages(world)).map(({ status }) => status)).to.deep.equal(['delivered', 'delivered']);
  });

  it('do not keep the test clock from waiting for those of other users, also while several wait for a retry', async () => {
    await world.configure(config({ reactivationDays: [1, 2, 3, 4, 5] }));
    server.refuse('to', { code: 451, text: '4.3.0 Later', to: 'ana@example.com' });
    for (const user of ['ana', 'ben']) await identify(world, user, { deviceTokens: [] });
    await world.drain();
    await world.setClock('2040-01-07T12:00:00Z');
    const ofBen = (await sentMessages(world)).filter(({ user }) => user === 'ben');
    expect(ofBen.map(({ status }) => status)).to.deep.equal(Array.from({ length: 5 }, () => 'delivered'));
  });

  const providers: readonly (readonly [channel: 'email' | 'push', refuse: () => void, deviceTokens: readonly string[]])[] = [
    ['email', () => server.refuse('to', { code: 451, text: '4.3.0 Later', times: 1 }), []],
    ['push', () => void expo.failures.push({ status: 503, body: {} }), ['ExponentPushToken[ana]']],
  ];
  for (const [channel, refuse, deviceTokens] of providers) {
    it(`hold back no message of another type while they wait, by ${channel}`, async () => {
      const streaks = { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] };
      const messages = { achievementCompleted: [channel], streakReminder: [channel], recap: [], reactivation: [] };
      await world.configure(configText({ ...(JSON.parse(config()) as object), streaks, messages }));
      await identify(world, 'ana', { deviceTokens });
      await track(world, 'm', { user: 'ana', value: 1 });
      await world.setClock('2040-01-03T18:50:00Z');
      bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ana' } } }), 201);
      await world.drain();
      refuse();
      await world.setClock('2040-01-03T19:00:00Z');
      await untilAttempts(1);
      await world.setClock('2040-01-03T20:01:00Z');
      const reminded = async (): Promise<boolean> => (await outcomes()).includes(`streak_reminder ${channel} ana`);
      await until('the reminder', reminded);
      await world.setClock('2040-01-03T21:00:00Z');
      retry();
      await until('the retry', async () => (await sentMessages(world))[0]?.attempts === 2);
      expect(await outcomes()).to.deep.equal([
        `achievement_completed ${channel} ana pending: Outside of the hours for achievements.`,
        `streak_reminder ${channel} ana`,
      ]);
    });
  }

  it('leave nothing of a user who is deleted', async () => {
    await queue('ana');
    await untilEnded(world);
    server.refuse('to', { code: 451, text: '4.3.0 Later' });
    await world.setClock('2040-01-04T09:00:00Z');
    await until('a retry', async () => (await sentMessages(world)).some(({ attempts, status }) => attempts > 0 && status === 'pending'));
    bodyOf(await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'ana' } } }), 201);
    await world.drain();
    const at = new Date();
    await saveTickets(world.pool, [{ ticket: 't', tenant: world.tenant, user: 'ana', token: 'ExponentPushToken[ana]' }], at, at);
    const tables = ['outbox', 'deliveries', 'scheduled_notifications', 'push_receipts'];
    const counts = async (): Promise<number[]> => {
      const found = tables.map((table) => world.pool.query(`select 1 from ${table} where tenant = $1 and user_id = 'ana'`, [world.tenant]));
      return (await Promise.all(found)).map(({ rowCount }) => rowCount ?? 0);
    };
    expect(await counts()).to.deep.equal([2, 2, 1, 1]);
    bodyOf(await world.request('DELETE', '/admin/v1/users/ana'), 200);
    expect(await counts()).to.deep.equal([0, 0, 0, 0]);
    const received = server.messages.length;
    server.accept();
    retry();
    await world.setClock('2040-01-05T17:00:00Z');
    await untilEnded(world);
    expect(server.messages.length).to.equal(received);
  });
});
