import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type Page } from 'playwright-core';
import { notificationTypes, type NotificationType } from '../../src/config/schema/message-types.js';
import { type MessageSettings, type MessageTemplate } from '../../src/config/schema/model.js';
import { renderEmail } from '../../src/messages/render/render.js';
import { type MessageVariables } from '../../src/messages/render/variables.js';
import { type Browser, chromiumProgram, startChromium } from '../support/chromium.js';
import { messageConfig, messageVariables, withTexts } from '../support/message-variables.js';

/** Where pictures for people go; none are taken without it, because Chromium under load refuses one now and then. */
const pictures = process.env['SCREENSHOTS'];

/** An email to look at. */
interface Look {
  readonly name: string;
  readonly type: NotificationType;
  readonly settings?: Partial<MessageSettings>;
  readonly template?: Partial<MessageTemplate>;
  readonly variables?: (sample: MessageVariables) => MessageVariables;
}

const weeks = Array.from({ length: 6 }, (_, i) => ({ date: `2040-0${1 + Math.floor(i / 4)}-0${2 + (i % 4)}`, state: 'extended' as const }));
const arabic = {
  locale: 'ar',
  subject: 'أسبوعك',
  heading: 'أسبوعك يا {{ user.name }}',
  body: 'هذا ما فعلته هذا الأسبوع.\n\nواصل!',
  button: 'متابعة',
};

const looks: readonly Look[] = [
  ...notificationTypes.map((type) => ({ name: type, type })),
  {
    name: 'logo-and-badge',
    type: 'achievement_completed',
    settings: { brandLogoUrl: '/logo.png', brandAddress: 'Flashcards Ltd\n1 Main Street\nLisbon' },
  },
  { name: 'light-brand', type: 'recap', settings: { brandColor: '#fde047' } },
  { name: 'dark-brand', type: 'recap', settings: { brandColor: '#111827' } },
  { name: 'grey-brand', type: 'streak_reminder', settings: { brandColor: '#808080' } },
  { name: 'right-to-left', type: 'recap', template: arabic, variables: (sample) => ({ ...sample, locale: 'ar' }) },
  {
    name: 'weekly-streak',
    type: 'streak_reminder',
    variables: (sample) => ({ ...sample, streak: { ...sample.streak, frequency: 'weekly', days: weeks } }),
  },
  { name: 'long-texts', type: 'recap', variables: (sample) => withTexts(sample, 'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(4)) },
  { name: 'long-achievement', type: 'achievement_completed', variables: (sample) => withTexts(sample, 'wwwwwwwwww'.repeat(20)) },
];

/** What is wrong with a page (test/support/inspect-page.js). */
interface Findings {
  /** Texts whose contrast is too low, with it. */
  readonly faint: readonly string[];
  readonly texts: number;
  readonly imagesWithoutAlt: number;
  readonly brokenImages: number;
  readonly scripts: number;
  /** Pixels that the page is wider than the window. */
  readonly overflow: number;
}

const inspect = readFileSync(new URL('../support/inspect-page.js', import.meta.url), 'utf8');
const fine = { faint: [], imagesWithoutAlt: 0, brokenImages: 0, scripts: 0 };

describe('An email to a user', () => {
  let site: Server | undefined;
  let browser: Browser | undefined;
  before(async function () {
    if (chromiumProgram === undefined) return this.skip();
    const logo =
      '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40"><rect width="200" height="40" rx="8" fill="#4f46e5"/></svg>';
    site = createServer((_request, response) => response.setHeader('Content-Type', 'image/svg+xml').end(logo));
    await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve));
    browser = await startChromium(chromiumProgram);
  });
  after(async () => {
    await browser?.stop();
    site?.close();
  });

  async function htmlOf({ type, settings = {}, template, variables = (sample) => sample }: Look): Promise<string> {
    const address = `http://127.0.0.1:${(site?.address() as AddressInfo).port}`;
    const logo = settings.brandLogoUrl ? { brandLogoUrl: address + settings.brandLogoUrl } : {};
    const sample = messageVariables(type);
    const achievements = sample.achievements?.map((one) => ({ ...one, badgeUrl: settings.brandLogoUrl ? `${address}/badge.svg` : '' }));
    const shown = variables(achievements ? { ...sample, achievements } : sample);
    const config = messageConfig({ ...settings, ...logo }, template ? [{ type, ...template }] : []);
    const links = { click: (url: string) => url, unsubscribeUrl: 'https://laurel.example/m/u/token' };
    return (await renderEmail(config, shown, links)).html;
  }

  /** Opens an email and inspects it. Returns what it asked the network for as well. */
  async function look(
    email: Look,
    width: number,
    colorScheme: 'light' | 'dark',
  ): Promise<Findings & { readonly requests: readonly string[] }> {
    const page: Page = await browser!.context.newPage();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.resourceType()} ${new URL(request.url()).hostname}`));
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.setContent(await htmlOf(email), { waitUntil: 'load' });
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${email.name}-${width}-${colorScheme}.png`, fullPage: true });
    const findings = await page.evaluate<Findings>(inspect);
    await page.close();
    return { ...findings, requests };
  }

  for (const email of looks) {
    it(`fits a phone and a desktop, can be read in light and in dark, and runs no script: ${email.name}`, async () => {
      for (const width of [375, 1280]) {
        for (const colorScheme of ['light', 'dark'] as const) {
          const { texts, overflow, requests, ...findings } = await look(email, width, colorScheme);
          const how = `${width} ${colorScheme}`;
          expect(findings, how).to.deep.equal(fine);
          expect(overflow, how).to.be.at.most(0);
          expect(texts, how).to.be.above(3);
          expect(
            requests.filter((request) => request !== 'image 127.0.0.1'),
            how,
          ).to.deep.equal([]);
        }
      }
    });
  }
});
