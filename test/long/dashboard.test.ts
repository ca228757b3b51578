import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { type Page } from 'playwright-core';
import { version } from '../../src/shared/version.js';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { Client } from '../support/client.js';
import { DashboardTab } from '../support/dashboard-tab.js';
import { killChildren, type LaurelProcess, serve } from '../support/process.js';
import { setStage, type Stage } from '../support/stage.js';
import { adminKey } from '../support/world.js';

const maxFirstLoadBytes = 150 * 1024;
const metric = 'flashcards-viewed';

interface FirstLoad {
  readonly bytes: number;
  readonly ms: number;
}

/** Loads a screen without a cache. Returns the bytes of all responses as they were sent, and the time until its heading is there. */
async function firstLoad({ page }: DashboardTab, address: string): Promise<FirstLoad> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  const startedMs = performance.now();
  await page.goto(`${address}/dashboard`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const ms = performance.now() - startedMs;
  await page.waitForLoadState('networkidle');
  await session.detach();
  return { bytes, ms };
}

describe('The dashboard in a browser', () => {
  let stage: Stage | undefined;
  let service: LaurelProcess;
  let address: string;
  let client: Client | undefined;
  let browser: Browser | undefined;
  let tab: DashboardTab;
  let page: Page;
  let keyOfAna: { readonly id: string; readonly key: string };

  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    stage = await setStage({ env: { TEST_CLOCK: '1' } });
    service = serve(stage.env);
    address = await service.address();
    client = new Client(adminKey, 4);
    await event('ana', 45, { name: 'Ana Costa', attributes: { city: 'Lisbon' } });
    await event('ben', 100);
    const made = await client.send(address, 'POST', '/admin/v1/admin-api-keys', { body: [{ name: 'Ana at the desk' }] });
    keyOfAna = (made.body as { created: [typeof keyOfAna] }).created[0];
    browser = await startChromium(chromiumProgram);
    tab = await DashboardTab.open(browser.context, address);
    page = tab.page;
  });
  after(async () => {
    client?.close();
    await browser?.stop();
    await killChildren();
    await stage?.stop();
  });

  async function event(user: string, value: number, profile: object = {}): Promise<void> {
    const { status } = await client!.event(address, metric, { user: { id: user, ...profile }, value, attributes: { device: 'mobile' } });
    expect(status).to.equal(201);
  }

  /** The number of the active version, by the API. */
  async function activeVersion(): Promise<number> {
    const { body } = await client!.send(address, 'GET', '/admin/v1/configuration');
    return (body as { version: number }).version;
  }

  const link = (name: string) => page.getByRole('link', { name, exact: true });
  const region = (name: string) => page.getByRole('region', { name, exact: true });

  /** Applies the changes of the draft that the review shows, and waits until they are active. */
  async function apply(): Promise<void> {
    await page.getByRole('button', { name: 'Apply 1 change' }).click();
    await page.getByRole('heading', { level: 1, name: 'Applied' }).waitFor();
  }

  it('signs an operator in with an admin key, and says why it refuses another one', async () => {
    await page.goto(`${address}/dashboard/users/ana`);
    await page.getByLabel('Admin key', { exact: true }).fill('wrong.0123456789abcdef');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await tab.signIn(keyOfAna.key);
    const navigation = page.getByRole('navigation', { name: 'Dashboard' });
    await navigation.getByText('Ana at the desk').waitFor();
    await navigation.getByText(`Laurel ${version}`, { exact: true }).waitFor();
  });

  it('loads less than 150 KB before the first screen can be used', async function () {
    const { bytes, ms } = await firstLoad(tab, address);
    console.log(`      first load: ${(bytes / 1024).toFixed(1)} KB, ${ms.toFixed(0)} ms`);
    expect(bytes)
      .to.be.above(10 * 1024)
      .and.below(maxFirstLoadBytes);
  });

  it('finds a user by the start of a name', async () => {
    await link('Users').click();
    await page.getByLabel('Search').fill('cos');
    await page.waitForURL(/\?search=cos$/);
    await link('ana').click();
    await page.getByRole('heading', { level: 1, name: 'Ana Costa' }).waitFor();
    expect(page.url()).to.equal(`${address}/dashboard/users/ana`);
  });

  it('explains an award by its event, its trigger and the total after it', async () => {
    const entry = region('Timeline').getByRole('listitem').filter({ hasText: 'Flashcards viewed' });
    await entry.first().waitFor();
    const text = (await entry.first().innerText()).replaceAll(/\s+/g, ' ');
    expect(text).to.match(/\+45 Flashcards viewed → 45/);
    expect(text).to.match(/\+90 Points → 90 by every-5-flashcards/);
  });

  it('shows what a changed level does to users before it is applied, and applies it', async () => {
    const before = await activeVersion();
    await tab.show('/configuration/points/points');
    await page.getByLabel('Points, learner').fill('50');
    await link('Review').click();
    await tab.complete();
    const changes = (await region('1 change').innerText()).replaceAll(/\s+/g, ' ');
    expect(changes).to.match(/learner.*points 100 → 50/);
    expect(await region('Effects on users').innerText()).to.include('1 user would change level.');
    expect(await activeVersion(), 'nothing is applied by a review').to.equal(before);
    await apply();
    expect(await activeVersion()).to.equal(before + 1);
    await event('ana', 1);
    await tab.show('/users/ana');
    await page.getByRole('group', { name: 'Points', exact: true }).getByText('Learner').first().waitFor();
  });

  it('goes back to the version before', async () => {
    const changed = await activeVersion();
    await tab.show(`/versions/${changed - 1}`);
    await page.getByRole('button', { name: 'Go back to this version' }).click();
    await page.getByRole('heading', { level: 1, name: 'Review' }).waitFor();
    await tab.complete();
    expect((await region('1 change').innerText()).replaceAll(/\s+/g, ' ')).to.match(/points 50 → 100/);
    await apply();
    const { body } = await client!.send(address, 'GET', '/v1/points/points/levels');
    expect((body as { key: string; points: number }[]).find(({ key }) => key === 'learner')?.points).to.equal(100);
  });

  it('shows a board that changes while it is watched', async () => {
    await tab.show('/leaderboards/all-time');
    await page.getByRole('button', { name: 'Watch', exact: true }).click();
    const first = page.getByRole('table', { name: 'Ranking' }).getByRole('row').nth(1);
    await first.filter({ hasText: 'ben' }).waitFor();
    await event('ana', 500);
    await first.filter({ hasText: 'Ana Costa' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Ana' }).waitFor();
  });

  it('saves exports as files', async () => {
    const saved = async (button: string): Promise<readonly [name: string, lines: readonly string[]]> => {
      const begins = page.waitForEvent('download');
      await page.getByRole('button', { name: button, exact: true }).click();
      const download = await begins;
      const text = await readFile(await download.path(), 'utf8');
      return [download.suggestedFilename(), text.trim().split(/\r?\n/)];
    };
    await tab.show('/users');
    const [usersName, users] = await saved('Export CSV: users');
    expect([usersName, users.slice(1).map((line) => line.split(',', 1)[0])]).to.deep.equal(['laurel-users.csv', ['"ana"', '"ben"']]);
    const [eventsName, events] = await saved('Export NDJSON: events');
    const values = events.map((line) => (JSON.parse(line) as { userId: string; value: number }).value);
    expect([eventsName, values.sort((a, b) => a - b)]).to.deep.equal(['laurel-events.ndjson', [1, 45, 100, 500]]);
    expect((await saved('Export CSV: awards'))[1]).to.have.lengthOf.at.least(3);
  });

  it('has done all of this without an error, and within its policy', async () => {
    expect(tab.problems.filter((problem) => !problem.includes('status of 401'))).to.deep.equal([]);
    expect(await tab.refusedByPolicy()).to.deep.equal([]);
  });

  it('signs the operator out once the key is revoked', async () => {
    await tab.show('/keys');
    await page.getByRole('button', { name: 'Revoke the key Ana at the desk' }).click();
    await page.getByRole('dialog').getByText('you will be signed out').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByLabel('Admin key', { exact: true }).waitFor();
    await page.goto(`${address}/dashboard/users`);
    await page.getByLabel('Admin key', { exact: true }).waitFor();
  });
});
