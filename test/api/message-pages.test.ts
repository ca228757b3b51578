import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { SignJWT, UnsecuredJWT, decodeJwt } from 'jose';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { rotateLinks } from '../../src/commands/messages.js';
import { EmailTransport } from '../../src/messages/send/email-transport.js';
import { Links } from '../../src/messages/addresses/links.js';
import { Secret } from '../../src/access/secret.js';
import { limits } from '../../src/shared/limits.js';
import { configText, readProfile, userPath } from '../support/answers.js';
import { addEmailDelivery, readEmailDelivery, unsubscribeLink } from '../support/email-deliveries.js';
import { startMailServer } from '../support/mail-server.js';
import { until } from '../support/stage.js';
import { defaultNow, freshDatabase, startWorld, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const oneClick = 'List-Unsubscribe=One-Click';
const form = 'application/x-www-form-urlencoded';

interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

describe('The links of messages', () => {
  let world: World;
  let links: Links;
  let delivery: string;
  before(async () => {
    world = await startWorld({
      config: configText({ messages: { brandName: 'Study & "Co"', brandUrl: 'https://study.example', linkHosts: ['shop.example:8443'] } }),
    });
    links = new Links(world.pool, `${world.address}/`);
  });
  after(() => world.stop());
  beforeEach(async () => {
    await world.request('PUT', userPath('ana'), { body: { name: 'Ana', email: 'ana@example.com', subscribeToEmails: true } });
    delivery = await addEmailDelivery(world, 'ana');
  });

  /** The link of an email to a user, as the user is now. */
  const unsubscribeUrl = async (user = 'ana'): Promise<string> => unsubscribeLink(world, links, { user, delivery });
  const clickUrl = (url: string): Promise<string> => links.clickUrl({ tenant: 1, delivery, url });
  /** A request without a key. */
  async function open(url: string, init: RequestInit = {}): Promise<Page> {
    const response = await fetch(url, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  const post = (url: string, body: string = oneClick, type = form): Promise<Page> =>
    open(url, { method: 'POST', body, headers: { 'Content-Type': type } });
  const isSubscribed = async (): Promise<boolean> => (await readProfile(world, 'ana')).subscribeToEmails;

  describe('to unsubscribe', () => {
    const multipart = `--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n`;
    const bodies: readonly (readonly [what: string, body: string, type: string])[] = [
      ['a form', oneClick, form],
      ['a multipart form, which RFC 8058 recommends', multipart, 'multipart/form-data; boundary=x'],
      ['an empty body', '', form],
      ['a body of an unknown kind', 'anything', 'application/octet-stream'],
    ];
    for (const [what, body, type] of bodies) {
      it(`unsubscribe with one POST, without a key, and a second POST is the same: ${what}`, async () => {
        const url = await unsubscribeUrl();
        const first = await post(url, body, type);
        expect(first.status).to.equal(200);
        expect(await isSubscribed()).to.equal(false);
        await world.drain();
        const { rows } = await world.pool.query('select subscribe_to_emails from users where id = $1', ['ana']);
        expect(rows).to.deep.equal([{ subscribe_to_emails: false }]);
        const end = await world.ledgerEnd();
        const second = await post(url, body, type);
        expect([second.status, second.text]).to.deep.equal([200, first.text]);
        expect(await world.ledgerEnd(), 'nothing has changed again').to.equal(end);
      });
    }

    it('work from the raw message: one POST to the address in its header, as a mail client sends it', async () => {
      const server = await startMailServer();
      const transport = new EmailTransport({
        smtpUrl: server.url,
        smtpCaFile: null,
        emailFrom: 'hello@study.example',
        emailRateLimit: 100,
        dkimDomain: null,
        dkimSelector: null,
        dkimKeyFile: null,
      });
      const texts = { subject: 'Recap', html: '<p>Recap</p>', text: 'Recap' };
      await transport.send({ id: delivery, to: 'ana@example.com', ...texts, unsubscribeUrl: await unsubscribeUrl() });
      const [received] = await server.received(1);
      await transport.stop();
      await server.stop();
      const head = received!.raw.slice(0, received!.raw.indexOf('\r\n\r\n')).replaceAll(/\r\n(?=[ \t])/g, '');
      const url = /^List-Unsubscribe: <([^>]+)>$/m.exec(head)?.[1];
      const body = /^List-Unsubscribe-Post: (.+)$/m.exec(head)?.[1];
      expect((await post(url!, body)).status).to.equal(200);
      expect(await isSubscribed()).to.equal(false);
    });

    it('change nothing when they are only opened, as mail scanners do', async () => {
      const url = await unsubscribeUrl();
      await world.drain();
      const before = await world.snapshot();
      for (const method of ['GET', 'HEAD']) expect((await open(url, { method })).status).to.equal(200);
      for (const method of ['GET', 'HEAD']) expect((await open(`${url}/preferences`, { method })).status).to.equal(405);
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });

    it('respond with 200 after the user was deleted, and create no user', async () => {
      const url = (await links.unsubscribeUrl({ tenant: 1, user: 'gone', created: 1, delivery }))!;
      await world.drain();
      const before = await world.snapshot();
      for (const reply of [await post(url), await open(url)]) {
        expect(reply.status).to.equal(200);
        expect(reply.text).to.contain('This account no longer exists.');
      }
      expect((await post(`${url}/preferences`, 'shown=emails')).status).to.equal(303);
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });

    describe('of a deleted user whose id was reused', () => {
      /** Deletes Ben, and lets another person have the id. */
      async function replaced(): Promise<void> {
        expect((await world.request('DELETE', `/admin/v1/users/ben`)).status).to.equal(200);
        await world.setClock(new Date((clockMs += 60_000)).toISOString());
        await world.request('PUT', userPath('ben'), { body: { name: 'Benedikta', email: 'benedikta@example.com' } });
        await world.drain();
      }
      let clockMs = Date.parse(defaultNow);
      let benDelivery: string;
      beforeEach(async () => {
        await world.request('PUT', userPath('ben'), { body: { name: 'Ben', email: 'ben@example.com', subscribeToEmails: true } });
        await world.drain();
        benDelivery = await addEmailDelivery(world, 'ben');
      });
      /** A link as it was before links named the creation of their user. */
      const oldUrl = async (): Promise<string> => {
        const token = await new SignJWT({ t: 1, sub: 'ben', jti: benDelivery })
          .setProtectedHeader({ alg: 'HS256' })
          .setAudience('u')
          .sign(await new Secret(world.pool, 'message-links').read());
        return `${world.address}/m/u/${token}`;
      };

      it('show and change nothing of the new user', async () => {
        const url = await unsubscribeLink(world, links, { user: 'ben', delivery: benDelivery });
        expect((await open(url)).text).to.contain('to Ben');
        await replaced();
        const before = await world.snapshot();
        for (const reply of [await open(url), await post(url)]) {
          expect(reply.status).to.equal(200);
          expect(reply.text).to.contain('This account no longer exists.').and.not.contain('Benedikta');
        }
        expect((await post(`${url}/preferences`, 'shown=emails')).status).to.equal(303);
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
        expect((await post(await unsubscribeLink(world, links, { user: 'ben', delivery: benDelivery }))).text).to.contain('unsubscribed');
        expect((await readProfile(world, 'ben')).subscribeToEmails).to.equal(false);
      });

      it('without the creation in them work while their message is stored, and are no longer valid after that', async () => {
        const url = await oldUrl();
        expect((await post(url)).text).to.contain('You are unsubscribed');
        expect((await readProfile(world, 'ben')).subscribeToEmails).to.equal(false);
        await replaced();
        const before = await world.snapshot();
        for (const reply of [await open(url), await post(url), await post(`${url}/preferences`, 'shown=emails')]) {
          expect(reply.status).to.equal(404);
          expect(reply.text).to.contain('This link is no longer valid').and.not.contain('Benedikta');
        }
        expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      });
    });

    it('keep odd ids apart', async () => {
      const id = 'a/b?c=%2e&<b>"é🙂.';
      await world.request('PUT', userPath(id), { body: { email: 'odd@example.com', subscribeToEmails: true } });
      expect((await post(await unsubscribeUrl(id))).status).to.equal(200);
      expect((await readProfile(world, id)).subscribeToEmails).to.equal(false);
      expect(await isSubscribed()).to.equal(true);
    });

    it('fit into a line of a header for ids of 255 ASCII characters', async () => {
      const target = { tenant: 1, user: 'x'.repeat(limits.maxIdChars), created: Date.now(), delivery };
      const url = (await links.unsubscribeUrl(target))!;
      expect(`List-Unsubscribe: <${url}>`.length).to.be.lessThan(998);
    });
  });

  it('stop working in running processes once the key is rotated, and new ones work', async () => {
    const url = await unsubscribeUrl();
    const click = await clickUrl('https://study.example/a');
    expect([(await open(url)).status, (await open(click)).status]).to.deep.equal([200, 302]);
    const context = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined });
    const printed: string[] = [];
    await rotateLinks(context, (line) => printed.push(line));
    await context.stop();
    expect(printed.join(' ')).to.include('unsubscribe');
    await until('the old link to stop working', async () => (await open(url)).status === 404);
    expect((await open(click)).status).to.equal(404);
    links = new Links(world.pool, `${world.address}/`);
    expect((await post(await unsubscribeUrl())).status).to.equal(200);
    expect(await isSubscribed()).to.equal(false);
    const { rows } = await world.pool.query("select operation, via from audit_log where operation = 'messages rotate-links'");
    expect(rows).to.deep.equal([{ operation: 'messages rotate-links', via: 'command' }]);
  });

  it('work on while their key cannot be read again', async () => {
    const url = await clickUrl('https://study.example/a');
    const secret = new Secret(world.pool, 'message-links', () => (readAt += limits.secretFreshMs));
    let readAt = 0;
    const key = await secret.read();
    await world.pool.query('alter table secrets rename to away');
    try {
      expect(await secret.read()).to.equal(key);
      expect((await open(url)).status).to.equal(302);
    } finally {
      await world.pool.query('alter table away rename to secrets');
    }
    expect(await secret.read()).to.deep.equal(key);
  });

  describe('that are forged', () => {
    async function forged(): Promise<Record<string, string>> {
      const token = (await unsubscribeUrl()).split('/').at(-1)!;
      const [head = '', claims = '', signature = ''] = token.split('.');
      const other = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'ben' })).toString('base64url');
      const key = Buffer.alloc(limits.secretBytes);
      return {
        'a truncated token': token.slice(0, -1),
        'a token without a signature': `${head}.${claims}.`,
        'the token of another user under this signature': `${head}.${other}.${signature}`,
        'a token signed with another key': await new SignJWT({ t: 1, sub: 'ana', jti: delivery })
          .setProtectedHeader({ alg: 'HS256' })
          .setAudience('u')
          .sign(key),
        'a token that states that it needs no signature': new UnsecuredJWT({ t: 1, sub: 'ana', jti: delivery }).setAudience('u').encode(),
        'text that is no token': 'hello',
        'a broken escape': '%ff',
      };
    }

    it('save no preferences from a form that is not UTF-8, and unsubscribe with any body', async () => {
      const url = await unsubscribeUrl();
      const body = Buffer.from('shown=emails&on=\xe9', 'latin1');
      const headers = { 'Content-Type': form };
      const subscribed = await isSubscribed();
      expect((await open(`${url}/preferences`, { method: 'POST', body, headers })).status).to.equal(400);
      expect(await isSubscribed()).to.equal(subscribed);
      expect((await open(url, { method: 'POST', body, headers })).status).to.equal(200);
      expect(await isSubscribed()).to.equal(false);
    });

    it('are refused with a page, and change nothing', async () => {
      await world.drain();
      const before = await world.snapshot();
      const click = (await clickUrl('https://study.example/')).split('/').at(-1)!;
      const unsubscribe = (await unsubscribeUrl()).split('/').at(-1)!;
      for (const [what, token] of Object.entries({ ...(await forged()), 'the token of a click': click })) {
        const url = `${world.address}/m/u/${token}`;
        for (const reply of [await open(url), await post(url), await post(`${url}/preferences`, 'shown=emails')]) {
          expect(reply.status, what).to.equal(404);
          expect(reply.headers.get('content-type')).to.equal('text/html; charset=utf-8');
          expect(reply.text).to.contain('This link is not valid.');
        }
      }
      for (const [what, token] of Object.entries({ ...(await forged()), 'the token of an unsubscribe link': unsubscribe })) {
        const reply = await open(`${world.address}/m/c/${token}`);
        expect([reply.status, reply.headers.get('location')], what).to.deep.equal([404, null]);
      }
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });
  });

  describe('to other sites', () => {
    const clicks = async (): Promise<number> => (await readEmailDelivery(world, delivery)).clicks;

    it('redirect to the hosts of the configuration, and each click is counted', async () => {
      const targets = ['https://study.example/path?a=1&b=%20#x', 'https://shop.example:8443/', 'http://study.example/'];
      for (const [i, target] of targets.entries()) {
        const reply = await open(await clickUrl(target));
        expect([reply.status, reply.headers.get('location')]).to.deep.equal([302, target]);
        expect(reply.headers.get('cache-control')).to.equal('no-store');
        await until('the click to be counted', async () => (await clicks()) === i + 1);
      }
    });

    it('redirect HEAD requests of mail scanners without counting them', async () => {
      const url = await clickUrl('https://study.example/');
      expect((await open(url, { method: 'HEAD' })).status).to.equal(302);
      await open(url);
      await until('the click to be counted', async () => (await clicks()) > 0);
      expect(await clicks()).to.equal(1);
    });

    it('are refused if they lead to any other host, or are no web address', async () => {
      for (const target of [
        'https://evil.example/',
        'https://study.example.evil.example/',
        'https://study.example@evil.example/',
        'https://shop.example/',
        'javascript:alert(1)',
        '//study.example',
        'https://study.example\\@evil.example',
      ]) {
        const reply = await open(await clickUrl(target));
        expect([reply.status, reply.headers.get('location')], target).to.deep.equal([403, null]);
        expect(reply.text).to.contain('This link leads to a site that the sender no longer allows.');
      }
      expect(await clicks()).to.equal(0);
    });

    it('redirect although the click can not be counted', async () => {
      const url = await clickUrl('https://study.example/');
      await world.pool.query('alter table deliveries rename column clicks to away');
      try {
        for (let i = 0; i < 3; i += 1) expect((await open(url)).status).to.equal(302);
      } finally {
        await world.pool.query('alter table deliveries rename column away to clicks');
      }
    });
  });

  describe('lead to pages', () => {
    it('which browsers neither store, index nor frame, and which load only their own style', async () => {
      const { headers, text } = await open(await unsubscribeUrl());
      const style = /style-src '(sha256-[^']+)'/.exec(headers.get('content-security-policy') ?? '')?.[1];
      expect(headers.get('content-security-policy')).to.equal(
        `default-src 'none'; style-src '${style}'; img-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      );
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('x-robots-tag')).to.equal('noindex, nofollow');
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(text).to.not.match(/<script| on\w+=/);
    });

    it('which show errors as pages too', async () => {
      const url = await unsubscribeUrl();
      const large = 'x'.repeat(limits.maxPageBodyBytes + 1);
      const replies: readonly (readonly [Page, number])[] = [
        [await open(url, { method: 'PUT' }), 405],
        [await open(url, { method: 'DELETE' }), 405],
        [await open(await clickUrl('https://study.example'), { method: 'POST' }), 405],
        [await post(url, large), 413],
        [await post(url, large, 'text/plain'), 413],
        [await open(`${world.address}/m/u/a/b/c`), 404],
      ];
      for (const [{ status, headers, text }, expected] of replies) {
        expect([status, headers.get('content-type')]).to.deep.equal([expected, 'text/html; charset=utf-8']);
        expect(text).to.contain('<h1>Something went wrong</h1>');
        expect(headers.get('content-security-policy')).to.contain("default-src 'none'; style-src 'sha256-");
      }
      expect(await isSubscribed()).to.equal(true);
    });

    it('which escape everything that users and operators have written', async () => {
      const name = `<script>alert('x')</script>"&{{ 1 }}`;
      await world.request('PUT', userPath('ana'), { body: { name } });
      const { text } = await open(await unsubscribeUrl());
      expect(text).to.not.contain('<script>');
      expect(text).to.contain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&#34;&amp;{{ 1 }}');
      expect(text).to.contain('Study &amp; &#34;Co&#34;');
    });
  });

  it('belong to the installation: processes that start at once sign with the same key', async () => {
    const database = await freshDatabase();
    const all = Array.from({ length: 8 }, () => new Links(database.pool, 'https://laurel.example/base'));
    const target = { tenant: 1, user: 'ana', created: 1_700_000_000_000, delivery: randomUUID() };
    const urls = await Promise.all(all.map((each) => each.unsubscribeUrl(target)));
    expect(new Set(urls).size).to.equal(1);
    expect(urls[0]).to.match(/^https:\/\/laurel\.example\/base\/m\/u\/[\w.-]+$/);
    expect(await all[7]!.readUnsubscribe(urls[0]!.split('/').at(-1)!)).to.deep.equal(target);
    await database.drop();
  });

  it('without PUBLIC_URL lead to their targets, and there is none to unsubscribe', async () => {
    const without = new Links(world.pool, null);
    expect(await without.unsubscribeUrl({ tenant: 1, user: 'ana', created: 1, delivery })).to.equal(null);
    expect(await without.clickUrl({ tenant: 1, delivery, url: 'https://study.example/' })).to.equal('https://study.example/');
  });
});
