import pLimit, { type LimitFunction } from 'p-limit';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { RateLimit } from './middleware.js';

/** Bounds the requests to costly routes (Route.costly): how many a key makes in a window, and one at a time of each key in this process. */
export class CostlyRequests {
  private readonly rateLimit: RateLimit | undefined;
  private readonly byKey = new Map<string, LimitFunction>();

  /** `rateLimit` is undefined for RATE_LIMIT_COSTLY=0. */
  constructor(rateLimit: RateLimit | undefined) {
    this.rateLimit = rateLimit;
  }

  /** Runs a request of a key after those before it. Throws a 429 if the key is over its limit, or too many of its requests wait. */
  async run<T>(keyId: string, request: () => Promise<T>): Promise<T> {
    await this.rateLimit?.count(keyId, () => undefined);
    const inTurn = this.byKey.get(keyId) ?? pLimit(1);
    if (inTurn.pendingCount >= limits.maxCostlyWaiting) {
      throw new LaurelError('too_many_requests', 'Too many requests of this kind with this key wait for each other: send one at a time.', {
        retryAfterS: 1,
      });
    }
    this.byKey.set(keyId, inTurn);
    try {
      return await inTurn(request);
    } finally {
      if (inTurn.activeCount + inTurn.pendingCount === 0) this.byKey.delete(keyId);
    }
  }
}
