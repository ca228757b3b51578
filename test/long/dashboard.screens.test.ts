import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { screenAddresses } from '../support/dashboard-screens.js';
import { DashboardTab } from '../support/dashboard-tab.js';
import { buildPage } from '../support/dashboard.js';
import { adminKey, startWorld, type World } from '../support/world.js';

/** A word that no line of a narrow screen has room for. */
const long = (start: string): string => `${start}-${'w'.repeat(90)}`;
const userId = long('user');
const on = { status: 'active' };

/** A configuration whose names, keys and addresses are as long as operators make them. */
const config = {
  attributes: [
    { key: 'city', name: long('City'), type: 'user' },
    { key: 'device', name: long('Device'), type: 'event' },
  ],
  metrics: [{ key: long('cards'), name: long('Cards'), units: long('cards') }],
  points: [
    {
      key: 'xp',
      name: long('Points'),
      levels: [{ key: long('first'), name: long('First'), points: 1 }],
      triggers: [{ key: long('each'), type: 'metric', metricKey: long('cards'), metricThreshold: 1, points: 2, ...on }],
      boosts: [{ key: 'twice', name: long('Twice'), start: '2020-01-01', multiplier: 2 }],
    },
  ],
  achievements: [
    { key: long('one'), name: long('One'), trigger: 'metric', metricKey: long('cards'), metricValue: 1, ...on },
    { key: 'call', name: long('Call'), trigger: 'api', ...on },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: long('cards'), threshold: 1 }] },
  leaderboards: [
    { key: 'all', name: long('All'), rankBy: 'metric', metricKey: long('cards'), start: '2020-01-01', ...on },
    {
      key: 'cities',
      name: long('Cities'),
      rankBy: 'points',
      pointsSystemKey: 'xp',
      start: '2020-01-01',
      breakdownAttributes: ['city'],
      ...on,
    },
  ],
  webhooks: [{ key: 'hook', name: long('Hook'), url: `http://127.0.0.1:9/${long('path')}`, events: ['achievement.completed'] }],
  templates: [{ key: 'done', name: long('Done'), type: 'achievement_completed', locale: 'en', subject: long('Done') }],
};

const addresses = [
  ...screenAddresses({
    '/users/:id': [userId],
    '/leaderboards/:board': ['all', 'cities'],
    '/achievements/:achievement': [long('one')],
    '/webhooks/:webhook': ['hook'],
    '/configuration/:part': ['settings', 'achievements', 'streaks'],
    '/configuration/:part/:object': ['points/xp', `achievements/${long('one')}`, 'leaderboards/cities'],
    '/configuration/:part/:object/:list/:inner': [`points/xp/triggers/${long('each')}`],
    '/versions/:version': ['1'],
    '/templates/:template': ['done'],
  }),
  `/templates/done?user=${userId}`,
];

/** Adds up what moves on the page without the operator, as the browser measures it. */
const watchShifts = `
  globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      const moved = sources.map(({ node }) => (node ? node.nodeName + '.' + (node.className ?? '') + ' (' + node.textContent.slice(0, 30) + ')' : 'text')).join(' ');
      if (!hadRecentInput) globalThis.shifts.push([value, moved]);
    }
  }).observe({ type: 'layout-shift', buffered: true });
`;
const maxShift = 0.05;

/** What scrolls sideways or is cut on the page, besides what people type into: a line for each element. */
const findTooWide = `Array.from(document.querySelectorAll('html, body *'))
  .filter((element) => !element.matches('input, textarea, select, .visually-hidden, iframe'))
  .filter((element) => element === document.documentElement || getComputedStyle(element).overflowX !== 'visible')
  .filter((element) => element.scrollWidth > element.clientWidth && element.clientWidth > 1)
  .map(({ tagName, className, scrollWidth, clientWidth }) => tagName + '.' + className + ' has ' + scrollWidth + ' px in ' + clientWidth)`;

const frames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(undefined))))';

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

describe('Every screen of the dashboard', function () {
  this.timeout(600_000);
  let world: World | undefined;
  let browser: Browser | undefined;
  let tab: DashboardTab;
  let page: Page;
  let axe: string;

  before(async function () {
    if (chromiumProgram === undefined) this.skip();
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    world = await startWorld({
      config: JSON.stringify(config),
      settings: { messages: 'log', webhookAllowPrivate: true },
      overrides: { pageFolder: await buildPage() },
    });
    await fill(world);
    browser = await startChromium(chromiumProgram);
    tab = await DashboardTab.open(browser.context, world.address);
    page = tab.page;
    await page.addInitScript(watchShifts);
    await tab.signIn(adminKey);
    // Responses arrive one after the other, as they do over a network.
    const session = await browser.context.newCDPSession(page);
    await session.send('Network.enable');
    const throughput = 1_000_000;
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 40,
      downloadThroughput: throughput,
      uploadThroughput: throughput,
    });
  });
  after(async () => {
    await browser?.stop();
    await world?.stop();
  });

  async function fill(host: World): Promise<void> {
    const call = async (method: string, path: string, body: unknown): Promise<void> => {
      const answer = await host.request(method, path, { body });
      expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).to.be.within(200, 202);
    };
    const profile = { name: long('Name'), email: `${'e'.repeat(60)}@example.com`, attributes: { city: long('Lisbon') } };
    const event = `/v1/metrics/${long('cards')}/event`;
    await call('POST', event, { user: { id: userId, ...profile }, value: 3, attributes: { device: long('phone') } });
    await call('POST', event, { user: { id: 'ben', name: 'Ben', attributes: { city: 'Porto' } }, value: 1 });
    await call('POST', '/admin/v1/tenants', [{ customerId: long('customer'), name: long('Tenant') }]);
    await call('POST', '/admin/v1/admin-api-keys', [{ name: long('Key') }]);
    await call('POST', '/admin/v1/application-api-keys', [{ userId }]);
    await host.drain();
  }

  /** Opens each screen at a size. Returns a line for each finding. */
  async function findOnAll(size: { readonly width: number; readonly height: number }, find: (path: string) => Promise<readonly string[]>) {
    await page.setViewportSize(size);
    const findings: string[] = [];
    for (const path of addresses) {
      await tab.show(path);
      await page.evaluate(frames);
      findings.push(...(await find(path)).map((finding) => `${path.replaceAll(/w{20,}/g, 'w…')} ${finding}`));
    }
    return findings;
  }

  async function accessibilityFindings(): Promise<string[]> {
    await page.evaluate(axe);
    const violations = await page.evaluate<Violation[]>('axe.run(document).then(({ violations }) => violations)');
    return violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }

  async function shiftFindings(): Promise<string[]> {
    const shifts = await page.evaluate<[number, string][]>('globalThis.shifts');
    const sum = shifts.reduce((all, [value]) => all + value, 0);
    const each = shifts.map(([value, moved]) => `${value.toFixed(3)} ${moved}`);
    return sum > maxShift ? [`moves by ${sum.toFixed(3)}: ${each.join('; ')}`] : [];
  }

  const narrow = { width: 390, height: 844 };
  const wide = { width: 1440, height: 900 };

  it('has no finding of axe-core of any level, and moves nothing while it opens', async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await findOnAll(wide, async () => [...(await shiftFindings()), ...(await accessibilityFindings())])).to.deep.equal([]);
  });

  it('scrolls sideways nowhere on a narrow screen, cuts no text, and has no finding in dark colors there either', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    const find = async (): Promise<string[]> => [
      ...(await page.evaluate<string[]>(findTooWide)),
      ...(await shiftFindings()),
      ...(await accessibilityFindings()),
    ];
    expect(await findOnAll(narrow, find)).to.deep.equal([]);
  });

  it('has no error', () => {
    expect(tab.problems).to.deep.equal([]);
  });
});
