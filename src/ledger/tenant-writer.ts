import { getHeapStatistics } from 'node:v8';
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { inTransaction } from '../postgres/pool.js';
import type { RedisConnection } from '../redis/connection.js';
import { trimLedger } from '../redis/partition.js';
import { deleteUser } from './delete-user.js';
import { isRefusal, keepDeadLetter, refusalOf, rowsInParts, type Refusal, type Rows, type StreamEntry } from './dead-letters.js';
import type { LedgerEntry } from './entry.js';
import { readPages, type LedgerPages } from './ledger-pages.js';
import { acquireLease, advanceOffset, LeaseLost, type Lease, type StreamId } from './offsets.js';
import type { Partitions } from './partitions.js';
import { writeBatch } from './write-batch.js';

/**
 * What tells receivers of entries (src/notify), in the transaction that commits them and before what they lead to is written. It answers with how
 * many messages there are to deliver.
 */
export type Publish = (client: pg.ClientBase, entries: readonly LedgerEntry[]) => Promise<number>;

/** Who tells receivers of a tenant's entries. */
export interface Publisher {
  /**
   * What tells of entries that came about under a version of the configuration or an earlier one; undefined when nobody wants to hear of anything.
   * Called outside of transactions.
   */
  tellerOf(tenant: number, version: number): Promise<Publish | undefined>;
  /** There are messages to deliver. */
  wake(): void;
}

export interface TenantWriterOptions {
  readonly tenant: number;
  /** The start of the tenant's keys. */
  readonly partition: string;
  /** Who holds the leases: the same for all tenants of a worker. */
  readonly holder: string;
  readonly redis: RedisConnection;
  readonly pool: pg.Pool;
  readonly months: Partitions;
  readonly publisher: Publisher | undefined;
  /** An entry was refused and has become a dead letter. */
  readonly onDeadLetter: (refusal: Refusal) => void;
}

/** How far a worker is: its lease and the last id that it has committed under it. */
export interface Position {
  readonly lease: Lease;
  readonly lastId: StreamId;
  readonly renewedAt: number;
}

/** Redis no longer is the one whose ledger was being committed, or has lost some of it. */
export class RedisReplaced extends Error {
  constructor() {
    super('Redis has lost data that Postgres has, or is another one; or Postgres has lost data');
    this.name = 'RedisReplaced';
  }
}

/** What was read of a ledger, and the rows of all of its entries; undefined when they can't be made, which has to be found out one by one. */
interface Prepared extends LedgerPages {
  readonly rows: Rows | undefined;
}

async function prepare(pages: LedgerPages): Promise<Prepared> {
  const rows = await rowsInParts(pages.entries).catch(() => undefined);
  return { ...pages, rows };
}

/** How entries are written: who tells of them, and their rows if they have been made. */
interface Writing {
  readonly tell: Publish | undefined;
  readonly rows?: Rows | undefined;
}

/** How many entries a batch may have: fewer where Node has little memory, since each worker holds some batches at a time. */
const maxEntries = Math.min(
  limits.writeBehindMaxBatchEntries,
  Math.ceil(getHeapStatistics().heap_size_limit / limits.writeBehindHeapBytesPerEntry),
);

/**
 * How many entries the next batch is to have at most: more while there are more and Postgres is fast, fewer when it is slow. A batch holds the row
 * of the tenant's offset until it is committed.
 */
function mostAfter(most: number, entries: number, tookMs: number): number {
  if (entries === most && tookMs < limits.writeBehindBatchMs) return Math.min(most * 8, maxEntries);
  if (tookMs > 2 * limits.writeBehindBatchMs) return Math.max(most >> 1, Math.min(most, limits.writeBehindBatchEntries));
  // After failures, back to what batches begin with.
  return most < limits.writeBehindBatchEntries ? Math.min(most * 2, limits.writeBehindBatchEntries) : most;
}

/** The batch that is read while another is being committed. It is of use only under the same lease, and behind what that one was to commit. */
interface Prefetch {
  readonly fence: string;
  readonly after: StreamId;
  /** Undefined when it could not be read: reading it again, in its turn, tells why. */
  readonly prepared: Promise<Prepared | undefined>;
}

/** Takes the ledger of one tenant into Postgres, a batch at a time. */
export class TenantWriter {
  private readonly options: TenantWriterOptions;
  private held: Position | undefined;
  /** Whether the stream has been trimmed up to the last id. */
  private isTrimmed = false;
  /** Entries in a row that were refused. */
  private refused = 0;
  /** Entries of the next batch: half as many after a failure, since it may have been too many for the time that a statement has, and soon all again. */
  private most: number = limits.writeBehindBatchEntries;
  private prefetched: Prefetch | undefined;

  constructor(options: TenantWriterOptions) {
    this.options = options;
  }

  /** The lease, if this worker had it last; undefined when it has to be asked for. */
  get position(): Position | undefined {
    return this.held;
  }

  /** After a failure nothing is sure any more. */
  forget(): void {
    this.held = undefined;
    this.prefetched = undefined;
    this.most = Math.max(this.most >> 1, 1);
  }

  /** There are entries that can't be read: they are committed, and were not trimmed. */
  trimAgain(): void {
    this.isTrimmed = false;
  }

  /**
   * One batch. Returns how many entries it committed, `held` while another worker holds the lease. Throws LeaseLost and RedisReplaced, after
   * which the caller forgets the position.
   */
  async step(): Promise<number | 'held'> {
    const position = await this.acquire();
    if (!position) return 'held';
    const prepared = await this.next(position);
    // Whoever had the lease before may have been killed between a commit and its trim.
    if (!this.isTrimmed) await this.trim();
    if (prepared.entries.length === 0) return 0;
    const tell = await this.options.publisher?.tellerOf(this.options.tenant, prepared.version);
    this.prefetched = prepared.isFull ? this.prefetch(position.lease, prepared) : undefined;
    const startedAt = performance.now();
    const committed = await this.commit(position, prepared, tell);
    this.most = mostAfter(this.most, prepared.entries.length, performance.now() - startedAt);
    await this.trim();
    return committed;
  }

  /** What is committed does not stay in the stream: it may be of a user who is deleted. (Redis goes on to know the last id.) */
  private async trim(): Promise<void> {
    if (!this.held) return;
    const { redis, partition } = this.options;
    await trimLedger(redis, partition, this.held.lease.epoch, this.held.lastId);
    this.isTrimmed = true;
  }

  private async acquire(): Promise<Position | undefined> {
    if (this.held && Date.now() - this.held.renewedAt < limits.leaseMs / 3) return this.held;
    const { pool, tenant, holder } = this.options;
    const now = Date.now();
    if (this.held && (await this.renew(this.held))) {
      this.held = { ...this.held, renewedAt: now };
      return this.held;
    }
    const acquired = await acquireLease(pool, tenant, holder);
    this.held = acquired && { ...acquired, renewedAt: now };
    this.isTrimmed = false;
    return this.held;
  }

  /** A lease that has not been used for a while may have gone to another worker meanwhile. */
  private async renew({ lease, lastId }: Position): Promise<boolean> {
    try {
      await advanceOffset(this.options.pool, lease, lastId, lastId);
      return true;
    } catch (error) {
      if (error instanceof LeaseLost) return false;
      throw error;
    }
  }

  /** The next batch: that which was read ahead, if all that was in front of it is committed, under the lease that it was read under. */
  private async next(position: Position): Promise<Prepared> {
    const { lease, lastId } = position;
    const { prefetched } = this;
    this.prefetched = undefined;
    if (prefetched?.fence === lease.fence && prefetched.after === lastId) {
      const prepared = await prefetched.prepared;
      if (prepared) return prepared;
    }
    const { redis, partition } = this.options;
    const pages = await readPages(redis, partition, { epoch: lease.epoch, after: lastId, most: this.most });
    if (pages === 'replaced') throw new RedisReplaced();
    // A worker that has slept may only have lost its lease.
    if (pages === 'trimmed') throw (await this.renew(position)) ? new RedisReplaced() : new LeaseLost();
    return prepare(pages);
  }

  /** Reads what comes behind a batch that is yet to be committed, and makes its rows, while Postgres is at work on that. */
  private prefetch(lease: Lease, { entries }: LedgerPages): Prefetch | undefined {
    const { redis, partition } = this.options;
    const after = entries.at(-1)?.id;
    if (after === undefined) return undefined;
    const reading = readPages(redis, partition, { epoch: lease.epoch, after, most: this.most });
    const prepared = reading.then(
      (pages) => (typeof pages === 'string' ? undefined : prepare(pages)),
      () => undefined,
    );
    return { fence: lease.fence, after, prepared };
  }

  /** Commits the entries up to the next deletion of a user, or that deletion. Returns how many entries. */
  private async commit(position: Position, { entries: read, rows }: Prepared, tell: Publish | undefined): Promise<number> {
    const [first] = read;
    if (first?.entry?.kind === 'deletion') {
      await this.deleteUser(position, first.id, first.entry.user);
      return 1;
    }
    const deletion = read.findIndex(({ entry }) => entry?.kind === 'deletion');
    const entries = deletion < 0 ? read : read.slice(0, deletion);
    await this.write(position, entries, { tell, rows: deletion < 0 ? rows : undefined });
    return entries.length;
  }

  /**
   * Commits entries in one transaction. If one of them is refused, they are tried in halves, in order, until it is found: it becomes a dead
   * letter, and the others are committed.
   */
  private async write(position: Position, entries: readonly StreamEntry[], how: Writing): Promise<Position> {
    try {
      const written = await this.writeTogether(position, entries, how);
      this.refused = 0;
      return written;
    } catch (error) {
      const [first] = entries;
      if (!first || !isRefusal(error)) throw error;
      if (entries.length === 1) return this.setAside(position, first, error);
    }
    const middle = entries.length >> 1;
    const { tell } = how;
    return this.write(await this.write(position, entries.slice(0, middle), { tell }), entries.slice(middle), { tell });
  }

  private async writeTogether({ lease, lastId }: Position, entries: readonly StreamEntry[], { tell, rows }: Writing): Promise<Position> {
    const { pool, tenant, months } = this.options;
    const newest = entries.at(-1)?.id ?? lastId;
    const { batch, months: needed, read } = rows ?? (await rowsInParts(entries));
    await months.ensure(needed);
    const now = Date.now();
    const messages = await inTransaction(pool, async (client) => {
      await advanceOffset(client, lease, lastId, newest, batch.newestAt);
      const told = await tell?.(
        client,
        read.map(({ entry }) => entry),
      );
      await writeBatch(client, tenant, batch);
      return told ?? 0;
    });
    if (messages > 0) this.options.publisher?.wake();
    return (this.held = { lease, lastId: newest, renewedAt: now });
  }

  /** Makes a dead letter of an entry: the offset passes it in the same transaction. */
  private async setAside({ lease, lastId }: Position, letter: StreamEntry, error: unknown): Promise<Position> {
    if (this.refused >= limits.maxDeadLettersInARow) {
      throw new Error(`Postgres has refused ${this.refused} entries in a row, which can't be their fault`, { cause: error });
    }
    const { pool, tenant, onDeadLetter } = this.options;
    const now = Date.now();
    await inTransaction(pool, async (client) => {
      await advanceOffset(client, lease, lastId, letter.id);
      await keepDeadLetter(client, tenant, letter, error);
    });
    this.refused += 1;
    onDeadLetter(refusalOf(tenant, letter, error));
    return (this.held = { lease, lastId: letter.id, renewedAt: now });
  }

  /**
   * Deletes a user: everything that the ledger had of the user by then is in Postgres, and nothing of what came later, which is of a new user.
   * In bounded transactions; the offset passes the entry in the last of them, so a deletion that was cut off goes on.
   */
  private async deleteUser({ lease, lastId }: Position, id: StreamId, user: string): Promise<void> {
    const { pool, tenant } = this.options;
    for (let isDone = false; !isDone;) {
      const now = Date.now();
      isDone = await inTransaction(pool, async (client) => {
        const isLast = await deleteUser(client, tenant, user);
        await advanceOffset(client, lease, lastId, isLast ? id : lastId);
        return isLast;
      });
      this.held = { lease, lastId: isDone ? id : lastId, renewedAt: now };
    }
  }
}
