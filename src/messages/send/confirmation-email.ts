import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { UserState } from '../../engine/users.js';
import { userFields } from '../../redis/contract.js';
import { limits } from '../../shared/limits.js';
import { nameWithoutLinks, oneLine } from '../render/bounds.js';
import { fontStacks } from '../render/fonts.js';
import type { ConfirmationLimits, ConfirmationRefusal } from '../addresses/confirmation-limits.js';
import type { Confirmations } from '../addresses/confirmations.js';
import { renderLayout } from '../render/layout.js';
import { directionOf } from '../render/locales.js';
import type { Links } from '../addresses/links.js';
import type { Email, EmailSender, SendResult } from './provider.js';
import type { MessageConfig } from '../render/texts.js';
import { brandColors, type DetailsView } from '../render/view.js';
import { fill, wordsFor } from '../render/words.js';

const noDetails: DetailsView = { achievements: [], moreAchievements: '', calendar: null, stats: [], progress: [] };

/**
 * Renders the email that asks a user to confirm the address: fixed words, the color and the name of the brand, and nothing that a user has written.
 * The address may be a stranger's, so nothing of a tenant is a link, or an image from its host.
 */
export function renderConfirmation(
  { document: { messages } }: MessageConfig,
  locale: string,
  url: string,
): Pick<Email, 'subject' | 'html' | 'text'> {
  const words = wordsFor(locale);
  const dir = directionOf(words.locale);
  const brand = { name: nameWithoutLinks(messages.brandName), font: fontStacks[messages.brandFont], logoUrl: '', address: [] };
  const inWords = (text: string): string => fill(text, { brand: brand.name });
  const { subject, body, ignore, button, reason } = words.confirmation;
  const view = {
    locale: words.locale,
    dir,
    start: dir === 'rtl' ? 'right' : 'left',
    end: dir === 'rtl' ? 'left' : 'right',
    subject: oneLine(inWords(subject), limits.maxSubjectChars),
    words,
    brand,
    colors: brandColors(messages),
    heading: inWords(subject),
    paragraphs: [[inWords(body)], [inWords(ignore)]],
    preheader: inWords(body),
    ...noDetails,
    button: { text: button, url },
    reason: inWords(reason),
    unsubscribeUrl: null,
  };
  return { subject: view.subject, ...renderLayout(view) };
}

export interface ConfirmationSenderOptions {
  readonly confirmations: Confirmations;
  readonly bounds: ConfirmationLimits;
  readonly links: Links;
  readonly log: Logger;
  /** MESSAGES. */
  readonly mode: 'off' | 'log' | 'on';
  /** Undefined without a usable SMTP_URL. */
  readonly email: EmailSender | undefined;
}

/** Whom a confirmation is sent to. */
export interface ConfirmationTo {
  readonly tenant: number;
  readonly user: string;
  readonly state: UserState;
  readonly locale: string;
  /** Whether an operator asks for it. */
  readonly isAsked: boolean;
}

/** The outcome of a confirmation: the reply of the server, or why nothing was sent. */
export type ConfirmationResult =
  SendResult | { readonly kind: 'none'; readonly detail: string } | ({ readonly kind: 'limited' } & ConfirmationRefusal);

/** Sends users the email with the link that confirms their address (CONFIRM_ADDRESSES). */
export class ConfirmationSender {
  readonly confirmations: Confirmations;
  private readonly options: ConfirmationSenderOptions;

  constructor(options: ConfirmationSenderOptions) {
    this.options = options;
    this.confirmations = options.confirmations;
  }

  /** Sends a confirmation, or logs it unless MESSAGES is `on`. Does not throw for what the server says. */
  async send({ tenant, user, state, locale, isAsked }: ConfirmationTo): Promise<ConfirmationResult> {
    const { confirmations, bounds, links, log, mode, email } = this.options;
    const address = state.profile[userFields.email] ?? '';
    const created = Number(state.profile[userFields.created]);
    const url = await links.confirmationUrl({ tenant, user, created, address });
    if (url === null) return { kind: 'none', detail: 'there is no PUBLIC_URL for the link that confirms it' };
    const rendered = renderConfirmation(state.config, locale, url);
    if (mode !== 'on') {
      log.info({ tenant, user, subject: rendered.subject }, `confirmation of an address not sent: MESSAGES=${mode}`);
      return { kind: 'none', detail: `with MESSAGES=${mode}, the confirmation was logged and not sent` };
    }
    if (!email) return { kind: 'none', detail: 'emails are off: set SMTP_URL and EMAIL_FROM' };
    const refusal = await bounds.count({ tenant, address, isAsked });
    if (refusal) return { kind: 'limited', ...refusal };
    const result = await email.send({ id: randomUUID(), to: address, ...rendered, unsubscribeUrl: null });
    if (result.kind === 'accepted') await confirmations.noteSent({ tenant, user, address });
    if (result.kind === 'temporary' || result.kind === 'unavailable') await bounds.uncount(tenant, address);
    return result;
  }
}
