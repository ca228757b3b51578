import { newestVersions } from '../config/store/store.js';
import type { Sweeper } from '../jobs/sweeper.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { Listener } from '../redis/connection.js';
import { limits } from '../shared/limits.js';
import type { Context } from './context.js';

interface ChangesOptions {
  readonly sweeper: Sweeper;
  /** Called when this process has loaded the new configuration of a tenant. */
  readonly onRefreshed: (tenant: number) => void;
}

/**
 * Loads new configurations, tenants and keys as soon as Redis announces them. Correctness does not depend on the announcements: Redis refuses
 * calls under an older configuration, and `Account` polls.
 */
export async function watchChanges(context: Context, listener: Listener, { sweeper, onRefreshed }: ChangesOptions): Promise<void> {
  const { engine, account, pool, lifecycle } = context;
  const queue = new RetryQueue(context);
  const refresh = (tenant: number): void => {
    sweeper.prioritize(tenant);
    // The configuration of a tenant that this process has not served yet is loaded with its first request.
    if (!engine.holdsConfig(tenant)) return;
    queue.add(async () => {
      await engine.refreshConfig(tenant);
      onRefreshed(tenant);
    });
  };
  const refreshChanged = async (): Promise<void> => {
    const held = await engine.heldConfigs();
    const newest = await newestVersions(pool, [...held.keys()]);
    for (const [tenant, version] of newest) if (version !== held.get(tenant)) await engine.refreshConfig(tenant);
  };
  const onAnnouncement = (subject: string): void => {
    if (subject === 'account') account.receiveAnnouncement();
    else refresh(Number(subject));
  };
  // A subscriber misses what is announced while it is disconnected, so it checks everything after it reconnects.
  await listener.on('changes', onAnnouncement, () => {
    account.resync();
    queue.add(refreshChanged);
  });
  lifecycle.onStop('configuration changes', () => queue.stop());
  queue.add(refreshChanged);
}

/** Runs work in order, and retries what fails after limits.configRetryMs. */
class RetryQueue {
  private readonly context: Context;
  private readonly retries = new Set<NodeJS.Timeout>();
  private last = Promise.resolve();
  private isStopped = false;

  constructor(context: Context) {
    this.context = context;
  }

  add(work: () => Promise<unknown>): void {
    this.last = this.last
      .then(async () => {
        await work();
      })
      .catch((error: unknown) => {
        this.context.log[isStoreTrouble(error) ? 'debug' : 'warn']({ err: error }, 'configuration refresh failed, will retry');
        if (!this.isStopped) this.retry(work);
      });
  }

  private retry(work: () => Promise<unknown>): void {
    const retry = setTimeout(() => {
      this.retries.delete(retry);
      this.add(work);
    }, limits.configRetryMs);
    this.retries.add(retry);
  }

  /** Waits for the work in progress, and drops retries. */
  async stop(): Promise<void> {
    this.isStopped = true;
    for (const retry of this.retries) clearTimeout(retry);
    await this.last;
  }
}
