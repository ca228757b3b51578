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
  async function fetchFrom(
    host: string,
    path: string,
    init: { method: string; body?: string; key: string; headers?: Readonly<Record<string, string>> },
  ): Promise<unknown> {
    const page = await browser!.context.newPage();
    await page.goto(`${origin(host)}/`);
    const result: unknown = await page.evaluate(
      async ([url, { method, body, key, headers: further }]) => {
        const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json', ...further };
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

  it('uses a limited application key with the headers that the official JavaScript client sends with every call', async () => {
    await world!.request('PUT', '/v1/users/ben', { body: {} });
    const limited = [{ userId: 'ben', permissions: ['events'], maxEventValue: 10 }];
    const made = await world!.request('POST', '/admin/v1/application-api-keys', { body: limited });
    const [{ key }] = (made.body as { created: [{ key: string }] }).created;
    const headers = {
      'X-SDK-VERSION': '1.26.0',
      'X-Fern-Language': 'JavaScript',
      'X-Fern-SDK-Name': '@trophyso/node',
      'X-Fern-SDK-Version': '1.26.0',
      'X-Fern-Runtime': 'browser',
      'X-Fern-Runtime-Version': '140',
    };
    const send = async (value: number): Promise<unknown> => {
      const body = JSON.stringify({ user: { id: 'ben' }, value });
      return fetchFrom('127.0.0.1', '/v1/metrics/flashcards-viewed/event', { method: 'POST', body, key, headers });
    };
    expect(await send(7)).to.deep.equal([201, 7]);
    expect(await send(11)).to.deep.equal([403, undefined]);
  });
});
