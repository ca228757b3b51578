import type { Channel } from '../../config/schema/message-types.js';
import type { UserAchievementResponse } from '../../responses/achievements.js';

/** A completed achievement, as webhook payloads have it. */
export type CompletedAchievement = Pick<UserAchievementResponse, 'id' | 'name' | 'description' | 'badgeUrl'>;

/** What a message is about, besides its user. Stored with the message when it is queued. */
export type NotificationAbout =
  | { readonly type: 'achievement_completed'; readonly achievements: readonly CompletedAchievement[] }
  /** Dates, `YYYY-MM-DD`, both inclusive, of the user's local calendar. */
  | { readonly type: 'recap'; readonly periodStart: string; readonly periodEnd: string }
  /** `messageNumber` counts from 1. */
  | { readonly type: 'reactivation'; readonly messageNumber: number; readonly daysSinceLastActive: number }
  | { readonly type: 'streak_reminder' };

/** What the outbox holds of a message by one channel, and to one device. */
export interface StoredNotification {
  readonly channel: Channel;
  /** When it became due. */
  readonly timestamp: string;
  /** The user's local day when it was queued, in days since 1970-01-01. */
  readonly day: number;
  readonly about: NotificationAbout;
  /** The zone decided what was due (schedule/recipients.ts). */
  readonly user: { readonly tz: string | null };
  /** Of a push notification: the device. */
  readonly token?: string;
  /** When an operator sent it again, which makes it as recent as a new one. */
  readonly resent?: string;
  /** Whether the user had already received `maxPerUserDay` on that day. */
  readonly isOverLimit?: true;
}
