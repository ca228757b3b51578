import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { configText, bodyOf, track } from '../support/answers.js';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { until } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

const config = {
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: [{ key: 'l', name: 'L', status: 'active', start: '2039-01-01', rankBy: 'metric', metricKey: 'm' }],
};

/** What a page has seen. */
interface Seen {
  readonly rows: readonly string[];
  readonly passed: readonly string[];
  readonly statuses: readonly string[];
  readonly changes: readonly {
    readonly leaderboards: Readonly<Record<string, { readonly rank: number; readonly previousRank: number }>>;
  }[];
  readonly resets: number;
}

/** Watches the leaderboard and a user with the client for browsers, with tokens of the page's own server. */
const html = `<!doctype html>
<title>app</title>
<script type="module">
  import { watchLeaderboard, watchUser } from '/laurel-live.js';
  const parameters = new URLSearchParams(location.search);
  const [url, user] = [parameters.get('url'), parameters.get('user')];
  const seen = (globalThis.seen = { rows: [], passed: [], statuses: [], changes: [], resets: 0 });
  const token = async () => (await fetch('/token?user=' + user)).text();
  watchLeaderboard('l', {
    url,
    token,
    onStatus: (status) => seen.statuses.push(status),
    onRanking: ({ rankings }, changed) => {
      seen.rows = rankings.map(({ rank, userId, value }) => rank + ' ' + userId + ' ' + value);
      for (const { userId, rank, previousRank } of changed) if (rank < previousRank) seen.passed.push(userId);
    },
  });
  watchUser(user, { url, token, onReset: () => (seen.resets += 1), onChange: (change) => seen.changes.push(change) });
</script>`;

describe('A live leaderboard in a browser', () => {
  let world: World | undefined;
  let site: Server | undefined;
  let browser: Browser | undefined;
  let aheadMs = 0;
  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    const client = readFileSync(new URL('../../examples/live/laurel-live.js', import.meta.url));
    site = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      if (pathname === '/laurel-live.js') response.setHeader('Content-Type', 'text/javascript').end(client);
      else if (pathname === '/token') {
        tokenFor(searchParams.get('user') ?? '').then(
          (token) => response.end(token),
          () => response.writeHead(500).end(),
        );
      } else response.setHeader('Content-Type', 'text/html').end(html);
    });
    await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve));
    browser = await startChromium(chromiumProgram);
    world = await startWorld({
      config: configText(config),
      settings: { corsOrigins: [origin('127.0.0.1')] },
      overrides: { sessionAheadMs: () => aheadMs },
    });
  });
  after(async () => {
    await browser?.stop();
    site?.close();
    await world?.stop();
  });

  const origin = (host: string): string => `http://${host}:${(site?.address() as AddressInfo).port}`;

  async function tokenFor(userId: string): Promise<string> {
    const reply = await world!.request('POST', '/v1/live-tokens', { body: { leaderboards: ['l'], userId } });
    return bodyOf<{ token: string }>(reply, 201).token;
  }

  /** Opens the page of a user. */
  async function open(user: string, host = '127.0.0.1'): Promise<Page> {
    const page = await browser!.context.newPage();
    await page.goto(`${origin(host)}/?user=${user}&url=${encodeURIComponent(world!.address)}`);
    return page;
  }

  const seenBy = (page: Page): Promise<Seen> => page.evaluate<Seen>('globalThis.seen');
  const shows = (page: Page, rows: readonly string[]): Promise<unknown> =>
    until(`the ranking ${rows.join(', ')}`, async () => (await seenBy(page)).rows.join() === rows.join());

  it('moves when users pass each other, tells each only of their own, and goes on after the tokens have expired', async () => {
    for (const [user, value] of [
      ['ana', 10],
      ['ben', 5],
    ] as const)
      await track(world!, 'm', { user, value });
    const [ana, ben] = [await open('ana'), await open('ben')];
    for (const page of [ana, ben]) {
      await shows(page, ['1 ana 10', '2 ben 5']);
      await until('the streams of the users', async () => (await seenBy(page)).resets > 0);
    }
    await track(world!, 'm', { user: 'ben', value: 7 });
    for (const page of [ana, ben]) await shows(page, ['1 ben 12', '2 ana 10']);
    await until('the change of ben', async () => (await seenBy(ben)).changes.length > 0);
    const [ofAna, ofBen] = [await seenBy(ana), await seenBy(ben)];
    expect(ofAna.passed).to.deep.equal(['ben']);
    expect(ofBen.changes.map(({ leaderboards }) => leaderboards['l'])[0]).to.include({ rank: 1, previousRank: 2 });
    expect(ofAna.changes).to.deep.equal([]);
    aheadMs = 3_601_000;
    for (const page of [ana, ben]) {
      await until('the stream begins again', async () => (await seenBy(page)).statuses.slice(-2).join() === 'waiting,live');
    }
    await track(world!, 'm', { user: 'ana', value: 5 });
    for (const page of [ana, ben]) {
      await shows(page, ['1 ana 15', '2 ben 12']);
      await page.close();
    }
  });

  it('is refused to a page whose origin CORS_ORIGINS does not name', async () => {
    const page = await open('ana', 'localhost');
    await until('the stream is refused', async () => (await seenBy(page)).statuses.length > 1);
    const { statuses, rows } = await seenBy(page);
    expect(statuses).to.not.include('live');
    expect(rows).to.deep.equal([]);
    await page.close();
  });
});
