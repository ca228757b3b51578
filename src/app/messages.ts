import type { Channel } from '../config/message-types.js';
import { ChannelTargets, MessageCounts } from '../messages/channel-targets.js';
import { Links } from '../messages/links.js';
import { Sender } from '../messages/sender.js';
import { Suppressions } from '../messages/suppressions.js';
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

/** Starts what sends messages to users. With MESSAGES=off, those that are queued wait. */
export function startMessages(context: Context, watch: Observed): ChannelTargets {
  const { settings, pool, log } = context;
  const counts = new MessageCounts();
  const { messages: mode } = settings;
  if (mode === 'off') return new ChannelTargets({ sender: undefined, counts });
  const sender = new Sender({
    ...{ stores: context, pool, log, mode, senders: {} },
    ...{ links: new Links(pool, settings.publicUrl), suppressions: new Suppressions(pool) },
  });
  watch.messages(sender, counts);
  return new ChannelTargets({ sender, counts });
}
