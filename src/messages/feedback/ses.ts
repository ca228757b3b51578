import { Agent, get } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import SnsPayloadValidator from 'sns-payload-validator';
import { z } from 'zod';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import type { Feedback } from './intake.js';

/** A message of SNS over HTTP. All of its fields are texts; the signature covers those that matter. */
export const snsSchema = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Subject: z.string().optional(),
  Message: z.string(),
  Timestamp: z.string(),
  Token: z.string().optional(),
  SubscribeURL: z.string().optional(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
});
export type SnsMessage = z.infer<typeof snsSchema>;

const recipients = z.array(z.object({ emailAddress: z.string(), status: z.string().nullish() })).max(limits.maxBouncedRecipients);

/** A notification of SES, or an event of a configuration set, which names its kind otherwise. */
const sesSchema = z.object({
  notificationType: z.string().optional(),
  eventType: z.string().optional(),
  bounce: z.object({ bounceType: z.string(), bounceSubType: z.string().nullish(), bouncedRecipients: recipients }).optional(),
  complaint: z.object({ complaintFeedbackType: z.string().nullish(), complainedRecipients: recipients }).optional(),
  mail: z
    .object({
      headers: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
      commonHeaders: z.object({ messageId: z.string().nullish() }).optional(),
    })
    .optional(),
});
type SesEvent = z.infer<typeof sesSchema>;

/** SES replaces the Message-ID and reports the original one, if it is set up to include headers. */
function deliveryOf({ mail }: SesEvent): string | undefined {
  const header = mail?.headers?.find(({ name }) => name.toLowerCase() === 'message-id')?.value;
  const id = z.uuid().safeParse(/^<?([^@<>]+)@/.exec(mail?.commonHeaders?.messageId ?? header ?? '')?.[1]);
  return id.success ? id.data : undefined;
}

/** What an event of SES reports: an entry for each recipient; none for an event that concerns no suppression. */
function sesFeedback(message: string): Feedback[] {
  const event = sesSchema.safeParse(parsedJson(message));
  if (!event.success) return [];
  const { bounce, complaint } = event.data;
  const delivery = deliveryOf(event.data);
  switch (event.data.notificationType ?? event.data.eventType) {
    case 'Bounce':
      if (bounce?.bounceType !== 'Permanent') return [];
      return bounce.bouncedRecipients.map(({ emailAddress: address, status }) => ({
        kind: 'bounced',
        address,
        delivery,
        detail: [bounce.bounceType, bounce.bounceSubType, status].filter((part) => typeof part === 'string').join(' '),
      }));
    case 'Complaint':
      // The recipient has moved it out of the spam folder.
      if (!complaint || complaint.complaintFeedbackType === 'not-spam') return [];
      return complaint.complainedRecipients.map(({ emailAddress: address }) => ({
        kind: 'complained',
        address,
        delivery,
        detail: complaint.complaintFeedbackType ?? 'complaint',
      }));
    default:
      return [];
  }
}

/** SNS sends texts that are not JSON too, such as the one that tests a topic. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The hosts of SNS, by region. `sns.s3-eu-west-1.amazonaws.com` is not one of them, but a bucket of S3 that anyone may have. */
const snsHost = /^sns\.[a-z]+(?:-[a-z]+)+-\d{1,2}\.amazonaws\.com(?:\.cn)?$/;

/** The address of SNS that a text is; undefined for any other text. */
function snsAddress(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && url.port === '' && snsHost.test(url.hostname) ? url : undefined;
}

const wrongSignature = (cause?: unknown): LaurelError =>
  new LaurelError('unauthorized', 'The signature of this message of SNS is not valid.', { cause });

const isNetworkError = (error: unknown): boolean => error instanceof Error && 'code' in error;

/** The notifications of SES, which SNS sends and signs. */
export class SesNotifications {
  private readonly topicArn: string;
  private readonly agent: Agent;
  private validator: SnsPayloadValidator;

  /** `agent` connects to Amazon; only tests pass one. */
  constructor(topicArn: string, agent: Agent = new Agent()) {
    this.topicArn = topicArn;
    this.agent = agent;
    this.validator = this.newValidator();
  }

  /**
   * Verifies a message of SNS, confirms a subscription, and returns what a notification reports. Throws a LaurelError: `unauthorized` for a wrong
   * signature, `forbidden` for another topic, `not_ready` if Amazon can't be reached, whereupon SNS sends the message again.
   */
  async receive(message: SnsMessage): Promise<Feedback[]> {
    if (message.TopicArn !== this.topicArn) throw new LaurelError('forbidden', 'This topic does not match SES_TOPIC_ARN.');
    await this.verify(message);
    if (message.Type === 'SubscriptionConfirmation') await this.confirm(message.SubscribeURL ?? '');
    return message.Type === 'Notification' ? sesFeedback(message.Message) : [];
  }

  private newValidator(): SnsPayloadValidator {
    return new SnsPayloadValidator({ requestAgent: this.agent });
  }

  private async verify(message: SnsMessage): Promise<void> {
    // The validator also accepts names of buckets.
    if (!snsAddress(message.SigningCertURL)) throw wrongSignature();
    const stop = new AbortController();
    const tooLate = delay(limits.bounceFetchMs, undefined, { signal: stop.signal, ref: false }).then(() => {
      throw amazonAway();
    });
    try {
      await Promise.race([this.validator.validate(JSON.stringify(message)), tooLate]);
    } catch (error) {
      // The validator also caches what is no certificate, such as an error page of Amazon.
      this.validator = this.newValidator();
      if (error instanceof LaurelError) throw error;
      if (isNetworkError(error)) throw amazonAway(error);
      throw wrongSignature(error);
    } finally {
      tooLate.catch(() => undefined);
      stop.abort();
    }
  }

  private async confirm(address: string): Promise<void> {
    const url = snsAddress(address);
    if (!url) throw new LaurelError('unprocessable', '`SubscribeURL` must be an address of SNS at amazonaws.com.');
    const status = await this.statusOf(url);
    if (status !== 200) throw new LaurelError('not_ready', `SNS has not confirmed the subscription: it responded with ${status}.`);
  }

  private statusOf(url: URL): Promise<number> {
    return new Promise((resolve, reject) => {
      get(url, { agent: this.agent, signal: AbortSignal.timeout(limits.bounceFetchMs) }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).on('error', (error) => {
        reject(amazonAway(error));
      });
    });
  }
}

const amazonAway = (cause?: unknown): LaurelError =>
  new LaurelError('not_ready', 'Amazon SNS could not be reached. Send the message again.', { cause });
