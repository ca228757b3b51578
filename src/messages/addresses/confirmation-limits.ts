import type { RedisConnection } from '../../redis/connection.js';
import { RateLimiter } from '../../redis/rate-limiter.js';
import { limits } from '../../shared/limits.js';
import { mailboxOf } from './address.js';
import type { Suppressions } from './suppressions.js';

export interface ConfirmationLimitsOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** Hashes the mailboxes that are counted. */
  readonly suppressions: Suppressions;
}

/** Whom a confirmation is for, and whether an operator asks for it. */
export interface LimitedConfirmation {
  readonly tenant: number;
  readonly address: string;
  readonly isAsked: boolean;
}

/** Why no confirmation may be sent now. */
export interface ConfirmationRefusal {
  readonly reason: string;
  readonly retryAfterS: number;
}

/**
 * Bounds the confirmations of each tenant, across all processes: those to one mailbox, whichever users have it, since its owner may be a stranger; and
 * those that operators ask for.
 */
export class ConfirmationLimits {
  private readonly suppressions: Suppressions;
  private readonly asked: RateLimiter;
  private readonly pause: RateLimiter;
  private readonly day: RateLimiter;

  constructor({ redis, prefix, suppressions }: ConfirmationLimitsOptions) {
    const common = { redis, prefix };
    this.suppressions = suppressions;
    this.asked = new RateLimiter({
      ...common,
      counter: 'rate-confirmations',
      max: limits.maxConfirmationsAsked,
      windowS: limits.confirmationWindowS,
    });
    this.pause = new RateLimiter({ ...common, counter: 'rate-confirmation-pause', max: 1, windowS: limits.confirmationPauseS });
    this.day = new RateLimiter({ ...common, counter: 'rate-confirmation-day', max: limits.maxConfirmationsADay, windowS: 86_400 });
  }

  /** Counts a confirmation that is about to be sent; undefined if it may be. Throws a 503 while Redis is away. */
  async count({ tenant, address, isAsked }: LimitedConfirmation): Promise<ConfirmationRefusal | undefined> {
    const name = await this.nameOf(tenant, address);
    const pause = await this.pause.count(name);
    if (pause.isOver) {
      return { reason: 'a confirmation was sent to this address less than ten minutes ago', retryAfterS: pause.resetS };
    }
    const day = await this.day.count(name);
    if (day.isOver)
      return { reason: `an address may receive ${limits.maxConfirmationsADay} confirmations in a day`, retryAfterS: day.resetS };
    const asked = isAsked ? await this.asked.count(String(tenant)) : undefined;
    if (!asked?.isOver) return undefined;
    await this.uncount(tenant, address);
    return { reason: `a tenant may ask for ${limits.maxConfirmationsAsked} confirmations in an hour`, retryAfterS: asked.resetS };
  }

  /** Takes a confirmation back that the mailbox has not received. Those that operators ask for stay counted. */
  async uncount(tenant: number, address: string): Promise<void> {
    const name = await this.nameOf(tenant, address);
    await this.pause.uncount(name);
    await this.day.uncount(name);
  }

  private async nameOf(tenant: number, address: string): Promise<string> {
    return `${tenant}:${(await this.suppressions.hash(mailboxOf(address))).toString('base64url')}`;
  }
}
