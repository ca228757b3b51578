import { type Objection, objectionMessage } from '../ledger/active-redis-rules.js';
import type { CommittedOffset } from '../ledger/offsets.js';
import { outcomes } from '../redis/contract.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/** What a caller is told when the function library refused. An outcome that the caller of the library has not handled is our fault. */
export function refusal(outcome: number, user: string): Error {
  switch (outcome) {
    case outcomes.emailRequired:
      return new LaurelError('unprocessable', 'A user without an email address cannot be subscribed to emails: send `email` as well.');
    case outcomes.totalOutOfRange:
      return new LaurelError(
        'unprocessable',
        `This event would take a total beyond ±${limits.maxAbsoluteTotal.toExponential().replace('+', '')}, where numbers are no longer exact; send a smaller value.`,
      );
    case outcomes.outOfPoints:
      return new LaurelError('unprocessable', 'The user does not have enough points for this event.');
    case outcomes.alreadyCompleted:
      return new LaurelError('unprocessable', 'The user has completed this achievement already.');
    case outcomes.notCompletable:
      return new LaurelError(
        'unprocessable',
        'The user cannot complete this achievement: it is locked, or its attribute filters do not match.',
      );
    case outcomes.userExists:
      return new LaurelError('unprocessable', `A user with the id ${JSON.stringify(user)} exists already: change it with PUT or PATCH.`);
    case outcomes.userUnknown:
      return new LaurelError('not_found', `There is no user with the id ${JSON.stringify(user)}: identify the user with PUT first.`);
    default:
      return new Error(`the function library answered ${outcome}, which nobody expects here`);
  }
}

/**
 * What has become of Redis, compared with Postgres: `past` is an older life of it, `foreign` one of another database. `ahead`: it is Postgres that
 * has been put back to an older state. `fenced`: nothing is missing, but another Redis is the active one.
 */
export interface Comparison {
  readonly found: 'in_sync' | 'behind' | 'past' | 'ahead' | 'foreign' | 'fenced';
  /** The epoch of a Redis of another life, also of one that began after the state of Postgres; else empty. */
  readonly epoch: string;
  readonly offset: CommittedOffset;
  /** The newest id of the ledger that Redis has, empty for none; `ahead`: up to which Postgres had had it. */
  readonly newest: string;
  /** Workers that have heard that there is something to do: those that listen at the same node of a cluster. */
  readonly workers: number;
  /** `behind`, `past` and `fenced`: what is against opening or restoring it. */
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

/** What a Postgres that was put back to an older state means, for callers and operators. */
export const aheadSentence = ({ epoch, newest, offset }: Comparison): string =>
  'Postgres is older than Redis: ' +
  (newest === ''
    ? `Redis was restored after that (its epoch is ${epoch}, Postgres knows ${offset.epoch}). `
    : `it has the ledger up to ${offset.lastId}, and had had it up to ${newest}. `) +
  'Restore the newest state of Postgres, or run laurel restore --discard, which drops what Redis has beyond it.';

/** The 503 for a Redis out of sync with Postgres. */
export function outOfSync(comparison: Comparison, autoRestore: boolean): LaurelError {
  const { found, epoch, offset } = comparison;
  if (found === 'foreign') {
    return new LaurelError(
      'not_ready',
      `This Redis belongs to another database: its epoch is ${epoch}, Postgres expects ${offset.epoch}. ` +
        'Check REDIS_URL, REDIS_PREFIX and DATABASE_URL.',
      { reason: 'out_of_sync' },
    );
  }
  if (comparison.objection) {
    return new LaurelError('not_ready', objectionMessage(comparison.objection), {
      ...{ retryAfterS: limits.restoreRetryAfterS, reason: 'out_of_sync' },
    });
  }
  if (comparison.found === 'ahead') return new LaurelError('not_ready', aheadSentence(comparison), { reason: 'out_of_sync' });
  return new LaurelError('not_ready', `${whatIsMissing(comparison)} ${whatHappens(comparison, autoRestore)}`, {
    ...{ retryAfterS: limits.restoreRetryAfterS, reason: 'out_of_sync' },
  });
}
