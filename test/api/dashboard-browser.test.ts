import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { asPage, buildPage, signedIn } from '../support/dashboard.js';
import { routeConfig } from '../support/route-samples.js';
import { startWorld, type World } from '../support/world.js';

/** What the page does to the dashboard. */
const foreignPage = fileURLToPath(new URL('../support/foreign-page.js', import.meta.url));

describe('A page of another origin, in the browser of an operator who is signed in', () => {
  let world: World | undefined;
  let site: Server | undefined;
  let browser: Browser | undefined;
  let cookie = '';
  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    site = createServer((_request, response) =>
      response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>other</title><body>'),
    );
    await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve));
    browser = await startChromium(chromiumProgram);
    world = await startWorld({ config: routeConfig, overrides: { pageFolder: await buildPage() } });
    await world.request('PUT', '/v1/users/ana', { body: { name: 'Ana', email: 'ana@example.com' } });
    cookie = await signedIn(world);
    const [name = '', value = ''] = cookie.split('=');
    await browser.context.addCookies([{ name, value, url: world.address, httpOnly: true, sameSite: 'Strict' }]);
  });
  after(async () => {
    await browser?.stop();
    site?.close();
    await world?.stop();
  });

  // A page on another port of the same host is of the same site, so the browser does send it the cookie.
  for (const host of ['127.0.0.1', 'localhost']) {
    it(`changes and reads nothing from ${host}`, async () => {
      const page = await browser!.context.newPage();
      await page.goto(`http://${host}:${(site!.address() as AddressInfo).port}/`);
      await page.addScriptTag({ path: foreignPage });
      const before = await world!.snapshot();
      const outcomes = await page.evaluate(`attack(${JSON.stringify(world!.address)})`);
      expect(outcomes).to.deep.equal([
        ...[
          'read',
          'read with the header',
          'change',
          'change with the header',
          'simple post',
          'sign out',
          'opaque post',
          'opaque read',
        ].map((what) => `${what}: refused by the browser`),
        ...['image: failed', 'script: failed', 'form: answered'],
      ]);
      expect(await world!.snapshot()).to.equal(before);
      expect((await asPage(world!, cookie, ['GET', '/dashboard/session'])).status).to.equal(200);
      await page.close();
    });
  }

  it('shows neither the page nor a preview in a frame', async () => {
    const page = await browser!.context.newPage();
    await page.goto(`http://127.0.0.1:${(site!.address() as AddressInfo).port}/`);
    await page.addScriptTag({ path: foreignPage });
    await page.evaluate(`frame(${JSON.stringify(world!.address)})`);
    const shown = page.frames().filter((frame) => frame !== page.mainFrame());
    expect(shown.map((frame) => frame.url())).to.deep.equal(['chrome-error://chromewebdata/', 'chrome-error://chromewebdata/']);
    await page.close();
  });

  it('differs from the page of the dashboard, whose scripts can send the cookie and not read it', async () => {
    const page = await browser!.context.newPage();
    await page.goto(`${world!.address}/dashboard`);
    const status = "fetch('/dashboard/api/v1/users/ana', { headers: { 'X-Laurel-Dashboard': '1' } }).then((response) => response.status)";
    expect([await page.evaluate(status), await page.evaluate('document.cookie')]).to.deep.equal([200, '']);
    await page.close();
  });
});
