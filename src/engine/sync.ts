import { type ClaimPurpose, type Objection, objectionMessage } from '../ledger/active-redis-rules.js';
import type { CommittedOffset } from '../ledger/offsets.js';
import { keyNames, metaFields, orderArguments, outcomes } from '../redis/contract.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { redisProblems, StoreError } from '../shared/store-problems.js';
import { text, type FunctionCalls, type Reply } from './function-calls.js';

/**
 * The state of a partition of Redis, compared with Postgres: `past` is a copy with an epoch that a restore has ended, `foreign` is another
 * database's. `ahead`: Postgres has been put back to an older state. `fenced`: nothing is missing, but another Redis is the active one.
 */
export interface Comparison {
  readonly found: 'in_sync' | 'behind' | 'past' | 'ahead' | 'foreign' | 'fenced';
  /** `past`, `foreign`: the epoch of Redis, and of `ahead` when it began after the state of Postgres; else empty. */
  readonly epoch: string;
  readonly offset: CommittedOffset;
  /** The newest id of the ledger that Redis has, empty for none; `ahead`: up to which Postgres had had it. */
  readonly newest: string;
  /** Workers that have received the notification: those that are subscribed at the same node of a cluster. */
  readonly workers: number;
  /** `behind`, `past` and `fenced`: the objection to opening or restoring it. */
  readonly objection?: Objection | undefined;
}

function whatIsMissing({ found, epoch, newest, offset }: Comparison): string {
  return found === 'past'
    ? `This Redis is an older copy: its epoch is ${epoch}, which a restore has ended.`
    : `Redis is behind Postgres: it has the ledger up to ${newest || 'nothing'}, Postgres has committed ${offset.lastId}.`;
}

/** How Redis gets back in sync. */
function whatHappens({ offset, workers }: Comparison, autoRestore: boolean): string {
  if (offset.isRestoring) return 'It is being restored from Postgres. Try again shortly.';
  if (!autoRestore) return 'Start the Redis that holds the data, or run laurel restore.';
  if (workers > 0) return 'A worker is about to restore it from Postgres. Try again shortly.';
  return 'No worker is running to restore it: start one (laurel worker), or run laurel restore.';
}

/** The sentence for a Postgres that was put back to an older state, for callers and operators. */
export const aheadSentence = ({ epoch, newest, offset }: Comparison): string =>
  'Postgres is older than Redis: ' +
  (newest === ''
    ? `Redis was restored after that (its epoch is ${epoch}, Postgres knows ${offset.epoch}). `
    : `it has the ledger up to ${offset.lastId}, and had committed it up to ${newest} before. `) +
  'Restore the newest state of Postgres, or run laurel restore --discard, which drops what Redis has beyond it.';

/** The 503 for a Redis out of sync with Postgres. */
function outOfSync(comparison: Comparison, autoRestore: boolean): LaurelError {
  const { found, epoch, offset } = comparison;
  if (found === 'foreign') {
    return new StoreError(redisProblems.foreign, `its epoch is ${epoch}, Postgres expects ${offset.epoch}`);
  }
  if (comparison.objection) {
    return new LaurelError('not_ready', objectionMessage(comparison.objection), {
      retryAfterS: limits.restoreRetryAfterS,
      reason: 'out_of_sync',
    });
  }
  if (comparison.found === 'ahead') return new LaurelError('not_ready', aheadSentence(comparison), { reason: 'out_of_sync' });
  return new LaurelError('not_ready', `${whatIsMissing(comparison)} ${whatHappens(comparison, autoRestore)}`, {
    retryAfterS: limits.restoreRetryAfterS,
    reason: 'out_of_sync',
  });
}

/** Ensures that only one Redis is served from for a database (ledger/active-redis.ts). */
interface Fence {
  claim(need: ClaimPurpose): Promise<Objection | undefined>;
  look(need: ClaimPurpose): Promise<Objection | undefined>;
}

export interface PartitionSyncOptions {
  readonly testClock: boolean;
  /** What Postgres has committed of a tenant's ledger (ledger/offsets.ts). */
  readonly loadOffset: (tenant: number, isFinal: boolean) => Promise<CommittedOffset>;
  /** Whether a restore has ended an epoch. */
  readonly isPastEpoch: (tenant: number, epoch: string) => Promise<boolean>;
  /** Undefined where no other process can be (benchmarks). */
  readonly fence?: Fence;
  /** Whether workers restore a Redis that lacks data by themselves. */
  readonly autoRestore: boolean;
}

/** Compares partitions of Redis with what Postgres has committed, and opens those in sync (ARCHITECTURE.md, invariant 5). */
export class PartitionSync {
  private readonly calls: FunctionCalls;
  private readonly options: PartitionSyncOptions;
  /** The epoch that Postgres has, by tenant: known as soon as the partition has been compared. */
  private readonly epochs = new Map<number, string>();
  private readonly opening = new Map<number, Promise<void>>();

  constructor(calls: FunctionCalls, options: PartitionSyncOptions) {
    this.calls = calls;
    this.options = options;
  }

  /** The tenants whose partitions this process has compared with Postgres. */
  tenants(): Iterable<number> {
    return this.epochs.keys();
  }

  epochOf(tenant: number): string | undefined {
    return this.epochs.get(tenant);
  }

  /**
   * Compares a partition with what Postgres has committed and opens it if they are in sync. Concurrent callers share one comparison. Throws
   * `not_ready` if they are not.
   */
  open(tenant: number): Promise<void> {
    const running = this.opening.get(tenant);
    if (running) return running;
    const opening = this.compareAndOpen(tenant).finally(() => this.opening.delete(tenant));
    this.opening.set(tenant, opening);
    return opening;
  }

  private async compareAndOpen(tenant: number): Promise<void> {
    const problem = await this.outOfSync(tenant);
    if (problem) throw problem;
  }

  /** Why a tenant is not served from its Redis, when that is out of sync with Postgres. Throws `not_ready` while either is away. */
  async outOfSync(tenant: number): Promise<LaurelError | undefined> {
    const compared = await this.compare(tenant);
    return compared.found === 'in_sync' ? undefined : outOfSync(compared, this.options.autoRestore);
  }

  /** Compares a partition with what Postgres has committed, and opens it if they are in sync. */
  async compare(tenant: number): Promise<Comparison> {
    while (true) {
      const compared = await this.compareOnce(tenant);
      if (compared.found !== 'ahead') return compared;
      // The write-behind may have committed and trimmed between the two reads: then Postgres has it now.
      const { epoch, lastId } = await this.options.loadOffset(tenant, false);
      if (epoch !== compared.offset.epoch || lastId !== compared.offset.lastId) continue;
      // Closes the partition: processes with the same Postgres detect it too, one with another Postgres opens the partition again.
      const meta = this.calls.partition(tenant) + keyNames.meta;
      await this.calls.command((redis) => redis.hdel(meta, metaFields.server));
      return compared;
    }
  }

  private async compareOnce(tenant: number): Promise<Comparison> {
    const { fence } = this.options;
    const asOfNow = await this.tryOpen(tenant, false);
    const isNotOpen = asOfNow.outcome === outcomes.notOpen;
    if (isNotOpen || asOfNow.outcome === outcomes.ok) {
      // An empty partition of which nothing is committed is given the epoch, which another Redis may hold.
      const objection = await fence?.claim({ epoch: isNotOpen && Number(asOfNow.values[0]) === 0 ? 'none' : 'current' });
      if (objection) return { found: 'fenced', epoch: '', newest: '', workers: 0, offset: asOfNow.offset, objection };
    }
    const { outcome, values, offset } = isNotOpen ? await this.tryOpen(tenant, true) : asOfNow;
    const [of, workers] = [text(values[0]), Number(values[1] ?? 0)];
    switch (outcome) {
      case outcomes.ok:
        return { found: 'in_sync', epoch: '', newest: '', workers: 0, offset };
      case outcomes.behind:
        return { found: 'behind', epoch: '', newest: of, workers, offset, objection: await fence?.look({ epoch: 'none' }) };
      case outcomes.ahead:
        return { found: 'ahead', ...(/^\d+-\d+$/.test(of) ? { epoch: '', newest: of } : { epoch: of, newest: '' }), workers: 0, offset };
      case outcomes.foreign:
        if (!(await this.options.isPastEpoch(tenant, of))) return { found: 'foreign', epoch: of, newest: '', workers, offset };
        return { found: 'past', epoch: of, newest: '', workers, offset, objection: await fence?.look({ epoch: 'past' }) };
      default:
        throw new Error(`open replied ${outcome}`);
    }
  }

  private async tryOpen(tenant: number, isFinal: boolean): Promise<Reply & { offset: CommittedOffset }> {
    const offset = await this.options.loadOffset(tenant, isFinal);
    const { epoch, lastId, isRestoring } = offset;
    const testClockMs = (this.options.testClock ? offset.testClockMs : null) ?? '';
    this.epochs.set(tenant, epoch);
    // A running restore replaces what is there.
    if (isFinal && isRestoring) return { outcome: outcomes.behind, values: [], offset };
    const args = orderArguments('open', { epoch, lastId, isFinal: Number(isFinal), testClockMs });
    return { ...(await this.calls.run(tenant, 'open', args)), offset };
  }
}
