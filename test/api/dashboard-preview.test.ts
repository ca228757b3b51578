import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { buildPage } from '../support/dashboard.js';
import { startWorld, type World } from '../support/world.js';

/** Everything that could run, if it were not an email in the frame. */
const hostile = `<html><head><title>shown</title><style>p { font-weight: 700 }</style><script>document.title = 'ran'</script></head>
  <body onload="document.title = 'ran'">
    <img src="x" onerror="document.title = 'ran'">
    <svg><script>document.title = 'ran'</script></svg>
    <iframe srcdoc="<script>top.document.title = 'ran'</script>"></iframe>
    <a href="javascript:document.title = 'ran'">link</a>
    <form action="/dashboard"><button>send</button></form>
    <p style="color: rgb(1, 2, 3)">styled</p>
  </body></html>`;

/** A script of a page: puts the frame into it as the dashboard does, and resolves once the frame has the email. */
const embedding = (address: string, email: string): string => `new Promise((resolve) => {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.addEventListener('load', () => {
    frame.contentWindow.postMessage(${JSON.stringify(email)}, '*');
    resolve();
  });
  frame.src = ${JSON.stringify(address)};
  document.body.append(frame);
})`;

describe('The frame for previews of emails', () => {
  let world: World | undefined;
  let site: Server | undefined;
  let browser: Browser | undefined;
  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    site = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>other</title>'));
    await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve));
    browser = await startChromium(chromiumProgram);
    world = await startWorld({ overrides: { pageFolder: await buildPage() } });
  });
  after(async () => {
    await browser?.stop();
    site?.close();
    await world?.stop();
  });

  /** Opens the frame in a page, sends it an email, and returns the frame once its document is there. */
  async function show(address: string, email: string) {
    const page = await browser!.context.newPage();
    await page.goto(address);
    await page.evaluate(embedding(`${world!.address}/dashboard/preview`, email));
    return { page, frame: page.frames()[1]! };
  }

  it('shows an email with its styles, without an origin, and runs nothing of it', async () => {
    const { page, frame } = await show(`${world!.address}/dashboard`, hostile);
    await frame.waitForSelector('p');
    await frame.click('a');
    await frame.click('button');
    const styles = "getComputedStyle(document.querySelector('p'))";
    const seen = await frame.evaluate(`[document.title, ${styles}.color, ${styles}.fontWeight, window.origin]`);
    expect(seen).to.deep.equal(['shown', 'rgb(1, 2, 3)', '700', 'null']);
    expect(await page.title()).not.to.equal('ran');
    await page.close();
  });

  it('holds no data, and is shown by no page of another origin', async () => {
    const reply = await world!.request('GET', '/dashboard/preview', { key: null });
    expect([reply.status, reply.headers.get('set-cookie')]).to.deep.equal([200, null]);
    const other = `http://127.0.0.1:${(site!.address() as AddressInfo).port}/`;
    const { page, frame } = await show(other, hostile);
    expect(frame.url()).to.equal('chrome-error://chromewebdata/');
    await page.close();
  });
});
