import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

/** The secrets of an endpoint. */
export interface Secrets {
  readonly secret: string;
  /** The one before, while both are valid. */
  readonly previous: string | null;
}

const secretBytes = 32;

/** A new secret, as the Standard Webhooks write it: `whsec_` and the base64 of random bytes. */
export const newSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`;

/**
 * The headers by which a receiver knows a message and its sender: those of the Standard Webhooks, and `X-Trophy-Signature`, for handlers
 * written for the hosted service. `body` is signed as it is sent. While two secrets are valid, `webhook-signature` has a signature under each;
 * `X-Trophy-Signature` has room for one, and is made with the newer, whose text, `whsec_` included, is the key, as such handlers have it.
 */
export function signatureHeaders(id: string, at: Date, body: string, { secret, previous }: Secrets): Record<string, string> {
  const signatures = [secret, previous].filter((each) => each !== null).map((each) => new Webhook(each).sign(id, at, body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
    'x-trophy-signature': createHmac('sha256', secret).update(body).digest('base64'),
  };
}
