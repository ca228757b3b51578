import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import type { ConfigDocument } from '../../config/schema/model.js';

/** The `no` of each channel's queue of deliveries; those of webhook endpoints are positive. */
const queueNos: Readonly<Record<Channel, number>> = { email: -1, push: -2 };

export const queueOf = (channel: Channel): number => queueNos[channel];

/** The channel of a queue; undefined for a webhook endpoint's. */
export const channelOfQueue = (no: number): Channel | undefined =>
  no === queueNos.email ? 'email' : no === queueNos.push ? 'push' : undefined;

const kindStart = 'message.';

/** The kind of a message in the outbox: `message.recap`. */
export const messageKind = (type: NotificationType): string => kindStart + type;

/** The type of a message in the outbox. */
export const typeOfKind = (kind: string): NotificationType => kind.slice(kindStart.length) as NotificationType;

/** The channels that the configuration opens for a type. */
export function configuredChannels({ messages }: Pick<ConfigDocument, 'messages'>, type: NotificationType): readonly Channel[] {
  switch (type) {
    case 'achievement_completed':
      return messages.achievementCompleted;
    case 'recap':
      return messages.recap;
    case 'reactivation':
      return messages.reactivation;
    case 'streak_reminder':
      return messages.streakReminder;
  }
}

/** The channels by which messages of a type are sent: those of the configuration among `open`, which this installation has. */
export function channelsFor(document: Pick<ConfigDocument, 'messages'>, type: NotificationType, open: ReadonlySet<Channel>): Channel[] {
  return configuredChannels(document, type).filter((channel) => open.has(channel));
}
