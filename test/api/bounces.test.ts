import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { answer, configText, readProfile, userPath } from '../support/answers.js';
import { type EmailDelivery, addEmailDelivery, readEmailDelivery } from '../support/email-deliveries.js';
import { type Sns, certificatePath, certificateUrl, snsMessage, startSns } from '../support/sns.js';
import { type Reply, startTenant, startWorld, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const token = 'a-token-of-postmark';
const topic = 'arn:aws:sns:eu-west-1:1:bounces';
const ana = 'ana@example.com';

describe('Bounces and complaints', () => {
  let world: World;
  let sns: Sns;
  let suppressions: Suppressions;
  let delivery: string;
  before(async () => {
    sns = await startSns();
    world = await startWorld({
      ...{ config: configText({ metrics: [{ key: 'cards', name: 'Cards' }] }), now: null, overrides: { snsAgent: sns.agent } },
      settings: { testClock: true, postmarkWebhookToken: token, sesTopicArn: topic },
    });
    suppressions = new Suppressions(world.pool);
  });
  after(async () => {
    await (world as World | undefined)?.stop();
    await sns.stop();
  });
  beforeEach(async () => {
    await world.pool.query('truncate suppressions');
    sns.requested.length = 0;
    sns.statuses.clear();
    await world.request('PUT', userPath('ana'), { body: { email: ana, subscribeToEmails: true } });
    await world.drain();
    delivery = await addEmailDelivery(world, 'ana');
  });

  /** What is known of Ana: why her address is suppressed, whether she is subscribed, and the state of the delivery. */
  async function known(): Promise<[string | undefined, boolean, string]> {
    const { status } = await readEmailDelivery(world, delivery);
    return [(await suppressions.find(1, ana))?.reason, (await readProfile(world, 'ana')).subscribeToEmails, status];
  }
  const nothing = [undefined, true, 'delivered'];

  describe('of Postmark', () => {
    const post = (body: unknown, headers: Record<string, string> = { 'x-webhook-token': token }): Promise<Reply> =>
      world.request('POST', '/m/bounces/postmark', { body, headers, key: null });
    const metadata = (): object => ({ Metadata: { 'laurel-delivery': delivery } });
    const bounce = (type: string, more: object = {}): object => ({
      RecordType: 'Bounce',
      Type: type,
      Email: ana,
      ID: 1,
      MessageID: randomUUID(),
      Inactive: false,
      Details: ana,
      ...metadata(),
      ...more,
    });
    const change = (isSuppressed: boolean, reason: string | null): object => ({
      RecordType: 'SubscriptionChange',
      Recipient: ana,
      SuppressSending: isSuppressed,
      SuppressionReason: reason,
      Origin: 'Recipient',
      ...metadata(),
    });

    const rows: readonly (readonly [what: string, webhook: () => object, then: readonly unknown[]])[] = [
      ['a hard bounce suppresses', () => bounce('HardBounce'), ['bounced', true, 'bounced']],
      ['a bad address suppresses', () => bounce('BadEmailAddress'), ['bounced', true, 'bounced']],
      ['a bounce after which Postmark stops sending suppresses', () => bounce('Blocked', { Inactive: true }), ['bounced', true, 'bounced']],
      ['a full mailbox changes nothing', () => bounce('SoftBounce'), nothing],
      ['a delay changes nothing', () => bounce('Transient', { Metadata: null }), nothing],
      [
        'a complaint suppresses and unsubscribes',
        () => ({ ...bounce('SpamComplaint'), RecordType: 'SpamComplaint' }),
        ['complained', false, 'complained'],
      ],
      ['a suppression after a bounce is one here', () => change(true, 'HardBounce'), ['bounced', true, 'bounced']],
      ['a suppression after a complaint is one here', () => change(true, 'SpamComplaint'), ['complained', false, 'complained']],
      ['a suppression by hand is one here', () => change(true, 'ManualSuppression'), ['manual', true, 'delivered']],
      ['a delivery changes nothing', () => ({ RecordType: 'Delivery', Recipient: ana }), nothing],
    ];
    for (const [what, webhook, then] of rows) {
      it(`are handled once: ${what}, and a repeated webhook changes nothing more`, async () => {
        expect((await post(webhook())).status).to.equal(200);
        expect(await known()).to.deep.equal(then);
        await world.drain();
        const before = await world.snapshot();
        expect((await post(webhook())).status).to.equal(200);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
    }

    it('that Postmark takes back are allowed again', async () => {
      await post(change(true, 'HardBounce'));
      expect((await post(change(false, null))).status).to.equal(200);
      expect(await suppressions.has(1, ana)).to.equal(false);
    });

    it('without metadata concern every tenant that has a user with the address', async () => {
      const other = await startTenant(world);
      const third = await startTenant(world);
      for (const each of [other, third]) {
        await each.request('PUT', userPath('anna'), { body: { email: each === other ? 'ANA@example.com' : 'else@example.com' } });
        await each.drain();
      }
      expect((await post({ ...bounce('SpamComplaint', { Metadata: {} }), RecordType: 'SpamComplaint' })).status).to.equal(200);
      expect(await known()).to.deep.equal(['complained', false, 'delivered']);
      expect((await suppressions.find(other.tenant, ana))?.reason).to.equal('complained');
      expect((await readProfile(other, 'anna')).subscribeToEmails).to.equal(false);
      expect(await suppressions.has(third.tenant, ana)).to.equal(false);
      expect((await readProfile(third, 'anna')).subscribeToEmails).to.equal(true);
      await other.stop();
      await third.stop();
    });

    it('about unknown addresses are ignored', async () => {
      for (const email of ['nowhere@example.com', '', 'x'.repeat(1_000), '<>']) {
        expect((await post(bounce('HardBounce', { Email: email, Metadata: { 'laurel-delivery': randomUUID() } }))).status).to.equal(200);
      }
      expect((await world.pool.query('select 1 from suppressions')).rowCount).to.equal(0);
    });

    it('show in the delivery without the address, a complaint after a bounce too', async () => {
      await post(bounce('HardBounce'));
      await post({ ...bounce('SpamComplaint'), RecordType: 'SpamComplaint' });
      await post(bounce('HardBounce'));
      const expected: EmailDelivery = { status: 'complained', clicks: 0, errors: ['bounced: HardBounce', 'complained: SpamComplaint'] };
      expect(await readEmailDelivery(world, delivery)).to.deep.equal(expected);
    });

    it('leave a delivery that a worker is about to send to the worker', async () => {
      delivery = await addEmailDelivery(world, 'ana', 'pending');
      await post(bounce('HardBounce'));
      expect(await known()).to.deep.equal(['bounced', true, 'pending']);
    });

    const basic = (credentials: string): Record<string, string> => ({
      authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
    });
    const callers: readonly (readonly [what: string, headers: Record<string, string>, status: number])[] = [
      ['the token in a header', { 'x-webhook-token': token }, 200],
      ['the token as password', basic(`postmark:${token}`), 200],
      ['the token as password without a user', basic(`:${token}`), 200],
      ['no token', {}, 401],
      ['an empty token', { 'x-webhook-token': '' }, 401],
      ['a longer token', { 'x-webhook-token': `${token}x` }, 401],
      ['a wrong password', basic('postmark:wrong'), 401],
      ['the token as user name', basic(`${token}:`), 401],
      ['the token as bearer token', { authorization: `Bearer ${token}` }, 401],
      ['broken credentials', { authorization: 'Basic %%%' }, 401],
    ];
    for (const [what, headers, status] of callers) {
      it(`are ${status === 200 ? 'accepted' : 'refused'} with ${what}`, async () => {
        expect((await post(bounce('HardBounce'), headers)).status).to.equal(status);
        expect(await suppressions.has(1, ana)).to.equal(status === 200);
      });
    }

    const bad: readonly (readonly [what: string, body: unknown, status: number])[] = [
      ['no JSON', undefined, 422],
      ['a list', [], 422],
      ['an unknown record', { RecordType: 'Odd' }, 422],
      ['a bounce without an address', { RecordType: 'Bounce', Type: 'HardBounce' }, 422],
      ['an address that is a number', { RecordType: 'Bounce', Type: 'HardBounce', Email: 1 }, 422],
      ['too much', { RecordType: 'Bounce', Type: 'HardBounce', Email: ana, Content: 'x'.repeat(1024 * 1024) }, 413],
    ];
    for (const [what, body, status] of bad) {
      it(`are refused with ${what}`, async () => {
        expect((await post(body)).status).to.equal(status);
        expect(await known()).to.deep.equal(nothing);
      });
    }
  });

  describe('of Amazon SES', () => {
    const post = (message: unknown): Promise<Reply> =>
      world.request('POST', '/m/bounces/ses', { body: message, headers: { 'content-type': 'text/plain; charset=UTF-8' }, key: null });
    const mail = (): object => ({ messageId: '0102', commonHeaders: { messageId: `<${delivery}@mail.example>` }, destination: [ana] });
    const bounced = (bounceType: string, more: object = {}): object => ({
      notificationType: 'Bounce',
      mail: mail(),
      bounce: { bounceType, bounceSubType: 'General', bouncedRecipients: [{ emailAddress: ana, status: '5.1.1', diagnosticCode: ana }] },
      ...more,
    });
    const complained = (feedback?: string): object => ({
      notificationType: 'Complaint',
      mail: mail(),
      complaint: { complainedRecipients: [{ emailAddress: `Ana <${ana}>` }], ...(feedback ? { complaintFeedbackType: feedback } : {}) },
    });
    const notification = (message: unknown, version: '1' | '2' = '2'): Record<string, string> =>
      snsMessage('Notification', { Message: typeof message === 'string' ? message : JSON.stringify(message), TopicArn: topic }, version);

    const rows: readonly (readonly [what: string, message: () => unknown, then: readonly unknown[]])[] = [
      ['a permanent bounce suppresses', () => bounced('Permanent'), ['bounced', true, 'bounced']],
      ['a transient bounce changes nothing', () => bounced('Transient'), nothing],
      ['an undetermined bounce changes nothing', () => bounced('Undetermined'), nothing],
      ['a complaint suppresses and unsubscribes', () => complained('abuse'), ['complained', false, 'complained']],
      ['a complaint without a type does too', () => complained(), ['complained', false, 'complained']],
      ['a report that it is no spam changes nothing', () => complained('not-spam'), nothing],
      [
        'an event of a configuration set is the same',
        () => bounced('Permanent', { notificationType: undefined, eventType: 'Bounce' }),
        ['bounced', true, 'bounced'],
      ],
      [
        'the delivery is found by the original header too',
        () => bounced('Permanent', { mail: { headers: [{ name: 'Message-ID', value: `<${delivery}@mail.example>` }] } }),
        ['bounced', true, 'bounced'],
      ],
      ['without headers the address is found', () => bounced('Permanent', { mail: {} }), ['bounced', true, 'delivered']],
      ['a delivery changes nothing', () => ({ notificationType: 'Delivery', mail: mail() }), nothing],
      ['a text that is no JSON changes nothing', () => 'Successfully validated SNS topic.', nothing],
      ['JSON of another form changes nothing', () => ({ notificationType: 'Bounce', bounce: [] }), nothing],
    ];
    for (const [what, message, then] of rows) {
      it(`are handled once: ${what}, and a repeated notification changes nothing more`, async () => {
        expect((await post(notification(message()))).status).to.equal(200);
        expect(await known()).to.deep.equal(then);
        await world.drain();
        const before = await world.snapshot();
        expect((await post(notification(message(), '1'))).status).to.equal(200);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
    }

    it('show in the delivery by their status', async () => {
      await post(notification(bounced('Permanent')));
      expect((await readEmailDelivery(world, delivery)).errors).to.deep.equal(['bounced: Permanent General 5.1.1']);
    });

    it('download the certificate once', async () => {
      for (let i = 0; i < 2; i += 1) {
        sns.requested.length = 0;
        expect((await post(notification(bounced('Transient')))).status).to.equal(200);
      }
      expect(sns.requested).to.deep.equal([]);
    });

    const forgeries: readonly (readonly [what: string, change: Record<string, string>, status: number])[] = [
      ['another text under this signature', { Message: JSON.stringify({ notificationType: 'Complaint' }) }, 401],
      ['another signature', { Signature: Buffer.alloc(256).toString('base64') }, 401],
      ['no signature', { Signature: '' }, 401],
      ['another topic', { TopicArn: `${topic}x` }, 403],
      ['an unknown version of signatures', { SignatureVersion: '3' }, 422],
      ['a certificate of another host', { SigningCertURL: `https://evil.example${certificatePath}` }, 401],
      [
        'a certificate of a host that looks alike',
        { SigningCertURL: `https://sns.eu-west-1.amazonaws.com.evil.example${certificatePath}` },
        401,
      ],
      ['a certificate of a bucket of S3', { SigningCertURL: `https://sns.s3-eu-west-1.amazonaws.com${certificatePath}` }, 401],
      [
        'a certificate of a bucket of a website',
        { SigningCertURL: `https://sns.s3-website-eu-west-1.amazonaws.com${certificatePath}` },
        401,
      ],
      ['a certificate of another port', { SigningCertURL: `https://sns.eu-west-1.amazonaws.com:8443${certificatePath}` }, 401],
      ['a certificate without TLS', { SigningCertURL: certificateUrl.replace('https', 'http') }, 401],
      ['a certificate at another path', { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/bucket/cert.pem' }, 401],
    ];
    for (const [what, change, status] of forgeries) {
      it(`are refused with ${what}, without a request to another host`, async () => {
        const valid = notification(bounced('Permanent'));
        expect((await post({ ...valid, ...change })).status).to.equal(status);
        expect(await known()).to.deep.equal(nothing);
        expect(sns.requested.filter((address) => !address.startsWith('sns.eu-west-1.amazonaws.com/'))).to.deep.equal([]);
        expect((await post(valid)).status, 'and the next valid one is accepted').to.equal(200);
      });
    }

    it('are accepted again after Amazon sent an error page for the certificate', async () => {
      await post({ ...notification('x'), Signature: 'x' });
      sns.statuses.set(certificatePath, 503);
      expect((await post(notification(bounced('Permanent')))).status).to.equal(401);
      sns.statuses.clear();
      expect((await post(notification(bounced('Permanent')))).status).to.equal(200);
    });

    const confirmation = (url: string): Record<string, string> =>
      snsMessage('SubscriptionConfirmation', {
        TopicArn: topic,
        Token: 'abc',
        SubscribeURL: url,
        Message: 'You have chosen to subscribe.',
      });
    const subscribePath = '/?Action=ConfirmSubscription&Token=abc';

    it('begin with a subscription, which is confirmed', async () => {
      expect((await post(confirmation(`https://sns.eu-west-1.amazonaws.com${subscribePath}`))).status).to.equal(200);
      expect(sns.requested.at(-1)).to.equal(`sns.eu-west-1.amazonaws.com${subscribePath}`);
    });

    it('ask for the confirmation again if Amazon refuses it', async () => {
      sns.statuses.set('/?Action', 500);
      const reply = await post(confirmation(`https://sns.eu-west-1.amazonaws.com${subscribePath}`));
      expect(answer(reply)).to.deep.equal([503, { error: 'SNS has not confirmed the subscription: it responded with 500.' }]);
    });

    it('confirm a subscription at Amazon only, even if the message is signed', async () => {
      for (const host of [
        'https://evil.example',
        'http://sns.eu-west-1.amazonaws.com',
        'https://127.0.0.1',
        'https://s3.amazonaws.com',
        'https://sns.s3.amazonaws.com',
        'https://sns.s3-eu-west-1.amazonaws.com',
        'https://sns.s3-website-eu-west-1.amazonaws.com',
        'x',
      ]) {
        expect((await post(confirmation(host + subscribePath))).status, host).to.equal(422);
      }
      expect(sns.requested.filter((address) => address.includes('Action'))).to.deep.equal([]);
    });
  });

  it('are not received before they are configured', async () => {
    const bare = await startWorld({ roles: { api: true, worker: false } });
    for (const [path, setting] of [
      ['postmark', 'POSTMARK_WEBHOOK_TOKEN'],
      ['ses', 'SES_TOPIC_ARN'],
    ] as const) {
      const reply = await bare.request('POST', `/m/bounces/${path}`, { body: {}, key: null });
      expect(answer(reply)).to.deep.equal([404, { error: `This endpoint is disabled: ${setting} is not set.` }]);
    }
    expect((await bare.request('GET', '/m/bounces/ses', { key: null })).status).to.equal(405);
    await bare.stop();
  });

  describe('of other providers are reported to the Admin API,', () => {
    const path = `/admin/v1/suppressions?email=${encodeURIComponent(ana)}`;

    it('which suppresses an address, shows it, and allows it again', async () => {
      const missing = [404, { error: 'This address is not suppressed.' }];
      expect(answer(await world.get(path))).to.deep.equal(missing);
      const added = await world.request('POST', '/admin/v1/suppressions', { body: { email: ana } });
      expect([added.status, added.body]).to.deep.equal([
        200,
        { email: ana, reason: 'manual', created: (added.body as { created: string }).created },
      ]);
      expect(answer(await world.get(path))).to.deep.equal([200, added.body]);
      expect(await known()).to.deep.equal(['manual', true, 'delivered']);
      expect(answer(await world.request('DELETE', path))).to.deep.equal([200, { email: ana }]);
      expect(answer(await world.request('DELETE', path))).to.deep.equal(missing);
    });

    for (const text of ['not an address', 'ana', 'ana@', '@example.com', 'Ana <ana@example.com>', 'a@b@example.com', 'ana@exa mple.com'])
      it(`which refuses ${JSON.stringify(text)} as an address`, async () => {
        const refused = await world.request('POST', '/admin/v1/suppressions', { body: { email: text } });
        expect(answer(refused)).to.deep.equal([422, { error: '`email` must be an email address such as ana@example.com.' }]);
        expect((await world.get(`/admin/v1/suppressions?email=${encodeURIComponent(text)}`)).status).to.equal(404);
      });

    for (const text of [
      "o'hara+news@example.com",
      'ana@müller.example',
      'ana@xn--mller-kva.example',
      ' Ana@Example.com ',
      'анна@пример.рф',
    ])
      it(`which accepts ${JSON.stringify(text)} as an address`, async () => {
        expect((await world.request('POST', '/admin/v1/suppressions', { body: { email: text } })).status).to.equal(200);
      });

    it('which unsubscribes the users of a complaint, in this tenant only', async () => {
      const other = await startTenant(world);
      await other.request('PUT', userPath('anna'), { body: { email: ana } });
      await other.drain();
      await world.request('POST', '/admin/v1/suppressions', { body: { email: 'ANA@example.com', reason: 'complained' } });
      expect(await known()).to.deep.equal(['complained', false, 'delivered']);
      expect((await readProfile(other, 'anna')).subscribeToEmails).to.equal(true);
      expect((await other.get(path)).status).to.equal(404);
      await other.stop();
    });
  });
});
