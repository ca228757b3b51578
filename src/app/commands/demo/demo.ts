import { defaultTenant } from '../../../access/tenants.js';
import { commandAuthor } from '../../../config/author.js';
import { keyNames } from '../../../redis/contract.js';
import { applyConfig, type ConfigText, readConfigText } from '../../apply.js';
import { Context } from '../../context.js';
import { openLog, printTo } from '../../output.js';
import { type Opening, serve } from '../../processes/serve.js';
import { prepare } from '../../service.js';
import { parseSettings, type Settings } from '../../settings.js';
import { openDefaultTenant, sampleConfig } from '../../startup.js';
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

/**
 * The environment of a demo. It has stores, a key and a clock of its own, whatever the operator's service is set to. An empty variable counts as
 * unset.
 */
function environmentOf({ folder, record }: DemoHome): Record<string, string> {
  const unset = ['REDIS_URL', 'REDIS_CA_FILE', 'REDIS_CERT_FILE', 'REDIS_KEY_FILE', 'REDIS_SENTINEL_PASSWORD', 'REDIS_PREFIX'];
  const others = ['DATABASE_URL', 'CONFIG', 'RATE_LIMIT', 'MAX_LEDGER_ENTRIES'];
  return {
    ...Object.fromEntries([...unset, ...others].map((variable) => [variable, ''])),
    ...{ DATA_DIR: folder, ADMIN_API_KEY: record.key, TEST_CLOCK: '1', MESSAGES: 'log', WEBHOOK_ALLOW_PRIVATE: '1' },
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'warn',
  };
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
  `Its clock stands at ${new Date(endMs).toISOString()}, and PUT /admin/v1/clock moves it.`,
  'Ctrl-C stops it. The next npm run demo continues with the same data, npm run demo -- --fresh starts anew.',
  '',
];

/** `laurel demo`: fills a month of a study app's life in stores of its own, once, and serves it until a signal. */
export async function demo({ folder, fresh, ...given }: DemoOptions): Promise<void> {
  const home = await DemoHome.open(folder, given, fresh);
  Object.assign(process.env, environmentOf(home));
  const settings = parseSettings(process.env);
  const print = printTo(process.stdout);
  const { record } = home;
  const story = planStory(record);
  const receiver = await startWebhookReceiver(record.webhookUrl ?? undefined);
  if (!receiver) print(`Another program uses the port of ${record.webhookUrl ?? ''}: webhooks of the demo will fail.`);
  const webhookUrl = receiver?.url ?? record.webhookUrl ?? '';
  const sample = readConfigText(sampleConfig);
  const [opening, ...changes] = gameOf(sample.text, story.firstDay, webhookUrl);
  if (!record.isFilled) await prepareDemo(settings, story, [sample, { name: 'demo', text: JSON.stringify(opening.file) }]);
  const fill: Opening = async ({ address = '' }, signal) => {
    if (!record.isFilled) {
      print(`Playing a month of a study app with ${record.users.toLocaleString('en')} users:`);
      await fillDemo({ address, key: record.key, story, changes, print, signal });
      await home.save({ webhookUrl, isFilled: true });
    }
    return greeting(address, record, story);
  };
  try {
    await serve({ api: true, worker: true }, fill);
  } finally {
    await receiver?.stop();
  }
}
