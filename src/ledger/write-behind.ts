import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { Logger } from 'pino';
import { limits } from '../limits.js';
import { Partitions } from './partitions.js';
import { inTransaction } from '../postgres/pool.js';
import { writeBatch } from './write-batch.js';
import { keyNames } from '../redis/contract.js';
import { idAfter } from '../redis/stream.js';
import { collectBatch } from './batch.js';
import { deleteUser } from './delete-user.js';
import { unpackEntry, type LedgerEntry } from './entry.js';
import { acquireLease, advanceOffset, LeaseLost, releaseLease, type Lease, type StreamId } from './offsets.js';

export interface WriteBehindOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  /** A connection of its own: large replies must not hold up events. */
  readonly redis: Redis;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Called when Redis turns out to lack what Postgres has, so that nothing is served from it. */
  readonly onBehind: () => Promise<void>;
}

/** How far a worker is: its lease and the last id that it has committed under it. */
interface Position {
  readonly lease: Lease;
  lastId: StreamId;
  renewedAt: number;
  /** Whether the stream has been trimmed below the last id. */
  isTrimmed: boolean;
}

interface ReadEntry {
  readonly id: StreamId;
  readonly entry: LedgerEntry;
}

/** Redis no longer is the one whose ledger was being committed. */
class RedisReplaced extends Error {
  constructor() {
    super('Redis has lost its data or is another one: its epoch is not the one that Postgres knows');
    this.name = 'RedisReplaced';
  }
}

/**
 * Takes the ledger of one tenant into Postgres: a batch of entries, the state that they lead to and the offset commit in one transaction,
 * and only then is the stream trimmed. Killed anywhere, it goes on from the last committed offset: nothing is skipped and nothing is done
 * twice. One worker is active for each stream; the others wait for its lease to run out.
 */
export class WriteBehind {
  private readonly options: WriteBehindOptions;
  private readonly holder = randomUUID();
  private readonly partitions: Partitions;
  private readonly ledgerKey: string;
  private readonly metaKey: string;
  private position: Position | undefined;
  private stopping = false;
  private stopBy = Infinity;
  private wake = new AbortController();
  private running: Promise<void> | undefined;

  constructor(options: WriteBehindOptions) {
    this.options = options;
    this.partitions = new Partitions(options.pool);
    this.ledgerKey = options.partition + keyNames.ledger;
    this.metaKey = options.partition + keyNames.meta;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Commits what is still in the stream, for at most `drainMs`, and gives the lease back. */
  async stop(drainMs: number): Promise<void> {
    this.stopBy = Date.now() + drainMs;
    this.stopping = true;
    this.wake.abort();
    await this.running;
    if (this.position) await releaseLease(this.options.pool, this.position.lease).catch(() => undefined);
    this.position = undefined;
  }

  private async run(): Promise<void> {
    let failures = 0;
    for (;;) {
      try {
        const committed = await this.step();
        failures = 0;
        if (this.stopping && (committed === 0 || Date.now() > this.stopBy)) return;
        if (committed === 0) await this.pause(this.position ? limits.writeBehindIdleMs : limits.leaseMs / 3);
      } catch (error) {
        failures += 1;
        await this.handle(error, failures);
        // A Redis that was replaced holds nothing that could be drained.
        if (this.stopping && (error instanceof RedisReplaced || Date.now() > this.stopBy)) return;
      }
    }
  }

  private async handle(error: unknown, failures: number): Promise<void> {
    this.position = undefined;
    if (error instanceof LeaseLost) {
      this.options.log.warn({ tenant: this.options.tenant }, error.message);
      return;
    }
    this.options.log.error({ err: error, tenant: this.options.tenant, failures }, 'the write-behind failed and will try again');
    if (error instanceof RedisReplaced) await this.options.onBehind().catch(() => undefined);
    await this.pause(Math.min(limits.writeBehindRetryMs * 2 ** (failures - 1), limits.writeBehindRetryMaxMs));
  }

  private async pause(ms: number): Promise<void> {
    if (this.stopping) ms = Math.min(ms, limits.writeBehindRetryMs);
    await delay(ms, undefined, { signal: this.wake.signal }).catch(() => undefined);
    if (this.wake.signal.aborted) this.wake = new AbortController();
  }

  /** One batch. Returns how many entries it committed; 0 as well while another worker holds the lease. */
  private async step(): Promise<number> {
    const position = (this.position ??= await this.acquire());
    if (!position) return 0;
    const entries = await this.read(position);
    // Whoever had the lease before may have been killed between a commit and its trim.
    if (!position.isTrimmed) await this.trim(position);
    if (entries.length === 0) {
      await this.renew(position);
      return 0;
    }
    const committed = await this.commit(position, entries);
    await this.trim(position);
    return committed;
  }

  private async acquire(): Promise<Position | undefined> {
    const acquired = await acquireLease(this.options.pool, this.options.tenant, this.holder);
    return acquired && { ...acquired, renewedAt: Date.now(), isTrimmed: false };
  }

  /** What is committed does not stay in the stream: it may be of a user who is deleted. (Redis goes on to know the last id.) */
  private async trim(position: Position): Promise<void> {
    await this.options.redis.xtrim(this.ledgerKey, 'MINID', idAfter(position.lastId));
    position.isTrimmed = true;
  }

  private async renew(position: Position): Promise<void> {
    if (Date.now() - position.renewedAt < limits.leaseMs / 3) return;
    await advanceOffset(this.options.pool, position.lease, position.lastId, position.lastId);
    position.renewedAt = Date.now();
  }

  private async read(position: Position): Promise<ReadEntry[]> {
    const { redis } = this.options;
    const [epoch, entries] = await Promise.all([
      redis.hget(this.metaKey, 'epoch'),
      redis.xrangeBuffer(this.ledgerKey, `(${position.lastId}`, '+', 'COUNT', limits.writeBehindBatchEntries),
    ]);
    if (epoch !== position.lease.epoch) throw new RedisReplaced();
    return entries.map(([id, fields]) => ({ id: id.toString(), entry: unpackEntry(fields) }));
  }

  /** Commits the entries up to the next deletion of a user, or that deletion. Returns how many entries. */
  private async commit(position: Position, read: readonly ReadEntry[]): Promise<number> {
    const [first] = read;
    if (first?.entry.kind === 'forget') {
      await this.forget(position, first.id, first.entry.user);
      return 1;
    }
    const deletion = read.findIndex(({ entry }) => entry.kind === 'forget');
    const entries = deletion < 0 ? read : read.slice(0, deletion);
    const newest = entries.at(-1);
    if (!newest) return 0;
    const batch = collectBatch(entries);
    await this.partitions.ensure([...batch.events.map(({ at }) => at), ...batch.awards.map(({ award }) => award.at)]);
    await inTransaction(this.options.pool, async (client) => {
      await advanceOffset(client, position.lease, position.lastId, newest.id);
      await writeBatch(client, this.options.tenant, batch);
    });
    this.moveTo(position, newest.id);
    return entries.length;
  }

  /**
   * Deletes a user: everything that the ledger had of the user by then is in Postgres, and nothing of what came later, which is of a new user.
   * In bounded transactions; the offset passes the entry in the last of them, so a deletion that was cut off goes on.
   */
  private async forget(position: Position, id: StreamId, user: string): Promise<void> {
    while (!(await this.forgetSome(position, id, user))) this.moveTo(position, position.lastId);
    this.moveTo(position, id);
  }

  /** One transaction of a deletion. Returns whether it was the last. */
  private forgetSome({ lease, lastId }: Position, id: StreamId, user: string): Promise<boolean> {
    return inTransaction(this.options.pool, async (client) => {
      const isDone = await deleteUser(client, this.options.tenant, user);
      await advanceOffset(client, lease, lastId, isDone ? id : lastId);
      return isDone;
    });
  }

  private moveTo(position: Position, id: StreamId): void {
    position.lastId = id;
    position.renewedAt = Date.now();
  }
}
