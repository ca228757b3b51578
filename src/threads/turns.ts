import { AsyncLocalStorage } from 'node:async_hooks';

/** For whom tasks run, and the time that they have taken in threads. */
export interface TurnOwner {
  /** The `no` of the tenant that a key is bound to; null for the operator's keys. */
  readonly tenant: number | null;
  usedMs: number;
}

const owners = new AsyncLocalStorage<TurnOwner>();

/** Runs work whose tasks, also those that it starts later, take turns as those of its owner. Without an owner, they are the service's own. */
export const inTurnsOf = <T>(owner: TurnOwner, work: () => T): T => owners.run(owner, work);

/** Adds the time of a task to its owner. */
export function noteTaskMs(ms: number): void {
  const owner = owners.getStore();
  if (owner) owner.usedMs += ms;
}

/**
 * One task at a time: first those of the operator and of the service itself, then one of each tenant in turn. So a task waits for the one that runs,
 * and for at most one of each other tenant, however many a tenant asks for and with however many keys.
 */
export class Turns {
  private readonly waiting = new Map<number | null, (() => void)[]>();
  private isBusy = false;

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.isBusy) await this.turn(owners.getStore()?.tenant ?? null);
    this.isBusy = true;
    try {
      return await task();
    } finally {
      this.pass();
    }
  }

  private turn(tenant: number | null): Promise<void> {
    return new Promise((begin) => {
      const ofTenant = this.waiting.get(tenant);
      if (ofTenant) ofTenant.push(begin);
      else this.waiting.set(tenant, [begin]);
    });
  }

  /** Begins the next task. The thread stays busy in between, so that no new task gets ahead. */
  private pass(): void {
    const tenant = this.waiting.has(null) ? null : this.waiting.keys().next().value;
    const [begin, ...others] = (tenant !== undefined && this.waiting.get(tenant)) || [];
    if (tenant === undefined || !begin) {
      this.isBusy = false;
      return;
    }
    this.waiting.delete(tenant);
    if (others.length > 0) this.waiting.set(tenant, others);
    begin();
  }
}
