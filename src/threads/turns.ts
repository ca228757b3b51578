import { AsyncLocalStorage } from 'node:async_hooks';

/** For whom tasks run, and the time that they have taken in threads. */
export interface TurnOwner {
  /** The `no` of the tenant that a key is bound to; null for the operator's keys. */
  readonly tenant: number | null;
  usedMs: number;
}

const owners = new AsyncLocalStorage<TurnOwner>();
/** Pieces of work that run with an owner. */
let running = 0;

/**
 * Runs work whose tasks take turns as those of its owner. Tasks without an owner are the service's own, as are those that work starts after its end.
 * While Node.js tracks owners, each promise of the process costs two to three times as much (Node.js 20), so it tracks them only while such work runs.
 */
export async function inTurnsOf<T>(owner: TurnOwner, work: () => Promise<T>): Promise<T> {
  running += 1;
  try {
    return await owners.run(owner, work);
  } finally {
    running -= 1;
    if (running === 0) owners.disable();
  }
}

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
