import { expect } from 'chai';
import { renderConfirmation } from '../../src/messages/send/confirmation-email.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { wordLocales } from '../../src/messages/render/words.js';
import { errorOf } from '../support/admin.js';
import { bodyOf, configText, track, userPath } from '../support/answers.js';
import { type MailServer, parseEmail, startMailServer } from '../support/mail-server.js';
import { messageConfig } from '../support/message-variables.js';
import { identify, Timeline } from '../support/sent-messages.js';
import { until } from '../support/stage.js';
import { startHost, startTenant, type World } from '../support/world.js';

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
  let timeline: Timeline;
  before(async () => {
    server = await startMailServer();
    host = await startHost({
      messages: 'on',
      smtpUrl: server.url,
      emailFrom: 'Laurel <laurel@example.com>',
      publicUrl: 'https://laurel.example',
      confirmAddresses: true,
      pushExpo: false,
    });
  });
  after(async () => {
    await host.stop();
    await server.stop();
  });
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

  it('is sent only once Postgres has the user: what is sent would not be noted', async () => {
    await world.drain();
    const blocker = await world.pool.connect();
    await blocker.query('begin; lock table user_state in access exclusive mode');
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
