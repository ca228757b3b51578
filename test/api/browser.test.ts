import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { chromium, type BrowserContext } from 'playwright-core';
import { startWorld, type World } from '../support/world.js';

/** The Chromium of this machine; .ci/run installs one, and forbids tests that are skipped. */
const program = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap((name) => (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
  .find((path) => existsSync(path));

const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

describe('A web page of another origin', () => {
  let world: World | undefined;
  let site: Server | undefined;
  let folder = '';
  let browser: BrowserContext | undefined;
  before(async function () {
    if (program === undefined) this.skip();
    site = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>app</title>'));
    await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve));
    folder = await mkdtemp(join(tmpdir(), 'laurel-browser-'));
    browser = await chromium.launchPersistentContext(folder, {
      ...{ executablePath: program, headless: true },
      args: [...args, '--disable-component-update', '--disable-sync'],
    });
    world = await startWorld({ settings: { corsOrigins: [origin('127.0.0.1')] } });
    await world.request('PUT', '/v1/users/ana', { body: {} });
  });
  after(async () => {
    await browser?.close();
    site?.close();
    await world?.stop();
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  });

  const origin = (host: string): string => `http://${host}:${(site?.address() as AddressInfo).port}`;

  /** What `fetch` of a page has: the status and the body, or that the browser has not let it. */
  async function fetchFrom(host: string, path: string, init: { method: string; body?: string; key: string }): Promise<unknown> {
    const page = await browser!.newPage();
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
