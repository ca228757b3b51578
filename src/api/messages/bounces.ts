import { createHash, timingSafeEqual } from 'node:crypto';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { Feedback, FeedbackIntake } from '../../messages/feedback/intake.js';
import { postmarkFeedback, postmarkSchema } from '../../messages/feedback/postmark.js';
import { type SesNotifications, snsSchema } from '../../messages/feedback/ses.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { parsePart } from '../errors.js';
import { bodyReader } from '../body.js';

export interface BounceServices {
  readonly feedback: FeedbackIntake;
  /** POSTMARK_WEBHOOK_TOKEN. Null: Postmark is not configured. */
  readonly postmarkToken: string | null;
  /** Null: SES_TOPIC_ARN is not set. */
  readonly ses: SesNotifications | null;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The password of basic authentication; undefined without one. */
function passwordOf(header: string): string | undefined {
  const [scheme = '', encoded = ''] = header.split(' ', 2);
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  return credentials.slice(credentials.indexOf(':') + 1);
}

/** Throws a 401 unless the request carries the token, as the password or in a header. */
function checkToken(context: Koa.Context, token: string): void {
  const sent = passwordOf(context.get('Authorization')) ?? context.get('X-Webhook-Token');
  if (!timingSafeEqual(digest(sent), digest(token))) {
    throw new LaurelError('unauthorized', 'Send POSTMARK_WEBHOOK_TOKEN as the password of basic authentication, or in X-Webhook-Token.');
  }
}

const notConfigured = (setting: string): LaurelError => new LaurelError('not_found', `This endpoint is disabled: ${setting} is not set.`);

/**
 * Bounces and complaints of Postmark and of SES, which call without a key: Postmark with a token, SNS with a signature. Reports that change nothing
 * are accepted, so that the provider does not repeat them.
 */
export function bounceRoutes(router: Router, { feedback, postmarkToken, ses }: BounceServices): void {
  const readBody = bodyReader(limits.maxBounceBytes);
  const record = async (context: Koa.Context, reports: readonly Feedback[]): Promise<void> => {
    for (const report of reports) await feedback.record(report);
    context.status = 200;
    context.body = { recorded: reports.length };
  };
  router.post('/m/bounces/postmark', async (context) => {
    if (postmarkToken === null) throw notConfigured('POSTMARK_WEBHOOK_TOKEN');
    checkToken(context, postmarkToken);
    await readBody(context);
    const report = postmarkFeedback(parsePart(postmarkSchema, context.request.body, 'The body'));
    await record(context, report ? [report] : []);
  });
  router.post('/m/bounces/ses', async (context) => {
    if (ses === null) throw notConfigured('SES_TOPIC_ARN');
    await readBody(context);
    await record(context, await ses.receive(parsePart(snsSchema, context.request.body, 'The body')));
  });
}
