import { openSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import cliProgress from 'cli-progress';
import { defaultTenant, listTenants } from '../../access/tenants.js';
import type { Context } from '../context.js';
import { aheadSentence } from '../../engine/failures.js';
import { OperatorError } from '../../shared/errors.js';
import { LeaseLost } from '../../ledger/offsets.js';
import { limits } from '../../shared/limits.js';
import { messageOf } from '../../redis/connection.js';
import type { Difference } from '../../restore/differences.js';
import { claimPurposeOf, restoreTenant, RestoreFenced } from '../../restore/restore.js';
import { verifyTenant } from '../../restore/verify.js';
import type { Print } from './keys.js';

interface NamedTenant {
  readonly no: number;
  readonly name: string;
}

/** The tenant that is asked for by its id or its customer's, or all of them. Throws an OperatorError for an unknown one. */
async function tenantsFor(context: Context, asked: string | undefined): Promise<NamedTenant[]> {
  const all: NamedTenant[] = [{ no: defaultTenant, name: 'the default tenant' }];
  const known = await listTenants(context.pool, { limit: limits.maxTenants, skip: 0 });
  if (asked === undefined) return [...all, ...known.map(({ no, name }) => ({ no, name: `tenant ${name}` }))];
  const found = known.find(({ id, customerId }) => id === asked || customerId === asked);
  if (!found) throw new OperatorError(`There is no tenant ${asked}: it is named by its id or its customerId.`);
  return [{ no: found.no, name: `tenant ${found.name}` }];
}

/** Shows how far something is, how fast it goes and how long it will take: with a bar on a terminal, else with a line every few seconds. */
async function withProgress<T>(what: string, work: (onProgress: (done: number, all: number) => void) => Promise<T>): Promise<T> {
  const stream = process.stderr;
  const figures = '{percentage}%  |  {value} of {total} users  |  {rate} a second  |  {eta_formatted} left';
  const bar = new cliProgress.SingleBar(
    {
      ...{ stream, format: stream.isTTY ? `${what} {bar} ${figures}` : `${what}: ${figures}` },
      ...{ noTTYOutput: true, notTTYSchedule: limits.progressLineMs, emptyOnZero: true },
    },
    cliProgress.Presets.shades_classic,
  );
  const startedMs = performance.now();
  // The users have not been counted yet, which takes a while where there are many.
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
  /** Gives up what Redis has that a Postgres that was put back to an older state lacks. */
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
  for (let said = ''; ;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof RestoreFenced) || performance.now() > giveUpMs) throw error;
      if (said !== error.message) print(`${error.message} Waiting for up to ${limits.redisStartWaitMs / 1000} seconds.`);
      said = error.message;
    }
    await delay(limits.reconcileRetryMs);
  }
}

async function restoreWhenFree(context: Context, print: Print, named: NamedTenant, how: RestoreCommand): Promise<void> {
  how.signal?.throwIfAborted();
  if (await restoreOne(context, print, named, how)) return;
  print(`A worker, or another laurel restore, is at work on ${named.name}: waiting for it.`);
  do {
    await delay(limits.reconcileRetryMs);
    how.signal?.throwIfAborted();
  } while (!(await restoreOne(context, print, named, how)));
}

const inSyncSentence = (name: string): string => `Redis is in sync with Postgres for ${name}: nothing to restore.`;

/** Returns false while another restore is at work on the tenant. */
async function restoreOne(
  context: Context,
  print: Print,
  { no: tenant, name }: NamedTenant,
  { discard, signal }: RestoreCommand,
): Promise<boolean> {
  const { engine, pool, redis, clock, active } = context;
  const compared = await engine.compare(tenant);
  const { found, epoch, objection } = compared;
  if (found === 'fenced' && objection) throw new RestoreFenced(objection);
  if (found === 'ahead' && discard !== true) throw new OperatorError(`${aheadSentence(compared)} Nothing was changed.`);
  if (found === 'in_sync') {
    print(inSyncSentence(name));
    return true;
  }
  if (found === 'foreign') {
    throw new OperatorError(
      `This Redis belongs to another database (its epoch is ${epoch}): check REDIS_URL, REDIS_PREFIX and DATABASE_URL. Nothing was changed.`,
    );
  }
  const partition = engine.partition(tenant);
  let back = 0;
  try {
    const purpose = { ...claimPurposeOf(found), isExplicit: true };
    const objection = await active.claim(purpose);
    if (objection) throw new RestoreFenced(objection);
    const restored = await withProgress(`Restoring ${name}`, (onProgress) =>
      restoreTenant({
        ...{ tenant, partition, redis, pool, active, purpose, testClock: clock.settable, ...(signal ? { signal } : {}) },
        onProgress: (restored, all) => {
          onProgress((back = restored), all);
        },
      }),
    );
    await engine.open(tenant);
    if (!restored) {
      print(inSyncSentence(name));
      return true;
    }
    const { users, resumed, saved } = restored;
    if (saved > 0) print(`${saved} ledger entries that Postgres did not have are saved as dead letters: docs/operations/dead-letters.md.`);
    print(
      `${users} users of ${name} are restored${resumed ? ', including those of an interrupted restore' : ''}: Redis is in sync with Postgres.`,
    );
    return true;
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    if (signal?.aborted !== true) throw error;
    throw new OperatorError(
      `Interrupted: ${back} users of ${name} are back, and nothing is served for it until all are. ` +
        'Run laurel restore again to go on from there; a worker with AUTO_RESTORE=1 goes on by itself.',
    );
  }
}

/** Opens the file of a report, emptied. Throws an OperatorError when it can't be written. */
export function openReport(file: string): number {
  try {
    return openSync(file, 'w');
  } catch (error) {
    throw new OperatorError(`The file ${file} can't be written: ${messageOf(error)}.`, { cause: error });
  }
}

export interface VerifyCommand {
  readonly tenant?: string | undefined;
  /** An open file that takes the differences as JSON. */
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
    ...(differences.length > 0 ? [`Redis and Postgres differ in ${differences.length} places.`] : []),
    ...(outOfSync > 0 ? [`Redis is out of sync for ${outOfSync} tenants: their users were not compared.`] : []),
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
  const options = { tenant, partition: engine.partition(tenant), redis, pool, waitForLedger };
  const found = await withProgress(`Comparing ${name}`, (onProgress) => verifyTenant({ ...options, onProgress }));
  print(`${found.users} users of ${name}: ${found.differences.length} differences.`);
  for (const { what, redis: inRedis, postgres } of found.differences)
    print(`  ${what}: Redis says ${inRedis ?? 'nothing'}, Postgres ${postgres ?? 'nothing'}`);
  return found.differences.map((difference) => ({ tenant: name, ...difference }));
}
