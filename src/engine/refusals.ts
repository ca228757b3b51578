import { LaurelError } from '../errors.js';
import { limits } from '../limits.js';
import { outcomes } from '../redis/contract.js';

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
