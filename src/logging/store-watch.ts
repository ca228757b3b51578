import type { Logger } from 'pino';
import { LaurelError, type NotReadyReason } from '../shared/errors.js';
import { postgresFailure } from '../postgres/failure.js';
import { messageOf } from '../redis/connection.js';
import { redisFailure } from '../redis/failure.js';

type Store = 'redis' | 'postgres';

/** Logs once when a store becomes unavailable to this process and once when it is available again, however many connections and callers report it. */
export class StoreWatch {
  private readonly log: Logger;
  private readonly store: Store;
  private sinceMs: number | undefined;
  private reason: NotReadyReason | undefined;

  constructor(log: Logger, store: Store) {
    this.log = log;
    this.store = store;
  }

  failed(error: unknown): void {
    const known = this.store === 'redis' ? redisFailure(error) : postgresFailure(error);
    if (!(known instanceof LaurelError) || !known.reason.startsWith(this.store)) return;
    // A broken connection may then be refused at login: that cause is worth a second line, a return to `away` is not.
    if (this.sinceMs !== undefined && (known.reason === this.reason || known.reason.endsWith('_away'))) return;
    this.sinceMs ??= performance.now();
    this.reason = known.reason;
    const cause = known.cause === undefined ? known : known.cause;
    this.log.warn({ store: this.store, reason: known.reason, error: messageOf(cause) }, 'store unavailable');
  }

  succeeded(): void {
    if (this.sinceMs === undefined) return;
    this.log.info({ store: this.store, seconds: Math.round((performance.now() - this.sinceMs) / 100) / 10 }, 'store available again');
    this.sinceMs = undefined;
  }
}
