import type pg from 'pg';
import type { Logger } from 'pino';
import { pruneAudit, type ServiceClock } from '../access/audit.js';
import { pruneApplicationKeys } from '../access/key-store.js';
import { pruneSessions } from '../access/sessions.js';
import { FailureLog } from '../logging/failure-log.js';
import { limits } from '../shared/limits.js';

export interface AccessRetentionOptions {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The clock of the audit log. */
  readonly auditClock: ServiceClock;
  /** How far the clock of the sessions is ahead of the process' clock. */
  readonly aheadMs?: (() => number) | undefined;
}

/** Prunes expired sessions of the dashboard and old entries of the audit log, every limits.accessPruneMs. Several processes may do it at once. */
export class AccessRetention {
  private readonly pool: pg.Pool;
  private readonly auditClock: ServiceClock;
  private readonly aheadMs: () => number;
  private readonly failures: FailureLog;
  private nextMs = -Infinity;
  private running: Promise<void> | undefined;
  private isStopping = false;

  constructor({ pool, log, auditClock, aheadMs = () => 0 }: AccessRetentionOptions) {
    this.pool = pool;
    this.auditClock = auditClock;
    this.aheadMs = aheadMs;
    this.failures = new FailureLog(log, {
      failed: 'pruning of sessions and audit log failed, will retry',
      recovered: 'pruning of sessions and audit log recovered',
      level: 'warn',
    });
  }

  /** Starts a run if one is due. After a failure, the next one is due at once. */
  runIfDue(): void {
    const nowMs = Date.now() + this.aheadMs();
    if (this.running || nowMs < this.nextMs) return;
    this.running = this.run(nowMs)
      .then(() => {
        this.nextMs = nowMs + limits.accessPruneMs;
        this.failures.succeeded(0);
      })
      .catch((error: unknown) => {
        this.failures.failed(0, error);
      })
      .finally(() => (this.running = undefined));
  }

  /** Ends a run after its current statement. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.running;
  }

  private async run(nowMs: number): Promise<void> {
    await this.untilNone(() => pruneSessions(this.pool, new Date(nowMs)));
    await this.untilNone(() => pruneApplicationKeys(this.pool, new Date(nowMs - limits.endedKeyRetentionMs)));
    const keptFrom = new Date((await this.auditClock()) + this.aheadMs() - limits.auditRetentionMs);
    await this.untilNone(() => pruneAudit(this.pool, keptFrom));
  }

  private async untilNone(prune: () => Promise<number>): Promise<void> {
    let pruned: number;
    do {
      if (this.isStopping) return;
      pruned = await prune();
    } while (pruned === limits.accessPruneRows);
  }
}
