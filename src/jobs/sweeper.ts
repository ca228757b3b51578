import type pg from 'pg';
import type { Logger } from 'pino';
import { saveTestClock } from '../access/tenants.js';
import type { Clock } from '../engine/clock.js';
import { clockBackward } from '../engine/refusals.js';
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
   * Moves the test clock of all tenants, as Sweep.advance does for one, for about limits.clockRequestMs, and saves and returns the time that all have
   * reached. Throws a 422 for a time before the clock of any of them, before anything is changed.
   */
  async advance({ pool, clock }: { readonly pool: pg.Pool; readonly clock: Clock }, toMs: number): Promise<number> {
    const deadline = Date.now() + limits.clockRequestMs;
    const forEach = <T>(tenants: readonly number[], work: (tenant: number) => Promise<T>): Promise<T[]> => {
      const slots = pLimit(limits.sweepTenantsAtOnce);
      return Promise.all(tenants.map((tenant) => slots(() => work(tenant))));
    };
    const nows = await forEach(this.tenants(), (tenant) => clock.now(tenant));
    const latest = Math.max(...nows);
    if (toMs < latest) throw clockBackward(latest);
    await saveTestClock(pool, Math.min(...nows));
    const reached = new Map<number, number>();
    // Tenants that are created during this loop begin at the time that was saved last.
    for (let left = this.tenants(); left.length > 0; left = this.tenants().filter((tenant) => !reached.has(tenant))) {
      await forEach(left, async (tenant) => reached.set(tenant, await this.sweep.advance(tenant, toMs, deadline)));
      await saveTestClock(pool, Math.min(...reached.values()));
    }
    return Math.min(...reached.values());
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
