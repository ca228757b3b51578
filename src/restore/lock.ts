import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Lease, LeaseLost, type StreamId, advanceOffset } from '../ledger/offsets.js';
import { type RedisConnection, messageOf } from '../redis/connection.js';
import { contractModule, keyNames, metaFields, restoringFields } from '../redis/contract.js';
import { limits } from '../shared/limits.js';
import { CommandWriter } from './command-writer.js';

/** A script of lua/ with the contract's names prepended. Redis caches it under its hash, compiled. */
export function luaScript(name: string): string {
  const source = readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
  return `local function require() ${contractModule({})} end\n${source}`;
}

const script = luaScript('restore');

/** A Redis command: its name, key and values. */
export type Command = readonly [name: string, key: string, ...values: (string | Buffer)[]];

/** One command with all values, or no command without values. */
export function commandsOf(name: string, key: string, values: readonly string[]): Command[] {
  return values.length === 0 ? [] : [[name, key, ...values]];
}

function addCommands(commands: readonly Command[], to: CommandWriter): void {
  for (const [name, key, ...values] of commands) {
    to.command(name, key);
    for (const value of values) to.add(value);
  }
}

export interface RestoreLockOptions {
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  /** The key prefix of the tenant. */
  readonly partition: string;
  readonly lease: Lease;
  /** The committed offset of the ledger, which does not change while the lease is held. */
  readonly lastId: StreamId;
  /** Aborts the restore between two steps. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The lock of a restore: the lease in Postgres, and the partition's `meta`, which names the restore that may write. The lease alone is not enough: a
 * restore that is suspended for longer than the lease notices only after its next write, and another restore may have finished and opened the
 * partition by then. So every write checks the name in its own step. The name stays when the partition is opened, so that a later restore can tell
 * that there was another.
 */
export class RestoreLock {
  readonly lease: Lease;
  readonly lastId: StreamId;
  private readonly options: RestoreLockOptions;
  private renewedMs = -Infinity;
  /** Reused: their buffers are too large to allocate each time. */
  private readonly freeWriters: CommandWriter[] = [];

  constructor(options: RestoreLockOptions) {
    this.lease = options.lease;
    this.lastId = options.lastId;
    this.options = options;
  }

  /** Renews the lease unless it was renewed just now. Throws LeaseLost when another restore has it, and the signal's reason. */
  async renew(): Promise<void> {
    this.options.signal?.throwIfAborted();
    if (performance.now() - this.renewedMs > limits.restoreRenewMs) await this.renewNow();
  }

  /** Renews the lease until `work` is done. Throws LeaseLost when another restore has acquired it. */
  async renewWhile<T>(work: Promise<T>): Promise<T> {
    const isDone = work.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([isDone, delay(limits.restoreRenewMs, false, { ref: false })]))) await this.renew();
    await this.renew();
    return work;
  }

  /**
   * Takes over the partition from the restore that `meta` names (empty for none), which the caller has read under the lease. With `uncommitted`
   * (uncommitted.ts), deletes the rest of `meta`, which closes the partition. Throws LeaseLost when another restore was faster.
   */
  async acquire(from: string, uncommitted?: string): Promise<void> {
    // The next holder of the lease reads `meta` after this renewal, so the caller's read of `meta` is current.
    await this.renewNow();
    const { partition } = this.options;
    const meta = partition + keyNames.meta;
    const named: Command = ['HSET', meta, metaFields.restorer, this.lease.holder];
    const commands: Command[] =
      uncommitted === undefined ? [named] : [['DEL', meta], named, ['HSET', meta, restoringFields.left, uncommitted]];
    await this.run(from, true, (to) => addCommands(commands, to));
  }

  /** Runs commands on the partition's keys in one step. Throws LeaseLost, and runs none, when another restore has the partition or it is open. */
  async write(commands: readonly Command[]): Promise<void> {
    await this.run(this.lease.holder, false, (to) => addCommands(commands, to));
  }

  /** The same; throws LeaseLost also when the last restored user is not `last` (empty for none). */
  async writeAfter(last: string, fill: (to: CommandWriter) => void): Promise<void> {
    await this.run(this.lease.holder, false, fill, last);
  }

  private async renewNow(): Promise<void> {
    await advanceOffset(this.options.pool, this.lease, { from: this.lastId, to: this.lastId });
    this.renewedMs = performance.now();
  }

  private async run(holder: string, mayBeOpen: boolean, fill: (to: CommandWriter) => void, ...last: string[]): Promise<void> {
    const { redis, partition } = this.options;
    const writer = this.freeWriters.pop() ?? new CommandWriter();
    fill(writer);
    const isWritten = await redis
      .eval(script, 1, partition + keyNames.meta, holder, mayBeOpen ? '1' : '0', writer.bytes(), ...last)
      .catch((error: unknown) => {
        // The error's command would put users into the log.
        throw new Error(messageOf(error));
      });
    // Not after a failure: the buffer may still be sent.
    this.freeWriters.push(writer.clear());
    if (isWritten !== 1) throw new LeaseLost();
  }
}
