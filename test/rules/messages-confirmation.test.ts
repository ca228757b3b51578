import { expect } from 'chai';
import { renderConfirmation } from '../../src/messages/send/confirmation-email.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { wordLocales } from '../../src/messages/render/words.js';
import { limits } from '../../src/shared/limits.js';
import { errorOf } from '../support/admin.js';
import { bodyOf, configText, track, userPath } from '../support/answers.js';
import { type MailServer, parseEmail } from '../support/mail-server.js';
import { messageConfig } from '../support/message-variables.js';
import { identify, startSender, Timeline } from '../support/sent-messages.js';
import { until } from '../support/stage.js';
import { type Reply, startTenant, type World } from '../support/world.js';

/** Reactivations on each of five days, by email alone. */
const config = configText({
  settings: { reactivationDays: [3, 4, 5, 6, 7] },
  metrics: [{ key: 'm', name: 'M' }],
  messages: { reactivation: ['email', 'push'], recap: [], streakReminder: [], achievementCompleted: [], brandName: 'Study' },
});
const day = (no: number): string => `2040-01-0${no}T12:00:00Z`;

describe('The confirmation of an address, with CONFIRM_ADDRESSES=1,', () => {
  let server: MailServer;
  let host: World;
  let world: World;
  let stop: () => Promise<void>;
  let timeline: Timeline;
  before(async () => {
    const own = { publicUrl: 'https://laurel.example', confirmAddresses: true, pushExpo: false, emailRateLimit: 1_000 };
    ({ server, host, stop } = await startSender(own));
  });
  after(() => stop());
  beforeEach(async () => {
    world = await startTenant(host, { config, now: '2040-01-01T12:00:00Z' });
    server.messages.length = 0;
    timeline = new Timeline(world);
    await identify(world, 'ana', { name: 'www.evil.example' });
    await track(world, 'm', { user: 'ana', value: 1 });
  });
  afterEach(async () => {
    server.accept();
    await world.stop();
  });

  const confirmationPath = (user = 'ana'): string => `/admin/v1/users/${user}/email-confirmation`;
  const status = async (user = 'ana'): Promise<string> => bodyOf<{ status: string }>(await world.get(confirmationPath(user)), 200).status;
  /** The subjects of the emails that were sent since the last call, with their recipients. */
  async function sent(): Promise<string[]> {
    const emails = server.messages.splice(0);
    return Promise.all(emails.map(async (each) => `${each.to.join()}: ${(await parseEmail(each)).subject}`));
  }
  /** The link in the newest email. */
  async function link(): Promise<string> {
    const { text = '' } = await parseEmail(server.messages.at(-1)!);
    const [, path] = /https:\/\/laurel\.example(\/m\/k\/[\w.-]+)/.exec(text)!;
    return world.address + path!;
  }
  const reactivation = 'Pick up where you left off';

  it('is asked for in place of the first email, and emails begin once the user has pressed the button', async () => {
    expect(await status()).to.equal('none');
    expect(await timeline.at(day(4))).to.deep.equal([
      'reactivation email ana skipped: The address is not confirmed: a confirmation was sent instead.',
    ]);
    const url = await link();
    expect(server.messages[0]!.raw).to.not.include('evil');
    expect(await sent()).to.deep.equal(['ana@example.com: Confirm your email address']);
    expect(await timeline.at(day(5))).to.deep.equal(['reactivation email ana skipped: The address is not confirmed.']);
    expect([await sent(), await status()]).to.deep.equal([[], 'sent']);
    // Mail scanners open links.
    const page = await fetch(url);
    expect([page.status, await page.text()].join())
      .to.include('200')
      .and.include('Confirm the address</button>');
    await fetch(url, { method: 'HEAD' });
    expect(await status()).to.equal('sent');
    for (let press = 0; press < 2; press += 1) {
      expect(await (await fetch(url, { method: 'POST' })).text()).to.include('Your email address is confirmed');
      expect(await status()).to.equal('confirmed');
    }
    expect(await timeline.at(day(6))).to.deep.equal(['reactivation email ana']);
    expect(await sent()).to.deep.equal([`ana@example.com: ${reactivation}`]);
  });

  it('is asked for anew when the address changes, and an old link confirms only its own address', async () => {
    await timeline.at(day(4));
    const url = await link();
    await fetch(url, { method: 'POST' });
    await identify(world, 'ana', { email: 'other@example.com' });
    expect(await status()).to.equal('none');
    server.messages.length = 0;
    expect(await timeline.at(day(5))).to.deep.equal([
      'reactivation email ana skipped: The address is not confirmed: a confirmation was sent instead.',
    ]);
    const newUrl = await link();
    const old = await fetch(url, { method: 'POST' });
    expect([old.status, await old.text()].join())
      .to.include('404')
      .and.include('This link is no longer valid');
    expect(await status()).to.equal('sent');
    await fetch(newUrl, { method: 'POST' });
    expect(await status()).to.equal('confirmed');
    // Letter case makes no other address.
    await identify(world, 'ana', { email: 'Other@Example.com' });
    expect(await status()).to.equal('confirmed');
  });

  it('is not that of the next user with the id, nor of another user with the address', async () => {
    await timeline.at(day(4));
    const url = await link();
    await fetch(url, { method: 'POST' });
    await identify(world, 'ben', { email: 'ana@example.com' });
    expect(await status('ben')).to.equal('none');
    bodyOf(await world.request('DELETE', '/admin/v1/users/ana'), 200);
    expect(await (await fetch(url)).text()).to.include('This account no longer exists.');
    await world.setClock('2040-01-04T12:00:01Z');
    await identify(world, 'ana', {});
    expect(await (await fetch(url, { method: 'POST' })).text()).to.include('This account no longer exists.');
    expect(await status()).to.equal('none');
  });

  it('is tried again while the server is busy, and is not sent to suppressed addresses', async () => {
    server.refuse('to', { code: 451, text: '4.3.0 Later' });
    await world.drain();
    await world.setClock(day(4));
    const tried = "select 1 from deliveries where tenant = $1 and status = 'pending' and attempts = 1";
    await until('the first attempt', async () => (await world.pool.query(tried, [world.tenant])).rowCount === 1);
    await new Suppressions(world.pool).add(world.tenant, 'ben@example.com', 'manual');
    expect(await status()).to.equal('none');
    server.accept();
    await identify(world, 'ben', {});
    const refused = await world.request('POST', confirmationPath('ben'));
    expect([refused.status, errorOf(refused)]).to.deep.equal([422, 'The address is suppressed: remove the suppression first.']);
  });

  it('is sent by an operator too, not twice in ten minutes, and not once it is confirmed', async () => {
    expect(bodyOf(await world.request('POST', confirmationPath()), 200)).to.deep.include({ sent: true });
    const url = await link();
    const again = await world.request('POST', confirmationPath());
    expect([again.status, Number(again.headers.get('retry-after')) > 500]).to.deep.equal([429, true]);
    await fetch(url, { method: 'POST' });
    expect((await world.request('POST', confirmationPath())).status).to.equal(422);
    await world.request('PUT', userPath('cleo'), { body: {} });
    expect((await world.request('POST', confirmationPath('cleo'))).status).to.equal(422);
    expect((await world.request('POST', confirmationPath('zoe'))).status).to.equal(404);
  });

  /** Asks a user who has an address to confirm it. */
  async function ask(user: string, email: string, on = world): Promise<Reply> {
    await identify(on, user, { email });
    return on.request('POST', confirmationPath(user));
  }
  /** Ends the windows of ten minutes. */
  async function endPauses(): Promise<void> {
    const pauses = await host.redis.keys(`${host.settings.redisPrefix}:rate-confirmation-pause:*`);
    if (pauses.length > 0) await host.redis.del(...pauses);
  }

  it('is sent to one mailbox once in ten minutes, whichever users have the address, and however a user alternates it', async () => {
    expect((await ask('ana', 'stranger@example.com')).status).to.equal(200);
    const again = ['stranger@example.com', 'Stranger@EXAMPLE.com', 'stranger+1@example.com'];
    for (const [no, address] of again.entries()) {
      const refused = await ask(`user${no}`, address);
      expect([refused.status, errorOf(refused)], address).to.deep.equal([
        429,
        'A confirmation was sent to this address less than ten minutes ago: retry after the seconds in Retry-After.',
      ]);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(500, 600);
    }
    expect((await ask('ana', 'other@example.com')).status).to.equal(200);
    expect((await ask('ana', 'stranger@example.com')).status).to.equal(429);
    expect(await sent()).to.deep.equal(['stranger@example.com', 'other@example.com'].map((to) => `${to}: Confirm your email address`));
    const second = await startTenant(host, { config, now: '2040-01-01T12:00:00Z' });
    expect((await ask('ana', 'stranger@example.com', second)).status).to.equal(200);
    await second.stop();
  });

  it('is not sent by itself either to a mailbox that has had one less than ten minutes ago', async () => {
    expect((await ask('ben', 'ana@example.com')).status).to.equal(200);
    expect(await timeline.at(day(4))).to.deep.include(
      'reactivation email ana skipped: The address is not confirmed: a confirmation was sent to this address less than ten minutes ago.',
    );
    expect(await sent()).to.have.length(1);
    expect(await status()).to.equal('none');
  });

  it('is sent to one mailbox ten times a day', async () => {
    for (let no = 0; no < limits.maxConfirmationsADay; no += 1) {
      expect((await ask(`user${no}`, 'stranger@example.com')).status).to.equal(200);
      await endPauses();
    }
    const refused = await ask('ana', 'stranger@example.com');
    expect([refused.status, errorOf(refused)]).to.deep.equal([
      429,
      'An address may receive 10 confirmations in a day: retry after the seconds in Retry-After.',
    ]);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(80_000, 86_400);
    expect(await sent()).to.have.length(10);
  });

  it('is sent for operators 30 times an hour, and by itself to as many users as there are', async () => {
    for (let no = 0; no < limits.maxConfirmationsAsked; no += 1) expect((await ask(`u${no}`, `u${no}@example.com`)).status).to.equal(200);
    const refused = await ask('ben', 'ben@example.com');
    expect([refused.status, errorOf(refused)]).to.deep.equal([
      429,
      'A tenant may ask for 30 confirmations in an hour: retry after the seconds in Retry-After.',
    ]);
    await sent();
    await timeline.at(day(4));
    expect(await sent()).to.deep.include('ana@example.com: Confirm your email address');
  });

  it('does not count to a mailbox what the server has refused for the moment', async () => {
    server.refuse('to', { code: 451, text: '4.3.0 Later' });
    for (let no = 0; no <= limits.maxConfirmationsADay; no += 1) {
      expect(bodyOf(await ask('ben', 'ben@example.com'), 200)).to.deep.include({ sent: false });
    }
    server.accept();
    expect(bodyOf(await ask('ben', 'ben@example.com'), 200)).to.deep.include({ sent: true });
  });

  it('shows of the brand only its color and a name that no mail client makes a link of, also on the page', async () => {
    const brandName = 'Win at www.evil.example, //evil.example or win@evil.भारत';
    const brand = {
      brandName,
      brandLogoUrl: 'https://logo.example/l.png',
      brandUrl: 'https://brand.example',
      brandAddress: 'See address.example',
    };
    await world.configure(configText({ metrics: [{ key: 'm', name: 'M' }], messages: brand }));
    expect((await world.request('POST', confirmationPath())).status).to.equal(200);
    const { html, text = '' } = await parseEmail(server.messages.at(-1)!);
    const page = await (await fetch(await link())).text();
    for (const part of [String(html), text, page]) {
      expect(part).to.include('Win at');
      for (const linked of ['www.evil', 'evil.example', '@evil', 'evil.भारत', 'logo.example', 'brand.example', 'address.example']) {
        expect(part).to.not.include(linked);
      }
    }
  });

  it('is sent only once Postgres has the user: what is sent would not be noted', async () => {
    await world.drain();
    const blocker = await world.pool.connect();
    await blocker.query('begin; lock table user_hashes in access exclusive mode');
    try {
      await identify(world, 'ben', {});
      expect((await world.request('POST', confirmationPath('ben'))).status).to.equal(503);
      expect(await sent()).to.deep.equal([]);
    } finally {
      await blocker.query('rollback');
      blocker.release();
    }
    bodyOf(await world.request('POST', confirmationPath('ben')), 200);
    expect(await status('ben')).to.equal('sent');
  });

  it('decides who is counted as a recipient', async () => {
    await world.drain();
    await world.setClock('2040-01-04T08:00:00Z');
    const count = async (): Promise<number> =>
      bodyOf<{ email: number }>(await world.get('/admin/v1/messages/recipients?type=reactivation'), 200).email;
    expect(await count()).to.equal(0);
    bodyOf(await world.request('POST', confirmationPath()), 200);
    await fetch(await link(), { method: 'POST' });
    expect(await count()).to.equal(1);
  });

  it('forges no link', async () => {
    bodyOf(await world.request('POST', confirmationPath()), 200);
    const url = await link();
    for (const forged of [url.slice(0, -1), url.replace('/m/k/', '/m/u/'), `${world.address}/m/k/hello`]) {
      expect((await fetch(forged, { method: 'POST' })).status, forged).to.equal(404);
    }
    expect(await status()).to.equal('sent');
  });

  for (const locale of wordLocales) {
    it(`is asked for in the language ${locale}, with the name of the brand`, () => {
      const { subject, html, text } = renderConfirmation(
        messageConfig({ brandName: 'Study & Co' }),
        locale,
        'https://laurel.example/m/k/x',
      );
      for (const part of [subject, html, text]) expect(part).to.not.match(/\{\w+\}|undefined/);
      expect(html).to.include('Study &amp; Co').and.include(`lang="${locale}"`).and.include('href="https://laurel.example/m/k/x"');
      expect(text).to.include('https://laurel.example/m/k/x');
    });
  }
});
