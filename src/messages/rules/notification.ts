import type { UserAchievementResponse } from '../../responses/achievements.js';

/** A completed achievement, as webhook payloads have it. */
export type CompletedAchievement = Pick<UserAchievementResponse, 'id' | 'name' | 'description' | 'badgeUrl'>;

/** What a message is about, besides its user. Stored with the message when it is queued. */
export type MessageAbout =
  | { readonly type: 'achievement_completed'; readonly achievements: readonly CompletedAchievement[] }
  /** Dates, `YYYY-MM-DD`, both inclusive, of the user's local calendar. */
  | { readonly type: 'recap'; readonly periodStart: string; readonly periodEnd: string }
  /** `messageNumber` counts from 1. */
  | { readonly type: 'reactivation'; readonly messageNumber: number; readonly daysSinceLastActive: number }
  | { readonly type: 'streak_reminder' };
