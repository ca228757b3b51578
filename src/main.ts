import { Command } from 'commander';
import pino from 'pino';
import { Base, describeApplied, readConfigText, type BaseOptions } from './base.js';
import { OperatorError } from './errors.js';
import { createLog } from './observe/log.js';
import { startService, type Roles, type Service } from './service.js';
import { parseSettings } from './settings.js';
import { createKey, listKeys, revokeKey, type Print } from './cli/keys.js';
import { restore, verify } from './cli/restore.js';
import { welcome } from './cli/welcome.js';

function options(): BaseOptions {
  const settings = parseSettings(process.env);
  return {
    settings,
    log: createLog(settings.logLevel, pino.destination({ dest: 2, sync: true })),
    print: (line) => {
      process.stdout.write(`${line}\n`);
    },
  };
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
  const base = options();
  const stopped = stopSignal();
  const starting = startService(base, roles);
  // A signal during the start stops what has been started as soon as the start is through.
  const service: Service = await starting;
  for (const line of welcome(service, base.settings)) base.print(line);
  await stopped;
  base.print('Stopping: answering what has come, then writing the ledger out.');
  await service.stop();
  base.print('Stopped.');
}

async function apply(file: string, how: { prune?: boolean; dryRun?: boolean; tenant?: string }): Promise<void> {
  const dryRun = how.dryRun === true;
  const base = await Base.start(options());
  try {
    const applied = await base.apply(readConfigText(file), { prune: how.prune === true, dryRun, tenant: how.tenant });
    for (const line of describeApplied(file, applied)) process.stdout.write(`${line}\n`);
    if (dryRun) process.stdout.write('  Nothing was changed: this was a dry run.\n');
  } finally {
    await base.stop();
  }
}

/** Does something with the stores, connected for it. */
async function withBase(work: (base: Base, print: Print) => Promise<void>): Promise<void> {
  const given = options();
  const base = await Base.start(given);
  try {
    await work(base, given.print);
  } finally {
    await base.stop();
  }
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
    .action((how: { tenant?: string; discard?: boolean }) => withBase((base, print) => restore(base, print, how)));
  laurel
    .command('verify')
    .description('compare Redis with Postgres, field by field, also while events come in')
    .option('--tenant <tenant>', 'only this tenant, by its id or customerId')
    .option('--json <file>', 'write the differences to a file')
    .action((how: { tenant?: string; json?: string }) => withBase((base, print) => verify(base, print, how)));
  const keys = laurel.command('keys').description('admin keys, for an account whose keys are lost too');
  keys
    .command('list', { isDefault: true })
    .description('list the admin keys')
    .action(() => withBase(listKeys));
  keys
    .command('create')
    .argument('[name]', 'what people call it', '')
    .description('create an admin key; it is printed this once')
    .action((name: string) => withBase((base, print) => createKey(base, print, name)));
  keys
    .command('revoke')
    .argument('<prefix>', 'the part of the key before its dot')
    .description('revoke an admin key in every process')
    .action((prefix: string) => withBase((base, print) => revokeKey(base, print, prefix)));
  return laurel;
}

/** The `laurel` command. `args` are its arguments without the program's own name. Ends the process when it is done. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    await program().parseAsync([...args], { from: 'user' });
    process.exit(0);
  } catch (error) {
    if (error instanceof OperatorError) process.stderr.write(`${error.message}\n`);
    else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  }
}
