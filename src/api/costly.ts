import pLimit, { type LimitFunction } from 'p-limit';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { isStoreTrouble } from '../logging/failure-log.js';
import type { RateLimiter } from '../redis/rate-limiter.js';
import { inTurnsOf, type TurnOwner } from '../threads/turns.js';
import type { RateLimit } from './middleware.js';

/** The time that the requests of one key may take in worker threads, in a window and across all processes. */
export interface WorkLimit {
  /** Counts milliseconds. */
  readonly limiter: RateLimiter;
  readonly maxS: number;
  readonly windowS: number;
}

/** Bounds the requests to costly routes (Route.costly): how many a key makes in a window, their time in threads, and one at a time of each key in this process. */
export class CostlyRequests {
  private readonly rateLimit: RateLimit | undefined;
  private readonly work: WorkLimit | undefined;
  private readonly byKey = new Map<string, LimitFunction>();

  /** `rateLimit` is undefined for RATE_LIMIT_COSTLY=0, `work` for RATE_LIMIT_COSTLY_S=0. */
  constructor(rateLimit: RateLimit | undefined, work?: WorkLimit) {
    this.rateLimit = rateLimit;
    this.work = work;
  }

  /**
   * Runs a request of a key after those before it. Throws a 429 if the key is over a limit, or too many of its requests wait. `owner` gathers the time
   * that the request takes in threads.
   */
  async run<T>(keyId: string, owner: TurnOwner, request: () => Promise<T>): Promise<T> {
    await this.rateLimit?.count(keyId, () => undefined);
    const inTurn = this.byKey.get(keyId) ?? pLimit(1);
    if (inTurn.pendingCount >= limits.maxCostlyWaiting) {
      throw new LaurelError('too_many_requests', 'Too many queued requests for this key: send one at a time.', { retryAfterS: 1 });
    }
    this.byKey.set(keyId, inTurn);
    try {
      return await inTurn(() => this.withinWork(keyId, owner, request));
    } finally {
      if (inTurn.activeCount + inTurn.pendingCount === 0) this.byKey.delete(keyId);
    }
  }

  private async withinWork<T>(keyId: string, owner: TurnOwner, request: () => Promise<T>): Promise<T> {
    const { work } = this;
    if (!work) return inTurnsOf(owner, request);
    const { isOver, resetS } = await work.limiter.look(keyId);
    if (isOver) {
      throw new LaurelError(
        'too_many_requests',
        `This key may use ${work.maxS} s of worker thread time in ${work.windowS} s: retry after the seconds in Retry-After.`,
        { retryAfterS: resetS },
      );
    }
    try {
      return await inTurnsOf(owner, request);
    } finally {
      await this.spend(work, keyId, Math.ceil(owner.usedMs));
    }
  }

  /** The request is done: while Redis is away, its time is not counted. */
  private async spend({ limiter }: WorkLimit, keyId: string, ms: number): Promise<void> {
    if (ms === 0) return;
    await limiter.count(keyId, ms).catch((error: unknown) => {
      if (!isStoreTrouble(error)) throw error;
    });
  }
}
