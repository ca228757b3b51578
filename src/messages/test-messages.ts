import { randomUUID } from 'node:crypto';
import type { NotificationType } from '../config/message-types.js';
import type { SummaryStores } from '../engine/points.js';
import { LaurelError } from '../shared/errors.js';
import type { EmailSender } from './message.js';
import { previewMessage } from './preview.js';

export interface TestMessage {
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

/** Sends emails to an address that an operator names, whatever MESSAGES says. */
export class TestMessages {
  private readonly stores: SummaryStores;
  private readonly email: EmailSender | undefined;

  /** `email` is undefined without a usable SMTP_URL. */
  constructor(stores: SummaryStores, email: EmailSender | undefined) {
    this.stores = stores;
    this.email = email;
  }

  /** Sends an email as a user would receive it now, once and without storing it. Throws a 404 for an unknown user, a 422 without a provider. */
  async send(tenant: number, { type, user, to }: TestMessage): Promise<TestOutcome> {
    if (!this.email) throw new LaurelError('unprocessable', 'Emails are off: set SMTP_URL and EMAIL_FROM, and check the log of the start.');
    const { email } = await previewMessage(this.stores, { tenant }, { type, user });
    const { subject, html, text } = email;
    const id = randomUUID();
    const { kind, status, detail } = await this.email.send({ id, to, subject, html, text, unsubscribeUrl: null });
    return { id, subject, sent: kind === 'accepted', status, detail };
  }
}
