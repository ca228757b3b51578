import { z } from 'zod';
import { own } from '../../shared/own.js';
import { postmarkMetadataKey } from '../send/email-transport.js';
import type { Feedback } from './intake.js';

/** Types of bounces after which an address never works. Others, such as a full mailbox, may. */
const permanentTypes: ReadonlySet<string> = new Set(['HardBounce', 'BadEmailAddress']);

/** Why Postmark itself no longer sends to an address. */
const reasons: Readonly<Record<string, Feedback['kind']>> = {
  HardBounce: 'bounced',
  SpamComplaint: 'complained',
  ManualSuppression: 'manual',
};

const shared = { Metadata: z.record(z.string(), z.unknown()).nullish() };
const failure = { ...shared, Type: z.string(), Email: z.string() };

/** The webhooks of Postmark that Laurel uses; unknown fields and other record types are ignored. */
const webhookSchema = z.discriminatedUnion('RecordType', [
  z.object({ ...failure, RecordType: z.literal('Bounce'), Inactive: z.boolean().nullish() }),
  z.object({ ...failure, RecordType: z.literal('SpamComplaint') }),
  z.object({
    ...shared,
    RecordType: z.literal('SubscriptionChange'),
    Recipient: z.string(),
    SuppressSending: z.boolean(),
    SuppressionReason: z.string().nullish(),
  }),
]);
export const postmarkSchema = z.union([webhookSchema, z.object({ RecordType: z.enum(['Delivery', 'Open', 'Click', 'Inbound']) })]);
export type PostmarkWebhook = z.infer<typeof postmarkSchema>;

function deliveryOf(metadata: Readonly<Record<string, unknown>> | null | undefined): string | undefined {
  const named = Object.entries(metadata ?? {}).find(([key]) => key.toLowerCase() === postmarkMetadataKey)?.[1];
  const id = z.uuid().safeParse(named);
  return id.success ? id.data : undefined;
}

/** What a webhook of Postmark reports; undefined for nothing that concerns suppressions. */
export function postmarkFeedback(webhook: PostmarkWebhook): Feedback | undefined {
  switch (webhook.RecordType) {
    case 'Bounce': {
      if (!permanentTypes.has(webhook.Type) && webhook.Inactive !== true) return undefined;
      return { kind: 'bounced', address: webhook.Email, delivery: deliveryOf(webhook.Metadata), detail: webhook.Type };
    }
    case 'SpamComplaint':
      return { kind: 'complained', address: webhook.Email, delivery: deliveryOf(webhook.Metadata), detail: webhook.Type };
    case 'SubscriptionChange': {
      const reason = webhook.SuppressionReason ?? 'ManualSuppression';
      const kind = webhook.SuppressSending ? (own(reasons, reason) ?? 'manual') : 'restored';
      return { kind, address: webhook.Recipient, delivery: deliveryOf(webhook.Metadata), detail: reason };
    }
    default:
      return undefined;
  }
}
