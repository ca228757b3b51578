import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { NotificationType } from '../../config/schema/message-types.js';
import type { SummaryStores } from '../../engine/points.js';
import { readProfile } from '../../engine/users.js';
import type { RedisConnection } from '../../redis/connection.js';
import { RateLimiter } from '../../redis/rate-limiter.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { canonicalAddress, isSmtpAddress } from '../addresses/address.js';
import type { Confirmations } from '../addresses/confirmations.js';
import type { EmailSender } from '../send/provider.js';
import { type Preview, type PreviewDraft, type PreviewQuery, previewMessage } from './preview.js';
import type { Suppressions } from '../addresses/suppressions.js';

export interface TestMessage extends PreviewDraft {
  readonly type: NotificationType;
  readonly user: string;
  readonly to: string;
}

/** The outcome of a test. */
export interface TestOutcome {
  /** Of the Message-ID. */
  readonly id: string;
  readonly subject: string;
  readonly sent: boolean;
  readonly status: number | null;
  readonly detail: string | null;
}

export interface TestMessagesOptions {
  readonly stores: SummaryStores;
  readonly log: Logger;
  readonly redis: RedisConnection;
  /** REDIS_PREFIX. */
  readonly prefix: string;
  /** MESSAGES. */
  readonly mode: 'off' | 'log' | 'on';
  /** TEST_EMAIL_ADDRESSES: addresses, and domains that begin with an `@`. */
  readonly addresses: readonly string[];
  readonly suppressions: Suppressions;
  /** Undefined unless CONFIRM_ADDRESSES is on. */
  readonly confirmations: Confirmations | undefined;
  /** Undefined without a usable SMTP_URL. */
  readonly email: EmailSender | undefined;
}

/** The key of a test's sender: one that is bound to a tenant may send less. */
export interface TestSender {
  readonly isBound: boolean;
}

/**
 * Renders messages for operators, and sends emails to an address that they name, whatever MESSAGES says. Keys that are bound to a tenant send only to
 * the user's own address and to those of TEST_EMAIL_ADDRESSES, and only with MESSAGES=on.
 */
export class TestMessages {
  private readonly options: TestMessagesOptions;
  private readonly listed: ReadonlySet<string>;
  private readonly limiter: RateLimiter;

  constructor(options: TestMessagesOptions) {
    this.options = options;
    this.listed = new Set(options.addresses.map(canonicalAddress));
    this.limiter = new RateLimiter({
      redis: options.redis,
      prefix: options.prefix,
      counter: 'rate-test-emails',
      max: limits.maxTestEmails,
      windowS: limits.testEmailWindowS,
    });
  }

  /** Renders a message, and sends nothing. Throws as previewMessage. */
  preview(tenant: number, query: PreviewQuery): Promise<Preview> {
    return previewMessage(this.options.stores, { tenant }, query);
  }

  /**
   * Sends an email as a user would receive it now, once and without storing it. Throws as previewMessage, a 403 for an address that the sender may not
   * use, a 422 without a provider, and a 429 beyond the limit of the tenant.
   */
  async send(tenant: number, { to, ...message }: TestMessage, { isBound }: TestSender): Promise<TestOutcome> {
    const { stores, mode, email: provider, suppressions } = this.options;
    const isLogged = isBound && mode !== 'on';
    if (!provider && !isLogged) {
      throw new LaurelError('unprocessable', 'Emails are off: set SMTP_URL and EMAIL_FROM, and check the startup log.');
    }
    if (isBound && !(await this.isOpen(tenant, message.user, to))) {
      throw new LaurelError(
        'forbidden',
        'This key is bound to a tenant, and sends tests only to the address of the user and to those of TEST_EMAIL_ADDRESSES: ' +
          'use one of them, or an admin key of the account.',
      );
    }
    const { email } = await previewMessage(stores, { tenant }, message);
    const { subject, html, text } = email;
    const outcome = { id: randomUUID(), subject, sent: false, status: null };
    if (await suppressions.has(tenant, to)) return { ...outcome, detail: 'The address is suppressed.' };
    if (!provider || isLogged) {
      this.options.log.info({ tenant, type: message.type, user: message.user, subject }, `test email not sent: MESSAGES=${mode}`);
      return { ...outcome, detail: `MESSAGES=${mode}: the email was logged and not sent.` };
    }
    await this.count(tenant);
    const { kind, status, detail } = await provider.send({ id: outcome.id, to, subject, html, text, unsubscribeUrl: null });
    return { ...outcome, sent: kind === 'accepted', status, detail };
  }

  /** Whether a key that is bound to the tenant may send a test about a user to an address. */
  private async isOpen(tenant: number, user: string, to: string): Promise<boolean> {
    const address = canonicalAddress(to);
    if (!isSmtpAddress(address)) return false;
    if (this.listed.has(address) || this.listed.has(address.slice(address.lastIndexOf('@')))) return true;
    const { stores, confirmations } = this.options;
    const { email } = await readProfile(stores.engine, tenant, user);
    if (email === null || canonicalAddress(email) !== address) return false;
    return confirmations === undefined || (await confirmations.find({ tenant, user, address })).status === 'confirmed';
  }

  private async count(tenant: number): Promise<void> {
    const { isOver, resetS } = await this.limiter.count(String(tenant));
    if (isOver) {
      throw new LaurelError(
        'too_many_requests',
        `A tenant may send ${limits.maxTestEmails} test emails in an hour: retry after the seconds in Retry-After.`,
        { retryAfterS: resetS },
      );
    }
  }
}
