import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import cliProgress from 'cli-progress';
import { defaultTenant, listTenants } from '../account/tenants.js';
import type { Base } from '../base.js';
import { loadConfig } from '../config/store.js';
import { aheadSentence } from '../engine/not-level.js';
import { OperatorError } from '../errors.js';
import { LeaseLost } from '../ledger/offsets.js';
import { limits } from '../limits.js';
import type { Difference } from '../restore/facts.js';
import { restoreTenant } from '../restore/restore.js';
import { verifyTenant } from '../restore/verify.js';
import type { Print } from './keys.js';

interface Named {
  readonly no: number;
  readonly name: string;
}

/** The tenant that is asked for by its id or its customer's, or all of them. Throws an OperatorError for an unknown one. */
async function tenantsFor(base: Base, asked: string | undefined): Promise<Named[]> {
  const all: Named[] = [{ no: defaultTenant, name: 'the default tenant' }];
  const known = await listTenants(base.pool, { limit: limits.maxTenants, skip: 0 });
  if (asked === undefined) return [...all, ...known.map(({ no, name }) => ({ no, name: `tenant ${name}` }))];
  const found = known.find(({ id, customerId }) => id === asked || customerId === asked);
  if (!found) throw new OperatorError(`There is no tenant ${asked}: it is named by its id or its customerId.`);
  return [{ no: found.no, name: `tenant ${found.name}` }];
}

/** Shows how far something is, how fast it goes and how long it will take. */
async function withProgress<T>(what: string, work: (onProgress: (done: number, all: number) => void) => Promise<T>): Promise<T> {
  const bar = new cliProgress.SingleBar(
    { format: `${what} {bar} {percentage}% | {value} of {total} users | {rate} a second | {eta_formatted} left`, stream: process.stderr },
    cliProgress.Presets.shades_classic,
  );
  const startedMs = performance.now();
  let first: number | undefined;
  try {
    return await work((done, all) => {
      if (first === undefined) bar.start(all, 0, { rate: '…' });
      first ??= 0;
      bar.update(done, { rate: Math.round((done * 1000) / Math.max(performance.now() - startedMs, 1)) });
    });
  } finally {
    bar.stop();
  }
}

export interface RestoreHow {
  readonly tenant?: string;
  /** Gives up what Redis has that a Postgres that was put back to an older state lacks. */
  readonly discard?: boolean;
}

/** `laurel restore`: brings partitions of Redis that lack what Postgres has level with it. Those that are level are left alone. */
export async function restore(base: Base, print: Print, how: RestoreHow): Promise<void> {
  await base.engine.loadLibrary();
  for (const named of await tenantsFor(base, how.tenant)) {
    if (await restoreOne(base, print, named, how)) continue;
    print(`A worker, or another laurel restore, is at work on ${named.name}: waiting for it.`);
    do await delay(limits.reconcileRetryMs);
    while (!(await restoreOne(base, print, named, how)));
  }
}

/** Returns false while somebody else restores the tenant. */
async function restoreOne(base: Base, print: Print, { no: tenant, name }: Named, { discard }: RestoreHow): Promise<boolean> {
  const { engine, pool, redis, clock } = base;
  const compared = await engine.compare(tenant);
  const { found, epoch } = compared;
  if (found === 'ahead' && discard !== true) throw new OperatorError(`${aheadSentence(compared)} Nothing was changed.`);
  if (found === 'level') {
    print(`Redis is level with Postgres for ${name}: nothing is to be restored.`);
    return true;
  }
  if (found === 'foreign') {
    throw new OperatorError(
      `This Redis belongs to another database (its epoch is ${epoch}): check REDIS_URL, REDIS_PREFIX and DATABASE_URL. Nothing was changed.`,
    );
  }
  const partition = engine.partition(tenant);
  try {
    const { users, resumed } = await withProgress(`Restoring ${name}`, (onProgress) =>
      restoreTenant({ tenant, partition, redis, pool, testClock: clock.settable, onProgress }),
    );
    await engine.open(tenant);
    print(
      `${users} users of ${name} are back${resumed ? ', with those of a restore that was cut off' : ''}: Redis is level with Postgres.`,
    );
    return true;
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    throw error;
  }
}

/** `laurel verify`: compares Redis with Postgres. Throws an OperatorError when they differ. */
export async function verify(base: Base, print: Print, how: { readonly tenant?: string; readonly json?: string }): Promise<void> {
  const { engine, pool, redis, clock, history } = base;
  const differences: (Difference & { readonly tenant: string })[] = [];
  for (const { no: tenant, name } of await tenantsFor(base, how.tenant)) {
    const { document } = await loadConfig(pool, tenant);
    const level = async (): Promise<void> => history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
    const options = { tenant, partition: engine.partition(tenant), redis, pool, document, level };
    const found = await withProgress(`Comparing ${name}`, (onProgress) => verifyTenant({ ...options, onProgress }));
    print(`${found.users} users of ${name}: ${found.differences.length} differences.`);
    for (const { what, redis: inRedis, postgres } of found.differences)
      print(`  ${what}: Redis says ${inRedis ?? 'nothing'}, Postgres ${postgres ?? 'nothing'}`);
    differences.push(...found.differences.map((difference) => ({ tenant: name, ...difference })));
  }
  if (how.json !== undefined) writeFileSync(how.json, `${JSON.stringify(differences, null, 2)}\n`);
  if (differences.length > 0) throw new OperatorError(`Redis and Postgres differ in ${differences.length} places.`);
}
