import type pg from 'pg';
import { advanceOffset, LeaseLost, type Lease, type StreamId } from '../ledger/offsets.js';
import { limits } from '../limits.js';
import type { RedisConnection } from '../redis/connection.js';
import { keyNames, metaFields } from '../redis/contract.js';
import { packMessage } from '../redis/message.js';
import { luaScript } from './script.js';

const script = luaScript('restore-step');

/** A command of Redis: its name, its key, and what else it takes. */
export type Command = readonly string[];

/** Lua hands a function at most 8,000 values. Even, so that a field stays with its value. */
const valuesInCommand = 1_000;

/** A command that takes any number of values: as often as it takes to give it all of them, not at all for none. */
export function commandsOf(head: Command, values: readonly string[]): Command[] {
  const commands: Command[] = [];
  for (let first = 0; first < values.length; first += valuesInCommand)
    commands.push([...head, ...values.slice(first, first + valuesInCommand)]);
  return commands;
}

export interface HoldOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** The start of the tenant's keys. */
  readonly partition: string;
  readonly lease: Lease;
  /** What Postgres has committed of the ledger, and goes on to have while the lease is held. */
  readonly lastId: StreamId;
}

/**
 * What a restore has in its hand: the lease in Postgres, and the partition, whose `meta` names the restore that may write it. The lease alone
 * would not do: a restore that stands still for longer than it lasts finds that out only after its next write, and the partition may have been
 * restored by another one and be served by then. So every write looks, in its own step, whether the name is still there; it stays there when the
 * partition is served, so that a restore that has not written its own yet can tell that there was another.
 */
export class Hold {
  private readonly options: HoldOptions;
  private renewedMs = -Infinity;

  constructor(options: HoldOptions) {
    this.options = options;
  }

  /** The name of this restore in `meta`. */
  get name(): string {
    return this.options.lease.holder;
  }

  /** Makes the lease last, if that has not been done just now. Throws LeaseLost when it is another's. */
  async renew(): Promise<void> {
    if (performance.now() - this.renewedMs > limits.restoreRenewMs) await this.renewNow();
  }

  /**
   * Takes the partition over from the restore that `meta` names (empty for none), which was read since the lease is held. With `isFresh`, nothing of
   * `meta` stays, so that the partition is not served any more. Throws LeaseLost when another restore was faster.
   */
  async take(from: string, isFresh: boolean): Promise<void> {
    // Whoever gets the lease after this reads `meta` after it too: what was read before this is of those who had it before.
    await this.renewNow();
    const { partition } = this.options;
    const meta = partition + keyNames.meta;
    await this.run(from, true, [...commandsOf(['DEL'], isFresh ? [meta] : []), ['HSET', meta, metaFields.restorer, this.name]]);
  }

  /** Does some commands on the partition's keys in one step. Throws LeaseLost, and does none, when another restore has the partition, or it is served. */
  async write(commands: readonly Command[]): Promise<void> {
    await this.run(this.name, false, commands);
  }

  private async renewNow(): Promise<void> {
    const { pool, lease, lastId } = this.options;
    await advanceOffset(pool, lease, lastId, lastId);
    this.renewedMs = performance.now();
  }

  private async run(holder: string, mayBeServed: boolean, commands: readonly Command[]): Promise<void> {
    const { redis, partition } = this.options;
    const isDone = await redis.eval(script, 1, partition + keyNames.meta, holder, mayBeServed ? '1' : '0', packMessage(commands));
    if (isDone !== 1) throw new LeaseLost();
  }
}
