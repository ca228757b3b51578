/** The kinds of messages of the contract's `webhooks`, in its order. */
export const webhookKinds = [
  'achievement.completed',
  'streak.started',
  'streak.extended',
  'streak.lost',
  'streak.freeze_consumed',
  'streak.freeze_earned',
  'points.changed',
  'points.level_changed',
  'points.boost_started',
  'points.boost_finished',
  'leaderboard.started',
  'leaderboard.changed',
  'leaderboard.rank_changed',
  'leaderboard.finished',
  'emails.recap_due',
  'emails.reactivation_due',
  'emails.streak_reminder_due',
  'emails.achievement_due',
] as const;

export type WebhookKind = (typeof webhookKinds)[number];
