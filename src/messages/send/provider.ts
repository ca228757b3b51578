/** Rendered messages to users, and what a provider says to them. */
import { limits } from '../../shared/limits.js';

/** A rendered email. */
export interface Email {
  /** The id of its delivery, a UUID, which is also the left side of its Message-ID. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  /** The signed link of List-Unsubscribe; null for an email without one. */
  readonly unsubscribeUrl: string | null;
}

/** A rendered push notification to one device. */
export interface Push {
  /** The id of its delivery, a UUID. */
  readonly id: string;
  /** A token of the user as the user has it, prefix included (docs/messages-providers.md). */
  readonly token: string;
  readonly title: string;
  readonly body: string;
  /** What the app opens; null for its start. */
  readonly url: string | null;
  /** The URL of the app's icon, where the device is a browser; null for its own. */
  readonly icon: string | null;
}

/** A provider's response to one attempt. */
export interface SendResult {
  /**
   * `accepted`: the provider has the message. `temporary`: retried later. `permanent`: never retried. `unavailable`: the provider refuses
   * Laurel's credentials or can't be reached, whatever the message; retried later.
   */
  readonly kind: 'accepted' | 'temporary' | 'permanent' | 'unavailable';
  /** Of a permanent refusal: whether the address or the token is no longer valid, and must not be used again. */
  readonly isGone?: boolean;
  /** The provider's status code; null without a response. */
  readonly status: number | null;
  /** What the provider responded, or why there is no response; without personal data. */
  readonly detail: string | null;
}

const addresses = /[^\s<>()[\],;:"']+@[^\s<>()[\],;:"']+/gu;

/** A provider's response for storage: without addresses and the values in `personal`, which servers like to repeat, on one line, and short. */
export function detailOf(text: string, personal: readonly string[] = []): string {
  const known = personal.filter((value) => value !== '').reduce((rest, value) => rest.replaceAll(value, '[removed]'), text);
  return known
    .replaceAll(addresses, '[removed]')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, limits.maxMessageDetailChars)
    .toWellFormed();
}

/** Sends emails. */
export interface EmailSender {
  send(email: Email): Promise<SendResult>;
}

/** Sends push notifications. */
interface PushSender {
  send(push: Push, to: { readonly tenant: number; readonly user: string }): Promise<SendResult>;
}

/** What sends by each channel; a channel without one is off. */
export interface Senders {
  readonly email?: EmailSender | undefined;
  readonly push?: PushSender | undefined;
}
