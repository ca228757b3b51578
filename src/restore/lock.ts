import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Lease, LeaseLost, type StreamId, advanceOffset } from '../ledger/offsets.js';
import { type RedisConnection, messageOf } from '../redis/connection.js';
import { contractModule, keyNames, metaFields, restoringFields } from '../redis/contract.js';
import { limits } from '../shared/limits.js';
import { CommandWriter } from './command-writer.js';

/** A script of lua/, with the names of the contract in front of it. Redis keeps it under its hash, compiled. */
export function luaScript(name: string): string {
  const source = readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
  return `local function require() ${contractModule({})} end\n${source}`;
}

const script = luaScript('restore');

/** A command of Redis: its name, its key, and its values. */
export type Command = readonly [name: string, key: string, ...values: string[]];

/** A command with some values; none, where there are no values. */
export function commandsOf(name: string, key: string, values: readonly string[]): Command[] {
  return values.length === 0 ? [] : [[name, key, ...values]];
}

function put(commands: readonly Command[], to: CommandWriter): void {
  for (const [name, key, ...values] of commands) {
    to.command(name, key);
    for (const value of values) to.add(value);
  }
}

export interface HoldOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** The start of the tenant's keys. */
  readonly partition: string;
  readonly lease: Lease;
  /** What Postgres has committed of the ledger, and goes on to have while the lease is held. */
  readonly lastId: StreamId;
  /** Ends the restore between two steps. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a restore has in its hand: the lease in Postgres, and the partition, whose `meta` names the restore that may write it. The lease alone
 * would not do: a restore that stands still for longer than it lasts finds that out only after its next write, and the partition may have been
 * restored by another one and be served by then. So every write looks, in its own step, whether the name is still there; it stays there when the
 * partition is served, so that a restore that has not written its own yet can tell that there was another.
 */
export class RestoreLock {
  private readonly options: HoldOptions;
  private renewedMs = -Infinity;
  /** Writers that can be used again: their buffers are too large to be made anew each time. */
  private readonly spare: CommandWriter[] = [];

  constructor(options: HoldOptions) {
    this.options = options;
  }

  /** The name of this restore in `meta`. */
  private get name(): string {
    return this.options.lease.holder;
  }

  /** Makes the lease last, if that has not been done just now. Throws LeaseLost when it is another's, and the signal's reason. */
  async renew(): Promise<void> {
    this.options.signal?.throwIfAborted();
    if (performance.now() - this.renewedMs > limits.restoreRenewMs) await this.renewNow();
  }

  /** Waits for something that may take longer than the lease lasts. Throws LeaseLost when it becomes another's meanwhile. */
  async during<T>(work: Promise<T>): Promise<T> {
    const isDone = work.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([isDone, delay(limits.restoreRenewMs, false, { ref: false })]))) await this.renew();
    await this.renew();
    return work;
  }

  /**
   * Takes the partition over from the restore that `meta` names (empty for none), which was read since the lease is held. With `left` (left-behind.ts),
   * nothing else of `meta` stays, so that the partition is not served any more. Throws LeaseLost when another restore was faster.
   */
  async take(from: string, left?: string): Promise<void> {
    // Whoever gets the lease after this reads `meta` after it too: what was read before this is of those who had it before.
    await this.renewNow();
    const { partition } = this.options;
    const meta = partition + keyNames.meta;
    const named: Command = ['HSET', meta, metaFields.restorer, this.name];
    const commands: Command[] = left === undefined ? [named] : [['DEL', meta], named, ['HSET', meta, restoringFields.left, left]];
    await this.run(from, true, (to) => put(commands, to));
  }

  /** Does some commands on the partition's keys in one step. Throws LeaseLost, and does none, when another restore has the partition, or it is served. */
  async write(commands: readonly Command[]): Promise<void> {
    await this.run(this.name, false, (to) => put(commands, to));
  }

  /** The same, where the last user who is back has to be `last`, empty for nobody yet. */
  async writeAfter(last: string, fill: (to: CommandWriter) => void): Promise<void> {
    await this.run(this.name, false, fill, last);
  }

  private async renewNow(): Promise<void> {
    const { pool, lease, lastId } = this.options;
    await advanceOffset(pool, lease, { from: lastId, to: lastId });
    this.renewedMs = performance.now();
  }

  private async run(holder: string, mayBeServed: boolean, fill: (to: CommandWriter) => void, ...last: string[]): Promise<void> {
    const { redis, partition } = this.options;
    const writer = this.spare.pop() ?? new CommandWriter();
    fill(writer);
    const isDone = await redis
      .eval(script, 1, partition + keyNames.meta, holder, mayBeServed ? '1' : '0', writer.done(), ...last)
      .catch((error: unknown) => {
        // Its command would carry the users into logs.
        throw new Error(messageOf(error));
      });
    // Not when the command has failed: it may still be sent.
    this.spare.push(writer.clear());
    if (isDone !== 1) throw new LeaseLost();
  }
}
