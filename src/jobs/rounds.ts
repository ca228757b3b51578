import type { Logger } from 'pino';
import { limits } from '../shared/limits.js';
import { FailureLog } from '../logging/failure-log.js';
import pLimit from 'p-limit';
import type { Sweep } from './sweep.js';

/**
 * Sweeps all tenants, some of them each second, in turn: what many idle tenants cost is bounded, and what is due to them is done some seconds
 * later, with the same result. A tenant for which much is to be done takes one of several places, and the others go on.
 */
export class Rounds {
  private readonly sweep: Sweep;
  private readonly tenants: () => readonly number[];
  private readonly failures: FailureLog;
  private readonly limit = pLimit(limits.sweepTenantsAtOnce);
  private readonly working = new Map<number, Promise<void>>();
  /** Those of them that have a place, and what settles their users beside the longer work. */
  private readonly begun = new Set<number>();
  private readonly settling = new Map<number, Promise<void>>();
  private readonly first = new Set<number>();
  private next = 0;
  private stopping = false;

  /** `tenants` are those that there are at the moment. */
  constructor(sweep: Sweep, tenants: () => readonly number[], log: Logger) {
    this.sweep = sweep;
    this.tenants = tenants;
    this.failures = new FailureLog(log, { failed: 'what is due could not be done yet', over: 'what is due is done again', level: 'warn' });
  }

  /** Begins with the tenants whose turn it is. One that is still being worked on keeps its place. */
  begin(): void {
    const tenants = this.tenants();
    const start = this.next < tenants.length ? this.next : 0;
    this.next = start + limits.sweepTenants;
    for (const tenant of [...this.first, ...tenants.slice(start, this.next)]) this.start(tenant);
    this.first.clear();
  }

  /** Something has been changed for a tenant: it comes with the next ones, out of turn. */
  soon(tenant: number): void {
    this.first.add(tenant);
  }

  /** Returns when what is being done has come to the end of a step. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.sweep.stop();
    await Promise.all([...this.working.values(), ...this.settling.values()]);
  }

  /** Moves the test clock of all tenants to a moment, as Sweep.advance does for one. */
  async advance(first: number, toMs: number): Promise<number> {
    // The first refuses a clock that would go backward, before anything is changed.
    const now = await this.sweep.advance(first, toMs);
    for (const tenant of this.tenants()) if (tenant !== first) await this.sweep.advance(tenant, toMs);
    return now;
  }

  private start(tenant: number): void {
    if (this.begun.has(tenant)) this.settleBeside(tenant);
    if (this.working.has(tenant)) return;
    const work = this.limit(async () => {
      this.begun.add(tenant);
      if (this.stopping) return;
      await this.sweep.run(tenant);
      this.failures.succeeded(tenant, { tenant });
    })
      .catch((error: unknown) => {
        this.warn(tenant, error);
      })
      .finally(() => {
        this.working.delete(tenant);
        this.begun.delete(tenant);
      });
    this.working.set(tenant, work);
  }

  /** What has become active can take minutes to fill, and midnight does not wait for that. */
  private settleBeside(tenant: number): void {
    if (this.settling.has(tenant)) return;
    const work = this.sweep
      .settle(tenant)
      .then(() => undefined)
      .catch((error: unknown) => {
        this.warn(tenant, error);
      })
      .finally(() => this.settling.delete(tenant));
    this.settling.set(tenant, work);
  }

  private warn(tenant: number, error: unknown): void {
    if (!this.stopping) this.failures.failed(tenant, error, { tenant });
  }
}
