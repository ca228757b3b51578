import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { RedisConnection } from '../redis/connection.js';
import { redisFailure } from '../redis/failure.js';
import { accountKeyNames, accountPrefix, channelNames } from '../redis/contract.js';

const pollMs = 5;

/** Forgets a process unless it has come back in the meantime. */
const forgetDead = `if redis.call('EXISTS', KEYS[2]) == 0 then return redis.call('SREM', KEYS[1], ARGV[1]) end`;

export interface LeaseOptions {
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** Reads all changes that Postgres has. Everything that had been committed when it was called is known when it returns. */
  readonly catchUp: () => Promise<void>;
}

/**
 * What makes a revocation certain without asking anybody about each request: a process may go by its memory only while it holds a lease.
 *
 * Redis counts the changes (`revision`), and each process says which of them it knows, in a key that expires. A process whose answer is
 * that it knows the newest may go by its memory for limits.accountLeaseMs from the moment at which it asked. Whoever makes a change counts
 * it, tells everybody, and waits until each process knows it or its key has expired, which is later than its lease has. So when a change
 * has been answered, no process goes by what was before it; a process that is cut off from Redis has no lease, and asks before it serves.
 */
export class Lease {
  private readonly options: LeaseOptions;
  private readonly id = randomUUID();
  private readonly prefix: string;
  /** The revision that this process has caught up with. */
  private known = 0;
  /** There is a newer revision than the known one, which must not be made to look alive. */
  private isBehind = false;
  /** By performance.now(). */
  private validUntil = -Infinity;
  private renewing: Promise<void> | undefined;
  /** Others wait for this process. */
  private isMember = false;
  private hasLeft = false;

  constructor(options: LeaseOptions) {
    this.options = options;
    this.prefix = accountPrefix(options.prefix);
  }

  /** Whether this process may go by its memory. */
  get holds(): boolean {
    return performance.now() < this.validUntil;
  }

  /** The connection broke: the Redis that is there next may be one that does not know of this process. */
  drop(): void {
    this.validUntil = -Infinity;
  }

  /** Asks for the lease, and catches up as far as it takes. Throws a 503 when Redis or Postgres is away. */
  renew(): Promise<void> {
    if (this.hasLeft) return Promise.reject(new LaurelError('not_ready', 'The service is stopping.', { reason: 'stopping' }));
    this.renewing ??= this.ask()
      .catch((error: unknown) => {
        throw redisFailure(error, this.options.redis);
      })
      .finally(() => (this.renewing = undefined));
    return this.renewing;
  }

  private async ask(): Promise<void> {
    const { redis, catchUp } = this.options;
    const revisionKey = this.prefix + accountKeyNames.revision;
    for (;;) {
      if (this.isBehind) {
        const newest = Number((await redis.get(revisionKey)) ?? 0);
        await catchUp();
        this.known = newest;
        this.isBehind = false;
      }
      const askedAt = performance.now();
      this.isMember = true;
      // In this order: a change that is counted after the last of these finds this process.
      const answers = await redis
        .pipeline()
        .set(this.knownKey(this.id), this.known, 'PX', limits.accountLeaseWaitMs)
        .sadd(this.prefix + accountKeyNames.processes, this.id)
        .get(revisionKey)
        .exec();
      for (const [error] of answers ?? []) if (error) throw error;
      if (Number(answers?.[2]?.[1] ?? 0) === this.known) {
        if (!this.hasLeft) this.validUntil = askedAt + limits.accountLeaseMs;
        return;
      }
      this.isBehind = true;
    }
  }

  /**
   * Makes a change that Postgres has committed known to every process: when this returns, none goes by what was before it. Throws a 503 when
   * that can't be made sure of; the change stays, and is known within limits.accountLeaseMs all the same.
   */
  async announce(): Promise<void> {
    try {
      const revision = await this.count();
      await this.renewIfMember();
      const giveUpAt = performance.now() + limits.accountSettleMs;
      while (!(await this.isKnownByAll(revision))) {
        if (performance.now() > giveUpAt) {
          throw new LaurelError('not_ready', 'The change is stored, but not every process has confirmed it yet. Try again shortly.');
        }
        await delay(pollMs);
      }
    } catch (error) {
      throw redisFailure(error, this.options.redis);
    }
  }

  /** Counts a change, and tells of it. A counter that Redis has lost begins above all that it has been. */
  private async count(): Promise<number> {
    const key = this.prefix + accountKeyNames.revision;
    const answers = await this.options.redis
      .pipeline()
      .set(key, Date.now(), 'NX')
      .incr(key)
      .publish(this.prefix + channelNames.changes, '')
      .exec();
    for (const [error] of answers ?? []) if (error) throw error;
    return Number(answers?.[1]?.[1]);
  }

  private async renewIfMember(): Promise<void> {
    if (!this.isMember) return;
    // One that is under way may have asked before the change was counted.
    await this.renewing?.catch(() => undefined);
    await this.renew();
  }

  private async isKnownByAll(revision: number): Promise<boolean> {
    const { redis } = this.options;
    const members = this.prefix + accountKeyNames.processes;
    const processes = await redis.smembers(members);
    if (processes.length === 0) return true;
    const known = await redis.mget(processes.map((process) => this.knownKey(process)));
    const dead = processes.filter((_, i) => known[i] === null);
    await Promise.all(dead.map((process) => redis.eval(forgetDead, 2, members, this.knownKey(process), process)));
    return known.every((value) => value === null || Number(value) >= revision);
  }

  /** Nobody needs to wait for this process any more. */
  async leave(): Promise<void> {
    this.hasLeft = true;
    this.drop();
    await this.renewing?.catch(() => undefined);
    await this.options.redis
      .pipeline()
      .del(this.knownKey(this.id))
      .srem(this.prefix + accountKeyNames.processes, this.id)
      .exec()
      .catch(() => undefined);
  }

  private knownKey(process: string): string {
    return this.prefix + accountKeyNames.known + process;
  }
}
