/** The types and channels of messages to users, as the contract's notification preferences name them. */
export const notificationTypes = ['achievement_completed', 'recap', 'reactivation', 'streak_reminder'] as const;
export type NotificationType = (typeof notificationTypes)[number];

export const channels = ['email', 'push'] as const;
export type Channel = (typeof channels)[number];
