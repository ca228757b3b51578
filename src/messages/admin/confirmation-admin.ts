import type { Engine } from '../../engine/engine.js';
import { readUser } from '../../engine/users.js';
import type { HistoryReader } from '../../history/reader.js';
import { userFields } from '../../redis/contract.js';
import { LaurelError } from '../../shared/errors.js';
import type { ConfirmationSender } from '../send/confirmation-email.js';
import type { Confirmation } from '../addresses/confirmations.js';
import { localeOfUser } from '../render/read-variables.js';
import type { Suppressions } from '../addresses/suppressions.js';

/** What operators see of the confirmation of a user's address. */
export interface ShownConfirmation extends Confirmation {
  /** Null for a user without an address. */
  readonly email: string | null;
  /** Whether the user receives no emails until the address is confirmed: CONFIRM_ADDRESSES. */
  readonly isRequired: boolean;
}

export interface ConfirmationAdminOptions {
  readonly engine: Engine;
  readonly history: HistoryReader;
  readonly suppressions: Suppressions;
  readonly confirming: ConfirmationSender;
  /** CONFIRM_ADDRESSES. */
  readonly isRequired: boolean;
}

/** The operators' view of the addresses that users confirm. */
export class ConfirmationAdmin {
  private readonly options: ConfirmationAdminOptions;

  constructor(options: ConfirmationAdminOptions) {
    this.options = options;
  }

  /** Throws a 404 for an unknown user. */
  async find(tenant: number, user: string): Promise<ShownConfirmation> {
    const { engine, confirming, isRequired } = this.options;
    const { profile } = await readUser(engine, tenant, user);
    const address = profile[userFields.email] ?? '';
    const found = await confirming.confirmations.find({ tenant, user, address });
    return { ...found, email: address === '' ? null : address, isRequired };
  }

  /**
   * Sends a confirmation now. Throws a 404 for an unknown user, a 422 where there is nothing to confirm, a 429 beyond the limits of the address and of
   * the tenant, and a 503 while Postgres lacks the user, for whom it could not be noted.
   */
  async send(tenant: number, user: string): Promise<{ readonly sent: boolean; readonly detail: string | null }> {
    const { engine, history, suppressions, confirming, isRequired } = this.options;
    const { email, status } = await this.find(tenant, user);
    const refuse = (sentence: string): LaurelError => new LaurelError('unprocessable', sentence);
    if (!isRequired) throw refuse('Addresses need no confirmation: set CONFIRM_ADDRESSES to 1 first.');
    if (email === null) throw refuse('This user has no email address to confirm.');
    if (status === 'confirmed') throw refuse('This user has already confirmed the address.');
    if (await suppressions.has(tenant, email)) throw refuse('The address is suppressed: remove the suppression first.');
    const state = await readUser(engine, tenant, user);
    await history.waitFor(tenant, state.ledgerId);
    const result = await confirming.send({ tenant, user, state, locale: localeOfUser(state), isAsked: true });
    if (result.kind === 'limited') {
      const { reason, retryAfterS } = result;
      const sentence = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}: retry after the seconds in Retry-After.`;
      throw new LaurelError('too_many_requests', sentence, { retryAfterS });
    }
    return { sent: result.kind === 'accepted', detail: result.detail };
  }
}
