import { outcomes } from '../redis/contract.js';
import { type ErrorCode, LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/** Why a call was refused. As the issue of an item of a batch, it may be a warning: there was nothing to do. */
export class Refusal extends LaurelError {
  readonly severity: 'error' | 'warning';

  constructor(message: string, { code = 'unprocessable', severity = 'error' }: { code?: ErrorCode; severity?: Refusal['severity'] } = {}) {
    super(code, message);
    this.severity = severity;
  }
}

/** What came of a call that may be refused. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

/**
 * The refusal for an outcome of the function library. With `user`, its message names the user; a batch names the user beside it. Throws for
 * an outcome that the caller of the library should have handled, which is a bug.
 */
export function refusal(outcome: number, user?: string): Refusal {
  switch (outcome) {
    case outcomes.emailRequired:
      return new Refusal('A user without an email address cannot be subscribed to emails: send `email` as well.');
    case outcomes.signUpDateTooLate:
      return new Refusal("`signUpDate` must not be after today in the user's time zone.");
    case outcomes.totalOutOfRange:
      return new Refusal(
        `This event would take a total beyond ±${limits.maxAbsoluteTotal.toExponential().replace('+', '')}, where numbers are no longer exact; send a smaller value.`,
      );
    case outcomes.outOfPoints:
      return new Refusal('The user does not have enough points for this event.');
    case outcomes.alreadyCompleted:
      return new Refusal('The user has already completed this achievement.', { severity: 'warning' });
    case outcomes.notCompletable:
      return new Refusal('The user cannot complete this achievement: it is locked, or its attribute filters do not match.');
    case outcomes.userExists:
      return new Refusal(`A user with the id ${JSON.stringify(user)} already exists: change it with PUT or PATCH.`);
    case outcomes.userUnknown:
      return new Refusal(
        user === undefined
          ? 'There is no user with this id.'
          : `There is no user with the id ${JSON.stringify(user)}: identify the user with PUT first.`,
        { code: 'not_found' },
      );
    case outcomes.streaksDisabled:
      return new Refusal('Streaks are not enabled.');
    case outcomes.tooManyFreezes:
      return new Refusal(`The user already has the maximum number of freezes (${limits.maxFreezes}).`);
    case outcomes.noFreeze:
      return new Refusal('The user has no freeze.');
    case outcomes.tooManyPauses:
      return new Refusal(`The user already has the maximum number of current and upcoming pauses (${limits.maxPausesPerUser}).`);
    case outcomes.pauseTooEarly:
      return new Refusal("A pause must not start before today's date in the user's time zone.");
    case outcomes.pauseUnknown:
      return new Refusal('There is no pause with this id.', { code: 'not_found' });
    case outcomes.nothingToRestore:
      return new Refusal('The user has no lost streak to restore.');
    case outcomes.longerStreak:
      return new Refusal('The current streak is longer than the lost one: a restore would shorten it.');
    case outcomes.noStreak:
      return new Refusal('The user has no streak.', { severity: 'warning' });
    case outcomes.nothingToAdjust:
      return new Refusal('Nothing changed: the total is at 0, or at or above the cap of the points system.', { severity: 'warning' });
    default:
      throw new Error(`unexpected outcome ${outcome} of the function library`);
  }
}

/** The result of a call of the function library that gives `value` unless it is refused. */
export const toResult = <T>(outcome: number, value: T): Result<T> =>
  outcome === outcomes.ok ? { ok: true, value } : { ok: false, refusal: refusal(outcome) };

/** The 503 while the ledger is at its limit. */
export function ledgerFull(): LaurelError {
  return new LaurelError(
    'not_ready',
    `Writes are temporarily unavailable: Postgres is unavailable or slow, and the ledger is at its limit. Retry in ${limits.ledgerFullRetryS} s.`,
    { retryAfterS: limits.ledgerFullRetryS, reason: 'ledger_full' },
  );
}

/** The refusal of a time of the test clock before `nowMs`, the present one. */
export const clockBackward = (nowMs: number): Refusal =>
  new Refusal(`The test clock only moves forward: it is already at ${new Date(nowMs).toISOString()}.`);
