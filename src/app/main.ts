import { Command } from 'commander';
import pino from 'pino';
import { Base, describeApplied, readConfigText, type BaseOptions } from './base.js';
import { LaurelError, OperatorError } from '../shared/errors.js';
import { createLog } from '../logging/log.js';
import { startService, type Roles, type Service } from './service.js';
import { parseSettings } from './settings.js';
import { createKey, listKeys, revokeKey, type Print } from './commands/keys.js';
import { openReport, restore, verify } from './commands/restore.js';
import { status } from './commands/status.js';
import { welcome } from './commands/welcome.js';

const printTo =
  (stream: NodeJS.WritableStream): Print =>
  (line) => {
    stream.write(`${line}\n`);
  };

/** `print` takes what is said of the stores. */
function options(print: Print): BaseOptions {
  const settings = parseSettings(process.env);
  return { settings, log: createLog(settings.logLevel, pino.destination({ dest: 2, sync: true })), print };
}

/** Resolves with the first signal that asks for a stop; a second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1);
        asked = true;
        resolve(signal);
      });
    }
  });
}

async function serve(roles: Roles): Promise<void> {
  const base = options(printTo(process.stdout));
  const stopped = stopSignal();
  const starting = startService(base, roles);
  // A signal during the start stops what has been started as soon as the start is through.
  const service: Service = await starting;
  for (const line of welcome(service, base.settings)) base.print(line);
  // Who presses Ctrl-C has no load balancer that must hear of it first.
  const delayS = (await stopped) === 'SIGTERM' && roles.api ? base.settings.shutdownDelayS : 0;
  const serving = delayS === 0 ? '' : `serving for ${delayS} s more, not ready, then `;
  base.print(`Stopping: ${serving}answering what has come, then writing the ledger out.`);
  await service.stop(delayS * 1_000);
  base.print('Stopped.');
}

async function apply(file: string, how: { prune?: boolean; dryRun?: boolean; tenant?: string }): Promise<void> {
  const dryRun = how.dryRun === true;
  const text = readConfigText(file);
  await withBase(async (base, print) => {
    const applied = await base.apply(text, { prune: how.prune === true, dryRun, tenant: how.tenant });
    for (const line of describeApplied(file, applied)) print(line);
    if (dryRun) print('  Nothing was changed: this was a dry run.');
  });
}

/**
 * Runs a command on the stores that there are, and stops those that it has started, also after Ctrl-C. Its own output alone goes to standard
 * output.
 */
async function withBase(work: (base: Base, print: Print, signal: AbortSignal) => Promise<void>): Promise<void> {
  const given = options(printTo(process.stderr));
  const interrupted = new AbortController();
  void stopSignal().then(() => {
    interrupted.abort(new OperatorError('Interrupted.'));
  });
  const base = await Base.start(given);
  try {
    interrupted.signal.throwIfAborted();
    await work(base, printTo(process.stdout), interrupted.signal);
  } finally {
    await base.stop();
  }
}

async function verifyAll({ tenant, json }: { tenant?: string; json?: string }): Promise<void> {
  const report = json === undefined ? undefined : openReport(json);
  await withBase((base, print, signal) => verify(base, print, { tenant, report, signal }));
}

async function showStatus(json: boolean): Promise<void> {
  const note = printTo(process.stderr);
  const { settings, log } = options(note);
  // Ctrl-C is heard, so that built-in stores are stopped again: it takes seconds.
  void stopSignal();
  await status({ settings, log, print: printTo(process.stdout), note, json });
}

function program(): Command {
  const laurel = new Command('laurel').description(
    'A self-hosted, real-time gamification back end. Settings come from the environment: docs/settings.md.',
  );
  laurel
    .command('serve')
    .description('run the API, and the worker that writes the ledger to Postgres')
    .option('--api-only', 'leave the worker to another process')
    .action((how: { apiOnly?: boolean }) => serve({ api: true, worker: how.apiOnly !== true }));
  laurel
    .command('worker')
    .description('run only the worker')
    .action(() => serve({ api: false, worker: true }));
  laurel
    .command('apply')
    .argument('<file>', 'a YAML file, see docs/configuration.md')
    .option('--prune', 'archive what the file does not mention')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--tenant <id>', 'the tenant whose configuration it is, by its id or customerId; without it, the default tenant')
    .description('apply a configuration file; every running process switches at once')
    .action(apply);
  laurel
    .command('restore')
    .description('fill a Redis that lacks what Postgres has; one that was cut off goes on')
    .option('--tenant <tenant>', 'only this tenant, by its id or customerId')
    .option('--discard', 'also where Postgres was put back to an older state than Redis: give up what Redis has of the time after it')
    .action((how: { tenant?: string; discard?: boolean }) => withBase((base, print, signal) => restore(base, print, { ...how, signal })));
  laurel
    .command('verify')
    .description('compare Redis with Postgres, field by field, also while events come in')
    .option('--tenant <tenant>', 'only this tenant, by its id or customerId')
    .option('--json <file>', 'write the differences to a file')
    .action((how: { tenant?: string; json?: string }) => verifyAll(how));
  laurel
    .command('status')
    .description(
      'show the stores, processes, leases, backlog and tenants out of sync; exits with 1 when there is a problem; changes nothing',
    )
    .option('--json', 'print it as JSON')
    .action(({ json }: { json?: boolean }) => showStatus(json === true));
  const keys = laurel.command('keys').description('admin keys, for an account whose keys are lost too');
  keys
    .command('list', { isDefault: true })
    .description('list the admin keys')
    .action(() => withBase(listKeys));
  keys
    .command('create')
    .argument('[name]', 'what people call it', '')
    .option('--tenant <tenant>', 'bind it to a tenant, by its id or customerId: it works for that tenant alone')
    .description('create an admin key; it is printed this once')
    .action((name: string, how: { tenant?: string }) => withBase((base, print) => createKey(base, print, { name, tenantId: how.tenant })));
  keys
    .command('revoke')
    .argument('<prefix>', 'the part of the key before its dot')
    .description('revoke an admin key in every process')
    .action((prefix: string) => withBase((base, print) => revokeKey(base, print, prefix)));
  return laurel;
}

/** The `laurel` command. `args` are its arguments without the program's own name. Ends the process when it is done. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that goes away (laurel verify | head) must not end the process before it has stopped what it started.
  process.stdout.on('error', () => undefined);
  try {
    await program().parseAsync([...args], { from: 'user' });
    process.exit(0);
  } catch (error) {
    if (error instanceof OperatorError || error instanceof LaurelError) process.stderr.write(`${error.message}\n`);
    else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  }
}
