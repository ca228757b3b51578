import { type KeyObject, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isSmtpAddress } from '../../src/messages/addresses/address.js';
import { type EmailSettings, EmailTransport } from '../../src/messages/send/email-transport.js';
import type { Email } from '../../src/messages/send/provider.js';
import { limits } from '../../src/shared/limits.js';
import { dkimOf } from '../support/dkim.js';
import {
  type MailServer,
  type MailServerOptions,
  type MailStage,
  type Refusal,
  parseEmail,
  startMailServer,
} from '../support/mail-server.js';
import { pemFile } from '../support/tls.js';

const email = (fields: Partial<Email> = {}): Email => ({
  id: randomUUID(),
  to: 'ada@example.com',
  subject: 'Well done',
  text: 'Well done, Ada',
  html: '<p>Well done, <b>Ada</b></p>',
  unsubscribeUrl: 'https://laurel.example.com/u/token',
  ...fields,
});

const folder = mkdtempSync(join(tmpdir(), 'laurel-email-'));
const rsa = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

function fileOf(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const settingsOf = (smtpUrl: string, settings: Partial<EmailSettings> = {}): EmailSettings => ({
  smtpUrl,
  smtpCaFile: null,
  emailFrom: 'Laurel <hello@laurel.example>',
  emailRateLimit: 1_000,
  dkimDomain: null,
  dkimSelector: null,
  dkimKeyFile: null,
  ...settings,
});

describe('Emails', () => {
  const stops: (() => Promise<void>)[] = [];

  async function serve(options: MailServerOptions = {}): Promise<MailServer> {
    const server = await startMailServer(options);
    stops.push(() => server.stop());
    return server;
  }

  function transport(
    server: Pick<MailServer, 'url'>,
    settings: Partial<EmailSettings> = {},
    options: { sendMs?: number } = {},
  ): EmailTransport {
    const created = new EmailTransport(settingsOf(server.url, settings), options);
    stops.push(() => created.stop());
    return created;
  }

  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  after(() => rmSync(folder, { recursive: true }));

  it('have the delivery as their Message-ID, text before HTML, and a link to unsubscribe with one POST', async () => {
    const server = await serve();
    const sent = email();
    const result = await transport(server).send(sent);
    expect(result).to.include({ kind: 'accepted', status: 250 });
    const [received] = server.messages;
    expect(received).to.deep.include({ from: 'hello@laurel.example', to: ['ada@example.com'] });
    const mail = await parseEmail(received!);
    expect(mail.messageId).to.equal(`<${sent.id}@laurel.example>`);
    expect(mail.from?.value).to.deep.equal([{ name: 'Laurel', address: 'hello@laurel.example' }]);
    expect(mail).to.deep.include({ subject: sent.subject, html: sent.html, text: sent.text });
    expect(received!.raw).to.match(/^Content-Type: multipart\/alternative/m);
    expect(received!.raw.indexOf('text/plain')).to.be.lessThan(received!.raw.indexOf('text/html'));
    expect(received!.raw).to.match(/^List-Unsubscribe: <https:\/\/laurel\.example\.com\/u\/token>\r$/m);
    expect(received!.raw).to.match(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    expect(received!.raw).to.match(/^Auto-Submitted: auto-generated\r$/m);
    // Postmark's webhooks repeat it.
    expect(mail.headers.get('x-pm-metadata-laurel-delivery')).to.equal(sent.id);
  });

  it('have a link to unsubscribe that is unchanged, however long', async () => {
    const server = await serve();
    const unsubscribeUrl = `https://laurel.example.com/u/${'a-B_9.'.repeat(80)}?x=1&y=%20`;
    await transport(server).send(email({ unsubscribeUrl }));
    const raw = server.messages[0]!.raw.replaceAll(/\r\n(?=[ \t])/g, '');
    expect(raw).to.contain(`List-Unsubscribe: <${unsubscribeUrl}>\r\n`);
  });

  it('have no header to unsubscribe without a link', async () => {
    const server = await serve();
    await transport(server).send(email({ unsubscribeUrl: null }));
    expect(server.messages[0]!.raw).not.to.match(/List-Unsubscribe/i);
  });

  it('can not gain headers or recipients by their subject, their link or the name of the sender', async () => {
    const server = await serve();
    const injected = 'x\r\nBcc: eve@example.com\r\n\r\nbody';
    const unsubscribeUrl = 'https://laurel.example.com/\r\nBcc: eve@example.com';
    await transport(server, { emailFrom: '"a: b; eve@example.com," <hello@laurel.example>' }).send(
      email({ subject: injected, unsubscribeUrl }),
    );
    const [received] = server.messages;
    expect(received!.to).to.deep.equal(['ada@example.com']);
    const mail = await parseEmail(received!);
    expect(mail.headers.has('bcc')).to.equal(false);
    expect(mail.from?.value).to.deep.equal([{ name: 'a: b; eve@example.com,', address: 'hello@laurel.example' }]);
    expect(mail.text).to.equal('Well done, Ada');
  });

  for (const to of [
    ...[
      'ada',
      'ada@',
      '@example.com',
      'a@b@example.com',
      'ada@example.com, eve@example.com',
      'ada@example.com\r\nRCPT TO:<eve@example.com>',
    ],
    ...['Ada <ada@example.com>', 'ada @example.com', 'ada@exam ple.com', 'ada@-example.com', 'ada@example..com', 'a\0@example.com', ''],
    ...[`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(63)}.com`],
  ]) {
    it(`to ${JSON.stringify(to).slice(0, 60)} are refused for good, and not handed to the server`, async () => {
      const server = await serve();
      const result = await transport(server).send(email({ to }));
      expect(result).to.include({ kind: 'permanent', isGone: true, status: null });
      expect(server.messages).to.deep.equal([]);
    });
  }

  for (const to of [
    'a.b+c@example.com',
    "o'hara@example.co.uk",
    'zoë@example.com',
    'ada@bücher.example',
    'root@localhost',
    'a_b-c@x1.example',
  ]) {
    it(`to ${to} are handed to the server`, async () => {
      expect(isSmtpAddress(to)).to.equal(true);
      const server = await serve();
      expect(await transport(server).send(email({ to }))).to.include({ kind: 'accepted' });
      const mail = await parseEmail(server.messages[0]!);
      expect(mail.to).to.have.nested.property('value[0].address', to);
    });
  }

  const gone = { kind: 'permanent', isGone: true } as const;
  const refusedEmail = { kind: 'permanent', isGone: false } as const;
  const temporary = { kind: 'temporary' } as const;
  const unavailable = { kind: 'unavailable' } as const;
  const refusals: readonly (readonly [stage: MailStage, code: Refusal['code'], text: string, result: object])[] = [
    ['connect', 421, 'Too many connections', unavailable],
    ['connect', 554, 'No service for you', unavailable],
    ['connect', 'drop', '', unavailable],
    ['from', 451, '4.3.0 Try later', temporary],
    ['from', 550, '5.1.8 Sender refused', unavailable],
    ['from', 530, '5.7.0 Authentication required', unavailable],
    ['from', 'drop', '', unavailable],
    ['to', 450, '4.2.1 Mailbox busy', temporary],
    ['to', 421, '4.7.0 Too many errors', temporary],
    ['to', 550, '5.1.1 No such user', gone],
    ['to', 550, 'No such user', gone],
    ['to', 550, '5.0.0 No such user', gone],
    ['to', 553, '5.1.3 Bad syntax', gone],
    ['to', 550, '5.2.1 Mailbox disabled', gone],
    ['to', 552, '5.2.2 Mailbox full', refusedEmail],
    ['to', 550, '5.7.1 Relay access denied', refusedEmail],
    ['to', 554, 'Relay access denied', refusedEmail],
    ['to', 530, '5.7.0 Authentication required', unavailable],
    ['to', 'drop', '', unavailable],
    ['data', 451, '4.3.0 Try later', temporary],
    ['data', 550, '5.1.1 No such user', gone],
    ['data', 554, '5.7.1 Spam', refusedEmail],
    ['data', 552, '5.3.4 Too large', refusedEmail],
    ['data', 550, 'Spam', refusedEmail],
    ['data', 'drop', '', unavailable],
  ];
  for (const [stage, code, text, result] of refusals) {
    it(`are ${Object.values(result).join(', gone: ')} after ${code} ${text} at ${stage}`, async () => {
      const server = await serve();
      server.refuse(stage, { code, text: `${text} <ada@example.com> of eve@example.com` });
      const sender = transport(server);
      const sent = await sender.send(email());
      expect(sent).to.deep.include(result);
      expect(sent.detail).to.be.a('string').and.not.to.match(/@|ada/);
      if (typeof code === 'number') expect(sent).to.deep.include({ status: code });
      expect(server.messages).to.deep.equal([]);
      server.accept();
      expect(await sender.send(email())).to.include({ kind: 'accepted' });
    });
  }

  it('are attempted once if the connection is cut after the message, since the server may have it', async () => {
    const server = await serve();
    server.refuse('data', { code: 'drop', times: 1 });
    expect(await transport(server).send(email())).to.include({ kind: 'unavailable' });
    expect(server.messages).to.deep.equal([]);
  });

  it('move to a new connection if the server has closed the idle one', async () => {
    const server = await serve();
    const sender = transport(server);
    await sender.send(email());
    const { port } = server;
    await server.stop();
    const again = await serve({ port });
    expect(await sender.send(email())).to.include({ kind: 'accepted' });
    expect(again.messages).to.have.lengthOf(1);
  });

  it('wait for no server longer than the timeout', async () => {
    const server = await serve();
    server.refuse('data', { code: 'hang' });
    const sent = await transport(server, {}, { sendMs: 200 }).send(email());
    expect(sent).to.deep.equal({ kind: 'unavailable', status: null, detail: 'no reply in time' });
  });

  it('that are too large for the server are refused for good', async () => {
    const server = await serve({ maxBytes: 2_000 });
    expect(await transport(server).send(email({ text: 'a b c '.repeat(1_000) }))).to.deep.include(refusedEmail);
  });

  it('share a few connections', async () => {
    const server = await serve();
    const sender = transport(server);
    const results = await Promise.all(Array.from({ length: 40 }, () => sender.send(email())));
    expect(results.map(({ kind }) => kind)).to.deep.equal(Array.from({ length: 40 }, () => 'accepted'));
    expect(new Set(server.messages.map(({ connection }) => connection)))
      .to.have.property('size')
      .that.is.within(1, limits.emailConnections);
  });

  it('are sent at EMAIL_RATE_LIMIT, the first ones of new connections included', async () => {
    const server = await serve();
    const sender = transport(server, { emailRateLimit: 2 });
    await Promise.all(Array.from({ length: 5 }, () => sender.send(email())));
    const times = server.messages.map(({ at }) => at);
    // Two in each second: a window begins with its first email.
    expect(times[4]! - times[0]!).to.be.at.least(1_500);
  });

  it('that are being sent are finished by a stop, and those that wait are not sent', async () => {
    const server = await serve();
    const sender = transport(server, { emailRateLimit: 1 });
    const first = sender.send(email());
    const others = [sender.send(email()), sender.send(email())];
    await server.received(1);
    await sender.stop();
    expect(await first).to.include({ kind: 'accepted' });
    for (const other of others) expect(await other).to.include({ kind: 'unavailable' });
    expect(await sender.send(email())).to.include({ kind: 'unavailable' });
    expect(server.messages).to.have.lengthOf(1);
  });

  const login = { user: 'lau@rel', password: 'p/ss:w%rd' };
  for (const tls of ['starttls', 'implicit'] as const) {
    describe(`through ${tls} TLS`, () => {
      it('are sent with the login to a server with a certificate of SMTP_CA_FILE', async () => {
        const server = await serve({ tls, login });
        const sender = transport(server, { smtpCaFile: pemFile('ca') });
        expect(await sender.verify()).to.equal(undefined);
        expect(await sender.send(email())).to.include({ kind: 'accepted' });
        expect(server.messages[0]).to.include({ isSecure: true });
      });

      it('are not sent with a wrong login', async () => {
        const server = await serve({ tls, login });
        const sender = transport({ url: server.url.replace('w%25rd', 'wrong') }, { smtpCaFile: pemFile('ca') });
        expect(await sender.verify()).to.match(/^The SMTP server at 127\.0\.0\.1:\d+ refuses the login in SMTP_URL: 535 .*\.$/);
        expect(await sender.send(email())).to.include({ kind: 'unavailable', status: 535 });
      });

      for (const [name, certificate, ca] of [
        ['another authority', 'server', 'other-ca'],
        ['another host', 'elsewhere', 'ca'],
      ] as const) {
        it(`are not sent to a server with a certificate of ${name}`, async () => {
          const server = await serve({ tls, certificate, login });
          const sender = transport(server, { smtpCaFile: pemFile(ca) });
          expect(await sender.verify()).to.match(/can't be reached with TLS: .*SMTP_CA_FILE\.$/);
          const sent = await sender.send(email());
          expect(sent).to.include({ kind: 'unavailable' });
          expect(sent.detail).not.to.contain(login.password);
          expect(server.messages).to.deep.equal([]);
        });
      }
    });
  }

  it('are not sent in plain text where SMTP_CA_FILE requires TLS', async () => {
    const server = await serve();
    const sender = transport(server, { smtpCaFile: pemFile('ca') });
    expect(await sender.verify()).to.be.a('string');
    expect(await sender.send(email())).to.include({ kind: 'unavailable' });
    expect(server.messages).to.deep.equal([]);
  });

  it('are not sent without the login to a server that offers none', async () => {
    const server = await serve();
    const sender = transport({ url: server.url.replace('//', '//user:secret@') });
    expect(await sender.verify())
      .to.match(/refuses the login in SMTP_URL/)
      .and.not.to.contain('secret');
    expect(await sender.send(email())).to.include({ kind: 'unavailable' });
  });

  it('wait for a server that is away', async () => {
    const server = await serve();
    await server.stop();
    const sender = transport(server);
    expect(await sender.verify()).to.match(/^The SMTP server at 127\.0\.0\.1:\d+ can't be reached: .*ECONNREFUSED.*\.$/);
    expect(await sender.send(email())).to.include({ kind: 'unavailable', status: null });
    await serve({ port: server.port });
    expect(await sender.verify()).to.equal(undefined);
    expect(await sender.send(email())).to.include({ kind: 'accepted' });
  });

  describe('with DKIM', () => {
    const dkim = { dkimDomain: 'laurel.example', dkimSelector: 'key1' };

    it('are signed, the headers to unsubscribe and the Message-ID included', async () => {
      const server = await serve();
      const dkimKeyFile = fileOf('dkim.pem', rsa.privateKey);
      await transport(server, { ...dkim, dkimKeyFile }).send(email({ subject: 'Größe  und  mehr', text: 'a  b \n\n.\n\n' }));
      const signature = dkimOf(server.messages[0]!.raw, rsa.publicKey);
      expect(signature?.tags).to.include({ d: 'laurel.example', s: 'key1', a: 'rsa-sha256' });
      const signed = ['from', 'to', 'subject', 'date', 'message-id', 'list-unsubscribe', 'list-unsubscribe-post'];
      expect(signature?.headers).to.include.members(signed);
      expect(signature?.isValid).to.equal(true);
      expect(dkimOf(server.messages[0]!.raw.replace('One-Click', 'Two-Click'), rsa.publicKey)?.isValid).to.equal(false);
    });

    const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const ed25519 = pemOf(generateKeyPairSync('ed25519').privateKey);
    const short = pemOf(generateKeyPairSync('rsa', { modulusLength: 768 }).privateKey);
    for (const [name, file, sentence] of [
      ['is missing', () => join(folder, 'none.pem'), /^DKIM_KEY_FILE names a file that can't be read \(ENOENT\)\.$/],
      ['is no key', () => fileOf('text.pem', 'secret'), /^DKIM_KEY_FILE must name a file with a private key in PEM/],
      ['is a public key', () => fileOf('public.pem', rsa.publicKey), /^DKIM_KEY_FILE must name a file with a private key in PEM/],
      ['is no RSA key', () => fileOf('ed.pem', ed25519), /^DKIM_KEY_FILE must be an RSA key/],
      ['is too short', () => fileOf('short.pem', short), /^DKIM_KEY_FILE must be an RSA key with at least 1024 bits\.$/],
    ] as const) {
      it(`do not start with a key file that ${name}`, () => {
        const settings = settingsOf('smtp://localhost', { ...dkim, dkimKeyFile: file() });
        expect(() => new EmailTransport(settings)).to.throw(sentence);
      });
    }
  });
});
