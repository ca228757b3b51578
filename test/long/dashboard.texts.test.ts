import { expect } from 'chai';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { Client } from '../support/client.js';
import { screenAddresses } from '../support/dashboard-screens.js';
import { DashboardTab } from '../support/dashboard-tab.js';
import { killChildren, type LaurelProcess, serve } from '../support/process.js';
import { configFile, setStage, type Stage } from '../support/stage.js';
import { adminKey } from '../support/world.js';

/** Runs a script in a page that takes it for HTML, in an attribute of either kind of quotes, and in an address. */
const image = '<img src=x onerror="globalThis.ran=1">';
const markup = `${image}"'><script>globalThis.ran=2</script><svg onload=globalThis.ran=3>\u202e{{ 1 }}`;
const address = 'javascript:globalThis.ran=4';
const user = `${image}/../?#%2e`;
const url = `https://example.com/"onload="globalThis.ran=5"'><script>globalThis.ran=6</script>`;
const group = `${image} group`;

const common = { name: markup, description: markup, badge: { url } };

/** The addresses of a page that are scripts. */
const scriptLinks = `['href', 'src', 'action', 'formaction']
  .flatMap((name) => Array.from(document.querySelectorAll('[' + name + ']'), (element) => element.getAttribute(name)))
  .filter((to) => /^\\s*javascript:/i.test(to))`;

/** A configuration in which every text that an operator chooses holds markup. */
const config = {
  attributes: [
    { key: 'city', name: markup, type: 'user' },
    { key: 'device', name: markup, type: 'event' },
  ],
  metrics: [{ key: 'cards', name: markup, units: image }],
  points: [
    {
      key: 'xp',
      ...common,
      levels: [{ key: 'first', points: 1, ...common }],
      triggers: [
        { key: 'each', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 2, status: 'active' },
        {
          key: 'there',
          type: 'metric',
          metricKey: 'cards',
          metricThreshold: 1,
          points: 1,
          status: 'active',
          userAttributes: [{ attributeKey: 'city', attributeValue: group }],
        },
      ],
      boosts: [{ key: 'twice', name: markup, start: '2020-01-01', multiplier: 2 }],
    },
  ],
  achievements: [
    { key: 'one', ...common, trigger: 'metric', metricKey: 'cards', metricValue: 1, status: 'active' },
    { key: 'call', ...common, trigger: 'api', status: 'active' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
  leaderboards: [
    { key: 'all', name: markup, description: markup, rankBy: 'metric', metricKey: 'cards', status: 'active', start: '2020-01-01' },
    {
      key: 'cities',
      name: markup,
      description: markup,
      rankBy: 'points',
      pointsSystemKey: 'xp',
      status: 'active',
      start: '2020-01-01',
      breakdownAttributes: ['city'],
    },
  ],
  webhooks: [
    { key: 'hook', name: markup, url: 'http://127.0.0.1:9/"><script>globalThis.ran=7</script>', events: ['achievement.completed'] },
  ],
  messages: { brandName: '<img src=x onerror="globalThis.ran=1">', brandUrl: 'https://example.com' },
  templates: [
    {
      key: 'done',
      name: markup,
      type: 'achievement_completed',
      locale: 'en',
      subject: image,
      heading: image,
      body: `${image}\n\n${address}`,
      button: image,
      pushTitle: image,
      pushBody: image,
    },
  ],
};

describe('Texts of users and operators in the dashboard', () => {
  let stage: Stage | undefined;
  let service: LaurelProcess;
  let base: string;
  let client: Client | undefined;
  let browser: Browser | undefined;
  let tab: DashboardTab;

  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    const file = await configFile(config);
    stage = await setStage({ env: { CONFIG: file, WEBHOOK_ALLOW_PRIVATE: '1', TEST_CLOCK: '1' } });
    service = serve(stage.env);
    base = await service.address();
    client = new Client(adminKey, 4);
    await fill();
    browser = await startChromium(chromiumProgram);
    // Images of operators are elsewhere, and this machine may have no network.
    await browser.context.route('https://**', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg"/>' }),
    );
    tab = await DashboardTab.open(browser.context, base);
    await tab.signIn(adminKey);
  });
  after(async () => {
    client?.close();
    await browser?.stop();
    await killChildren();
    await stage?.stop();
  });

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await client!.send(base, method, path, body === undefined ? {} : { body });
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).to.be.within(200, 202);
    return answer.body;
  }

  /** Users, keys, tenants and what happened to them, with markup in every text. */
  async function fill(): Promise<void> {
    const profile = {
      name: markup,
      email: '"<img src=x onerror=globalThis.ran=8>"@example.com',
      tz: 'Europe/Lisbon',
      attributes: { city: group },
    };
    await call('POST', '/v1/metrics/cards/event', { user: { id: user, ...profile }, value: 3, attributes: { device: markup } });
    await call('POST', '/v1/metrics/cards/event', { user: { id: address, name: address }, value: 1, attributes: { device: address } });
    await call('POST', '/admin/v1/tenants', [{ customerId: image, name: markup }]);
    await call('POST', '/admin/v1/admin-api-keys', [{ name: markup }]);
    await call('POST', '/admin/v1/application-api-keys', [{ userId: user }]);
    await stage!.drain();
  }

  it('are shown as they are on every screen, and nothing in them runs', async function () {
    this.timeout(300_000);
    const addresses = screenAddresses({
      '/users/:id': [user, address],
      '/leaderboards/:board': ['all', 'cities'],
      '/achievements/:achievement': ['one'],
      '/webhooks/:webhook': ['hook'],
      '/configuration/:part': ['settings', 'attributes', 'metrics', 'points', 'achievements', 'leaderboards', 'webhooks', 'messages'],
      '/configuration/:part/:object': ['points/xp', 'achievements/one', 'leaderboards/cities', 'metrics/cards', 'webhooks/hook'],
      '/configuration/:part/:object/:list/:inner': ['points/xp/triggers/there', 'points/xp/boosts/twice'],
      '/versions/:version': ['1'],
      '/templates/:template': ['done'],
    });
    const shown: string[] = [];
    for (const path of addresses) {
      await tab.show(path);
      expect(await tab.page.evaluate('globalThis.ran'), path).to.equal(undefined);
      expect(await tab.refusedByPolicy(), path).to.deep.equal([]);
      expect(tab.problems, path).to.deep.equal([]);
      if ((await tab.page.locator('main').innerText()).includes(image)) shown.push(path);
      expect(await tab.page.evaluate(scriptLinks), path).to.deep.equal([]);
    }
    expect(shown).to.include.members(['/users', '/leaderboards', '/achievements']);
  });
});
