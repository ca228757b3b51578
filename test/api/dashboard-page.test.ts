import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { DashboardTab } from '../support/dashboard-tab.js';
import { buildPage } from '../support/dashboard.js';
import { identify, sentMessages, Timeline } from '../support/sent-messages.js';
import { adminKey, startWorld, type World } from '../support/world.js';

const config = JSON.stringify({
  metrics: ['a', 'b', 'c'].map((key) => ({ key, name: `Metric ${key}` })),
  streaks: { metrics: ['a', 'b', 'c'].map((metricKey) => ({ metricKey, threshold: 1 })) },
  templates: [{ key: 'back', name: 'Back', type: 'reactivation', locale: 'en', subject: 'Come back, {{ user.name }}' }],
});

describe('The page of the dashboard', () => {
  let world: World | undefined;
  let browser: Browser | undefined;
  let address = '';
  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    browser = await startChromium(chromiumProgram, { timezoneId: 'America/New_York' });
    world = await startWorld({ config, settings: { messages: 'log' }, overrides: { pageFolder: await buildPage() } });
    address = world.address;
  });
  after(async () => {
    await browser?.stop();
    await world?.stop();
  });

  let tab: DashboardTab;
  let page: Page;
  beforeEach(async () => {
    tab = await DashboardTab.open(browser!.context, address);
    page = tab.page;
  });
  afterEach(async () => {
    await page.close();
    await browser!.context.clearCookies();
  });

  describe('polls at an interval', () => {
    const refreshMs = 5_000;
    const statusPath = '**/dashboard/api/admin/v1/status';
    /** The reads of the status, which wait for an answer. */
    let waiting: Route[];

    beforeEach(async () => {
      waiting = [];
      let hasArrived: () => void;
      const arrival = new Promise<void>((resolve) => {
        hasArrived = resolve;
      });
      await tab.signIn(adminKey);
      await page.goto('about:blank');
      await page.clock.install();
      await page.route(statusPath, (route) => {
        waiting.push(route);
        hasArrived();
      });
      await page.goto(`${address}/dashboard/status`);
      // The navigation asks for the same status, maybe before the screen is loaded, which would ask again after an error.
      await page.getByRole('heading', { name: 'Status' }).waitFor();
      await arrival;
    });

    it('and shows a response that takes longer than the interval, without further requests', async () => {
      await page.clock.runFor(4 * refreshMs);
      expect(waiting.length, 'requests while the first is in flight').to.equal(1);
      await waiting[0]!.continue();
      await page.getByRole('heading', { name: 'Processes' }).waitFor();
      const next = page.waitForRequest(statusPath);
      await page.clock.runFor(refreshMs);
      await next;
    });

    it('and at once when the operator asks for it', async () => {
      await waiting[0]!.fulfill({ status: 503, json: { error: 'Redis is unavailable.' } });
      await page.getByText('Redis is unavailable.').waitFor();
      const next = page.waitForRequest(statusPath);
      await page.getByRole('button', { name: 'Try again' }).click();
      await next;
    });
  });

  it('shows the problems of the status first on the overview, and counts them in the navigation', async () => {
    let problems: readonly string[] = [
      'Webhook endpoint https://example.com/ has failed since 2026-01-02 10:05 UTC.',
      'There is 1 dead letter.',
    ];
    await page.route('**/dashboard/api/admin/v1/status', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), problems } });
    });
    await tab.signIn(adminKey);
    await tab.show('/');
    const first = page.locator('main .page-header + *');
    await first.getByText(problems[0]!).waitFor();
    expect(await first.getByRole('listitem').allInnerTexts()).to.deep.equal(problems);
    const link = page.getByRole('navigation').getByRole('link', { name: 'Status' });
    expect(await link.innerText()).to.equal('Status 2 problems');
    await tab.show('/status');
    expect(await page.locator('main .note.error').getByRole('listitem').allInnerTexts()).to.deep.equal(problems);
    problems = [];
    for (const path of ['/', '/status']) {
      await tab.show(path);
      await page.locator('main').getByText('Laurel finds no problems.').waitFor();
    }
    expect(await link.innerText()).to.equal('Status');
  });

  describe('when it opens a screen,', () => {
    const script = '**/dashboard/assets/keys-*.js';
    const current = '**/dashboard';
    const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true });
    const open = (name: string) => page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name, exact: true }).click();

    beforeEach(() => tab.signIn(adminKey));

    it('shows progress in place of the screen before it until the script of the new screen is loaded', async () => {
      await tab.show('/users');
      let answer = (): void => undefined;
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await page.route(script, async (route) => {
        await answered;
        await route.continue();
      });
      const requested = page.waitForRequest(script);
      await open('Keys and sessions');
      await requested;
      await page.getByRole('main').getByRole('progressbar', { name: 'Loading' }).waitFor();
      expect(await page.getByRole('main').getByRole('heading').count()).to.equal(0);
      answer();
      await heading('Keys and sessions').waitFor();
    });

    it('loads the script again if it did not arrive and the operator asks for it', async () => {
      await tab.show('/users');
      await page.route(script, (route) => route.abort());
      await open('Keys and sessions');
      await heading('This screen can’t be shown').waitFor();
      await page.route(current, (route) => route.abort());
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('The service does not respond').waitFor();
      await page.unroute(current);
      await page.unroute(script);
      await page.getByRole('button', { name: 'Try again' }).click();
      await heading('Keys and sessions').waitFor();
      expect(page.url()).to.equal(`${address}/dashboard/keys`);
    });

    it('reloads the whole page if the service has been updated', async () => {
      await page.goto('about:blank');
      await page.clock.install();
      await tab.show('/users');
      await page.route(script, (route) => route.fulfill({ status: 404 }), { times: 1 });
      const newPage = { contentType: 'text/html', body: '<script src="/dashboard/assets/main-NEW.js">' };
      await page.route(current, (route) => route.fulfill(newPage), { times: 1 });
      await page.clock.fastForward(60_000);
      const loaded = page.waitForEvent('load');
      await open('Keys and sessions');
      await loaded;
      await heading('Keys and sessions').waitFor();
    });

    it('shows an error in place of a screen that fails, until another one is opened', async () => {
      await page.route('**/admin/v1/admin-api-keys*', (route) => route.fulfill({ json: {} }));
      await page.goto(`${address}/dashboard/keys`);
      await heading('This screen can’t be shown').waitFor();
      await open('Users');
      await heading('Users').waitFor();
    });
  });

  it('keeps the other rows of a list as they are when one is removed', async () => {
    await tab.signIn(adminKey);
    await tab.show('/configuration/streaks');
    const thresholds = page.getByRole('group', { name: 'Conditions' }).getByLabel('At least');
    for (const [at, value] of ['1', '2', '3'].entries()) await thresholds.nth(at).fill(value);
    const inputs = "Array.from(document.querySelectorAll('fieldset.rows input'))";
    await page.evaluate(`${inputs}.forEach((input, at) => { input.dataset.was = at + 1 })`);
    await page.getByRole('button', { name: 'Remove row 1' }).click();
    await thresholds.nth(2).waitFor({ state: 'detached' });
    expect(await page.evaluate(`${inputs}.map(({ dataset, value }) => dataset.was + ': ' + value)`)).to.deep.equal(['2: 2', '3: 3']);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    expect(await thresholds.nth(2).inputValue()).to.equal('');
    expect(tab.problems).to.deep.equal([]);
  });

  it('shows all moments of a screen in one time zone, which it names: that of the user, of the browser, or UTC', async () => {
    await identify(world!, 'kai', { tz: 'Asia/Tokyo' });
    expect((await world!.event('a', { user: { id: 'kai' }, value: 1 })).status).to.equal(201);
    const picker = page.getByLabel('Times in');
    const chosen = (): Promise<string> => page.locator('.toolbar option:checked').first().innerText();
    const times = (): Promise<string[]> => page.locator('main time').allInnerTexts();
    await tab.signIn(adminKey);
    await tab.show('/users/kai');
    const expected = [
      ['user', 'Asia/Tokyo, the user’s', 'Jan 2, 2040, 9:00 PM GMT+9', '21:00:00'],
      ['browser', 'America/New_York, this browser’s', 'Jan 2, 2040, 7:00 AM EST', '07:00:00'],
      ['utc', 'UTC', 'Jan 2, 2040, 12:00 PM UTC', '12:00:00'],
    ] as const;
    expect(await picker.inputValue()).to.equal('user');
    for (const [choice, name, moment, time] of expected) {
      await picker.selectOption(choice);
      await page.getByText(time, { exact: true }).waitFor();
      expect(await chosen()).to.equal(name);
      expect(new Set(await times())).to.deep.equal(new Set([moment, time]));
    }
    await tab.show('/users?search=kai');
    expect(await times()).to.deep.equal(['Jan 2, 2040, 12:00 PM UTC']);
    await picker.selectOption('browser');
    await page.getByRole('main').getByText('Jan 2, 2040, 7:00 AM EST', { exact: true }).waitFor();
    await picker.evaluate('localStorage.clear()');
    expect(tab.problems).to.deep.equal([]);
  });

  it('shows the bar of a draft on every screen', async () => {
    const bar = page.getByRole('complementary', { name: 'Unsaved changes' });
    await tab.signIn(adminKey);
    await tab.show('/configuration/metrics/a');
    await page.getByLabel('Name', { exact: true }).fill('Another');
    await page.getByRole('link', { name: 'Levels', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Levels' }).waitFor();
    await bar.getByText('1 unsaved change').waitFor();
    for (const path of ['/', '/users', '/keys']) {
      await tab.show(path);
      await bar.getByText('1 unsaved change').waitFor();
    }
    await bar.getByRole('link', { name: 'Review' }).click();
    await page.getByRole('heading', { level: 1, name: 'Review' }).waitFor();
    await bar.getByText('1 unsaved change').waitFor();
    await tab.show('/keys');
    await bar.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard the changes' }).click();
    await bar.waitFor({ state: 'detached' });
    await tab.show('/configuration/metrics/a');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).to.equal('Metric a');
  });

  it('moves the focus to the heading of a screen that is opened, and announces it', async () => {
    const focused = (title: string) => page.locator('h1:focus', { hasText: title }).waitFor();
    const said = page.locator('[aria-live="polite"]');
    await identify(world!, 'kim', { name: 'Kim Vale' });
    await tab.signIn(adminKey);
    await tab.show('/levels');
    expect(await page.locator('h1:focus').count(), 'when the page is loaded').to.equal(0);
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await focused('Users');
    await said.getByText('Users', { exact: true }).waitFor({ state: 'attached' });
    await page.getByLabel('Search').fill('kim');
    await page.waitForURL(/search=kim$/);
    await page.getByRole('link', { name: 'kim', exact: true }).click();
    await focused('Kim Vale');
    await said.getByText('Kim Vale', { exact: true }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByRole('dialog').locator('select:focus, input:focus').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('button:focus', { hasText: 'Send a test event' }).waitFor();
    for (const name of ['Configuration', 'Metrics', 'Metric a']) await page.getByRole('link', { name, exact: true }).click();
    await focused('Metric a');
    await page.getByLabel('Name', { exact: true }).fill('Typed');
    await page.getByRole('heading', { level: 1, name: 'Typed' }).waitFor();
    expect(await said.innerText(), 'while the title is typed').to.equal('Metric a');
    expect(tab.problems).to.deep.equal([]);
  });

  it('has the colors that the operator chooses, and those of the system until then', async () => {
    const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const [light, dark] = ['rgb(246, 247, 249)', 'rgb(20, 22, 26)'];
    await page.emulateMedia({ colorScheme: 'dark' });
    await tab.signIn(adminKey);
    expect(await background()).to.equal(dark);
    await page.getByLabel('Colors').selectOption('Light');
    expect(await background()).to.equal(light);
    await tab.show('/users');
    expect(await background()).to.equal(light);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.getByLabel('Colors').selectOption('Dark');
    expect(await background()).to.equal(dark);
    await page.getByLabel('Colors').selectOption('System');
    expect(await background()).to.equal(light);
  });

  it('works where the browser refuses to store what the operator prefers', async () => {
    await page.addInitScript("Object.defineProperty(globalThis, 'localStorage', { get: () => { throw new Error('refused'); } })");
    await tab.signIn(adminKey);
    const [times, colors] = [page.getByLabel('Times in'), page.getByLabel('Colors')];
    await times.selectOption('utc');
    await colors.selectOption('Dark');
    expect([await times.inputValue(), await colors.inputValue()]).to.deep.equal(['utc', 'dark']);
    expect(tab.problems).to.deep.equal([]);
  });

  it('has a mark, and says when the test clock is moved', async () => {
    await tab.signIn(adminKey);
    await page.getByText('Test clock moved to Jan 2, 2040').waitFor();
    const mark = "document.querySelector('nav img')";
    expect(await page.evaluate(`${mark}.decode().then(() => ${mark}.naturalWidth)`)).to.be.above(0);
  });

  describe('works through many requests,', () => {
    /** Gives the one endpoint failed deliveries, one for each user. */
    async function addFailed(count: number): Promise<void> {
      await world!.pool.query(
        `with made as (
           insert into outbox (tenant, kind, subject, user_id, at, payload)
           select 1, 'points.changed', 'user:u' || n, 'u' || n, now(), '{"type":"points.changed"}' from generate_series(1, $1) as n returning *)
         insert into deliveries (tenant, outbox, endpoint, kind, subject, user_id, status, created)
         select tenant, id, (select max((hook ->> 'no')::integer) from config_versions, jsonb_array_elements(document -> 'webhooks') as hook
                              where config_versions.tenant = 1), kind, subject, user_id, 'failed', '2040-01-02T00:00Z' from made`,
        [count],
      );
    }
    const dialog = () => page.getByRole('dialog');
    /** Holds requests to a path back from the one with this index on, and remembers the bodies of all. */
    async function hold(path: string, from: number): Promise<{ readonly bodies: unknown[]; readonly go: () => void }> {
      const bodies: unknown[] = [];
      let go = (): void => undefined;
      const waits = new Promise<void>((resolve) => {
        go = resolve;
      });
      await page.route(path, async (route) => {
        bodies.push(route.request().postDataJSON());
        if (bodies.length > from) await waits;
        await route.continue();
      });
      return { bodies, go };
    }
    beforeEach(() => tab.signIn(adminKey));

    it('sends failed deliveries of a span of time again, with progress', async () => {
      const webhooks = [{ key: 'hook', name: 'Hook', url: 'http://127.0.0.1:1/', events: ['points.changed'], status: 'active' }];
      await world!.configure(JSON.stringify({ webhooks }));
      await addFailed(1_100);
      const { bodies, go } = await hold('**/deliveries/resend', 1);
      await tab.show('/webhooks/hook?kind=points.changed');
      await page.getByLabel('Times in').selectOption('browser');
      await page.getByRole('button', { name: 'Send failed again' }).click();
      await dialog().getByLabel('Queued from').fill('2040-01-01T12:00');
      await dialog().getByRole('button', { name: 'Send again' }).click();
      await dialog().getByText('1,000 sent again. Up to 100 more.').waitFor();
      const bar = dialog().getByRole('progressbar', { name: 'Progress' });
      expect([await bar.getAttribute('value'), await bar.getAttribute('max')]).to.deep.equal(['1000', '1100']);
      go();
      await dialog().getByText('1,100 sent again.', { exact: true }).waitFor();
      const [first, second] = bodies as readonly { from?: string; cursor?: string; kind?: string }[];
      expect(first).to.deep.equal({ from: '2040-01-01T17:00:00.000Z', kind: 'points.changed' });
      expect(second).to.deep.equal({ ...first, cursor: second?.cursor });
      await dialog().getByText('Close', { exact: true }).click();
      const { rows } = await world!.pool.query<{ left: number }>(
        `select count(*)::integer as left from deliveries where status = 'failed' and tries = '[]'`,
      );
      expect(rows).to.deep.equal([{ left: 0 }]);
      expect(tab.problems).to.deep.equal([]);
    });

    it('completes an achievement for the users of a file, after a dry run that names those it leaves out', async () => {
      await world!.configure(JSON.stringify({ achievements: [{ key: 'met', name: 'Met', trigger: 'api', status: 'active' }] }));
      const users = Array.from({ length: 150 }, (_, i) => `bulk-${i}`);
      await Promise.all(users.map((id) => identify(world!, id)));
      await tab.show('/achievements/met');
      await page.getByRole('button', { name: 'Complete for users' }).click();
      const text = ['id,name', ...users.map((id) => `${id},"A, b"`), '"ghost, ""the"" 1st",'].join('\n');
      await dialog()
        .getByLabel('File')
        .setInputFiles({ name: 'users.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
      await dialog().getByText('151 users').waitFor();
      await dialog().getByRole('button', { name: 'Check' }).click();
      await dialog().getByText('Checked 151 of 151 users. 1 user left out.').waitFor();
      const left = dialog().getByRole('table', { name: 'Users left out' });
      expect(await left.getByRole('cell').allInnerTexts()).to.deep.equal(['ghost, "the" 1st', 'There is no user with this id.']);
      const done = async (): Promise<number> => {
        await world!.drain();
        const { rows } = await world!.pool.query<{ count: number }>(
          `select count(*)::integer as count from user_achievements where user_id like 'bulk-%'`,
        );
        return rows[0]!.count;
      };
      expect(await done()).to.equal(0);
      await dialog().getByRole('button', { name: 'Complete for 150 users' }).click();
      await dialog().getByText('Done for 150 of 150 users.').waitFor();
      expect(await done()).to.equal(150);
      expect(tab.problems).to.deep.equal([]);
    });

    it('gives freezes to a list of users, and stops when the operator says so', async () => {
      await world!.configure(JSON.stringify({ streaks: { enabled: true, metrics: [{ metricKey: 'a', threshold: 1 }] } }));
      for (const id of ['fay', 'guy']) await identify(world!, id);
      await tab.show('/users');
      await page.getByRole('button', { name: 'Give freezes' }).click();
      const list = ['fay', 'guy', 'fay', ...Array.from({ length: 150 }, (_, i) => `unknown-${i}`)];
      await dialog().getByLabel('Users', { exact: true }).fill(list.join('\n'));
      const { bodies, go } = await hold('**/streaks/freezes', 0);
      await dialog().getByRole('button', { name: 'Check' }).click();
      await dialog().getByRole('button', { name: 'Stop' }).click();
      go();
      await dialog().getByText('Checked 100 of 152 users. Stopped. 98 users left out.').waitFor();
      await dialog().getByText('And 48 more.').waitFor();
      expect(bodies.length).to.equal(1);
      await dialog().getByLabel('Users', { exact: true }).fill('fay\nguy');
      await dialog().getByRole('button', { name: 'Check' }).click();
      await dialog().getByRole('button', { name: 'Give freezes to 2 users' }).click();
      await dialog().getByText('Done for 2 of 2 users.').waitFor();
      const freezes = [{ userId: 'fay' }, { userId: 'guy' }];
      expect(bodies.slice(1)).to.deep.equal([true, false].map((dryRun) => ({ freezes, dryRun })));
      expect(tab.problems).to.deep.equal([]);
    });
  });

  describe('in its list of messages to users,', () => {
    before(async () => {
      for (const user of ['ana', 'ben']) await identify(world!, user, { deviceTokens: [] });
      const timeline = new Timeline(world!);
      // Three and seven days after they were last active.
      for (const day of ['2040-01-05', '2040-01-09']) await timeline.at(`${day}T09:00:00Z`);
    });
    beforeEach(() => tab.signIn(adminKey));

    it('sorts by the time in the first column', async () => {
      // Quiet hours hold a message back: it is queued after others that were due later.
      const messages = await sentMessages(world!);
      expect(messages.length).to.be.at.least(2);
      for (const [minute, { outbox }] of messages.entries()) {
        const day = Date.UTC(2040, 0, 9);
        const update = (text: string, ms: number) => world!.pool.query(text, [outbox, new Date(ms)]);
        await update('update deliveries set created = $2 where outbox = $1', day + minute * 60_000);
        await update('update outbox set at = $2 where id = $1', day - minute * 60_000);
      }
      const times = async (table: string): Promise<string[]> => {
        const cells = await page.getByRole('table', { name: table, exact: true }).locator('tbody td:first-child time').all();
        return Promise.all(cells.map(async (cell) => (await cell.getAttribute('datetime')) ?? ''));
      };
      for (const [path, table] of [
        ['/messages', 'Messages'],
        ['/users/ana', 'Newest messages'],
      ] as const) {
        await tab.show(path);
        const shown = await times(table);
        expect(new Set(shown).size, path).to.be.at.least(2);
        expect(shown, path).to.deep.equal(shown.toSorted().reverse());
      }
    });

    it('asks before it sends an ended message again, but not a failed one', async () => {
      const resent: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/resend')) resent.push(request.method());
      });
      const show = () => page.getByRole('button', { name: 'Show the message to ana' }).first().click();
      const sendAgain = page.getByRole('button', { name: 'Send again', exact: true });
      const question = page.getByRole('dialog', { name: 'Send again', exact: true });
      await tab.show('/messages?user=ana');
      await show();
      await sendAgain.click();
      await question.getByText('gets it a second time').waitFor();
      await question.getByRole('button', { name: 'Cancel' }).click();
      await question.waitFor({ state: 'detached' });
      expect(resent).to.deep.equal([]);
      await sendAgain.click();
      await question.getByRole('button', { name: 'Send again' }).click();
      await question.waitFor({ state: 'detached' });
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(resent).to.deep.equal(['POST']);
      await world!.pool.query("update deliveries set status = 'failed' where endpoint < 0 and user_id = 'ana'");
      await tab.show('/messages?user=ana');
      await show();
      await sendAgain.click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(resent).to.deep.equal(['POST', 'POST']);
    });
  });

  it('previews a template for a user who is found by name, by email address or by id', async () => {
    const users = { 'u-1': 'Zoe Costa', 'u-2': 'Zoe Silva', 'u-3': 'Max Costello', zoe: 'Kim' };
    for (const [id, name] of Object.entries(users)) {
      expect((await world!.request('PUT', `/v1/users/${id}`, { body: { name, email: `${id}@example.com` } })).status).to.equal(200);
    }
    await tab.signIn(adminKey);
    await tab.show('/templates/back');
    const look = async (text: string): Promise<void> => {
      await page.getByLabel('User', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Show preview' }).click();
    };
    const subject = (name: string) => page.getByText(`Come back, ${name}`, { exact: true });
    await look('silva');
    await subject('Zoe Silva').waitFor();
    await look('zoe cost');
    await subject('Zoe Costa').waitFor();
    await look('u-3@example');
    await subject('Max Costello').waitFor();
    await look('zoe');
    await subject('Kim').waitFor();
    expect(page.url()).to.match(/\?user=zoe$/);
    await look('cost');
    await page.getByText('Several users match').waitFor();
    await page.getByRole('button', { name: /^Zoe Costa/ }).click();
    await subject('Zoe Costa').waitFor();
    await look('nobody');
    await page.getByText('No user matches').waitFor();
    expect(tab.problems).to.deep.equal([]);
  });

  it('lets the browser ask before a tab with a draft or an edited form is closed or reloaded, and not otherwise', async () => {
    // The browser asks only on a page that the operator has used.
    const reload = async (): Promise<number> => {
      await page.getByRole('heading', { level: 1 }).click();
      const before = tab.unloadWarnings;
      await page.reload();
      await tab.complete();
      return tab.unloadWarnings - before;
    };
    const name = page.getByLabel('Name', { exact: true });
    await tab.signIn(adminKey);
    await tab.show('/configuration/metrics/a');
    expect(await reload(), 'without a change').to.equal(0);
    await name.fill('Changed');
    await page.getByText('1 unsaved change').waitFor();
    expect(await reload(), 'with a draft').to.equal(1);
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await page.getByRole('button', { name: 'Discard the changes' }).click();
    await page.getByText('1 unsaved change').waitFor({ state: 'detached' });
    expect(await reload(), 'without the draft').to.equal(0);
    await tab.show('/keys');
    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).pressSequentially('Desk');
    await page.reload();
    expect(tab.unloadWarnings, 'with an edited form').to.equal(2);
    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await reload(), 'with a form that is closed').to.equal(0);
    expect(tab.problems).to.deep.equal([]);
  });

  it('says that the session has ended, and returns to the same screen', async () => {
    const ended = page.getByText('Your session has ended.');
    await page.goto(`${address}/dashboard`);
    await page.getByLabel('Admin key', { exact: true }).waitFor();
    expect(await ended.count(), 'before the first sign-in').to.equal(0);
    await tab.enterKey(adminKey);
    await tab.show('/users');
    await browser!.context.clearCookies();
    await page.getByRole('link', { name: 'Levels', exact: true }).click();
    await ended.waitFor();
    await tab.enterKey(adminKey);
    await page.getByRole('heading', { level: 1, name: 'Levels' }).waitFor();
    expect(page.url()).to.equal(`${address}/dashboard/levels`);
  });

  describe('after an operator has signed out', () => {
    const change = async (key: string): Promise<void> => {
      await tab.signIn(key);
      await tab.show('/configuration/metrics/a');
      await page.getByLabel('Name', { exact: true }).fill('Of the first operator');
      await page.getByText('1 unsaved change').waitFor();
    };
    const storedText = (): Promise<string> => page.evaluate('JSON.stringify(sessionStorage)');
    const keyOf = async (name: string): Promise<string> => {
      const reply = await world!.request('POST', '/admin/v1/admin-api-keys', { body: [{ name }] });
      return (reply.body as { created: [{ key: string }] }).created[0].key;
    };

    it('has no draft in its tab', async () => {
      await change(adminKey);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('dialog').getByText('will be lost').waitFor();
      await page.getByRole('button', { name: 'Sign out and discard' }).click();
      await page.getByLabel('Admin key', { exact: true }).waitFor();
      expect(await storedText()).to.not.include('Of the first operator');
      await tab.signIn(adminKey);
      await tab.show('/configuration/metrics/a');
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).to.equal('Metric a');
    });

    it('keeps the draft of an operator who does not sign out', async () => {
      await change(adminKey);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByText('1 unsaved change').waitFor();
    });

    it('has the draft for the same operator when the session has ended, and for no other', async () => {
      await change(adminKey);
      await browser!.context.clearCookies();
      await tab.signIn(adminKey);
      await tab.show('/configuration/metrics/a');
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).to.equal('Of the first operator');
      await browser!.context.clearCookies();
      await tab.signIn(await keyOf('Another operator'));
      await tab.show('/configuration/metrics/a');
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).to.equal('Metric a');
      expect(await storedText()).to.not.include('Of the first operator');
    });
  });
});
