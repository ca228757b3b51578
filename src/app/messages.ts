import type { Channel } from '../config/message-types.js';
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
