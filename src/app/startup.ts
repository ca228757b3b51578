import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensureAdminKey } from '../access/key-store.js';
import { defaultTenant, noteTestClock, savedTestClock } from '../access/tenants.js';
import { startAuthor } from '../config/store/author.js';
import { objectionMessage, type Objection } from '../ledger/active-redis-rules.js';
import { keyNames } from '../redis/contract.js';
import type { Reconciler } from '../restore/reconcile.js';
import { LaurelError, OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { StoreError } from '../shared/store-problems.js';
import { applyConfig, describeApplied, readConfigText } from './apply.js';
import type { Context } from './context.js';

/** The configuration of a new account in the built-in Postgres. */
export const sampleConfig = fileURLToPath(new URL('../../examples/study-app.yaml', import.meta.url));

/** Makes sure that there is an admin key. Returns a key that was generated. */
export async function ensureKey(context: Context): Promise<string | undefined> {
  const { pool, account, settings, print } = context;
  await refuseTimeTravel(context);
  await noteTestClock(pool, settings.testClock);
  const { made, isChanged, isRevoked, others } = await ensureAdminKey(pool, settings.adminApiKey);
  if (isRevoked) print('ADMIN_API_KEY has been revoked: requests with it are refused.');
  if (others.length > 0) {
    print(`ADMIN_API_KEY is new. Earlier admin keys are still valid: ${others.join(', ')}. To revoke one: laurel keys revoke PREFIX.`);
  }
  if (isChanged) await account.announce();
  return made;
}

/**
 * Refuses a built-in Postgres that no service has used: a command in another folder, or without the settings of the service, would change that one
 * in place of the service's. Throws an OperatorError.
 */
export async function refuseUnused({ pool, settings: { databaseUrl, dataDir } }: Context): Promise<void> {
  if (databaseUrl !== null || (await savedTestClock(pool)).isOn !== undefined) return;
  throw new OperatorError(
    `No service has used the built-in stores in ${resolve(dataDir)} yet, and this command would change them. Set REDIS_URL and DATABASE_URL to the ` +
      'stores of the service, or DATA_DIR to its data folder. With --new, apply and keys create use new stores.',
  );
}

/**
 * Refuses to go back in time: to start without TEST_CLOCK after the services ran on a test clock that is ahead of Redis' clock. An operator who wants
 * that anyway says so in Postgres (docs/rules/time.md).
 */
async function refuseTimeTravel({ pool, redis, engine, settings }: Context): Promise<void> {
  if (settings.testClock) return;
  const saved = await savedTestClock(pool);
  if (saved.isOn !== true) return;
  const inRedis = await redis.get(engine.partition(defaultTenant) + keyNames.clock);
  // Redis may have lost its data.
  const set = Math.max(Number(inRedis), saved.atMs);
  if (set <= Date.now()) return;
  throw new OperatorError(
    `The services ran on the test clock, which is at ${new Date(set).toISOString()}. Without TEST_CLOCK=1, time would go back to now. ` +
      'Set TEST_CLOCK=1. To go back anyway, see docs/rules/time.md.',
  );
}

/** Loads keys and tenants, and keeps them up to date. */
export async function startAccount({ account, lifecycle }: Context): Promise<void> {
  await lifecycle.start('keys and tenants', account.start(), () => account.stop());
}

/**
 * Refuses to start while another Redis is active for this Postgres. Waits `limits.redisStartWaitMs` for one that is silent, or was replaced
 * at the same address.
 */
export async function refuseFenced({ engine }: Context): Promise<void> {
  const giveUpMs = performance.now() + limits.redisStartWaitMs;
  let first: Objection | undefined;
  while (true) {
    const objection = await engine.compare(defaultTenant).then(
      (compared) => compared.objection,
      () => undefined,
    );
    if (!objection) return;
    first ??= objection;
    if (performance.now() > giveUpMs || isFinal(first, objection)) throw new OperatorError(objectionMessage(objection));
    await delay(limits.redisStartLookMs);
  }
}

/** Whether waiting can't help: the data has moved, or a process at another address still confirms the other Redis. */
function isFinal(first: Objection, { reason, confirmedBy, own, other }: Objection): boolean {
  if (reason === 'superseded') return true;
  const isElsewhere = other.address !== own.address || other.prefix !== own.prefix;
  return (
    isElsewhere && confirmedBy !== undefined && first.confirmedBy !== undefined && confirmedBy.confirmedAt > first.confirmedBy.confirmedAt
  );
}

/**
 * Compares Redis with Postgres; returns whether they are in sync. A process starts even if they are not: it reports why, responds with 503,
 * and serves as soon as the right Redis is back or a worker has restored it. Throws what waiting does not solve (shared/store-problems.ts,
 * `endsStart`). Partitions of other tenants are compared when first used.
 */
export async function openDefaultTenant({ engine, log, print }: Context, { isQuiet = false } = {}): Promise<boolean> {
  try {
    await engine.open(defaultTenant);
    return true;
  } catch (error) {
    if (!(error instanceof LaurelError) || (error instanceof StoreError && error.problem.endsStart)) throw error;
    log[isQuiet ? 'debug' : 'error'](error.message);
    print(error.message);
    return false;
  }
}

/** Loads and activates the newest configuration of the default tenant. */
export async function activateNewest({ engine }: Context): Promise<void> {
  await engine.activate(await engine.refreshConfig(defaultTenant));
}

/** Applies CONFIG if it is set, or the sample configuration to a new account in the built-in Postgres. Both are for the default tenant. */
export async function applyAtStart(context: Context): Promise<void> {
  const { engine, settings, print } = context;
  const { version } = await engine.refreshConfig(defaultTenant);
  // Someone who tries Laurel out gets the sample; an operator's own database never does.
  const file = settings.config ?? (version === 0 && settings.databaseUrl === null ? sampleConfig : undefined);
  if (file === undefined) {
    await activateNewest(context);
    return;
  }
  const author = startAuthor(settings.config === null ? 'sample configuration' : 'CONFIG');
  const applied = await applyConfig(context, readConfigText(file), { prune: false, dryRun: false, author });
  if (applied.saved) for (const line of describeApplied(file, applied)) print(line);
}

/** Applies the configuration of the start once the worker has restored Redis, and then calls `onApplied`. */
export function applyAfterResync(context: Context, reconciler: Reconciler, onApplied: () => void): void {
  const applying = reconciler
    .resync(defaultTenant)
    .then(() => context.engine.open(defaultTenant))
    .then(() => applyAtStart(context))
    .then(onApplied)
    .catch((error: unknown) => {
      context.log.error({ err: error }, 'configuration file not applied, Redis is still out of sync: use laurel apply');
    });
  context.lifecycle.onStop('configuration of the start', async () => {
    await reconciler.stop();
    await applying;
  });
}
