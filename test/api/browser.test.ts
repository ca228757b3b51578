import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { startWorld, type World } from '../support/world.js';

describe('A web page of another origin', () => {
  let world: World | undefined;
  let site: Server | undefined;
  let browser: Browser | undefined;
  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    site = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>app</title>'));
    await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve));
    browser = await startChromium(chromiumProgram);
    world = await startWorld({ settings: { corsOrigins: [origin('127.0.0.1')] } });
    await world.request('PUT', '/v1/users/ana', { body: {} });
  });
  after(async () => {
    await browser?.stop();
    site?.close();
    await world?.stop();
  });

  const origin = (host: string): string => `http://${host}:${(site?.address() as AddressInfo).port}`;

  /** What `fetch` of a page has: the status and the body, or that the browser has not let it. */
  async function fetchFrom(host: string, path: string, init: { method: string; body?: string; key: string }): Promise<unknown> {
    const page = await browser!.context.newPage();
    await page.goto(`${origin(host)}/`);
    const result: unknown = await page.evaluate(
      async ([url, { method, body, key }]) => {
        const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
        return fetch(url, { method, headers, ...(body === undefined ? {} : { body }) }).then(
          async (answer) => [answer.status, ((await answer.json()) as { total?: number }).total],
          () => 'refused by the browser',
        );
      },
      [world!.address + path, init] as const,
    );
    await page.close();
    return result;
  }

  it('calls the Application API with an application key if CORS_ORIGINS names it, and no other page does', async () => {
    const made = await world!.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: 'ana' }] });
    const [{ key }] = (made.body as { created: [{ key: string }] }).created;
    const body = JSON.stringify({ user: { id: 'ana' }, value: 7 });
    const event = '/v1/metrics/flashcards-viewed/event';
    expect(await fetchFrom('127.0.0.1', event, { method: 'POST', body, key })).to.deep.equal([201, 7]);
    expect(await fetchFrom('localhost', event, { method: 'POST', body, key })).to.equal('refused by the browser');
    expect(await fetchFrom('127.0.0.1', '/admin/v1/metrics', { method: 'GET', key })).to.equal('refused by the browser');
  });
});
