import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { Links } from '../../src/messages/addresses/links.js';
import { configText, readProfile, userPath } from '../support/answers.js';
import { addEmailDelivery, unsubscribeLink } from '../support/email-deliveries.js';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  metrics: [{ key: 'cards', name: 'Cards' }],
  // Recaps are sent by email only, reactivations not at all.
  messages: { brandName: 'Study <App>', brandColor: '#b91c1c', brandUrl: 'https://study.example', recap: ['email'], reactivation: [] },
};

/** The page of preferences, in a browser without scripts. */
describe('The page of message preferences', () => {
  let world: World;
  let browser: Browser | undefined;
  let links: Links;
  let page: Page;
  let users = 0;
  let user = '';
  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    browser = await startChromium(chromiumProgram, { javaScriptEnabled: false });
    world = await startWorld({ config: configText(config) });
    links = new Links(world.pool, world.address);
  });
  after(async () => {
    await browser?.stop();
    await (world as World | undefined)?.stop();
  });

  async function open(profile: object): Promise<void> {
    user = `user ${(users += 1)}`;
    await world.request('PUT', userPath(user), { body: profile });
    const delivery = await addEmailDelivery(world, user);
    page = await browser!.context.newPage();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(await unsubscribeLink(world, links, { user, delivery }));
  }
  afterEach(() => page.close());

  /** Each group of boxes: `Recaps: By email +`, with a minus for one that is not checked. */
  async function boxes(): Promise<string[]> {
    const shown: string[] = [];
    for (const group of await page.locator('fieldset').all()) {
      const title = await group.locator('legend').innerText();
      for (const label of await group.locator('label').all()) {
        const isChecked = await label.locator('input[type=checkbox]').isChecked();
        shown.push(`${title}: ${(await label.innerText()).trim()} ${isChecked ? '+' : '-'}`);
      }
    }
    return shown;
  }
  const box = (group: string, label: string) => page.getByRole('group', { name: group }).getByLabel(label);
  const save = (): Promise<void> => page.getByRole('button', { name: 'Save' }).click();
  const notice = (): Promise<string> => page.getByRole('status').innerText();
  const preferences = async (): Promise<unknown> =>
    ((await world.get(userPath(user, '/preferences'))).body as { notifications: unknown }).notifications;

  const ana = { name: 'Ana', email: 'ana@example.com' };
  const withDevice = { ...ana, deviceTokens: ['phone'] };

  it('has a box for each type and channel that the tenant sends, and for push only if the user has a device', async () => {
    await open(ana);
    const emails = ['Achievements: By email +', 'Recaps: By email +', 'Streak reminders: By email +'];
    expect(await boxes()).to.deep.equal(['All emails: Send me emails +', ...emails]);
    await page.close();
    await open(withDevice);
    const push = (await boxes()).filter((text) => text.includes('device'));
    expect(push).to.deep.equal(['Achievements: On your device +', 'Streak reminders: On your device +']);
  });

  it('stores what the user chooses, says so, and shows it again', async () => {
    await open(withDevice);
    await box('Streak reminders', 'By email').uncheck();
    await box('Achievements', 'On your device').uncheck();
    await box('Recaps', 'By email').uncheck();
    await save();
    expect(await notice()).to.equal('Saved.');
    expect(await boxes()).to.deep.equal([
      'All emails: Send me emails +',
      ...['Achievements: By email +', 'Achievements: On your device -', 'Recaps: By email -'],
      ...['Streak reminders: By email -', 'Streak reminders: On your device +'],
    ]);
    // Push of recaps had no box, and stays on.
    expect(await preferences()).to.deep.equal({ achievement_completed: ['email'], recap: ['push'], streak_reminder: ['push'] });
    await box('Recaps', 'By email').check();
    await save();
    expect(await preferences()).to.deep.include({ recap: ['email', 'push'] });
    expect(await readProfile(world, user)).to.deep.include({ subscribeToEmails: true, deviceTokens: ['phone'] });
  });

  it('writes nothing to the ledger when nothing was changed', async () => {
    await open(withDevice);
    const end = await world.ledgerEnd();
    await save();
    expect(await notice()).to.equal('Saved.');
    expect(await world.ledgerEnd()).to.equal(end);
    expect(await preferences()).to.deep.equal({});
  });

  it('stops all emails with one button, and subscribes again with a box', async () => {
    await open(ana);
    await page.getByRole('button', { name: 'Stop all emails' }).click();
    expect(await notice()).to.equal('You are unsubscribed from all emails.');
    expect((await readProfile(world, user)).subscribeToEmails).to.equal(false);
    expect(await page.getByRole('button', { name: 'Stop all emails' }).count()).to.equal(0);
    await box('All emails', 'Send me emails').check();
    await save();
    expect(await notice()).to.equal('Saved.');
    expect((await readProfile(world, user)).subscribeToEmails).to.equal(true);
    await box('All emails', 'Send me emails').uncheck();
    await save();
    expect((await readProfile(world, user)).subscribeToEmails).to.equal(false);
  });

  it('does not subscribe a user without an address', async () => {
    await open({ name: 'Ana', subscribeToEmails: false });
    expect((await boxes())[0]).to.equal('Achievements: By email +');
    const body = 'shown=emails&on=emails';
    const sent = await fetch(`${page.url()}/preferences`, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(sent.status).to.equal(303);
    expect((await readProfile(world, user)).subscribeToEmails).to.equal(false);
  });

  it('keeps a preference of which the form had no box, for a device that was added since', async () => {
    await open(ana);
    await world.request('PATCH', userPath(user), { body: { deviceTokens: ['phone'] } });
    await box('Achievements', 'By email').uncheck();
    await save();
    expect(await preferences()).to.deep.equal({ achievement_completed: ['push'] });
  });

  it('ignores fields that it does not have', async () => {
    await open(ana);
    const end = await world.ledgerEnd();
    const odd = ['shown=recap:fax', 'shown=__proto__', 'shown=%00', 'on=recap:email', 'on=emails', 'streak=1', '%E0%A4%A', ''];
    const sent = await fetch(`${page.url()}/preferences`, {
      method: 'POST',
      body: odd.join('&'),
      redirect: 'manual',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(sent.status).to.equal(303);
    expect(await world.ledgerEnd()).to.equal(end);
  });

  it('fits on a phone, is legible with large fingers and in the dark, and shows names as they are', async () => {
    const name = `<img src=x onerror=alert(1)> ${'Wolfeschlegelsteinhausenbergerdorff'.repeat(3)}`;
    await open({ ...withDevice, name });
    const text = await page.locator('main').innerText();
    expect(text).to.contain(name);
    expect(text).to.contain('Study <App>');
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const main = await page.locator('main').boundingBox();
      expect(main!.x + main!.width).to.be.at.most(360);
      for (const label of [...(await page.locator('label').all()), ...(await page.getByRole('button').all())]) {
        expect((await label.boundingBox())!.height).to.be.at.least(44);
      }
      const folder = process.env['SCREENSHOTS'];
      if (folder !== undefined) await page.screenshot({ path: `${folder}/preferences-${scheme}.png`, fullPage: true });
    }
  });
});
