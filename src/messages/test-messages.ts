import { randomUUID } from 'node:crypto';
import type { NotificationType } from '../config/message-types.js';
import type { SummaryStores } from '../engine/points.js';
import { LaurelError } from '../shared/errors.js';
import type { EmailSender } from './message.js';
import { type Preview, type PreviewDraft, type PreviewQuery, previewMessage } from './preview.js';

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

/** Renders messages for operators, and sends emails to an address that they name, whatever MESSAGES says. */
export class TestMessages {
  private readonly stores: SummaryStores;
  private readonly email: EmailSender | undefined;

  /** `email` is undefined without a usable SMTP_URL. */
  constructor(stores: SummaryStores, email: EmailSender | undefined) {
    this.stores = stores;
    this.email = email;
  }

  /** Renders a message, and sends nothing. Throws as previewMessage. */
  preview(tenant: number, query: PreviewQuery): Promise<Preview> {
    return previewMessage(this.stores, { tenant }, query);
  }

  /** Sends an email as a user would receive it now, once and without storing it. Throws as previewMessage, and a 422 without a provider. */
  async send(tenant: number, { to, ...message }: TestMessage): Promise<TestOutcome> {
    if (!this.email) throw new LaurelError('unprocessable', 'Emails are off: set SMTP_URL and EMAIL_FROM, and check the log of the start.');
    const { email } = await previewMessage(this.stores, { tenant }, message);
    const { subject, html, text } = email;
    const id = randomUUID();
    const { kind, status, detail } = await this.email.send({ id, to, subject, html, text, unsubscribeUrl: null });
    return { id, subject, sent: kind === 'accepted', status, detail };
  }
}
