import type { Logger } from 'pino';
import { limits } from '../shared/limits.js';
import { FailureLog } from '../logging/failure-log.js';
import pLimit from 'p-limit';
import type { Sweep } from './sweep.js';

/**
 * Sweeps the tenants round-robin, some each second: the cost of many idle tenants is bounded, and their due work is done some seconds later with the
 * same result. A tenant with much due work occupies one of several slots, and the others continue.
 */
export class Sweeper {
  private readonly sweep: Sweep;
  private readonly tenants: () => readonly number[];
  private readonly failures: FailureLog;
  private readonly limit = pLimit(limits.sweepTenantsAtOnce);
  private readonly working = new Map<number, Promise<void>>();
  /** The tenants that have a slot, and what is done concurrently with their sweep. */
  private readonly running = new Set<number>();
  private readonly due = new Map<number, Promise<void>>();
  private readonly prioritized = new Set<number>();
  private next = 0;
  private stopping = false;

  /** `tenants` returns the current tenants. */
  constructor(sweep: Sweep, tenants: () => readonly number[], log: Logger) {
    this.sweep = sweep;
    this.tenants = tenants;
    this.failures = new FailureLog(log, { failed: 'sweep failed, will retry', recovered: 'sweep recovered', level: 'warn' });
  }

  /** Starts the sweep of the next tenants. One whose sweep is still running keeps its slot. */
  sweepNext(): void {
    const tenants = this.tenants();
    const start = this.next < tenants.length ? this.next : 0;
    this.next = start + limits.sweepTenants;
    for (const tenant of [...this.prioritized, ...tenants.slice(start, this.next)]) this.start(tenant);
    this.prioritized.clear();
  }

  /** Sweeps a tenant, whose configuration changed, with the next tenants. */
  prioritize(tenant: number): void {
    this.prioritized.add(tenant);
  }

  /** Ends running sweeps after their current step. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.sweep.stop();
    await Promise.all([...this.working.values(), ...this.due.values()]);
  }

  /**
   * Moves the test clock of all tenants, as Sweep.advance does for one, for about limits.clockRequestMs. Returns the time that all have reached. The
   * first tenant rejects a time before its clock, before anything is changed.
   */
  async advance(first: number, toMs: number): Promise<number> {
    const deadline = Date.now() + limits.clockRequestMs;
    await this.sweep.checkForward(first, toMs);
    const tenants = [...new Set([first, ...this.tenants()])];
    const slots = pLimit(limits.sweepTenantsAtOnce);
    const reached = await Promise.all(tenants.map((tenant) => slots(() => this.sweep.advance(tenant, toMs, deadline))));
    return Math.min(...reached);
  }

  private start(tenant: number): void {
    if (this.running.has(tenant)) this.runDueConcurrently(tenant);
    if (this.working.has(tenant)) return;
    const work = this.limit(async () => {
      this.running.add(tenant);
      if (this.stopping) return;
      await this.sweep.run(tenant);
      this.failures.succeeded(tenant, { tenant });
    })
      .catch((error: unknown) => {
        this.warn(tenant, error);
      })
      .finally(() => {
        this.working.delete(tenant);
        this.running.delete(tenant);
      });
    this.working.set(tenant, work);
  }

  /** Activations can take minutes, and must not delay what is due at a local hour. */
  private runDueConcurrently(tenant: number): void {
    if (this.due.has(tenant)) return;
    const work = this.sweep
      .runDue(tenant)
      .catch((error: unknown) => {
        this.warn(tenant, error);
      })
      .finally(() => this.due.delete(tenant));
    this.due.set(tenant, work);
  }

  private warn(tenant: number, error: unknown): void {
    if (!this.stopping) this.failures.failed(tenant, error, { tenant });
  }
}
