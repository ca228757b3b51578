import cluster from 'node:cluster';
import { Command } from 'commander';
import { commandAuthor } from '../config/store/author.js';
import { applyConfig, describeApplied, noteApplied, readConfigText, type ApplyOptions } from '../app/apply.js';
import { Context, type ContextOptions } from '../app/context.js';
import { OperatorError } from '../shared/errors.js';
import { version } from '../shared/version.js';
import { failureText, isProduction, openLog, type Print, printTo } from '../app/output.js';
import { runSupervised } from '../app/processes/supervised.js';
import { refusedByStore } from '../app/refused.js';
import { serve } from '../app/processes/serve.js';
import { parseSettings } from '../app/settings.js';
import { stopSignal } from '../app/signals.js';
import { type ApplicationKeyOptions, createApplicationKey, createKey, listKeys, revokeKey } from './keys.js';
import { addProjectSettings, isProject } from '../app/project.js';
import { refuseUnused } from '../app/startup.js';
import { describeTarget } from '../app/target.js';
import { addDemo } from '../demo/command.js';
import { init } from './init.js';
import { countMessages, type CountOptions, preview, type PreviewOptions, rotateLinks } from './messages.js';
import { openReport, restore, verify } from './restore.js';
import { status } from './status.js';

/** `print` shows the operator what happens to the stores. */
function options(print: Print): ContextOptions {
  const settings = parseSettings(process.env);
  return { settings, log: openLog(settings.logLevel), print };
}

/** The first signal to stop. A second one exits at once. */
const interruption = (): Promise<NodeJS.Signals> => stopSignal(() => process.exit(1));

async function apply(file: string, { prune = false, dryRun = false, tenant, new: isNew }: Partial<ApplyOptions> & New): Promise<void> {
  const text = readConfigText(file);
  await withContext(changing(isNew), async (context, print) => {
    const applied = await applyConfig(context, text, { prune, dryRun, tenant, author: commandAuthor });
    await noteApplied(context, applied);
    for (const line of describeApplied(file, applied)) print(line);
    if (dryRun) print('  Nothing was changed: this was a dry run.');
  });
}

/** The option of commands that may change built-in stores which no service has used, and create missing ones. */
interface New {
  readonly new?: boolean | undefined;
}

/** What a command may do with built-in stores: use those of a service, change those of a service, or also change and create others. */
type Stores = 'read' | 'change' | 'create';

const changing = (isNew = false): Stores => (isNew ? 'create' : 'change');

/**
 * Runs a command on the stores, and stops what it started, also after Ctrl-C. Shows the target first. Only the command's own output goes to standard
 * output, so that it can be piped.
 */
async function withContext(stores: Stores, work: (context: Context, print: Print, signal: AbortSignal) => Promise<void>): Promise<void> {
  const given = { ...options(printTo(process.stderr)), createStores: stores === 'create' };
  given.print(describeTarget(given.settings));
  const interrupted = new AbortController();
  void interruption().then(() => {
    interrupted.abort(new OperatorError('Interrupted.'));
  });
  const context = await Context.start(given);
  try {
    interrupted.signal.throwIfAborted();
    if (stores === 'change') await refuseUnused(context);
    await work(context, printTo(process.stdout), interrupted.signal);
  } catch (error) {
    throw refusedByStore(error);
  } finally {
    await context.stop();
  }
}

async function verifyAll({ tenant, json }: { tenant?: string; json?: string }): Promise<void> {
  const report = json === undefined ? undefined : openReport(json);
  await withContext('read', (context, print, signal) => verify(context, print, { tenant, report, signal }));
}

async function showStatus(json: boolean): Promise<void> {
  const note = printTo(process.stderr);
  const { settings, log } = options(note);
  note(describeTarget(settings));
  // Handles Ctrl-C, so that built-in stores stop in order, which takes seconds.
  void interruption();
  await status({ settings, log, print: printTo(process.stdout), note, json });
}

const createsStores = 'use built-in stores that no service has used yet, and create missing ones';

function program(): Command {
  const laurel = new Command('laurel').description(
    'A self-hosted, real-time gamification back end. Settings come from the environment: docs/settings.md.',
  );
  laurel.version(version, '--version', 'print the version');
  // The demo has settings of its own.
  laurel.hook('preAction', (_, command) => {
    if (!['demo', 'init'].includes(command.name())) addProjectSettings(process.env, process.cwd());
  });
  laurel
    .command('init')
    .description('write laurel.yaml, a configuration to begin with, and .env, with a fresh admin key, into this folder')
    .option('--compose', 'also write compose.yaml, which runs Laurel, Valkey and Postgres in containers')
    .action(({ compose = false }: { compose?: boolean }) => init({ compose, folder: process.cwd(), print: printTo(process.stdout) }));
  laurel
    .command('serve')
    .description('run the API (API_PROCESSES processes), and the worker that writes the ledger to Postgres')
    .option('--api-only', 'leave the worker to another machine, or another service')
    .option('--watch', 'apply the configuration file whenever it is saved, for development')
    .action(({ apiOnly = false, watch = false }: { apiOnly?: boolean; watch?: boolean }) =>
      serve({ api: true, worker: !apiOnly }, { watch }),
    );
  addDemo(laurel);
  laurel
    .command('worker')
    .description('run only the worker')
    .action(() => serve({ api: false, worker: true }));
  laurel
    .command('apply')
    .argument('<file>', 'a YAML file, see docs/configuration.md')
    .option('--prune', 'archive what the file does not mention')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--tenant <id>', 'the id or customerId of the tenant; the default tenant without it')
    .option('--new', createsStores)
    .description('apply a configuration file; all running processes switch at once')
    .action(apply);
  laurel
    .command('restore')
    .description('restore a Redis that is out of sync from Postgres; resumes an interrupted restore')
    .option('--tenant <tenant>', 'only this tenant, by its id or customerId')
    .option(
      '--discard',
      'also restore when Postgres is older than Redis (after a point-in-time recovery): discards the newer data in Redis',
    )
    .action((how: { tenant?: string; discard?: boolean }) =>
      withContext('change', (context, print, signal) => restore(context, print, { ...how, signal })),
    );
  laurel
    .command('verify')
    .description('compare Redis with Postgres field by field, also under load')
    .option('--tenant <tenant>', 'only this tenant, by its id or customerId')
    .option('--json <file>', 'write the differences to a file')
    .action((how: { tenant?: string; json?: string }) => verifyAll(how));
  laurel
    .command('status')
    .description('show stores, processes, leases, backlog and tenants out of sync; changes nothing; exits with 1 if there is a problem')
    .option('--json', 'print it as JSON')
    .action(({ json }: { json?: boolean }) => showStatus(json === true));
  const messages = laurel.command('messages').description('look at messages to users, and end their links');
  messages
    .command('preview')
    .argument('<type>', 'achievement_completed, recap, reactivation or streak_reminder')
    .requiredOption('--user <id>', 'the user whom the message would be to')
    .requiredOption('--html <file>', 'write the HTML of the email to a file')
    .option('--tenant <id>', 'the id or customerId of the tenant; the default tenant without it')
    .description('render a message to a user; nothing is sent')
    .action((type: string, how: PreviewOptions) => withContext('read', (context, print) => preview(context, print, type, how)));
  messages
    .command('count')
    .argument('<type>', 'achievement_completed, recap, reactivation or streak_reminder')
    .option('--tenant <id>', 'the id or customerId of the tenant; the default tenant without it')
    .description('count the users whom messages of a type would reach today, by channel; nothing is sent')
    .action((type: string, how: CountOptions) => withContext('read', (context, print) => countMessages(context, print, type, how)));
  messages
    .command('rotate-links')
    .description('replace the key that signs the links of emails: no link of an email that was sent works any more')
    .action(() => withContext('change', rotateLinks));
  const keys = laurel.command('keys').description('manage admin keys, even when all of them are lost');
  keys
    .command('list', { isDefault: true })
    .description('list the admin keys')
    .action(() => withContext('read', listKeys));
  keys
    .command('create')
    .argument('[name]', 'a name for people', '')
    .option('--tenant <tenant>', 'bind the key to one tenant, by its id or customerId')
    .option('--read-only', 'a key that may change nothing')
    .option('--user <id>', 'create an application key of this user in place of an admin key')
    .option('--permissions <list>', 'of an application key: read, events, identify, separated by commas; everything without it')
    .option('--fields <list>', 'of an application key: what it may write of its user, such as name,tz')
    .option('--max-event-value <number>', 'of an application key: the largest value of an event')
    .option('--expires <time>', 'of an application key: when it stops being valid, such as 2027-01-31')
    .option('--new', createsStores)
    .description('create an admin key, or with --user an application key; it is printed only once')
    .action((name: string, how: Partial<ApplicationKeyOptions> & New & { readOnly?: boolean }) =>
      withContext(changing(how.new), (context, print) => {
        const { user, readOnly, tenant: tenantId } = how;
        if (user !== undefined) return createApplicationKey(context, print, { ...how, user });
        return createKey(context, print, { name, tenantId, readOnly });
      }),
    );
  keys
    .command('revoke')
    .argument('<prefix>', 'the part of the key before its dot')
    .description('revoke an admin key in all processes')
    .action((prefix: string) => withContext('change', (context, print) => revokeKey(context, print, prefix)));
  return laurel;
}

/**
 * Runs the `laurel` command with its arguments, without the program's name. Without a command, it serves in an operator's own folder. Exits the
 * process with 0, or with 1 and the reason on stderr.
 */
export async function main(given: readonly string[]): Promise<void> {
  const args = given.every((option) => option === '--watch') && isProject(process.cwd()) ? ['serve', ...given] : given;
  // A closed pipe (laurel verify | head) must not end the process before it has stopped what it started.
  process.stdout.on('error', () => undefined);
  try {
    // A process of a supervisor runs the same program, with its name as the only argument.
    if (cluster.isWorker) await runSupervised();
    await program().parseAsync([...args], { from: 'user' });
    process.exit(0);
  } catch (error) {
    const text = failureText(error);
    if (isProduction && ['serve', 'worker'].includes(args[0] ?? '')) openLog('fatal', 'supervisor').fatal(text);
    else process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}
