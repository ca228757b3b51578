import { defaultTenant, saveTestClock } from '../access/tenants.js';
import { commandAuthor } from '../config/store/author.js';
import { keyNames } from '../redis/contract.js';
import { applyConfig, type ConfigText, readConfigText } from '../app/apply.js';
import { Context } from '../app/context.js';
import { OperatorError } from '../shared/errors.js';
import { openLog, printTo } from '../app/output.js';
import { type Opening, serve } from '../app/processes/serve.js';
import { prepare } from '../app/service.js';
import { providerVariables } from '../app/provider-settings.js';
import { isLoopback, parseSettings, type Settings } from '../app/settings.js';
import { openDefaultTenant, sampleConfig } from '../app/startup.js';
import { fillDemo } from './fill.js';
import { gameOf } from './game.js';
import { DemoHome, type DemoRecord } from './home.js';
import { startWebhookReceiver } from './receiver.js';
import { planStory, type Story, type StoryOptions } from './story.js';

export interface DemoOptions extends StoryOptions {
  readonly folder: string;
  /** Starts anew, whatever the folder has. */
  readonly fresh: boolean;
}

interface DemoPlace {
  readonly folder: string;
  readonly key: string;
  /** The URL of the demo's own receiver of webhooks. */
  readonly receiver: string;
}

/** The origin of the page of examples/live. */
const liveExample = 'http://localhost:7080';

/**
 * The environment of a demo. It has stores, a key and a clock of its own, whatever the operator's service is set to, and contacts only its
 * receiver. An empty variable counts as unset.
 */
export function demoEnvironment({ folder, key, receiver }: DemoPlace): Record<string, string> {
  const unset = ['REDIS_URL', 'REDIS_CA_FILE', 'REDIS_CERT_FILE', 'REDIS_KEY_FILE', 'REDIS_SENTINEL_PASSWORD', 'REDIS_PREFIX'];
  const others = ['DATABASE_URL', 'CONFIG', 'RATE_LIMIT', 'MAX_LEDGER_ENTRIES', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
  return {
    ...Object.fromEntries([...unset, ...others, ...Object.keys(providerVariables)].map((variable) => [variable, ''])),
    DATA_DIR: folder,
    ADMIN_API_KEY: key,
    TEST_CLOCK: '1',
    MESSAGES: 'log',
    CORS_ORIGINS: process.env['CORS_ORIGINS'] || liveExample,
    WEBHOOK_ALLOW_PRIVATE: '',
    WEBHOOK_ORIGINS: new URL(receiver).origin,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'warn',
  };
}

/** Refuses what the demo can't do. Its key is on the disk, so only this machine may reach it. */
export function checkDemo(env: NodeJS.ProcessEnv): void {
  const { ADMIN_API_KEY = '', DATA_DIR = '' } = env;
  for (const variable of ['HOST', 'METRICS_HOST']) {
    if (isLoopback(env[variable] || '127.0.0.1')) continue;
    throw new OperatorError(
      `${variable} must be a loopback address such as 127.0.0.1 for the demo: its data and its key are not protected.`,
    );
  }
  if (ADMIN_API_KEY !== '') throw new OperatorError('ADMIN_API_KEY must not be set for the demo: it creates its own key.');
  if (DATA_DIR !== '') throw new OperatorError('DATA_DIR must not be set for the demo: name its folder with --folder.');
}

const author = { ...commandAuthor, name: 'laurel demo' };

/** Creates the stores, sets the clock to the beginning of the month, and applies the configuration that it begins with, a version for each file. */
async function prepareDemo(settings: Settings, story: Story, files: readonly ConfigText[]): Promise<void> {
  const options = { settings, log: openLog(settings.logLevel, 'demo'), print: printTo(process.stdout) };
  const context = await Context.start({ ...options, createStores: true });
  try {
    await prepare(context);
    await openDefaultTenant(context);
    // A clock that was never set shows the present, and moves forward only: a month of the past needs a first time.
    await context.redis.set(context.engine.partition(defaultTenant) + keyNames.clock, String(story.startMs));
    await saveTestClock(context.pool, story.startMs);
    for (const text of files) {
      await applyConfig(context, text, { prune: false, dryRun: false, author });
    }
  } finally {
    await context.stop();
  }
}

const greeting = (address: string, { key, seed, users }: DemoRecord, { firstDay, endMs, events }: Story): string[] => [
  '',
  `Laurel is ready at ${address}`,
  `Its dashboard is at ${address}/dashboard: sign in with the key ${key}`,
  `It has a month of a study app from ${firstDay}: ${users.toLocaleString('en')} users (seed ${seed}), ${events.toLocaleString('en')} events.`,
  `A page that watches it live: LAUREL_API_KEY=${key} npm start in examples/live (examples/README.md), at ${liveExample}`,
  `Its clock is at ${new Date(endMs).toISOString()}, and PUT /admin/v1/clock moves it.`,
  'Ctrl-C stops it. The next start continues with the same data, and --fresh starts anew.',
  '',
];

/** `laurel demo`: fills a month of a study app's life in stores of its own, once, and serves it until a signal. */
export async function demo({ folder, fresh, ...given }: DemoOptions): Promise<void> {
  checkDemo(process.env);
  const home = await DemoHome.open(folder, given, fresh);
  const { record } = home;
  const print = printTo(process.stdout);
  const receiver = await startWebhookReceiver(record.webhookUrl ?? undefined);
  try {
    const webhookUrl = record.webhookUrl ?? receiver.url;
    if (webhookUrl !== receiver.url) print(`Another program uses the port of ${webhookUrl}: webhooks of the demo will fail.`);
    Object.assign(process.env, demoEnvironment({ folder: home.folder, key: record.key, receiver: receiver.url }));
    await play(home, webhookUrl, print);
  } finally {
    await receiver.stop();
  }
}

/** Fills the demo, unless it is filled, and serves it until a signal. */
async function play(home: DemoHome, webhookUrl: string, print: (line: string) => void): Promise<void> {
  const settings = parseSettings(process.env);
  const { record } = home;
  const story = planStory(record);
  const sample = readConfigText(sampleConfig);
  const [opening, ...changes] = gameOf(sample.text, story.firstDay, webhookUrl);
  const prepare = async (): Promise<void> => {
    if (!record.isFilled) await prepareDemo(settings, story, [sample, { name: 'demo', text: JSON.stringify(opening.file) }]);
  };
  const fill: Opening = async ({ address = '' }, signal) => {
    if (!record.isFilled) {
      print(`Playing a month of a study app with ${record.users.toLocaleString('en')} users:`);
      await fillDemo({ address, key: record.key, story, changes, print, signal });
      await home.save({ webhookUrl, isFilled: true });
    }
    return greeting(address, record, story);
  };
  await serve({ api: true, worker: true }, { opening: fill, prepare });
}
