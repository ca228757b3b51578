import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import type Koa from 'koa';
import type { Account } from '../access/account.js';
import type { Principal } from '../access/key-ring.js';
import type { RedisConnection } from '../redis/connection.js';
import { type Count, RateLimiter } from '../redis/rate-limiter.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { UntrustedProxy } from './untrusted-proxy.js';

export interface SignInOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** TRUSTED_PROXIES. */
  readonly trustedProxies: number;
  /** Notes that a sign-in came through a proxy while TRUSTED_PROXIES is 0. */
  readonly untrustedProxy: UntrustedProxy;
}

const refused = 'This key can’t sign in: check it, or use another admin key.';
const everyone = 'all';

/** The address of the client: that of the connection, or what the outermost trusted proxy has added to X-Forwarded-For. */
function clientAddress({ req }: Koa.Context, trustedProxies: number): string {
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',');
  const named = trustedProxies > 0 ? forwarded.at(-trustedProxies)?.trim() : undefined;
  return named === undefined || named === '' ? (req.socket.remoteAddress ?? '') : named;
}

/** A port after an address, which some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withPort = /^(?:(\d+(?:\.\d+){3})|\[(.*)\])(?::\d+)?$/;

/** What failures are counted by: an IPv4 address, or the /64 of an IPv6 address, all of which one client can have. */
export function networkOf(address: string): string {
  const [, v4, v6] = withPort.exec(address) ?? [];
  const bare = v4 ?? v6 ?? address;
  if (!ipaddr.isValid(bare)) return address;
  const parsed = ipaddr.process(bare);
  return parsed instanceof ipaddr.IPv4
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString()}/64`).toString();
}

/** A name for a network in Redis, of one length. */
const nameOf = (network: string): string => createHash('sha256').update(network).digest('base64url');

function tooMany(exceeded: Count | undefined): LaurelError {
  const retryAfterS = exceeded?.resetS ?? 1;
  const sentence = `Too many keys that can’t sign in: a valid key signs in at once, and others are tried again after ${retryAfterS} s.`;
  return new LaurelError('too_many_requests', sentence, { retryAfterS });
}

/**
 * Checks the keys of those who sign in. A valid key always signs in, and needs no Redis for it. Wrong keys are counted across all processes: too
 * many from one network are a 429, and too many from all networks together take longer to refuse.
 */
export class SignIn {
  private readonly options: SignInOptions;
  private readonly account: Account;
  private readonly byNetwork: RateLimiter;
  private readonly all: RateLimiter;
  /** Refusals that wait. */
  private waiting = 0;

  constructor(account: Account, options: SignInOptions) {
    this.options = options;
    this.account = account;
    const { redis, prefix } = options;
    const limiter = (max: number): RateLimiter =>
      new RateLimiter({ redis, prefix, counter: 'sign-in', max, windowS: limits.signInWindowS, countsWithoutRedis: true });
    this.byNetwork = limiter(limits.signInFailures);
    this.all = limiter(limits.allSignInFailures);
  }

  /**
   * The caller with an admin key. Throws a 401 or a 429 for every other text after limits.signInFailureMs, so that neither the response nor its time
   * says whether a key was ever valid. What fails for another reason than a wrong key is no attempt.
   */
  async check(context: Koa.Context, key: string): Promise<Principal> {
    const begunMs = performance.now();
    try {
      const caller = await this.account.authenticate(key);
      if (caller.kind !== 'admin') throw new LaurelError('unauthorized', refused);
      // Of valid keys only: strangers must not be able to cause a problem in the status.
      const { trustedProxies, untrustedProxy } = this.options;
      if (trustedProxies === 0 && context.req.headers['x-forwarded-for'] !== undefined) untrustedProxy.note();
      return caller;
    } catch (error) {
      if (!(error instanceof LaurelError) || error.code !== 'unauthorized') throw error;
      return this.refuse(context, begunMs);
    }
  }

  /** Counts a wrong key: for all networks first, so that no more networks are counted than failures for all of them. */
  private async refuse(context: Koa.Context, begunMs: number): Promise<never> {
    const all = await this.all.count(everyone);
    const network = nameOf(networkOf(clientAddress(context, this.options.trustedProxies)));
    const own = all.isOver ? undefined : await this.byNetwork.count(network);
    const exceeded = [own, all].find((count) => count?.isOver === true);
    // Each refusal that waits holds a connection, and connections are limited.
    if (this.waiting >= limits.maxWaitingSignIns) throw tooMany(exceeded);
    this.waiting += 1;
    await delay((all.isOver ? limits.signInSlowedMs : limits.signInFailureMs) - (performance.now() - begunMs));
    this.waiting -= 1;
    if (own?.isOver !== true) throw new LaurelError('unauthorized', refused);
    throw tooMany(own);
  }
}
