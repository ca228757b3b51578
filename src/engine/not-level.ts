import { LaurelError } from '../errors.js';
import type { CommittedOffset } from '../ledger/offsets.js';
import { limits } from '../limits.js';

/**
 * What has become of Redis, compared with Postgres: `past` is an older life of it, `foreign` one of another database. `ahead`: it is Postgres that
 * has been put back to an older state.
 */
export interface Comparison {
  readonly found: 'level' | 'behind' | 'past' | 'ahead' | 'foreign';
  /** The epoch of a Redis of another life, also of one that began after the state of Postgres; else empty. */
  readonly epoch: string;
  readonly offset: CommittedOffset;
  /** The newest id of the ledger that Redis has, empty for none; `ahead`: up to which Postgres had had it. */
  readonly newest: string;
  /** Workers that have heard that there is something to do: those that listen at the same node of a cluster. */
  readonly workers: number;
}

function whatIsMissing({ found, epoch, newest, offset }: Comparison): string {
  return found === 'past'
    ? `This Redis is an older copy: its epoch is ${epoch}, which a restore has ended.`
    : `Redis is behind Postgres: it has the ledger up to ${newest || 'nothing'}, Postgres has committed ${offset.lastId}.`;
}

/** Who brings Redis level. */
function whatHappens({ offset, workers }: Comparison, autoRestore: boolean): string {
  if (offset.isRestoring) return 'It is being restored from Postgres, and nothing is served before it is level. Try again shortly.';
  if (!autoRestore) return 'Nothing is served until it is brought level: start the Redis that holds the data, or run laurel restore.';
  if (workers > 0) return 'A worker is about to restore it from Postgres, and nothing is served before it is level. Try again shortly.';
  return 'Nothing is served until it is brought level, and no worker has taken that up: start one (laurel worker), or run laurel restore.';
}

/** What a Postgres that was put back to an older state means, for callers and operators. */
export const aheadSentence = ({ epoch, newest, offset }: Comparison): string =>
  'Postgres is older than Redis: ' +
  (newest === ''
    ? `Redis was restored after that (its epoch is ${epoch}, Postgres knows ${offset.epoch}). `
    : `it has the ledger up to ${offset.lastId}, and had had it up to ${newest}. `) +
  'Nothing is served until they are level: put Postgres back to its newest state, or run laurel restore --discard, which gives up what came after that.';

/** What a caller is told while Redis is not level with Postgres. */
export function notLevel(comparison: Comparison, autoRestore: boolean): LaurelError {
  const { found, epoch, offset } = comparison;
  if (found === 'foreign') {
    return new LaurelError(
      'not_ready',
      `This Redis belongs to another database: its epoch is ${epoch}, Postgres expects ${offset.epoch}. ` +
        'Check REDIS_URL, REDIS_PREFIX and DATABASE_URL.',
    );
  }
  if (comparison.found === 'ahead') return new LaurelError('not_ready', aheadSentence(comparison));
  return new LaurelError('not_ready', `${whatIsMissing(comparison)} ${whatHappens(comparison, autoRestore)}`, {
    retryAfterS: limits.restoreRetryAfterS,
  });
}
