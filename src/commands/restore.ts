import { openSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import cliProgress from 'cli-progress';
import { defaultTenant, listTenants } from '../access/tenants.js';
import type { Context } from '../app/context.js';
import { aheadSentence } from '../engine/sync.js';
import { OperatorError } from '../shared/errors.js';
import { keysExpiredUpTo } from '../jobs/key-retention.js';
import { LeaseLost } from '../ledger/offsets.js';
import { Announcer } from '../live/announcer.js';
import { counted } from '../shared/counted.js';
import { limits } from '../shared/limits.js';
import { redisProblems, sentenceOf } from '../shared/store-problems.js';
import { messageOf } from '../redis/connection.js';
import type { Difference } from '../restore/differences.js';
import { claimPurposeOf, restoreTenant, RestoreFenced, type Restored, type RestoreOptions } from '../restore/restore.js';
import { verifyTenant } from '../restore/verify.js';
import type { Print } from '../app/output.js';

interface NamedTenant {
  readonly no: number;
  readonly name: string;
}

/** The tenant with an id or customerId, or all tenants. Throws an OperatorError for an unknown one. */
async function tenantsFor(context: Context, requested: string | undefined): Promise<NamedTenant[]> {
  const all: NamedTenant[] = [{ no: defaultTenant, name: 'the default tenant' }];
  const known = await listTenants(context.pool, { limit: limits.maxTenants, skip: 0 });
  if (requested === undefined) return [...all, ...known.map(({ no, name }) => ({ no, name: `tenant ${name}` }))];
  const found = known.find(({ id, customerId }) => id === requested || customerId === requested);
  if (!found) throw new OperatorError(`There is no tenant ${requested}: use its id or its customerId.`);
  return [{ no: found.no, name: `tenant ${found.name}` }];
}

/** Shows progress, rate and remaining time: as a bar on a terminal, else as a line every few seconds. */
async function withProgress<T>(what: string, work: (onProgress: (done: number, all: number) => void) => Promise<T>): Promise<T> {
  const stream = process.stderr;
  const figures = '{percentage}%  |  {value} of {total} users  |  {rate} a second  |  {eta_formatted} left';
  const bar = new cliProgress.SingleBar(
    {
      stream,
      format: stream.isTTY ? `${what} {bar} ${figures}` : `${what}: ${figures}`,
      noTTYOutput: true,
      notTTYSchedule: limits.progressLineMs,
      emptyOnZero: true,
    },
    cliProgress.Presets.shades_classic,
  );
  const startedMs = performance.now();
  // Counting many users takes a while, so the total is not known yet.
  bar.start(0, 0, { rate: '…' });
  try {
    return await work((done, all) => {
      bar.setTotal(all);
      bar.update(done, { rate: Math.round((done * 1000) / Math.max(performance.now() - startedMs, 1)) });
    });
  } finally {
    bar.stop();
  }
}

export interface RestoreCommand {
  readonly tenant?: string;
  /** Discards the data of Redis that a Postgres that was reset to an older state lacks. */
  readonly discard?: boolean;
  /** Aborted by Ctrl-C. */
  readonly signal?: AbortSignal;
}

/** `laurel restore`: restores the partitions of Redis that lack data that Postgres has. Partitions in sync are left alone. */
export async function restore(context: Context, print: Print, how: RestoreCommand): Promise<void> {
  await context.engine.loadLibrary();
  for (const named of await tenantsFor(context, how.tenant)) {
    await untilUnfenced(() => restoreWhenFree(context, print, named, how), print);
  }
}

/** Waits while another Redis may still be active. Throws the RestoreFenced when it stays so. */
async function untilUnfenced(work: () => Promise<void>, print: Print): Promise<void> {
  const giveUpMs = performance.now() + limits.redisStartWaitMs;
  let printed = '';
  while (true) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof RestoreFenced) || performance.now() > giveUpMs) throw error;
      if (printed !== error.message) print(`${error.message} Waiting for up to ${limits.redisStartWaitMs / 1000} seconds.`);
      printed = error.message;
    }
    await delay(limits.reconcileRetryMs);
  }
}

async function restoreWhenFree(context: Context, print: Print, named: NamedTenant, how: RestoreCommand): Promise<void> {
  how.signal?.throwIfAborted();
  if (await restoreOne(context, print, named, how)) return;
  print(`A worker, or another laurel restore, is restoring ${named.name}: waiting for it.`);
  do {
    await delay(limits.reconcileRetryMs);
    how.signal?.throwIfAborted();
  } while (!(await restoreOne(context, print, named, how)));
}

const inSyncSentence = (name: string): string => `Redis is in sync with Postgres for ${name}: nothing to restore.`;

/** Returns false while another restore of the tenant is running. */
async function restoreOne(context: Context, print: Print, named: NamedTenant, how: RestoreCommand): Promise<boolean> {
  const compared = await context.engine.compare(named.no);
  const { found, epoch, objection } = compared;
  if (found === 'fenced' && objection) throw new RestoreFenced(objection);
  if (found === 'ahead' && how.discard !== true) throw new OperatorError(`${aheadSentence(compared)} Nothing was changed.`);
  if (found === 'in_sync') {
    print(inSyncSentence(named.name));
    return true;
  }
  if (found === 'foreign') {
    throw new OperatorError(sentenceOf(redisProblems.foreign, `its epoch is ${epoch}, Postgres expects ${compared.offset.epoch}`));
  }
  const purpose = { ...claimPurposeOf(found), isExplicit: true };
  let count = 0;
  try {
    const claimObjection = await context.active.claim(purpose);
    if (claimObjection) throw new RestoreFenced(claimObjection);
    const restored = await withProgress(`Restoring ${named.name}`, (onProgress) =>
      restoreTenant({
        ...optionsOf(context, named, how),
        purpose,
        isGivenUp: found === 'ahead',
        onProgress: (done, all) => {
          count = done;
          onProgress(done, all);
        },
      }),
    );
    await openRestored(context, named.no);
    new Announcer(context.redis, (no) => context.engine.partition(no)).announceAll(named.no);
    printRestored(print, named, restored);
    if (restored) await noteRestored(context, named, restored);
    return true;
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    if (how.signal?.aborted !== true) throw error;
    throw new OperatorError(
      `Interrupted: ${counted(count, 'user')} of ${named.name} ${count === 1 ? 'is' : 'are'} restored, and it is not served until all are. ` +
        'Run laurel restore again to resume; a worker with AUTO_RESTORE=1 resumes by itself.',
    );
  }
}

/** Opens a restored partition. A worker that has noticed the loss too holds it closed until it finds that there is nothing left to restore. */
async function openRestored({ engine }: Context, tenant: number): Promise<void> {
  while ((await engine.compare(tenant)).offset.isRestoring) await delay(limits.reconcileRetryMs);
  await engine.open(tenant);
}

const optionsOf = (
  { engine, redis, pool, active }: Context,
  { no: tenant }: NamedTenant,
  { signal }: RestoreCommand,
): Omit<RestoreOptions, 'purpose'> => ({
  tenant,
  partition: engine.partition(tenant),
  redis,
  pool,
  active,
  ...(signal ? { signal } : {}),
});

const noteRestored = ({ audit }: Context, { no }: NamedTenant, { users }: Restored): Promise<void> =>
  audit.note({ tenant: no, keyId: null, via: 'command', operation: 'restore', summary: `${counted(users, 'user')} restored` });

function printRestored(print: Print, { name }: NamedTenant, restored: Restored | undefined): void {
  if (!restored) {
    print(inSyncSentence(name));
    return;
  }
  const { users, resumed, saved } = restored;
  if (saved > 0)
    print(
      `${counted(saved, 'ledger entry', 'ledger entries')} that Postgres did not have ${saved === 1 ? 'is' : 'are'} saved as dead letters: docs/operations/dead-letters.md.`,
    );
  print(
    `${counted(users, 'user')} of ${name} ${users === 1 ? 'is' : 'are'} restored${resumed ? ', including those of an interrupted restore' : ''}: Redis is in sync with Postgres.`,
  );
}

/** Opens and empties a report file. Throws an OperatorError when it can't be written. */
export function openReport(file: string): number {
  try {
    return openSync(file, 'w');
  } catch (error) {
    throw new OperatorError(`The file ${file} can't be written: ${messageOf(error)}.`, { cause: error });
  }
}

export interface VerifyCommand {
  readonly tenant?: string | undefined;
  /** The open file that the differences are written to as JSON. */
  readonly report?: number | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal?: AbortSignal;
}

type Found = Difference & { readonly tenant: string };

/** `laurel verify`: compares Redis with Postgres. Throws an OperatorError when they differ, or could not be compared. */
export async function verify(context: Context, print: Print, how: VerifyCommand): Promise<void> {
  const differences: Found[] = [];
  let outOfSync = 0;
  for (const named of await tenantsFor(context, how.tenant)) {
    const found = await verifyOne(context, print, named, how);
    if (found) differences.push(...found);
    else outOfSync += 1;
  }
  if (how.report !== undefined) writeFileSync(how.report, `${JSON.stringify(differences, null, 2)}\n`);
  const problems = [
    ...(differences.length > 0 ? [`Redis and Postgres differ in ${counted(differences.length, 'place')}.`] : []),
    ...(outOfSync > 0 ? [`Redis is out of sync for ${counted(outOfSync, 'tenant')}: their users were not compared.`] : []),
  ];
  if (problems.length > 0) throw new OperatorError(problems.join('\n'));
}

/** Returns undefined for a tenant whose Redis is out of sync. */
async function verifyOne(
  context: Context,
  print: Print,
  { no: tenant, name }: NamedTenant,
  { signal }: VerifyCommand,
): Promise<Found[] | undefined> {
  const { engine, pool, redis, clock, history } = context;
  const problem = await engine.outOfSync(tenant);
  if (problem) {
    print(`${name.charAt(0).toUpperCase()}${name.slice(1)} is out of sync. ${problem.message}`);
    return undefined;
  }
  const waitForLedger = async (): Promise<void> => {
    signal?.throwIfAborted();
    await history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  };
  const options = {
    ...{ tenant, partition: engine.partition(tenant), redis, pool, waitForLedger },
    keysExpiredUpTo: async () => keysExpiredUpTo(await engine.config(tenant), await clock.now(tenant)),
  };
  const found = await withProgress(`Comparing ${name}`, (onProgress) => verifyTenant({ ...options, onProgress }));
  print(`${counted(found.users, 'user')} of ${name}: ${counted(found.differences.length, 'difference')}.`);
  for (const { what, redis: inRedis, postgres } of found.differences)
    print(`  ${what}: Redis has ${inRedis ?? 'nothing'}, Postgres ${postgres ?? 'nothing'}`);
  return found.differences.map((difference) => ({ tenant: name, ...difference }));
}
