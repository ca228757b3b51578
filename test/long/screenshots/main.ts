/**
 * Fills a demo, opens every screen of the dashboard in Chromium at two widths, light and dark, and saves pictures of them in test/screenshots/dashboard
 * for people to look at. Fails when axe-core finds something on a screen, or a screen logs an error.
 */
import { chmod, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { chromiumProgram, startChromium } from '../../support/chromium.js';
import { Client } from '../../support/client.js';
import { count, runCommand } from '../../support/command.js';
import { compileSources } from '../../support/compiled.js';
import { screenAddresses, type ScreenSamples } from '../../support/dashboard-screens.js';
import { DashboardTab } from '../../support/dashboard-tab.js';
import { killChildren, LaurelProcess } from '../../support/process.js';
import { removeStores } from '../../support/stores.js';

interface Options {
  readonly users: number;
  readonly only?: string;
  readonly picture?: true;
}

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = join(root, 'test', 'screenshots', 'dashboard');
const picture = join(root, 'docs', 'images', 'dashboard.png');
const maxPictureBytes = 300 * 1024;
const widths = [
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
] as const;
const schemes = ['light', 'dark'] as const;

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on a page, a line each. */
async function findingsOf({ page }: DashboardTab): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate<Violation[]>(`axe.run(document).then(({ violations }) => violations)`);
  return found.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target.join(' ')).join('; ')})`);
}

/** What the parameters of the screens stand for in the demo. */
async function samplesOf(address: string, key: string): Promise<{ readonly samples: ScreenSamples; readonly user: string }> {
  const client = new Client(key, 2);
  try {
    const read = async (path: string): Promise<unknown> => (await client.send(address, 'GET', path)).body;
    const { rankings } = (await read('/v1/leaderboards/streaks')) as { rankings: [{ userId: string }] };
    const user = rankings[0].userId;
    return {
      user,
      samples: {
        '/users/:id': [user],
        '/leaderboards/:board': ['weekly', 'city-league'],
        '/achievements/:achievement': ['week-in-a-row'],
        '/webhooks/:webhook': ['study-app'],
        '/configuration/:part': ['settings', 'achievements', 'streaks'],
        '/configuration/:part/:object': ['points/points', 'leaderboards/city-league', 'achievements/ten-quizzes'],
        '/configuration/:part/:object/:list/:inner': ['points/points/triggers/quiz'],
        '/versions/:version': ['2'],
        '/templates/:template': ['streak-reminder'],
      },
    };
  } finally {
    client.close();
  }
}

const fileOf = (path: string, width: number, scheme: string): string =>
  join(folder, `${path === '/' ? 'overview' : path.slice(1).replaceAll(/[^\w-]+/g, '_')}-${width}-${scheme}.png`);

/** Saves a picture of a screen in each look, and returns what is wrong with it. */
async function photograph(tab: DashboardTab, path: string): Promise<string[]> {
  const problems: string[] = [];
  for (const size of widths) {
    for (const colorScheme of schemes) {
      await tab.page.setViewportSize(size);
      await tab.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await tab.show(path);
      await tab.page.screenshot({ path: fileOf(path, size.width, colorScheme), fullPage: true });
      const wider = await tab.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      const findings = [...(await findingsOf(tab)), ...tab.problems.splice(0), ...(wider > 0 ? [`it is ${wider} px too wide`] : [])];
      problems.push(...findings.map((finding) => `${path} (${size.width} px, ${colorScheme}): ${finding}`));
    }
  }
  return problems;
}

const review = '/configuration/review';

/** Changes what the review then shows. */
async function changeLevel(tab: DashboardTab): Promise<void> {
  await tab.show('/configuration/points/points');
  const points = tab.page.getByLabel('From points, learner');
  await points.fill(String(Number(await points.inputValue()) + 100));
  await tab.page.getByRole('link', { name: 'Review' }).waitFor();
}

/** The picture of the README. Throws when it is too large for a first screen. */
async function savePicture(tab: DashboardTab, user: string): Promise<void> {
  await tab.page.setViewportSize({ width: 1280, height: 800 });
  await tab.page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await tab.show(`/users/${encodeURIComponent(user)}`);
  await mkdir(join(root, 'docs', 'images'), { recursive: true });
  await tab.page.screenshot({ path: picture });
  const { size } = await stat(picture);
  if (size >= maxPictureBytes) throw new Error(`${picture} has ${size} bytes, and the README takes less than ${maxPictureBytes}.`);
}

async function photographAll(address: string, key: string, { only, picture: isPicture }: Options): Promise<string[]> {
  if (chromiumProgram === undefined) throw new Error('Chromium is missing: install it with the package manager of the system.');
  const browser = await startChromium(chromiumProgram);
  try {
    const tab = await DashboardTab.open(browser.context, address);
    await tab.signIn(key);
    const { samples, user } = await samplesOf(address, key);
    const problems: string[] = [];
    const paths = screenAddresses(samples).filter((one) => only === undefined || one.includes(only));
    if (paths.length === 0) throw new Error(`No screen has ${only} in its path.`);
    for (const path of paths) {
      if (path === review) await changeLevel(tab);
      problems.push(...(await photograph(tab, path)));
      if (path === review) await tab.page.evaluate('sessionStorage.clear()');
      console.log(path);
    }
    if (isPicture) await savePicture(tab, user);
    return problems;
  } finally {
    await browser.stop();
  }
}

async function run(options: Options): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'laurel-screenshots-'));
  // Under root, Postgres runs as another user, which must be able to enter this folder.
  await chmod(work, 0o755);
  const data = join(work, 'data');
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const command = await compileSources(join(work, 'laurel'));
    const demo = new LaurelProcess([command], ['demo', '--users', String(options.users), '--folder', data], {
      PORT: '0',
      API_PROCESSES: '1',
    });
    const address = await demo.address();
    const { key } = JSON.parse(await readFile(join(data, 'demo.json'), 'utf8')) as { key: string };
    const problems = await photographAll(address, key, options);
    for (const problem of problems) console.error(`PROBLEM: ${problem}`);
    console.log(`The pictures are in ${folder}.`);
    if (problems.length > 0) process.exitCode = 1;
    await demo.stop('SIGINT');
  } finally {
    await killChildren();
    await removeStores(data);
    await rm(work, { recursive: true, force: true });
  }
}

await runCommand(
  new Command('screenshots')
    .description('Saves pictures of every screen of the dashboard, and checks each with axe-core')
    .option('--users <number>', 'users of the demo', count, 120)
    .option('--only <text>', 'only the screens whose path has this text')
    .option('--picture', 'save the picture of the README too')
    .action((options: Options) => run(options)),
);
