import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import type { UserAchievementResponse } from '../../responses/achievements.js';
import type { StreakResponse } from '../../responses/streaks.js';
import type { ScheduleKind } from './times.js';

/** A completed achievement, as webhook payloads have it. */
export type CompletedAchievement = Pick<UserAchievementResponse, 'id' | 'name' | 'description' | 'badgeUrl'>;

/** What a notification is about, besides its user. Stored with it when it is queued. */
export type NotificationAbout =
  | { readonly type: 'achievement_completed'; readonly achievements: readonly CompletedAchievement[] }
  /** Dates, `YYYY-MM-DD`, both inclusive, of the user's local calendar. */
  | { readonly type: 'recap'; readonly periodStart: string; readonly periodEnd: string }
  /** `messageNumber` counts from 1. */
  | { readonly type: 'reactivation'; readonly messageNumber: number; readonly daysSinceLastActive: number }
  /** The last date of the period in which the streak has to be extended. */
  | { readonly type: 'streak_reminder'; readonly periodEnd: string };

/** Who receives what is due for a user: the user, by email and push, or the endpoints that subscribe to the webhook of its type. */
export const audiences = ['user', 'webhook'] as const;
export type Audience = (typeof audiences)[number];

/** The type of the notifications that are due when a webhook is. */
export const typeOf: Readonly<Record<ScheduleKind, NotificationType>> = {
  'emails.recap_due': 'recap',
  'emails.reactivation_due': 'reactivation',
  'emails.streak_reminder_due': 'streak_reminder',
  'emails.achievement_due': 'achievement_completed',
};

/** The kind of the webhook about notifications of a type. */
export const webhookOf: Readonly<Record<NotificationType, ScheduleKind>> = {
  recap: 'emails.recap_due',
  reactivation: 'emails.reactivation_due',
  streak_reminder: 'emails.streak_reminder_due',
  achievement_completed: 'emails.achievement_due',
};

/** A notification of a type that is due for a user. */
export interface Notification {
  readonly user: string;
  /** When it became due, in milliseconds since 1970. */
  readonly at: number;
  readonly about: NotificationAbout;
  /** Of a reminder: the streak, for its webhook. */
  readonly streak?: StreakResponse;
}

/** What the outbox holds of a notification by one channel, and to one device. */
export interface StoredNotification {
  readonly channel: Channel;
  /** When it became due. */
  readonly timestamp: string;
  /** The user's local day when it was queued, in days since 1970-01-01. */
  readonly day: number;
  readonly about: NotificationAbout;
  /** The zone tells on which day a reactivation became due (schedule/recipients.ts). */
  readonly user: { readonly tz: string | null };
  /** Of a push notification: the device. */
  readonly token?: string;
  /** When an operator sent it again, which makes it as recent as a new one. */
  readonly resent?: string;
  /** Whether the user had already received `maxPerUserDay` on that day. */
  readonly isOverLimit?: true;
}
