import { getHeapStatistics } from 'node:v8';
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { inTransaction } from '../postgres/pool.js';
import { type Moves, StateMachine } from '../shared/state-machine.js';
import type { RedisConnection } from '../redis/connection.js';
import { trimLedger } from '../redis/partition.js';
import { deleteUser } from './delete-user.js';
import { isRefusal, refusalOf, saveDeadLetter, type Refusal } from './dead-letters.js';
import type { LedgerEntry } from './entry.js';
import { acquireLease, advanceOffset, LeaseLost, type Lease, type StreamId } from './offsets.js';
import type { MonthlyPartitions } from './partitions.js';
import { halfOf, readPages, rowsOf, type LedgerPages, type Rows, type StreamEntry } from './stream-entries.js';
import { writeBatch } from './write-batch.js';

/**
 * Publishes what entries set off (src/webhooks) in the transaction that commits them, before their rows are written. Returns the number of deliveries.
 */
export type Publish = (client: pg.ClientBase, entries: readonly LedgerEntry[]) => Promise<number>;

/** Publishes what tenants' entries set off. */
export interface Publisher {
  /**
   * The `Publish` for entries made under a configuration version or an earlier one; undefined when the tenant publishes nothing. Called outside of
   * transactions.
   */
  publishFor(tenant: number, version: number): Promise<Publish | undefined>;
  /** Called when there is something to deliver. */
  wake(): void;
}

/** Announces what the entries after an id have changed to live streams, the oldest first. */
export type Announce = (tenant: number, after: StreamId, entries: readonly StreamEntry[]) => void;

export interface TenantWriterOptions {
  readonly tenant: number;
  /** The key prefix of the tenant. */
  readonly partition: string;
  /** The holder of the leases, the same for all tenants of a worker. */
  readonly holder: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly partitions: MonthlyPartitions;
  readonly publisher: Publisher | undefined;
  readonly announce: Announce | undefined;
  /** Called when an entry was refused and saved as a dead letter. */
  readonly onDeadLetter: (refusal: Refusal) => void;
}

/** A worker's lease and the last id that it has committed under it. */
export interface Position {
  readonly lease: Lease;
  readonly lastId: StreamId;
  readonly renewedAt: number;
}

/** Redis no longer has the ledger that was being committed, or has lost part of it. */
export class RedisReplaced extends Error {
  constructor() {
    super('Redis and Postgres are out of sync: one of them has lost data or was replaced');
    this.name = 'RedisReplaced';
  }
}

/** A batch and its rows; undefined when not all entries can be made into rows: the writer then tries them in smaller parts. */
interface Prepared extends LedgerPages {
  readonly rows: Rows | undefined;
}

async function prepare(pages: LedgerPages): Promise<Prepared> {
  const rows = await rowsOf(pages.entries).catch(() => undefined);
  return { ...pages, rows };
}

interface WriteOptions {
  readonly publish: Publish | undefined;
  readonly rows?: Rows | undefined;
}

/** The most entries of a batch: fewer where Node has little memory, since a worker holds several batches at a time. */
const maxEntries = Math.min(
  limits.writeBehindMaxBatchEntries,
  Math.ceil(getHeapStatistics().heap_size_limit / limits.writeBehindHeapBytesPerEntry),
);

/**
 * The most entries of the next batch: more while the ledger has more and Postgres is fast, fewer when it is slow. A batch locks the row of the
 * tenant's offset until it is committed.
 */
function nextBatchSize(size: number, entries: number, tookMs: number): number {
  if (entries === size && tookMs < limits.writeBehindBatchMs) return Math.min(size * 8, maxEntries);
  if (tookMs > 2 * limits.writeBehindBatchMs) return Math.max(size >> 1, Math.min(size, limits.writeBehindBatchEntries));
  // After failures, back to the initial size.
  return size < limits.writeBehindBatchEntries ? Math.min(size * 2, limits.writeBehindBatchEntries) : size;
}

/** The batch that is read while the previous one is committed. Valid only under the same lease and behind the previous batch's last id. */
interface Prefetch {
  readonly fence: string;
  readonly after: StreamId;
  /** Undefined when reading failed: the batch is read again, and that read throws. */
  readonly prepared: Promise<Prepared | undefined>;
}

/**
 * The modes of a TenantWriter:
 *
 * - `vacant`: it has no lease. The next step acquires it, unless another worker has it.
 * - `untrimmed`: it has the lease, and the stream may still have committed entries. The next step trims it.
 * - `drained`: the stream is trimmed, and the last read came to its end.
 * - `behind`: the stream is trimmed, and has more entries. The next batch may be prefetched.
 */
type WriterMode = 'vacant' | 'untrimmed' | 'drained' | 'behind';

const writerMoves: Moves<WriterMode> = {
  vacant: ['untrimmed'],
  untrimmed: ['drained', 'behind', 'vacant'],
  drained: ['behind', 'untrimmed', 'vacant'],
  behind: ['drained', 'untrimmed', 'vacant'],
};

/** Writes the ledger of one tenant to Postgres, a batch at a time. */
export class TenantWriter {
  private readonly options: TenantWriterOptions;
  private readonly state = new StateMachine(writerMoves, 'vacant');
  /** Undefined while vacant. */
  private current: Position | undefined;
  private consecutiveRefusals = 0;
  /** Halved after a failure, since the batch may have exceeded the statement timeout, and then doubled again. */
  private batchSize: number = limits.writeBehindBatchEntries;
  private prefetched: Prefetch | undefined;

  constructor(options: TenantWriterOptions) {
    this.options = options;
  }

  /** Undefined when the lease must be acquired. */
  get position(): Position | undefined {
    return this.current;
  }

  /** Whether the ledger had more entries than the last batch when they were read. */
  get hasMore(): boolean {
    return this.state.mode === 'behind';
  }

  /** Called after a failure: drops the position and the prefetched batch. */
  reset(): void {
    this.current = undefined;
    this.state.setMode('vacant');
    this.prefetched = undefined;
    this.batchSize = Math.max(this.batchSize >> 1, 1);
  }

  /** Called when the stream still has committed entries. */
  trimAgain(): void {
    this.state.require('drained', 'behind');
    this.state.setMode('untrimmed');
  }

  /**
   * Writes one batch. Returns how many entries it committed, or `held` while another worker holds the lease. Throws LeaseLost and RedisReplaced, after
   * which the caller resets this writer.
   */
  async step(): Promise<number | 'held'> {
    const position = await this.acquire();
    if (!position) return 'held';
    const prepared = await this.next(position);
    // The previous holder may have been killed between a commit and its trim.
    if (this.state.mode === 'untrimmed') await this.trim(position);
    this.state.setMode(prepared.hasMore ? 'behind' : 'drained');
    if (prepared.entries.length === 0) return 0;
    // Before the commit: streams read leaderboards from Redis, which has the entries already.
    this.options.announce?.(this.options.tenant, position.lastId, prepared.entries);
    const publish = await this.options.publisher?.publishFor(this.options.tenant, prepared.version);
    this.prefetched = prepared.hasMore ? this.prefetch(position.lease, prepared) : undefined;
    const startedAt = performance.now();
    const committed = await this.commit(position, prepared, publish);
    if (committed < prepared.entries.length) this.state.setMode('behind');
    this.batchSize = nextBatchSize(this.batchSize, prepared.entries.length, performance.now() - startedAt);
    if (this.current) await this.trim(this.current);
    return committed;
  }

  /** Removes committed entries, which may be of a deleted user, from the stream. (Redis still knows the last id.) */
  private async trim({ lease, lastId }: Position): Promise<void> {
    const { redis, partition } = this.options;
    await trimLedger(redis, partition, lease.epoch, lastId);
  }

  private async acquire(): Promise<Position | undefined> {
    if (this.current && Date.now() - this.current.renewedAt < limits.leaseMs / 3) return this.current;
    const { pool, tenant, holder } = this.options;
    const now = Date.now();
    if (this.current && (await this.renew(this.current))) {
      this.current = { ...this.current, renewedAt: now };
      return this.current;
    }
    const acquired = await acquireLease(pool, tenant, holder);
    this.current = acquired && { ...acquired, renewedAt: now };
    this.state.setMode(acquired ? 'untrimmed' : 'vacant');
    return this.current;
  }

  /** Returns false when another worker has acquired the lease. */
  private async renew({ lease, lastId }: Position): Promise<boolean> {
    try {
      await advanceOffset(this.options.pool, lease, { from: lastId, to: lastId });
      return true;
    } catch (error) {
      if (error instanceof LeaseLost) return false;
      throw error;
    }
  }

  /** The next batch: the prefetched one if the batch before it was committed under the same lease. */
  private async next(position: Position): Promise<Prepared> {
    const { lease, lastId } = position;
    const { prefetched } = this;
    this.prefetched = undefined;
    if (prefetched?.fence === lease.fence && prefetched.after === lastId) {
      const prepared = await prefetched.prepared;
      if (prepared) return prepared;
    }
    const { redis, partition } = this.options;
    const pages = await readPages(redis, partition, { epoch: lease.epoch, after: lastId, maxEntries: this.batchSize });
    if (pages === 'replaced') throw new RedisReplaced();
    // A worker that was suspended may only have lost its lease.
    if (pages === 'trimmed') throw (await this.renew(position)) ? new RedisReplaced() : new LeaseLost();
    return prepare(pages);
  }

  /** Reads the batch behind one that is being committed, and makes its rows. */
  private prefetch(lease: Lease, { entries }: LedgerPages): Prefetch | undefined {
    const { redis, partition } = this.options;
    const after = entries.at(-1)?.id;
    if (after === undefined) return undefined;
    const reading = readPages(redis, partition, { epoch: lease.epoch, after, maxEntries: this.batchSize });
    const prepared = reading.then(
      (pages) => (typeof pages === 'string' ? undefined : prepare(pages)),
      () => undefined,
    );
    return { fence: lease.fence, after, prepared };
  }

  /** Commits the entries before the next deletion of a user, or that deletion. Returns how many entries. */
  private async commit(position: Position, { entries: read, rows }: Prepared, publish: Publish | undefined): Promise<number> {
    this.state.require('drained', 'behind');
    const [first] = read;
    if (first?.entry?.kind === 'deletion') {
      await this.deleteUser(position, first.id, first.entry.user);
      return 1;
    }
    const deletion = read.findIndex(({ entry }) => entry?.kind === 'deletion');
    const entries = deletion < 0 ? read : read.slice(0, deletion);
    await this.write(position, entries, { publish, rows: deletion < 0 ? rows : undefined });
    return entries.length;
  }

  /**
   * Commits entries in one transaction. If one of them is refused, bisects them in order until it is found: it becomes a dead letter, and the others
   * are committed.
   */
  private async write(position: Position, entries: readonly StreamEntry[], how: WriteOptions): Promise<Position> {
    try {
      const written = await this.writeTogether(position, entries, how);
      this.consecutiveRefusals = 0;
      return written;
    } catch (error) {
      const [first] = entries;
      if (!first || !isRefusal(error)) throw error;
      if (entries.length === 1) return this.writeDeadLetter(position, first, error);
    }
    const middle = halfOf(entries);
    const { publish } = how;
    return this.write(await this.write(position, entries.slice(0, middle), { publish }), entries.slice(middle), { publish });
  }

  private async writeTogether(
    { lease, lastId }: Position,
    entries: readonly StreamEntry[],
    { publish, rows }: WriteOptions,
  ): Promise<Position> {
    const { pool, tenant, partitions } = this.options;
    const newest = entries.at(-1)?.id ?? lastId;
    const { batch, months: needed, parsed } = rows ?? (await rowsOf(entries));
    const parsedEntries = parsed.map(({ entry }) => entry);
    await partitions.ensure(needed);
    const now = Date.now();
    const deliveries = await inTransaction(pool, async (client) => {
      await advanceOffset(client, lease, { from: lastId, to: newest, newestAt: batch.newestAt });
      const published = publish ? await publish(client, parsedEntries) : 0;
      await writeBatch(client, tenant, batch);
      return published;
    });
    if (deliveries > 0) this.options.publisher?.wake();
    this.current = { lease, lastId: newest, renewedAt: now };
    return this.current;
  }

  /** Saves an entry as a dead letter; the offset passes it in the same transaction. */
  private async writeDeadLetter({ lease, lastId }: Position, letter: StreamEntry, error: unknown): Promise<Position> {
    if (this.consecutiveRefusals >= limits.maxDeadLettersInARow) {
      throw new Error(`Postgres refused ${this.consecutiveRefusals} entries in a row: the cause is not the entries`, { cause: error });
    }
    const { pool, tenant, onDeadLetter } = this.options;
    const now = Date.now();
    await inTransaction(pool, async (client) => {
      await advanceOffset(client, lease, { from: lastId, to: letter.id });
      await saveDeadLetter(client, tenant, letter, error);
    });
    this.consecutiveRefusals += 1;
    onDeadLetter(refusalOf(tenant, letter, error));
    this.current = { lease, lastId: letter.id, renewedAt: now };
    return this.current;
  }

  /**
   * Deletes a user. Postgres has everything of the user from earlier entries and nothing from later ones, which are of a new user. Runs in bounded
   * transactions; the offset passes the entry in the last of them, so an interrupted deletion resumes.
   */
  private async deleteUser({ lease, lastId }: Position, id: StreamId, user: string): Promise<void> {
    const { pool, tenant } = this.options;
    let isDone = false;
    while (!isDone) {
      const now = Date.now();
      isDone = await inTransaction(pool, async (client) => {
        const isLast = await deleteUser(client, tenant, user);
        await advanceOffset(client, lease, { from: lastId, to: isLast ? id : lastId });
        return isLast;
      });
      this.current = { lease, lastId: isDone ? id : lastId, renewedAt: now };
    }
  }
}
