import type { Logger } from 'pino';
import type { RedisConnection } from '../redis/connection.js';
import { accountKeyNames, accountPrefix } from '../redis/contract.js';
import { limits } from '../shared/limits.js';

export interface UntrustedProxyOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  readonly log: Logger;
}

/** Reports that sign-ins come through a proxy while TRUSTED_PROXIES is 0, whereby all operators share the proxy's address: in the log, and in the status. */
export class UntrustedProxy {
  private readonly options: UntrustedProxyOptions;
  private notedMs = -Infinity;

  constructor(options: UntrustedProxyOptions) {
    this.options = options;
  }

  note(): void {
    if (performance.now() - this.notedMs < limits.untrustedProxyNoteMs) return;
    this.notedMs = performance.now();
    const { redis, prefix, log } = this.options;
    log.warn({ setting: 'TRUSTED_PROXIES', value: 0 }, 'X-Forwarded-For is ignored');
    redis.set(accountPrefix(prefix) + accountKeyNames.untrustedProxy, '', 'EX', limits.untrustedProxyShownS).catch((error: unknown) => {
      log.debug({ err: error }, 'noting an untrusted proxy failed');
    });
  }
}
