import { expect } from 'chai';
import { type Channel, channels, notificationTypes, type NotificationType } from '../../src/config/schema/message-types.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { limits } from '../../src/shared/limits.js';
import { batchOf, errorOf, first } from '../support/admin.js';
import { bodyOf, configText, track } from '../support/answers.js';
import { type MailServer, parseEmail } from '../support/mail-server.js';
import { Random } from '../support/random.js';
import { briefly, identify, prefer, sentMessages, startSender, Timeline, untilEnded } from '../support/sent-messages.js';
import { startHost, startTenant, type World } from '../support/world.js';

const config = (more: object = {}): string =>
  configText({
    settings: { reactivationDays: [7, 8] },
    metrics: [{ key: 'm', name: 'M' }],
    achievements: [{ key: 'api', name: 'Api', trigger: 'api', status: 'active' }],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
    messages: { maxPerUserDay: 100, ...more },
  });
const path = '/admin/v1/messages';

interface Shown {
  readonly id: string;
  readonly type: string;
  readonly channel: string;
  readonly status: string;
  readonly userId: string;
  readonly due: string;
  readonly attempts: number;
  readonly about: unknown;
  readonly tries: readonly { readonly error: string | null }[];
}

/** A new admin key that is bound to the tenant of a world. */
async function keyBoundTo(host: World, world: World): Promise<string> {
  const { rows } = await world.pool.query<{ id: string }>('select id from tenants where no = $1', [world.tenant]);
  const body = [{ name: 'Bound', tenantId: rows[0]!.id }];
  return first(batchOf(await host.request('POST', '/admin/v1/admin-api-keys', { body })).created).key;
}

describe('The Admin API of messages to users', () => {
  describe('with MESSAGES=log', () => {
    let host: World;
    let world: World;
    before(async () => {
      host = await startHost({ messages: 'log' });
    });
    after(() => host.stop());
    beforeEach(async () => {
      world = await startTenant(host, { config: config(), now: '2040-01-02T12:00:00Z' });
    });
    afterEach(() => world.stop());

    const list = async (query = '', of = world): Promise<Shown[]> => bodyOf(await of.get(`${path}${query}`), 200);
    const brief = ({ type, channel, userId }: Shown): string => `${type} ${channel} ${userId}`;

    /** Ana and Ben have messages of three types, Ben by one channel. */
    async function send(): Promise<void> {
      await identify(world, 'ana');
      await identify(world, 'ben', { deviceTokens: [] });
      for (const user of ['ana', 'ben']) await track(world, 'm', { user, value: 1 });
      const timeline = new Timeline(world);
      await timeline.at('2040-01-03T20:00:00Z');
      await new Suppressions(world.pool).add(world.tenant, 'ben@example.com', 'manual');
      await timeline.at('2040-01-09T09:00:00Z');
    }

    it('lists messages, the newest first, by type, channel, status and user, and page by page', async () => {
      await send();
      const all = await list();
      const sent = (await sentMessages(world)).reverse();
      expect(all.map(({ id }) => id)).to.deep.equal(sent.map(({ id }) => id));
      expect(all.length).to.equal(9);
      expect(all[0]).to.deep.include({ due: '2040-01-09T09:00:00.000Z', attempts: 1 });
      const filters: readonly (readonly [query: string, matches: (one: Shown) => boolean])[] = [
        ['type=recap', ({ type }) => type === 'recap'],
        ['channel=push', ({ channel }) => channel === 'push'],
        ['status=skipped', ({ status }) => status === 'skipped'],
        ['userId=ben', ({ userId }) => userId === 'ben'],
        ['userId=zoe', () => false],
        ['type=recap&channel=email&status=logged', (one) => one.type === 'recap' && one.channel === 'email' && one.status === 'logged'],
        [
          'userId=ana&type=reactivation&channel=push',
          (one) => one.userId === 'ana' && one.type === 'reactivation' && one.channel === 'push',
        ],
      ];
      for (const [query, matches] of filters) expect(await list(`?${query}`), query).to.deep.equal(all.filter(matches));
      expect([...(await list('?limit=4')), ...(await list('?limit=4&skip=4')), ...(await list('?limit=4&skip=8'))]).to.deep.equal(all);
      const own = all.filter(({ userId }) => userId === 'ana');
      expect([...(await list('?userId=ana&limit=2')), ...(await list('?userId=ana&skip=2'))]).to.deep.equal(own);
      const suppressed = all.filter(({ status }) => status === 'skipped');
      expect(suppressed.map(({ userId, tries }) => `${userId} ${tries.at(-1)?.error}`)).to.deep.equal(
        Array(2).fill('ben The address is suppressed.'),
      );
    });

    it('counts messages by type, channel and status, as they are listed', async () => {
      await send();
      const all = await list();
      const totals = bodyOf<readonly (Shown & { count: number })[]>(await world.get(`${path}/totals`), 200);
      for (const { type, channel, status, count } of totals) {
        expect(count, `${type} ${channel} ${status}`).to.equal(
          all.filter((one) => one.type === type && one.channel === channel && one.status === status).length,
        );
      }
      expect(totals.reduce((sum, { count }) => sum + count, 0)).to.equal(all.length);
    });

    it('shows the messages of one tenant only, to a key that is bound to it too', async () => {
      await send();
      const other = await startTenant(host, { config: config(), now: '2040-01-02T12:00:00Z' });
      expect(await list('', other)).to.deep.equal([]);
      expect(bodyOf(await other.get(`${path}/totals`), 200)).to.deep.equal([]);
      const [{ id }] = (await list()) as [Shown];
      expect((await other.request('POST', `${path}/${id}/resend`)).status).to.equal(404);
      const key = await keyBoundTo(host, world);
      const reply = await host.request('GET', path, { key });
      expect(bodyOf<Shown[]>(reply, 200).map(brief)).to.deep.equal((await list()).map(brief));
      await other.stop();
    });

    const bad: readonly (readonly [method: string, rest: string, body: object | undefined, status: number])[] = [
      ['GET', '?type=newsletter', undefined, 422],
      ['GET', '?channel=sms', undefined, 422],
      ['GET', '?status=lost', undefined, 422],
      ['GET', '?limit=0', undefined, 422],
      ['GET', '/recipients', undefined, 422],
      ['GET', '/recipients?type=newsletter', undefined, 422],
      ['POST', '/nonsense/resend', undefined, 422],
      ['POST', '/00000000-0000-4000-8000-000000000000/resend', undefined, 404],
      ['POST', '/test', { type: 'newsletter', userId: 'ana', email: 'a@example.com' }, 422],
      ['POST', '/test', { type: 'recap', userId: 'ana' }, 422],
    ];
    for (const [method, rest, body, status] of bad) {
      it(`answers ${method} ${rest} ${body ? JSON.stringify(body) : ''} with ${status} and a sentence`, async () => {
        const reply = await world.request(method, path + rest, body ? { body } : {});
        expect(reply.status).to.equal(status);
        expect(errorOf(reply)).to.match(/[.:]/);
      });
    }

    it('logs a test of a key that is bound to a tenant, and does not send it', async () => {
      await identify(world, 'ana');
      const body = { type: 'recap', userId: 'ana', email: 'ana@example.com' };
      const reply = await world.request('POST', `${path}/test`, { body, key: await keyBoundTo(host, world) });
      expect(bodyOf(reply, 200)).to.deep.include({ sent: false, status: null, detail: 'MESSAGES=log: the email was logged and not sent.' });
    });

    it('refuses a test without an SMTP server, and says what to set', async () => {
      await identify(world, 'ana');
      const reply = await world.request('POST', `${path}/test`, { body: { type: 'recap', userId: 'ana', email: 'ops@example.com' } });
      expect([reply.status, errorOf(reply)]).to.deep.equal([
        422,
        'Emails are off: set SMTP_URL and EMAIL_FROM, and check the startup log.',
      ]);
    });

    for (const seed of [1, 2, 3]) {
      it(`counts as recipients exactly those who then receive a message (population ${seed})`, async () => {
        const random = new Random(seed);
        const oneIn = (n: number): boolean => random.below(n) === 0;
        const some = (): Channel[] => channels.filter(() => !oneIn(3));
        const ids = Array.from({ length: 60 }, (_, i) => `user-${i}`);
        for (const id of ids) {
          const tz = oneIn(2) ? 'UTC' : 'Europe/Berlin';
          const email = oneIn(4) ? undefined : `${id}@example.com`;
          await identify(world, id, {
            tz,
            email,
            ...(oneIn(4) ? { subscribeToEmails: false } : {}),
            ...(oneIn(3) ? { deviceTokens: [] } : {}),
          });
          if (oneIn(3)) await prefer(world, id, Object.fromEntries(notificationTypes.map((type) => [type, some()])));
          if (!oneIn(4)) await track(world, 'm', { user: id, value: 1 });
          if (email !== undefined && oneIn(5)) await new Suppressions(world.pool).add(world.tenant, email, 'bounced');
        }
        const timeline = new Timeline(world);
        await timeline.at('2040-01-08T12:00:00Z');
        for (const id of ids) if (oneIn(2)) await track(world, 'm', { user: id, value: 1 });
        await timeline.at('2040-01-09T07:00:00Z');
        for (const id of ids.slice(0, 10)) await track(world, 'm', { user: id, value: 1 });
        for (const userId of ids.slice(10, 15)) {
          await world.request('POST', '/admin/v1/streaks/pauses', {
            body: { pauses: [{ userId, start: '2040-01-09', end: '2040-01-09' }] },
          });
        }
        for (const id of ids.slice(5, 20)) await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id } } });
        await world.drain();
        const counted = async (type: NotificationType): Promise<unknown> => bodyOf(await world.get(`${path}/recipients?type=${type}`), 200);
        const before = await Promise.all(notificationTypes.map(counted));
        const times = [
          '2040-01-09T08:00:00Z',
          '2040-01-09T09:00:00Z',
          '2040-01-09T17:00:00Z',
          '2040-01-09T19:00:00Z',
          '2040-01-09T20:00:00Z',
        ];
        const sent: string[] = [];
        for (const at of times) sent.push(...(await timeline.at(at)));
        const reached = (type: NotificationType, channel: Channel): number =>
          new Set(sent.filter((one) => one.startsWith(`${type} ${channel} `) && !one.includes('skipped'))).size;
        const expected = notificationTypes.map((type) => ({ type, email: reached(type, 'email'), push: reached(type, 'push') }));
        expect(before).to.deep.equal(expected);
        for (const { email, push } of expected) expect(Math.min(email, push), JSON.stringify(expected)).to.be.greaterThan(0);
      });
    }
  });

  describe('with MESSAGES=on', () => {
    let server: MailServer;
    let host: World;
    let stop: () => Promise<void>;
    let world: World;
    before(async () => {
      const own = { publicUrl: 'https://laurel.example.com', testEmailAddresses: ['ops@example.com', '@study.example'] };
      ({ server, host, stop } = await startSender(own));
    });
    after(() => stop());
    const boundKey = (): Promise<string> => keyBoundTo(host, world);
    /** What the audit log of the tenant says of an operation, the newest first. */
    const auditOf = async (operation: string): Promise<string[]> => {
      const reply = await host.request('GET', '/admin/v1/audit-log', { key: await boundKey() });
      const { entries } = bodyOf<{ entries: { operation: string; summary: string }[] }>(reply, 200);
      return entries.filter((entry) => entry.operation === operation).map(({ summary }) => summary);
    };
    beforeEach(async () => {
      world = await startTenant(host, { config: config({ recap: [], streakReminder: [] }), now: '2040-01-02T12:00:00Z' });
      server.messages.length = 0;
    });
    afterEach(async () => {
      server.accept();
      await world.stop();
    });

    it('sends a test of each type to one address, and stores nothing', async () => {
      await identify(world, 'ana', { name: 'Ana' });
      await track(world, 'm', { user: 'ana', value: 1 });
      for (const type of notificationTypes) {
        const body = { type, userId: 'ana', email: 'ops@example.com' };
        const outcome = bodyOf<{ id: string; subject: string }>(await world.request('POST', `${path}/test`, { body }), 200);
        expect(outcome).to.deep.include({ sent: true, status: 250 });
        const received = server.messages.at(-1)!;
        const { subject, messageId } = await parseEmail(received);
        expect([received.to, subject, messageId?.includes(outcome.id)]).to.deep.equal([['ops@example.com'], outcome.subject, true]);
      }
      expect(await sentMessages(world)).to.deep.equal([]);
    });

    it('shows what the server says of a test, and knows no user who does not exist', async () => {
      await identify(world, 'ana');
      server.refuse('to', { code: 550, text: '5.1.1 No such user' });
      const test = (userId: string) => world.request('POST', `${path}/test`, { body: { type: 'recap', userId, email: 'ops@example.com' } });
      expect(bodyOf(await test('ana'), 200)).to.deep.include({ sent: false, status: 550, detail: '550 5.1.1 No such user' });
      expect((await test('zoe')).status).to.equal(404);
      expect(await new Suppressions(world.pool).has(world.tenant, 'ops@example.com')).to.equal(false);
    });

    it('sends no test to a suppressed address, and the audit log has a hash of the recipient', async () => {
      await identify(world, 'ana');
      const test = (email: string) => world.request('POST', `${path}/test`, { body: { type: 'recap', userId: 'ana', email } });
      await new Suppressions(world.pool).add(world.tenant, 'ops@example.com', 'complained');
      expect(bodyOf(await test('Ops@Example.com'), 200)).to.deep.include({
        sent: false,
        status: null,
        detail: 'The address is suppressed.',
      });
      expect(server.messages).to.deep.equal([]);
      for (const email of ['dev@example.com', 'DEV@EXAMPLE.COM']) bodyOf(await test(email), 200);
      const summaries = await auditOf('admin_messages_test');
      expect(summaries[0])
        .to.match(/^Test email sent to an address with the hash [\da-f]{32}$/)
        .and.equal(summaries[1]);
      expect(summaries[2]).to.match(/^Test email not sent to an address with the hash [\da-f]{32}$/);
      expect(new Set(summaries.map((summary) => summary.slice(-32))).size).to.equal(2);
    });

    describe('by a key that is bound to the tenant', () => {
      let key: string;
      beforeEach(async () => {
        key = await boundKey();
        await identify(world, 'ana');
      });
      const test = (email: string, more: object = {}) =>
        world.request('POST', `${path}/test`, { body: { type: 'recap', userId: 'ana', email, ...more }, key });

      it('sends a test to the address of its user and to those of TEST_EMAIL_ADDRESSES, and to no other', async () => {
        const phishing = { template: { subject: 'Your bank account', body: 'Log in at https://evil.example' } };
        const own = ['ana@example.com', 'Ana@EXAMPLE.com'];
        const listed = ['ops@example.com', 'OPS@example.com', 'anyone@study.example'];
        const foreign = [
          'ben@example.com',
          'ops@example.com.evil.example',
          'ops@sub.study.example',
          'ops@example.com, ben@example.com',
          '@study.example',
        ];
        for (const email of foreign) {
          const reply = await test(email, phishing);
          expect([reply.status, errorOf(reply)], email).to.deep.equal([
            403,
            'This key is bound to a tenant, and sends tests only to the address of the user and to those of TEST_EMAIL_ADDRESSES: use one of them, or an admin key of the account.',
          ]);
        }
        expect(server.messages).to.deep.equal([]);
        for (const email of [...own, ...listed]) expect(bodyOf(await test(email), 200), email).to.deep.include({ sent: true, status: 250 });
        expect(server.messages.map(({ to }) => to[0]!.toLowerCase())).to.deep.equal(
          [...own, ...listed].map((email) => email.toLowerCase()),
        );
      });

      it('sends no more than a tenant may in an hour, and each tenant has its own limit', async () => {
        for (let sent = 0; sent < limits.maxTestEmails; sent += 1) expect((await test('ana@example.com')).status).to.equal(200);
        const refused = await test('ana@example.com');
        expect([refused.status, errorOf(refused)]).to.deep.equal([
          429,
          `A tenant may send ${limits.maxTestEmails} test emails in an hour: retry after the seconds in Retry-After.`,
        ]);
        expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 3_600);
        expect(
          (await world.request('POST', `${path}/test`, { body: { type: 'recap', userId: 'ana', email: 'x@example.com' } })).status,
        ).to.equal(429);
        expect(server.messages.length).to.equal(limits.maxTestEmails);
        const other = await startTenant(host, { config: config(), now: '2040-01-02T12:00:00Z' });
        await identify(other, 'ana');
        expect(
          (await other.request('POST', `${path}/test`, { body: { type: 'recap', userId: 'ana', email: 'x@example.com' } })).status,
        ).to.equal(200);
        await other.stop();
      });
    });

    it('sends a failed message again, also one that is old', async () => {
      server.refuse('to', { code: 552, text: '5.2.2 Mailbox full' });
      await identify(world, 'ana', { deviceTokens: [] });
      await world.drain();
      const timeline = new Timeline(world);
      expect(await timeline.at('2040-01-09T09:00:00Z')).to.deep.equal(['reactivation email ana failed: 552 5.2.2 Mailbox full']);
      await world.configure(configText({ settings: { reactivationDays: [] } }));
      await world.setClock('2040-02-09T12:00:00Z');
      server.accept();
      const [{ id }] = bodyOf<[Shown]>(await world.get(path), 200);
      const again = bodyOf<Shown>(await world.request('POST', `${path}/${id}/resend`), 200);
      expect(again).to.deep.include({ id, status: 'pending', attempts: 0 });
      await untilEnded(world);
      expect((await sentMessages(world)).map(briefly)).to.deep.equal(['reactivation email ana']);
      expect(server.messages.map(({ raw }) => raw.includes(id))).to.deep.equal([true]);
      expect(bodyOf<[Shown]>(await world.get(path), 200)[0].tries.length).to.equal(2);
    });

    it('sends failed messages again, of a type and a channel, however long ago they became due', async () => {
      server.refuse('to', { code: 552, text: '5.2.2 Mailbox full' });
      await identify(world, 'ana', { deviceTokens: [] });
      await world.drain();
      const timeline = new Timeline(world);
      expect(await timeline.at('2040-01-09T09:00:00Z')).to.deep.equal(['reactivation email ana failed: 552 5.2.2 Mailbox full']);
      await world.configure(configText({ settings: { reactivationDays: [] } }));
      await world.setClock('2040-02-09T12:00:00Z');
      server.accept();
      const send = async (body: object): Promise<unknown> => bodyOf(await world.request('POST', `${path}/resend`, { body }), 200);
      const none = { resent: 0, remaining: 0, next: null };
      expect(await send({ type: 'recap' })).to.deep.equal(none);
      expect(await send({ channel: 'push' })).to.deep.equal(none);
      expect(await send({ until: '2020-01-01T00:00:00Z' })).to.deep.equal(none);
      expect(await send({ type: 'reactivation', channel: 'email' })).to.deep.equal({ ...none, resent: 1 });
      await untilEnded(world);
      expect((await sentMessages(world)).map(briefly)).to.deep.equal(['reactivation email ana']);
      expect(await send({})).to.deep.equal(none);
    });

    it('skips a message that is sent again to a user who has unsubscribed since', async () => {
      await identify(world, 'ana', { deviceTokens: [] });
      await world.drain();
      await world.setClock('2040-01-09T09:00:00Z');
      await untilEnded(world);
      await identify(world, 'ana', { deviceTokens: [], subscribeToEmails: false });
      const [{ id }] = bodyOf<[Shown]>(await world.get(path), 200);
      bodyOf(await world.request('POST', `${path}/${id}/resend`), 200);
      await untilEnded(world);
      expect((await sentMessages(world)).map(({ status }) => status)).to.deep.equal(['skipped']);
      expect(server.messages.length).to.equal(1);
    });
  });
});
