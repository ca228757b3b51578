import type { Channel } from '../config/schema/message-types.js';
import { ChannelTargets, MessageCounts } from '../messages/send/channel-targets.js';
import { ClickCounter } from '../messages/feedback/clicks.js';
import { FeedbackIntake } from '../messages/feedback/intake.js';
import { Links } from '../messages/addresses/links.js';
import { MessageAdmin } from '../messages/admin/message-admin.js';
import { ReceiptReader } from '../messages/send/push/receipt-reader.js';
import { Sender } from '../messages/send/sender.js';
import { ConfirmationAdmin } from '../messages/admin/confirmation-admin.js';
import { ConfirmationSender } from '../messages/send/confirmation-email.js';
import { ConfirmationLimits } from '../messages/addresses/confirmation-limits.js';
import { Confirmations } from '../messages/addresses/confirmations.js';
import type { EmailSender } from '../messages/send/provider.js';
import { TestMessages } from '../messages/admin/test-messages.js';
import { createTransports, type Transports } from '../messages/send/transports.js';
import type { BounceServices } from '../api/messages/bounces.js';
import type { PageServices } from '../api/messages/pages.js';
import type { Services } from '../api/route.js';
import { removeDeviceToken } from '../engine/users.js';
import { repeatEachSecond } from '../jobs/job.js';
import { SesNotifications } from '../messages/feedback/ses.js';
import { Suppressions } from '../messages/addresses/suppressions.js';
import type { Observed } from '../observe/observed.js';
import type { Context } from './context.js';
import type { Settings } from './settings.js';

/** The channels that the settings open for messages to users. With MESSAGES=log all are, so that the log shows what would be sent. */
export function openChannels({ messages, smtpUrl, pushExpo, fcmCredentialsFile, apnsKeyFile }: Settings): ReadonlySet<Channel> {
  switch (messages) {
    case 'off':
      return new Set();
    case 'log':
      return new Set(['email', 'push']);
    case 'on': {
      const hasPush = pushExpo || fcmCredentialsFile !== null || apnsKeyFile !== null;
      return new Set([...(smtpUrl === null ? [] : ['email' as const]), ...(hasPush ? ['push' as const] : [])]);
    }
  }
}

/** Creates the transports of the settings, stopped with the context. */
function transportsOf({ settings, pool, log }: Context): Transports {
  return createTransports(settings, {
    pool,
    onUnsavedTickets: (error) => {
      log.warn({ err: error }, 'push notification tickets not saved, receipts will not be checked');
    },
  });
}

/** Logs what is wrong with the providers, now and once the SMTP server has responded. The service runs on without them. */
function reportProblems({ log }: Context, { email, problems }: Transports, sender: Sender): void {
  for (const { channel, provider, sentence } of problems) {
    log.error({ channel, provider }, `messages are off: ${sentence}`);
    sender.switchOff(provider);
  }
  void email?.verify().then((sentence) => {
    if (sentence !== undefined) sender.reportUnavailable('smtp', sentence);
  });
}

/** Reads the receipts of push notifications each second, and removes device tokens that are no longer valid. */
function readReceipts({ engine, pool, log, lifecycle }: Context, expo: NonNullable<Transports['expo']>): void {
  const onGone = async (tenant: number, user: string, token: string): Promise<void> => {
    await removeDeviceToken(engine, tenant, user, token);
  };
  const reader = new ReceiptReader({ pool, expo, onGone });
  const read = async (): Promise<void> => {
    while ((await reader.read()).hasMore);
  };
  const messages = {
    failed: 'reading push receipts failed, will retry',
    recovered: 'reading push receipts recovered',
    level: 'warn',
  } as const;
  lifecycle.onStop('reading of push receipts', repeatEachSecond(read, { log, messages }));
}

/** What sends messages to users in a worker. */
export interface MessageDelivery {
  readonly targets: ChannelTargets;
  /** Aborts the attempts that are running. */
  abort(): Promise<void>;
}

/** Starts what sends messages to users. With MESSAGES=off, those that are queued wait. */
export function startMessages(context: Context, watch: Observed): MessageDelivery {
  const { settings, pool, log } = context;
  const counts = new MessageCounts();
  const { messages: mode, publicUrl } = settings;
  if (mode === 'off') return { targets: new ChannelTargets({ sender: undefined, counts }), abort: () => Promise.resolve() };
  const transports = mode === 'on' ? transportsOf(context) : undefined;
  const suppressions = new Suppressions(pool);
  const confirming = confirmationSender(context, transports?.email);
  const sender = new Sender({
    stores: context,
    pool,
    log,
    mode,
    senders: transports ?? {},
    links: new Links(pool, publicUrl),
    suppressions,
    confirming: settings.confirmAddresses ? confirming : undefined,
  });
  const open = openChannels(settings);
  watch.messages({ open, isUp: (channel) => sender.isUp(channel) }, counts);
  log.info({ mode, channels: [...open] }, 'messages to users');
  if (transports) reportProblems(context, transports, sender);
  if (transports?.expo) readReceipts(context, transports.expo);
  return { targets: new ChannelTargets({ sender, counts }), abort: async () => transports?.stop() };
}

/** What asks users to confirm their addresses. */
function confirmationSender({ settings, pool, log, redis }: Context, email: EmailSender | undefined): ConfirmationSender {
  const { publicUrl, messages: mode, redisPrefix: prefix } = settings;
  const suppressions = new Suppressions(pool);
  const confirmations = new Confirmations(pool, suppressions);
  const bounds = new ConfirmationLimits({ redis, prefix, suppressions });
  return new ConfirmationSender({ confirmations, bounds, links: new Links(pool, publicUrl), log, mode, email });
}

/** What the Admin API uses of messages. */
export function messageServices(
  context: Context,
): Pick<Services, 'messages' | 'testMessages' | 'dryRun' | 'suppressions' | 'confirmations'> {
  const { pool, lifecycle, settings, log, redis, engine, history } = context;
  const transports = transportsOf(context);
  lifecycle.onStop('test messages', () => transports.stop());
  const suppressions = new Suppressions(pool);
  const confirming = confirmationSender(context, transports.email);
  const confirmations = settings.confirmAddresses ? confirming.confirmations : undefined;
  return {
    confirmations: new ConfirmationAdmin({ engine, history, suppressions, confirming, isRequired: settings.confirmAddresses }),
    messages: new MessageAdmin(pool),
    testMessages: new TestMessages({
      stores: context,
      log,
      redis,
      suppressions,
      prefix: settings.redisPrefix,
      mode: settings.messages,
      addresses: settings.testEmailAddresses,
      email: transports.email,
      confirmations,
    }),
    dryRun: { stores: context, pool, suppressions, confirmations },
    suppressions,
  };
}

/** What records the reports of mail providers. */
export const feedbackIntake = ({ pool, engine, log }: Context): FeedbackIntake =>
  new FeedbackIntake({ pool, engine, log, suppressions: new Suppressions(pool) });

/** What the pages of links use, and the intake of bounces besides `feedback`. */
export function publicServices({
  settings,
  pool,
  engine,
  history,
  log,
  lifecycle,
  overrides,
}: Context): PageServices & Omit<BounceServices, 'feedback'> {
  const clicks = new ClickCounter(pool, log);
  lifecycle.onStop('counting of clicks', () => clicks.stop());
  return {
    engine,
    history,
    clicks,
    links: new Links(pool, settings.publicUrl),
    confirmations: new Confirmations(pool, new Suppressions(pool)),
    postmarkToken: settings.postmarkWebhookToken,
    ses: settings.sesTopicArn === null ? null : new SesNotifications(settings.sesTopicArn, overrides.snsAgent),
  };
}
