import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { parseSettings } from '../../src/app/settings.js';
import type { Push, SendResult } from '../../src/messages/send/provider.js';
import { ReceiptReader } from '../../src/messages/send/push/receipt-reader.js';
import { parseToken } from '../../src/shared/device-tokens.js';
import { type TransportSettings, type Transports, createTransports } from '../../src/messages/send/transports.js';
import { limits } from '../../src/shared/limits.js';
import {
  type ApnsStandIn,
  type ExpoStandIn,
  type FcmStandIn,
  fcmError,
  startApns,
  startExpo,
  startFcm,
} from '../support/push-providers.js';
import { pem } from '../support/tls.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

const ada = { tenant: 1, user: 'ada' };
const expoToken = 'ExponentPushToken[ada-phone]';
const fcmToken = 'dQw4w9WgXcQ:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx';
const apnsToken = 'ab'.repeat(32);

const pushTo = (token: string, fields: Partial<Push> = {}): Push => ({
  id: randomUUID(),
  token,
  title: 'Streak ends today',
  body: 'Three hours left',
  url: 'https://game.example/streak',
  icon: null,
  ...fields,
});

const gone = { kind: 'permanent', isGone: true };
const refusedPush = { kind: 'permanent', isGone: false };
const temporary = { kind: 'temporary' };
const unavailable = { kind: 'unavailable' };

describe('Pushes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-push-'));
  const transports: Transports[] = [];
  const unsaved: unknown[] = [];
  let database: TestDatabase;
  let expo: ExpoStandIn;
  let fcm: FcmStandIn;
  let apns: ApnsStandIn;

  before(async () => {
    database = await freshDatabase({ connections: 4 });
  });
  beforeEach(async () => {
    [expo, fcm, apns] = await Promise.all([startExpo({ accessToken: 'expo-secret' }), startFcm(), startApns()]);
  });
  afterEach(async () => {
    await Promise.all(transports.splice(0).map((one) => one.stop()));
    await Promise.all([expo.stop(), fcm.stop(), apns.stop()]);
    await database.pool.query('truncate push_receipts');
    unsaved.length = 0;
  });
  after(async () => {
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  function fileOf(text: string): string {
    const file = join(folder, randomUUID());
    writeFileSync(file, text);
    return file;
  }

  const allProviders = (): Partial<TransportSettings> => ({
    expoAccessToken: 'expo-secret',
    expoUrl: expo.url,
    fcmCredentialsFile: fileOf(JSON.stringify(fcm.credentials)),
    fcmUrl: fcm.url,
    apnsKeyFile: fileOf(apns.key),
    apnsKeyId: apns.keyId,
    apnsTeamId: apns.teamId,
    apnsTopic: apns.topic,
    apnsHost: apns.host,
  });

  function create(settings: Partial<TransportSettings>, pool = database.pool): Transports {
    const all = { ...parseSettings({}), ...settings };
    const created = createTransports(all, { pool, onUnsavedTickets: (error) => unsaved.push(error), apnsCa: pem('ca') });
    transports.push(created);
    return created;
  }

  const send = (push: Push, settings: Partial<TransportSettings> = {}): Promise<SendResult> =>
    create({ ...allProviders(), ...settings }).push!.send(push, ada);

  describe('belong to the provider of their token:', () => {
    for (const [token, provider, value] of [
      ['ExponentPushToken[x]', 'expo', 'ExponentPushToken[x]'],
      ['ExpoPushToken[x]', 'expo', 'ExpoPushToken[x]'],
      ['expo:ExponentPushToken[x]', 'expo', 'ExponentPushToken[x]'],
      [apnsToken, 'apns', apnsToken],
      [apnsToken.toUpperCase(), 'apns', apnsToken.toUpperCase()],
      ['apns:abcd', 'apns', 'abcd'],
      [fcmToken, 'fcm', fcmToken],
      [`fcm:${apnsToken}`, 'fcm', apnsToken],
      [`${apnsToken}a`, 'fcm', `${apnsToken}a`],
      ['ExponentPushToken[', 'fcm', 'ExponentPushToken['],
      ['', 'fcm', ''],
    ] as const) {
      it(`${JSON.stringify(token)} is for ${provider}`, () => {
        expect(parseToken(token)).to.deep.equal({ provider, value });
      });
    }

    it('each is sent to its own, without the prefix', async () => {
      const { push } = create(allProviders());
      const tokens = [`expo:${expoToken}`, `fcm:${fcmToken}`, `apns:${apnsToken}`];
      const results = await Promise.all(tokens.map((token) => push!.send(pushTo(token), ada)));
      expect(results.map(({ kind }) => kind)).to.deep.equal(['accepted', 'accepted', 'accepted']);
      expect([expo, fcm, apns].map(({ pushes }) => pushes.map(({ token }) => token))).to.deep.equal([[expoToken], [fcmToken], [apnsToken]]);
    });

    it('an empty one is no longer valid', async () => {
      for (const token of ['fcm:', 'apns:', 'expo:', 'apns:../../secret']) expect(await send(pushTo(token))).to.deep.include(gone);
    });
  });

  it('wait for no provider longer than the timeout', async () => {
    for (const standIn of [expo, fcm, apns]) standIn.failures.push('hang');
    const options = { pool: database.pool, onUnsavedTickets: () => undefined, apnsCa: pem('ca'), pushSendMs: 300 };
    const created = createTransports({ ...parseSettings({}), ...allProviders() }, options);
    transports.push(created);
    const results = await Promise.all([expoToken, fcmToken, apnsToken].map((token) => created.push!.send(pushTo(token), ada)));
    const late = { kind: 'unavailable', status: null, detail: 'no response in time' };
    expect(results).to.deep.equal([late, late, late]);
  });

  describe('without credentials of their provider', () => {
    it('are refused, and say which setting is missing', async () => {
      const { push, problems } = create({ expoUrl: expo.url });
      expect(problems).to.deep.equal([]);
      const forFcm = await push!.send(pushTo(fcmToken), ada);
      expect(forFcm).to.deep.include(refusedPush);
      expect(forFcm.detail).to.equal('FCM is not configured: set FCM_CREDENTIALS_FILE');
      expect(await push!.send(pushTo(apnsToken), ada)).to.deep.include(refusedPush);
    });

    it('have no transport at all', () => {
      expect(create({ pushExpo: false })).to.deep.include({ push: undefined, email: undefined, problems: [] });
    });
  });

  describe('with unusable credentials', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const cases: readonly (readonly [name: string, settings: () => Partial<TransportSettings>, provider: string, sentence: RegExp])[] = [
      [
        'no FCM file',
        () => ({ fcmCredentialsFile: '/nowhere' }),
        'fcm',
        /^FCM_CREDENTIALS_FILE names a file that can't be read \(ENOENT\)\.$/,
      ],
      ['no JSON', () => ({ fcmCredentialsFile: fileOf('secret') }), 'fcm', /^FCM_CREDENTIALS_FILE .* the file is not JSON\.$/],
      [
        'other JSON',
        () => ({ fcmCredentialsFile: fileOf('{"type":"user"}') }),
        'fcm',
        /missing or invalid are type, project_id, client_email/,
      ],
      [
        'a bad key in the JSON',
        () => ({ fcmCredentialsFile: fileOf(JSON.stringify({ ...fcm.credentials, private_key: 'secret' })) }),
        'fcm',
        /missing or invalid are private_key\.$/,
      ],
      ['no .p8 file', () => ({ apnsKeyFile: '/nowhere' }), 'apns', /^APNS_KEY_FILE names a file that can't be read \(ENOENT\)\.$/],
      ['a .p8 file without a key', () => ({ apnsKeyFile: fileOf('secret') }), 'apns', /^APNS_KEY_FILE must name a file with a private key/],
      ['a .p8 file with an RSA key', () => ({ apnsKeyFile: fileOf(rsa) }), 'apns', /^APNS_KEY_FILE must name Apple's key/],
    ];
    for (const [name, settings, provider, sentence] of cases) {
      it(`wait, and the problem is named at start: ${name}`, async () => {
        const { push, problems } = create({ ...allProviders(), ...settings() });
        expect(problems).to.have.lengthOf(1);
        expect(problems[0]).to.deep.include({ channel: 'push', provider });
        expect(problems[0]!.sentence).to.match(sentence).and.not.contain('secret');
        expect(await push!.send(pushTo(`${provider}:abcd`), ada)).to.include({ kind: 'unavailable', detail: problems[0]!.sentence });
        expect(await push!.send(pushTo(expoToken), ada)).to.include({ kind: 'accepted' });
      });
    }

    it('of emails are named as well', () => {
      const { email, problems } = create({ smtpUrl: 'smtp://localhost', emailFrom: 'a@b.example', smtpCaFile: '/nowhere' });
      expect(email).to.equal(undefined);
      expect(problems).to.deep.equal([
        { channel: 'email', provider: 'smtp', sentence: "SMTP_CA_FILE names a file that can't be read (ENOENT)." },
      ]);
    });
  });

  describe('through Expo', () => {
    it('have their text, their link and the delivery, which replaces an earlier copy', async () => {
      const push = pushTo(expoToken);
      expect(await send(push)).to.deep.equal({ kind: 'accepted', status: 200, detail: null });
      expect(expo.pushes[0]!.body).to.deep.equal({
        to: expoToken,
        title: push.title,
        body: push.body,
        sound: 'default',
        ttl: 86_400,
        collapseId: push.id,
        tag: push.id,
        data: { messageId: push.id, url: push.url },
      });
    });

    it('share requests of at most 100, of one tenant each', async () => {
      const { push } = create(allProviders());
      const sends = Array.from({ length: 250 }, (_, i) =>
        push!.send(pushTo(`ExpoPushToken[${i}]`), { tenant: i < 245 ? 1 : 2, user: 'ada' }),
      );
      const results = await Promise.all(sends);
      expect(new Set(results.map(({ kind }) => kind))).to.deep.equal(new Set(['accepted']));
      expect(expo.batches.toSorted((a, b) => a - b)).to.deep.equal([5, 45, 100, 100]);
    });

    it('are sent on their own if Expo refuses a request because of others', async () => {
      const { push } = create(allProviders());
      expo.otherProject.add('ExpoPushToken[3]');
      const results = await Promise.all(Array.from({ length: 6 }, (_, i) => push!.send(pushTo(`ExpoPushToken[${i}]`), ada)));
      expect(results.map(({ kind }) => kind)).to.deep.equal(Array.from({ length: 6 }, () => 'accepted'));
      expect(expo.pushes).to.have.lengthOf(6);
    });

    for (const [code, result] of [
      ['DeviceNotRegistered', gone],
      ['MessageTooBig', refusedPush],
      ['DeveloperError', refusedPush],
      ['MessageRateExceeded', temporary],
      ['ProviderError', temporary],
      ['InvalidCredentials', unavailable],
    ] as const) {
      it(`are ${result.kind} after a ticket with ${code}, and others of the request are not affected`, async () => {
        const { push } = create(allProviders());
        expo.errors.set(expoToken, code);
        const [refused, other] = await Promise.all([push!.send(pushTo(expoToken), ada), push!.send(pushTo('ExpoPushToken[other]'), ada)]);
        expect(refused).to.deep.include(result);
        expect(refused.detail).to.contain(code).and.not.contain(expoToken);
        expect(other).to.include({ kind: 'accepted' });
      });
    }

    for (const [status, result] of [
      [400, refusedPush],
      [403, unavailable],
      [500, temporary],
      [503, temporary],
    ] as const) {
      it(`are ${result.kind} after status ${status}`, async () => {
        expo.failures.push({ status, body: { errors: [{ code: 'X', message: `about ${expoToken}` }] } });
        const sent = await send(pushTo(expoToken));
        expect(sent).to.deep.include(result);
        expect(sent.detail).not.to.contain(expoToken);
      });
    }

    it('are temporary while Expo limits the rate', async () => {
      const limited = { status: 429, body: { errors: [{ code: 'TOO_MANY_REQUESTS', message: 'slow down' }] } };
      expo.failures.push(limited, limited, limited);
      expect(await send(pushTo(expoToken))).to.include({ kind: 'temporary', status: 429 });
    });

    it('are unavailable with a wrong access token', async () => {
      const sent = await send(pushTo(expoToken), { expoAccessToken: 'wrong-secret' });
      expect(sent).to.include({ kind: 'unavailable', status: 401 });
      expect(sent.detail).not.to.contain('wrong-secret');
    });

    it('are unavailable while Expo is away', async () => {
      expect(await send(pushTo(expoToken), { expoUrl: 'http://127.0.0.1:1' })).to.include({ kind: 'unavailable', status: null });
    });

    it('that wait for a request are not sent by a stop', async () => {
      const created = create(allProviders());
      const waiting = created.push!.send(pushTo(expoToken), ada);
      await created.stop();
      expect(await waiting).to.include({ kind: 'unavailable' });
      expect(await created.push!.send(pushTo(expoToken), ada)).to.include({ kind: 'unavailable' });
      expect(expo.pushes).to.deep.equal([]);
    });

    it('are accepted even if the ticket can not be saved, so that they are not sent twice', async () => {
      const broken = await freshDatabase({ connections: 1 });
      await broken.pool.query('drop table push_receipts');
      try {
        expect(await create(allProviders(), broken.pool).push!.send(pushTo(expoToken), ada)).to.include({ kind: 'accepted' });
        expect(unsaved).to.have.lengthOf(1);
      } finally {
        await broken.drop();
      }
    });
  });

  describe('through Expo, by their receipts:', () => {
    let removed: unknown[];
    let now: number;

    beforeEach(() => {
      removed = [];
      now = Date.now();
    });

    const readerOf = (created: Transports): ReceiptReader =>
      new ReceiptReader({
        pool: database.pool,
        expo: created.expo!,
        clock: () => now,
        onGone: (...gone) => Promise.resolve(void removed.push(gone)),
      });
    const pending = async (): Promise<number> => (await database.pool.query('select from push_receipts')).rowCount ?? 0;

    it('a token that turns out to be gone is removed from its user, prefix included', async () => {
      const created = create(allProviders());
      await Promise.all([
        created.push!.send(pushTo(`expo:${expoToken}`), ada),
        created.push!.send(pushTo('ExpoPushToken[b]'), { tenant: 2, user: 'bob' }),
      ]);
      expo.receipts.set(expo.tickets.get(expoToken)!, 'DeviceNotRegistered');
      expo.receipts.set(expo.tickets.get('ExpoPushToken[b]')!, 'ok');
      const reader = readerOf(created);
      now += limits.expoReceiptDelayMs - 60_000;
      expect(await reader.read()).to.deep.equal({ delivered: 0, errors: {}, missing: 0, hasMore: false });
      now += 120_000;
      expect(await reader.read()).to.deep.equal({ delivered: 1, errors: { DeviceNotRegistered: 1 }, missing: 0, hasMore: false });
      expect(removed).to.deep.equal([[1, 'ada', `expo:${expoToken}`]]);
      expect(await pending()).to.equal(0);
    });

    it('other errors remove nothing', async () => {
      const created = create(allProviders());
      await created.push!.send(pushTo(expoToken), ada);
      expo.receipts.set(expo.tickets.get(expoToken)!, 'InvalidCredentials');
      now += limits.expoReceiptDelayMs + 60_000;
      expect(await readerOf(created).read()).to.deep.include({ errors: { InvalidCredentials: 1 } });
      expect(removed).to.deep.equal([]);
      expect(await pending()).to.equal(0);
    });

    it('a missing receipt is asked for again, until Expo has deleted it', async () => {
      const created = create(allProviders());
      await created.push!.send(pushTo(expoToken), ada);
      const reader = readerOf(created);
      now += limits.expoReceiptDelayMs + 60_000;
      expect(await reader.read()).to.deep.include({ missing: 1 });
      expect(await reader.read()).to.deep.include({ missing: 0 });
      now += limits.expoReceiptDelayMs + 60_000;
      expect(await reader.read()).to.deep.include({ missing: 1 });
      expect(await pending()).to.equal(1);
      now += limits.expoReceiptLifetimeMs;
      expect(await reader.read()).to.deep.include({ missing: 0 });
      expect(await pending()).to.equal(0);
    });

    it('all are read, in pages', async () => {
      const created = create(allProviders());
      const tokens = Array.from({ length: limits.expoReceiptsPage + 1 }, (_, i) => `ExpoPushToken[${i}]`);
      await Promise.all(tokens.map((token) => created.push!.send(pushTo(token), ada)));
      for (const token of tokens) expo.receipts.set(expo.tickets.get(token)!, 'ok');
      now += limits.expoReceiptDelayMs + 60_000;
      const reader = readerOf(created);
      expect(await reader.read()).to.deep.include({ delivered: limits.expoReceiptsPage, hasMore: true });
      expect(await reader.read()).to.deep.include({ delivered: 1, hasMore: false });
    });

    it('they are read later if Expo is away or a token can not be removed', async () => {
      const created = create(allProviders());
      await created.push!.send(pushTo(expoToken), ada);
      expo.receipts.set(expo.tickets.get(expoToken)!, 'DeviceNotRegistered');
      now += limits.expoReceiptDelayMs + 60_000;
      expo.failures.push({ status: 503, body: {} });
      const reader = readerOf(created);
      const failed = await reader.read().catch((error: unknown) => error);
      expect(failed).to.be.instanceOf(Error);
      now += limits.expoReceiptDelayMs + 60_000;
      expect(await reader.read()).to.deep.include({ errors: { DeviceNotRegistered: 1 } });
      expect(removed).to.have.lengthOf(1);
    });
  });

  describe('through FCM', () => {
    it('have their text, their link and the delivery, and share one access token', async () => {
      const { push } = create(allProviders());
      const first = pushTo(fcmToken);
      const icon = 'https://game.example/icon.png';
      const results = await Promise.all([first, pushTo('other', { url: null, icon })].map((one) => push!.send(one, ada)));
      expect(results.map(({ kind }) => kind)).to.deep.equal(['accepted', 'accepted']);
      expect(fcm.pushes.find(({ token }) => token === fcmToken)!.body).to.deep.equal({
        token: fcmToken,
        notification: { title: first.title, body: first.body },
        data: { messageId: first.id, url: first.url },
        android: { ttl: '86400s', notification: { tag: first.id } },
        apns: { headers: { 'apns-collapse-id': first.id } },
      });
      const other: unknown = fcm.pushes.find(({ token }) => token === 'other')!.body;
      expect(other).to.have.property('data').that.has.all.keys('messageId');
      expect(other).to.deep.include({ webpush: { notification: { icon } } });
      expect(fcm.issued()).to.equal(1);
    });

    const violation = {
      status: 400,
      body: {
        error: {
          code: 400,
          status: 'INVALID_ARGUMENT',
          message: 'bad',
          details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'message.token' }] }],
        },
      },
    };
    const tokenText = 'The registration token is not a valid FCM registration token';
    for (const [name, answer, result] of [
      ['UNREGISTERED', fcmError(404, 'NOT_FOUND', 'UNREGISTERED'), gone],
      ['an invalid token', fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', tokenText), gone],
      ['a violation of the token', violation, gone],
      ['another invalid argument', fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'payload too big'), refusedPush],
      ['SENDER_ID_MISMATCH', fcmError(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'), refusedPush],
      ['QUOTA_EXCEEDED', fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), temporary],
      ['UNAVAILABLE', fcmError(503, 'UNAVAILABLE', 'UNAVAILABLE'), temporary],
      ['INTERNAL', fcmError(500, 'INTERNAL', 'INTERNAL'), temporary],
      ['a missing permission', fcmError(403, 'PERMISSION_DENIED', 'PERMISSION_DENIED'), unavailable],
      ['THIRD_PARTY_AUTH_ERROR', fcmError(401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR'), unavailable],
      ['a 404 that is not about the token', { status: 404, body: 'no such page' }, unavailable],
    ] as const) {
      it(`are ${result.kind} after ${name}`, async () => {
        fcm.errors.set(fcmToken, answer);
        expect(await send(pushTo(fcmToken))).to.deep.include({ ...result, status: answer.status });
      });
    }

    it('sign in again when FCM refuses the access token', async () => {
      const { push } = create(allProviders());
      await push!.send(pushTo(fcmToken), ada);
      fcm.expire();
      expect(await push!.send(pushTo(fcmToken), ada)).to.include({ kind: 'unavailable', status: 401 });
      expect(await push!.send(pushTo(fcmToken), ada)).to.include({ kind: 'accepted' });
    });

    it('are unavailable with the key of another account', async () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const credentials = { ...fcm.credentials, private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
      const sent = await send(pushTo(fcmToken), { fcmCredentialsFile: fileOf(JSON.stringify(credentials)) });
      expect(sent).to.include({ kind: 'unavailable' });
      expect(sent.detail).to.contain('Invalid JWT Signature');
      expect(fcm.pushes).to.deep.equal([]);
    });

    it('are unavailable while FCM is away', async () => {
      expect(await send(pushTo(fcmToken), { fcmUrl: 'http://127.0.0.1:1' })).to.include({ kind: 'unavailable', status: null });
    });
  });

  describe('through APNs', () => {
    it('have their text, their link and the delivery, and share one sign-in token', async () => {
      const { push } = create(allProviders());
      const first = pushTo(apnsToken);
      expect(await push!.send(first, ada)).to.deep.equal({ kind: 'accepted', status: 200, detail: null });
      await push!.send(pushTo('cd'.repeat(32)), ada);
      const [received] = apns.pushes;
      const { headers } = received!;
      expect(received!.body).to.deep.equal({
        aps: { alert: { title: first.title, body: first.body }, sound: 'default' },
        messageId: first.id,
        url: first.url,
      });
      expect(headers).to.include({
        'apns-id': first.id,
        'apns-collapse-id': first.id,
        'apns-topic': apns.topic,
        'apns-push-type': 'alert',
      });
      expect(Number(headers['apns-expiration'])).to.be.closeTo(Date.now() / 1000 + 86_400, 60);
      expect(apns.tokens).to.have.property('size', 1);
      expect(decodeJwt([...apns.tokens][0]!)).to.have.all.keys('iss', 'iat');
    });

    it('share connections over HTTP/2', async () => {
      const { push } = create(allProviders());
      const tokens = Array.from({ length: 100 }, (_, i) => i.toString(16).padStart(64, '0'));
      const results = await Promise.all(tokens.map((token) => push!.send(pushTo(token), ada)));
      expect(new Set(results.map(({ kind }) => kind))).to.deep.equal(new Set(['accepted']));
      expect(apns.connections()).to.be.within(1, limits.apnsConnections);
    });

    for (const [status, reason, result] of [
      [410, 'Unregistered', gone],
      [410, 'ExpiredToken', gone],
      [400, 'PayloadEmpty', refusedPush],
      [413, 'PayloadTooLarge', refusedPush],
      [429, 'TooManyRequests', temporary],
      [500, 'InternalServerError', temporary],
      [503, 'Shutdown', temporary],
      [403, 'InvalidProviderToken', unavailable],
      [403, 'Forbidden', unavailable],
    ] as const) {
      it(`are ${result.kind} after ${status} ${reason}`, async () => {
        apns.errors.set(apnsToken, { status, reason });
        expect(await send(pushTo(apnsToken))).to.deep.include({ ...result, status, detail: reason });
      });
    }

    for (const reason of ['BadDeviceToken', 'DeviceTokenNotForTopic']) {
      it(`do not declare tokens gone by ${reason} until APNs has accepted one, since the host or the topic may be wrong`, async () => {
        const { push } = create(allProviders());
        apns.errors.set(apnsToken, { status: 400, reason });
        expect(await push!.send(pushTo(apnsToken), ada)).to.deep.include(refusedPush);
        expect(await push!.send(pushTo('cd'.repeat(32)), ada)).to.include({ kind: 'accepted' });
        expect(await push!.send(pushTo(apnsToken), ada)).to.deep.include(gone);
      });
    }

    it('sign in with a new token when APNs calls the current one expired', async () => {
      const { push } = create(allProviders());
      apns.failures.push({ status: 403, body: { reason: 'ExpiredProviderToken' } });
      expect(await push!.send(pushTo(apnsToken), ada)).to.include({ kind: 'unavailable', status: 403 });
      expect(await push!.send(pushTo(apnsToken), ada)).to.include({ kind: 'accepted' });
    });

    it('are unavailable with another key or team', async () => {
      expect(await send(pushTo(apnsToken), { apnsTeamId: 'OTHER12345' })).to.include({
        kind: 'unavailable',
        detail: 'InvalidProviderToken',
      });
      expect(await send(pushTo(apnsToken), { apnsKeyId: 'OTHER12345' })).to.include({
        kind: 'unavailable',
        detail: 'InvalidProviderToken',
      });
    });

    it('are unavailable while APNs is away, or has a certificate of another authority', async () => {
      expect(await send(pushTo(apnsToken), { apnsHost: '127.0.0.1:1' })).to.include({ kind: 'unavailable', status: null });
      const all = { ...parseSettings({}), ...allProviders() };
      const trusting = createTransports(all, { pool: database.pool, onUnsavedTickets: () => undefined, apnsCa: pem('other-ca') });
      transports.push(trusting);
      expect(await trusting.push!.send(pushTo(apnsToken), ada)).to.include({ kind: 'unavailable', status: null });
      expect(apns.pushes).to.deep.equal([]);
    });

    it('continue on a new connection after the old one is lost', async () => {
      const { push } = create(allProviders());
      expect(await push!.send(pushTo(apnsToken), ada)).to.include({ kind: 'accepted' });
      apns.drop();
      // The first one may still find the old connection.
      await push!.send(pushTo(apnsToken), ada);
      expect(await push!.send(pushTo(apnsToken), ada)).to.include({ kind: 'accepted' });
      expect(apns.connections()).to.be.at.least(2);
    });
  });
});
