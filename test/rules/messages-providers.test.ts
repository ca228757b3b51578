import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { configText, readProfile } from '../support/answers.js';
import { type MailServer, startMailServer } from '../support/mail-server.js';
import { fcmError, type ExpoStandIn, type FcmStandIn, startExpo, startFcm } from '../support/push-providers.js';
import { scrape } from '../support/scrape.js';
import { briefly, identify, sentMessages } from '../support/sent-messages.js';
import { until } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

const config = configText({
  settings: { reactivationDays: [1, 2] },
  metrics: [{ key: 'm', name: 'M' }],
  messages: { brandUrl: 'https://app.example.com' },
});

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly provider?: string;
  readonly err?: { readonly message: string };
}

describe('Messages through providers', () => {
  const lines: Line[] = [];
  let folder: string;
  let expo: ExpoStandIn;
  let fcm: FcmStandIn;
  let mail: MailServer;
  let world: World;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-providers-'));
    [expo, fcm, mail] = await Promise.all([startExpo(), startFcm(), startMailServer({ login: { user: 'laurel', password: 'right' } })]);
    const credentials = join(folder, 'fcm.json');
    await writeFile(credentials, JSON.stringify(fcm.credentials));
    const wrongLogin = new URL(mail.url);
    wrongLogin.password = 'wrong';
    world = await startWorld({
      config,
      now: '2040-01-02T12:00:00Z',
      log: pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as Line) }),
      settings: {
        messages: 'on',
        metricsPort: 0,
        publicUrl: 'https://laurel.example.com',
        smtpUrl: wrongLogin.toString(),
        emailFrom: 'Laurel <laurel@example.com>',
        expoUrl: expo.url,
        fcmUrl: fcm.url,
        fcmCredentialsFile: credentials,
        apnsKeyFile: join(folder, 'missing.p8'),
        apnsKeyId: 'ABC1234567',
        apnsTeamId: 'TEAM123456',
        apnsTopic: 'com.example.game',
      },
    });
  });
  after(async () => {
    await world.stop();
    await Promise.all([expo.stop(), fcm.stop(), mail.stop()]);
    await rm(folder, { recursive: true });
  });

  const isUp = async (channel: string): Promise<number | undefined> =>
    (await scrape(world.metricsAddress)).value('laurel_message_channel_up', { channel });

  it('name unusable credentials at the start, and the service runs on', async () => {
    const refused = lines.find(({ provider }) => provider === 'apns');
    expect(refused).to.deep.include({ level: 50 });
    expect(refused?.msg).to.match(/^messages are off: APNS_KEY_FILE /);
    await until('the SMTP server to refuse the login', () => lines.some(({ provider }) => provider === 'smtp'));
    const login = lines.find(({ provider }) => provider === 'smtp');
    expect(login?.msg).to.equal('message provider unavailable, will retry');
    expect(login?.err?.message).to.match(/refuses the login in SMTP_URL/);
    expect(JSON.stringify(lines)).to.not.include('wrong');
    expect([await isUp('email'), await isUp('push')]).to.deep.equal([0, 0]);
    expect((await world.get('/health/ready')).status).to.equal(200);
  });

  it('reach every device by its own provider, and wait for the providers that are off', async () => {
    await identify(world, 'ana', { deviceTokens: ['ExponentPushToken[a]', 'fcm:b', 'apns:c'] });
    await world.drain();
    await world.setClock('2040-01-03T09:00:00Z');
    await until('the pushes', () => expo.pushes.length === 1 && fcm.pushes.length === 1);
    await until('the attempts', async () => (await sentMessages(world)).every(({ attempts }) => attempts === 1));
    expect([expo.pushes[0]?.token, fcm.pushes[0]?.token]).to.deep.equal(['ExponentPushToken[a]', 'b']);
    expect(expo.pushes[0]?.body).to.have.nested.property('data.url', 'https://app.example.com');
    expect((await sentMessages(world)).map(({ channel, status }) => `${channel} ${status}`).sort()).to.deep.equal([
      'email pending',
      'push delivered',
      'push delivered',
      'push pending',
    ]);
    expect(mail.messages).to.deep.equal([]);
  });

  it('remove a device token that its provider calls gone from the user, also in Postgres', async () => {
    await identify(world, 'ben', { email: 'ben@example.com', deviceTokens: ['fcm:gone', 'fcm:kept'], subscribeToEmails: false });
    fcm.errors.set('gone', fcmError(404, 'NOT_FOUND', 'UNREGISTERED'));
    await world.drain();
    await world.setClock('2040-01-04T09:00:00Z');
    const ofBen = async (): Promise<string[]> => (await sentMessages(world)).filter(({ user }) => user === 'ben').map(briefly);
    await until(
      'both to end',
      async () => (await sentMessages(world)).filter(({ user, status }) => user === 'ben' && status !== 'pending').length === 2,
    );
    expect((await ofBen()).sort()[0]).to.equal('reactivation push ben');
    expect((await ofBen()).sort()[1]).to.match(/^reactivation push ben failed: /);
    await world.drain();
    const stored = await world.pool.query<{ device_tokens: string[] }>(`select device_tokens from users where id = 'ben'`);
    expect(stored.rows[0]?.device_tokens).to.deep.equal(['fcm:kept']);
    expect((await readProfile(world, 'ben'))['deviceTokens']).to.deep.equal(['fcm:kept']);
  });
});
