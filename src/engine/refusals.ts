import { outcomes } from '../redis/contract.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/** The error for an outcome that refuses a call. An outcome that the caller of the library should have handled is a bug. */
export function refusal(outcome: number, user: string): Error {
  switch (outcome) {
    case outcomes.emailRequired:
      return new LaurelError('unprocessable', 'A user without an email address cannot be subscribed to emails: send `email` as well.');
    case outcomes.signUpDateTooLate:
      return new LaurelError('unprocessable', "`signUpDate` must not be after today in the user's time zone.");
    case outcomes.totalOutOfRange:
      return new LaurelError(
        'unprocessable',
        `This event would take a total beyond ±${limits.maxAbsoluteTotal.toExponential().replace('+', '')}, where numbers are no longer exact; send a smaller value.`,
      );
    case outcomes.outOfPoints:
      return new LaurelError('unprocessable', 'The user does not have enough points for this event.');
    case outcomes.alreadyCompleted:
      return new LaurelError('unprocessable', 'The user has already completed this achievement.');
    case outcomes.notCompletable:
      return new LaurelError(
        'unprocessable',
        'The user cannot complete this achievement: it is locked, or its attribute filters do not match.',
      );
    case outcomes.userExists:
      return new LaurelError('unprocessable', `A user with the id ${JSON.stringify(user)} already exists: change it with PUT or PATCH.`);
    case outcomes.userUnknown:
      return new LaurelError('not_found', `There is no user with the id ${JSON.stringify(user)}: identify the user with PUT first.`);
    default:
      return new Error(`unexpected outcome ${outcome} of the function library`);
  }
}

/** The 503 while the ledger is at its limit. */
export function ledgerFull(): LaurelError {
  return new LaurelError(
    'not_ready',
    `Writes are temporarily unavailable: Postgres is unavailable or slow, and the ledger is at its limit. Retry in ${limits.ledgerFullRetryS} s.`,
    { retryAfterS: limits.ledgerFullRetryS, reason: 'ledger_full' },
  );
}
